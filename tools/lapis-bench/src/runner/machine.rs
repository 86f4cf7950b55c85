//! What a report says of the machine, and the date.

use crate::exec::Line;
use serde::Serialize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The machine and the tools.
#[derive(Serialize)]
pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) processor: String,
    /// Its maker, family and model, as in tuning files: the name of its reports.
    pub(crate) kind: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) compiler: String,
    /// Of the tree that was measured.
    pub(crate) revision: String,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, key: &str| {
            let line = text.lines().find(|l| l.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let output = |words: &[&str]| {
            let text = Line::new(words).output(Duration::from_secs(10)).unwrap_or_default();
            text.trim().to_owned()
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kib: u64 = memory.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0);
        Self {
            date: today(),
            processor: field(&read("/proc/cpuinfo"), "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.into()),
            kind: lapis_core::config::processor(),
            cores: std::thread::available_parallelism()
                .map_or(1, usize::from)
                .max(count_cores(&read("/proc/cpuinfo"))),
            memory_gib: (kib + (1 << 19)) >> 20,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            compiler: output(&["rustc", "--version"]),
            revision: output(&["git", "describe", "--always", "--dirty"]),
        }
    }

    /// A report's name: the newest of each kind of processor stays.
    pub(crate) fn stem(&self, subject: &str) -> String {
        format!("{}-{subject}", self.kind)
    }

    /// One line for the head of a report.
    pub(crate) fn line(&self) -> String {
        let Self { processor, kind, cores, memory_gib, kernel, compiler, revision, .. } = self;
        format!(
            "{processor} ({kind}), {cores} cores, {memory_gib} GiB, Linux {kernel}, {compiler}, tree {revision}."
        )
    }
}

/// We are pinned by now, so the kernel's list counts, not what we may use.
fn count_cores(cpuinfo: &str) -> usize {
    cpuinfo.lines().filter(|l| l.starts_with("processor")).count()
}

fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// The date of a day counted from 1970-01-01.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |y: u64| y.is_multiple_of(4) && !y.is_multiple_of(100) || y.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(59), (1970, 3, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(19_722), (2023, 12, 31));
        assert_eq!(civil(19_723), (2024, 1, 1));
    }
}
