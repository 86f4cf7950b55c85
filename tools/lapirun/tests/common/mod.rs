//! The launcher's own programs under a watchdog.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

use lapis_patience::Patience;
pub(crate) mod sshd;

pub(crate) use lapis_testing::{Finished, Running, WATCHDOG, alive, clean, joined, run};
use std::process::Command;
use std::time::Duration;

pub(crate) const TASK: &str = env!("CARGO_BIN_EXE_lapirun-test-task");

pub(crate) fn lapirun() -> Command {
    clean(env!("CARGO_BIN_EXE_lapirun"))
}

pub(crate) fn poe() -> Command {
    clean(env!("CARGO_BIN_EXE_poe"))
}

pub(crate) fn acprun() -> Command {
    clean(env!("CARGO_BIN_EXE_acprun"))
}

/// Sends a running command a signal.
pub(crate) fn send_signal(running: &Running, signal: rustix::process::Signal) {
    let pid = i32::try_from(running.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits until none of the processes runs.
#[track_caller]
pub(crate) fn await_death(pids: &[u32]) {
    let mut patience = Patience::with_myself(WATCHDOG);
    while let Some(pid) = pids.iter().find(|pid| alive(**pid)) {
        if patience.is_over() {
            let what = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            panic!("process {pid} ({what:?}) was left behind");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The process numbers in lines `pid N`.
pub(crate) fn pids(lines: &[String]) -> Vec<u32> {
    lines.iter().filter_map(|l| l.strip_prefix("pid ")?.parse().ok()).collect()
}
