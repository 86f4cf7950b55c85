//! Attempts to measure at a start, so that a machine that is never quiet costs little.
//!
//! A file beside the tuning file has one line, the number of the attempts and what disturbed the
//! last one; the time at which it changed is that of the last one. The next attempt is not made
//! before a minute has passed, and each one after that waits twice as long, up to a day.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const SHORTEST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// More than anybody writes.
const LONGEST: u64 = 4 << 10;

/// The attempts of a user on a kind of processor, none of which gave figures that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempts {
    /// How many there were.
    pub count: u32,
    /// What disturbed the last one.
    pub why: String,
}

impl Attempts {
    /// Those that belong to a tuning file; `None`: there were none.
    pub fn of(tuning: &Path) -> Option<Self> {
        let mut text = String::new();
        File::open(beside(tuning)).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        let (count, why) = text.trim().split_once(": ")?;
        Some(Self { count: count.parse().ok()?, why: why.to_owned() })
    }

    fn pause(&self) -> Duration {
        let doublings = self.count.saturating_sub(1).min(16);
        (SHORTEST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE)
    }
}

/// Whether an attempt may be made at this time.
pub(crate) fn is_due(tuning: &Path, now: SystemTime) -> bool {
    let Some(attempts) = Attempts::of(tuning) else { return true };
    let last = beside(tuning).metadata().and_then(|about| about.modified());
    // A time that is to come is none of this clock's.
    let passed = last.ok().and_then(|last| now.duration_since(last).ok());
    passed.is_none_or(|passed| passed >= attempts.pause())
}

/// Keeps how many there were.
pub(crate) fn keep(tuning: &Path, attempts: &Attempts) -> io::Result<()> {
    let path = beside(tuning);
    let draft = path.with_extension(format!("{}", std::process::id()));
    let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
    let written = options.and_then(|mut file| {
        writeln!(file, "{}: {}", attempts.count, attempts.why)?;
        std::fs::rename(&draft, &path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// There is a measurement that counts.
pub(crate) fn forget(tuning: &Path) {
    let _ = std::fs::remove_file(beside(tuning));
}

fn beside(tuning: &Path) -> PathBuf {
    let name = tuning.file_name().unwrap_or_default().to_string_lossy();
    tuning.with_file_name(format!("{name}.attempts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_between_attempts_doubles_up_to_a_day() {
        let pause = |count| Attempts { count, why: String::new() }.pause().as_secs();
        assert_eq!([0, 1, 2, 3, 11].map(pause), [60, 60, 120, 240, 61_440]);
        assert_eq!([12, u32::MAX].map(pause), [86_400, 86_400]);
    }

    #[test]
    fn attempts_are_due_when_their_pause_is_over() {
        let folder = std::env::temp_dir().join(format!("lapis-attempts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tuning = folder.join("tuning");
        let now = SystemTime::now();
        assert!(is_due(&tuning, now));
        let attempts = Attempts { count: 2, why: "cores 0 and 1: busy".to_owned() };
        keep(&tuning, &attempts).unwrap();
        File::options().write(true).open(beside(&tuning)).unwrap().set_modified(now).unwrap();
        assert_eq!(Attempts::of(&tuning), Some(attempts));
        assert!(!is_due(&tuning, now + Duration::from_secs(119)));
        assert!(is_due(&tuning, now + Duration::from_secs(121)));
        assert!(is_due(&tuning, now - Duration::from_secs(3600)), "the clock was put back");
        forget(&tuning);
        assert!(is_due(&tuning, now));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "a draft is left");
        let _ = std::fs::remove_dir_all(&folder);
    }
}
