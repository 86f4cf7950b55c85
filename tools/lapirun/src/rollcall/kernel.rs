//! The kernel's view of a process.

use std::fs::read_to_string;
use std::time::Duration;

/// One process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) number: u32,
    pub(super) state: char,
    pub(super) group: u32,
    /// Ticks for which it has had a processor.
    pub(super) used: u64,
    /// For how long its threads have had to wait for one, altogether.
    pub(super) queued: Duration,
}

impl Process {
    pub(super) fn read(number: u32) -> Option<Self> {
        let process = Self::parse(number, &read_to_string(format!("/proc/{number}/stat")).ok()?)?;
        Some(Self { queued: queued(number), ..process })
    }

    /// The program's name, in parentheses, may contain anything; the fields after it are counted
    /// from the state.
    fn parse(number: u32, text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number_at = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            number,
            state: fields.first()?.chars().next()?,
            group: number_at(2)? as u32,
            used: number_at(11)? + number_at(12)?,
            queued: Duration::ZERO,
        })
    }
}

/// Nothing where the kernel does not count that.
fn queued(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: std::fs::DirEntry| {
        let text = read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.filter_map(of_thread).sum())
}

/// The kernel's function in which a process's first thread sleeps; empty if it does not say.
pub(super) fn place(process: u32) -> String {
    let text = read_to_string(format!("/proc/{process}/wchan")).unwrap_or_default();
    if text == "0" { String::new() } else { text }
}

/// A thread's name.
pub(super) fn thread_name(process: u32, thread: u32) -> String {
    read_to_string(format!("/proc/{process}/task/{thread}/comm")).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_name_does_not_confuse() {
        let text = "77 (a) R 1 (b) S 70 71 72 34816 71 4194304 1 2 3 4 50 6 7 8 20 0 1 0 99";
        let process = Process { number: 77, state: 'S', group: 71, used: 56, queued: Duration::ZERO };
        assert_eq!(Process::parse(77, text), Some(process));
        assert_eq!(Process::parse(77, "77 (a"), None);
    }

    #[test]
    fn this_process_runs() {
        let own = Process::read(std::process::id()).unwrap();
        assert!(own.group > 0);
    }
}
