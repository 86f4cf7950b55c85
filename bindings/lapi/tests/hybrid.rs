//! Programs that use MPI and LAPI at once, started by MPI's launchers.
//!
//! What a machine lacks is skipped, and said; `cargo xtask setup` installs it.

mod support;

use std::path::PathBuf;
use std::process::Command;
use support::{BINDING, artifacts, checked, scratch, source};

/// An MPI: its compiler, its launcher and what that takes.
struct Mpi {
    compiler: &'static str,
    launcher: &'static [&'static str],
}

const ALL: [Mpi; 2] = [
    Mpi { compiler: "mpicc.mpich", launcher: &["mpiexec.hydra"] },
    Mpi {
        compiler: "mpicc.openmpi",
        launcher: &["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"],
    },
];

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !there {
        eprintln!("SKIP: {program} is not installed (cargo xtask setup)");
    }
    there
}

/// The compilers of Debian's MPIs come without the header.
fn has_header(compiler: &str) -> bool {
    let source = scratch("header").with_extension("c");
    std::fs::write(&source, "#include <mpi.h>\n").expect("a scratch file");
    let there = Command::new(compiler).arg("-E").arg(&source).output().is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("SKIP: {compiler} finds no mpi.h (cargo xtask setup)");
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

#[test]
fn lapi_and_mpi_share_a_job_whoever_begins_and_ends_first() {
    let is_whole =
        |mpi: &&Mpi| is_there(mpi.compiler) && is_there(mpi.launcher[0]) && has_header(mpi.compiler);
    for mpi in ALL.iter().filter(is_whole) {
        let (program, library) = (scratch("hybrid"), library());
        let mut cc = Command::new(mpi.compiler);
        cc.arg(source("hybrid/hybrid.c")).arg(format!("-I{BINDING}/include")).arg("-o").arg(&program);
        cc.arg("-L").arg(&library).arg("-llapi_r").arg(format!("-Wl,-rpath,{}", library.display()));
        checked(&mut cc);
        for first in [None, Some("lapi-first")] {
            let mut command = lapis_testing::clean(mpi.launcher[0]);
            command.args(&mpi.launcher[1..]).args(["-n", "3"]).arg(&program).args(first);
            command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TRANSPORT", "shm");
            let done = lapis_testing::run(command).expect(0);
            let lines: Vec<String> = (0..3).map(|n| format!("MPI {n} of 3, LAPI {n} of 3, sum 3")).collect();
            assert_eq!(done.sorted(), lines, "{}, {first:?}: {}", mpi.compiler, done.err);
        }
    }
}
