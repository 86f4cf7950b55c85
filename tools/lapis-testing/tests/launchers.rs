//! Jobs that other launchers start: hydra's `mpiexec` (PMI-1), Slurm's `srun` (PMI-2, PMIx), Open
//! MPI's `mpirun` (PMIx).
//!
//! What a machine lacks is skipped, and said; `cargo xtask setup` installs it.

use lapis_testing::{Finished, clean, folder, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// Where a program is, or `None` with a line that says so.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let file = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    if file.is_none() {
        eprintln!("SKIP: {program} is not installed (cargo xtask setup)");
    }
    file
}

/// The environment that all launchers hand on.
fn common(command: &mut Command, transport: &str) {
    command.env("LAPIS_TRANSPORT_PATH", folder().join("deps")).env("LAPIS_TRANSPORT", transport);
    command.env("LAPI_USE_SHM", "yes");
}

fn hydra(tasks: u32, transport: &str, program: &str, args: &[&str]) -> Option<Command> {
    let mut command = clean(found("mpiexec.hydra")?);
    command.args(["-n", &tasks.to_string(), program]).args(args);
    common(&mut command, transport);
    Some(command)
}

fn open_mpi(tasks: u32, transport: &str, program: &str, args: &[&str]) -> Option<Command> {
    let mut command = clean(found("mpirun.openmpi")?);
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &tasks.to_string()]);
    for name in ["LAPIS_TRANSPORT_PATH", "LAPIS_TRANSPORT", "LAPI_USE_SHM"] {
        command.args(["-x", name]);
    }
    command.arg(program).args(args);
    common(&mut command, transport);
    Some(command)
}

/// A cluster of two nodes on this machine, for one command.
fn slurm(script: &str) -> Option<Command> {
    for program in ["srun", "slurmctld", "slurmd", "munged"] {
        found(program)?;
    }
    if !rustix_root() {
        eprintln!("SKIP: a cluster of one's own takes root");
        return None;
    }
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster.sh");
    let mut command = clean("bash");
    command.arg(cluster).arg(scratch()).args(["bash", "-c", script]);
    common(&mut command, "shm,udp");
    Some(command)
}

fn rustix_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// A folder for a cluster's files.
fn scratch() -> PathBuf {
    static NEXT: OnceLock<PathBuf> = OnceLock::new();
    NEXT.get_or_init(|| std::env::temp_dir().join(format!("lapis-slurm-{}", std::process::id()))).clone()
}

#[track_caller]
fn expect_from_all(done: Finished, tasks: u32) {
    let line = format!("all-to-all: {} messages", 24 * tasks);
    let done = done.expect(0);
    assert_eq!(done.sorted(), vec![line.as_str(); tasks as usize], "{}", done.err);
}

type Launch = fn(u32, &str, &str, &[&str]) -> Option<Command>;

const HERE: [(&str, Launch); 2] = [("hydra", hydra), ("Open MPI", open_mpi)];

#[test]
fn tasks_of_other_launchers_meet_over_every_transport() {
    for (_, launch) in HERE {
        for (tasks, transport) in [(1, "shm"), (2, "shm"), (2, "udp"), (5, "shm,udp")] {
            let Some(command) = launch(tasks, transport, TASK, &["all-to-all"]) else { break };
            expect_from_all(run(command), tasks);
        }
    }
}

#[test]
fn many_tasks_meet() {
    for (_, launch) in HERE {
        if let Some(command) = launch(24, "shm", TASK, &["all-to-all"]) {
            expect_from_all(run(command), 24);
        }
    }
}

#[test]
fn two_jobs_at_once_do_not_meet() {
    for (_, launch) in HERE {
        let start = || launch(3, "shm,udp", TASK, &["all-to-all"]).map(lapis_testing::Running::start);
        let jobs = [start(), start()];
        jobs.into_iter().flatten().for_each(|job| expect_from_all(job.wait(), 3));
    }
}

#[test]
fn a_killed_task_is_named_and_ends_the_job_and_an_abort_ends_it_with_its_code() {
    let task = lapis_testing::program("lapirun", "lapirun-test-task");
    let task = task.to_str().unwrap();
    for (name, launch) in HERE {
        let Some(command) = launch(3, "shm", task, &["fence-without", "1", "kill"]) else { continue };
        let done = run(command);
        assert_ne!(done.code, Some(0), "{name}: {done:?}");
        let Some(command) = launch(3, "shm", task, &["abort", "2", "7"]) else { continue };
        run(command).expect(7);
    }
}

#[test]
fn slurm_tasks_meet_by_pmi2_on_two_nodes_and_by_pmix_on_one() {
    // The two nodes are one host: the plugin for PMIx, which knows nodes by the host's name, takes
    // one of them only.
    let script = format!(
        "set -e; for way in 'pmi2 2' 'pmix 1'; do set -- $way; \
         srun --mpi=list 2>&1 | grep -qw $1 || {{ echo no $1; continue; }}; \
         srun --mpi=$1 -N $2 -n 4 --overcommit {TASK} all-to-all; echo done $1; done"
    );
    let Some(command) = slurm(&script) else { return };
    let done = run(command).expect(0);
    let of_all = done.lines_with("all-to-all: 96 messages").len();
    let plugins = done.lines_with("done ").len();
    assert!(plugins >= 1 && of_all == 4 * plugins, "{done:?}");
    done.lines_with("no ").iter().for_each(|line| eprintln!("SKIP: srun has {line}"));
}

#[test]
fn slurm_tasks_that_cannot_meet_are_an_error_and_lapirun_works_in_an_allocation() {
    let lapirun = lapis_testing::program("lapirun", "lapirun");
    let script = format!(
        "srun --mpi=none -N 2 -n 4 --overcommit {TASK} all-to-all; echo code $?; \
         srun --mpi=none -N 1 -n 1 {} -n 3 {TASK} all-to-all",
        lapirun.display()
    );
    let Some(command) = slurm(&script) else { return };
    let done = run(command).expect(0);
    assert_eq!(done.lines_with("srun --mpi=pmix or srun --mpi=pmi2").len(), 4, "{done:?}");
    assert_eq!(done.lines_with("code 0").len(), 0, "{done:?}");
    assert_eq!(done.lines_with("all-to-all: 72 messages").len(), 3, "{done:?}");
}
