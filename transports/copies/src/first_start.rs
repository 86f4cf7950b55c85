//! Measuring at the first start on a kind of processor that nobody knows, once for each user.

use crate::VARIABLE;
use crate::attempts::{self, Attempts};
use crate::choice::AT_START;
use crate::trial::{Disturbance, Trial, limits};
use crate::{Copies, measure};
use lapis_core::config::{Environment, TUNING, processor, write_tuning};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long the figures of a start take; with threads and first touches it is up to three times as
/// long.
const BUDGET: Duration = Duration::from_millis(30);

/// What a start came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstStart {
    /// Limits, which are in the tuning file now.
    Measured(Copies),
    /// Figures that don't count. Nothing was written but that there was an attempt.
    Disturbed(Disturbance),
    /// Nothing was measured: another process does so at this moment or did so a short time ago, the
    /// pause after the last attempt is not over, there is one core only, or the place is another
    /// user's.
    Left,
}

/// What people read in front of the values.
pub fn about(trials: &[Trial]) -> String {
    let pair = |t: &Trial| format!("cores {} and {}: {} ns", t.cores[0], t.cores[1], t.figures().line);
    format!(
        "Written by Lapis for {}. A line's way between {}.\n`lapis-perf tune` measures it anew.",
        processor(),
        trials.iter().map(pair).collect::<Vec<_>>().join("; ")
    )
}

/// Measures for some milliseconds and leaves the limits in the file at `path`, in which there are
/// none so far. Figures that were disturbed are not kept: a later start tries again.
///
/// # Errors
/// The place can't be written: nothing was measured, for the next start would do so again.
pub fn first_start(usual: Copies, path: &Path) -> io::Result<FirstStart> {
    first_start_with(usual, path, || measure(BUDGET))
}

fn first_start_with(
    usual: Copies,
    path: &Path,
    measure: impl FnOnce() -> Vec<Trial>,
) -> io::Result<FirstStart> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(FirstStart::Left);
    };
    // A home that is somebody else's gets no folder that its owner can't use.
    // SAFETY: a call without pointers.
    let user = unsafe { libc::geteuid() };
    let there = folder.ancestors().find_map(|above| above.metadata().ok());
    if there.is_none_or(|above| above.uid() != user) || !attempts::is_due(path, SystemTime::now()) {
        return Ok(FirstStart::Left);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let lock = File::open(folder)?;
    // The tasks of a job start at once: one of them measures, on cores that are as quiet as may be.
    // SAFETY: a call without pointers; the descriptor is open.
    if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        return Ok(FirstStart::Left);
    }
    // Whoever held the lock before may have measured.
    let named = [(TUNING, path.to_string_lossy().into_owned())];
    let there = Environment::from_pairs(named).with_tuning_file();
    if there.get(VARIABLE).is_some() || !attempts::is_due(path, SystemTime::now()) {
        return Ok(FirstStart::Left);
    }
    // Kept before it is made: a place that can't be written costs no start its time, nor does a
    // program that is ended while it measures cost the next one more.
    let count = Attempts::of(path).map_or(1, |before| before.count.saturating_add(1));
    let kept = |why: String| attempts::keep(path, &Attempts { count, why });
    kept("it did not end".to_owned())?;
    let trials = measure();
    if trials.is_empty() {
        kept("there is one core only".to_owned())?;
        return Ok(FirstStart::Left);
    }
    match limits(&trials, usual) {
        Ok(copies) => {
            write_tuning(path, &about(&trials), &[(VARIABLE, &format!("{copies},{AT_START}"))])?;
            attempts::forget(path);
            Ok(FirstStart::Measured(copies))
        }
        Err(disturbance) => {
            kept(disturbance.to_string())?;
            Ok(FirstStart::Disturbed(disturbance))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::tests::{ROWS, trial};
    use std::path::PathBuf;

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("lapis-first-start-{test}-{}", std::process::id()));
            Self(path)
        }

        fn tuning(&self) -> PathBuf {
            self.0.join("of-a-test/tuning")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn not_due() -> Vec<Trial> {
        panic!("nothing is to be measured now")
    }

    /// Takes the time of the last attempt back, as if so much had passed since.
    fn let_pass(tuning: &Path, passed: Duration) {
        let file = File::options().write(true).open(tuning.with_file_name("tuning.attempts")).unwrap();
        file.set_modified(SystemTime::now() - passed).unwrap();
    }

    #[test]
    fn a_quiet_start_leaves_what_it_measured_for_the_next_one() {
        let folder = Folder::new("quiet");
        let path = folder.tuning();
        let start = first_start_with(Copies::USUAL, &path, || vec![trial(40, [&ROWS, &ROWS], 0)]).unwrap();
        let FirstStart::Measured(copies) = start else { panic!("{start:?}") };
        assert_eq!(copies.near_past, Some(16384));
        let names = [(TUNING, path.to_str().unwrap())];
        let environment = Environment::from_pairs(names).with_tuning_file();
        assert_eq!(environment.tuning_problem(), None);
        assert_eq!(Copies::USUAL.with(environment.get(VARIABLE).unwrap()), Ok(copies));
        assert_eq!(Attempts::of(&path), None);
        assert_eq!(first_start_with(Copies::USUAL, &path, not_due).unwrap(), FirstStart::Left);
    }

    #[test]
    fn a_disturbed_start_leaves_no_limits_and_later_ones_try_again_ever_more_seldom() {
        let folder = Folder::new("disturbed");
        let path = folder.tuning();
        let busy = || vec![trial(40, [&ROWS, &ROWS], 60)];
        for (attempt, pause) in [(1, 60), (2, 120), (3, 240)] {
            let start = first_start_with(Copies::USUAL, &path, busy).unwrap();
            assert!(matches!(start, FirstStart::Disturbed(Disturbance::Away { .. })), "{start:?}");
            assert!(!path.exists(), "disturbed figures were kept");
            let attempts = Attempts::of(&path).unwrap();
            assert_eq!(attempts.count, attempt);
            assert!(attempts.why.contains("others had one of them for 60.0"), "{}", attempts.why);
            let_pass(&path, Duration::from_secs(pause - 10));
            assert_eq!(first_start_with(Copies::USUAL, &path, not_due).unwrap(), FirstStart::Left);
            let_pass(&path, Duration::from_secs(pause + 1));
        }
        let quiet = || vec![trial(40, [&ROWS, &ROWS], 1)];
        let start = first_start_with(Copies::USUAL, &path, quiet).unwrap();
        assert!(matches!(start, FirstStart::Measured(_)), "{start:?}");
        assert!(path.exists() && Attempts::of(&path).is_none());
    }

    #[test]
    fn who_comes_while_another_one_measures_goes_on_with_what_is_usual() {
        let folder = Folder::new("two");
        let path = folder.tuning();
        let start = first_start_with(Copies::USUAL, &path, || {
            assert_eq!(first_start_with(Copies::USUAL, &path, not_due).unwrap(), FirstStart::Left);
            let_pass(&path, Duration::from_secs(3600));
            // The lock says so even if the attempt was kept a long time ago.
            assert_eq!(first_start_with(Copies::USUAL, &path, not_due).unwrap(), FirstStart::Left);
            Vec::new()
        });
        assert_eq!(start.unwrap(), FirstStart::Left);
        assert!(!path.exists());
    }

    #[test]
    fn the_threads_of_a_start_come_to_some_end() {
        let folder = Folder::new("threads");
        let path = folder.tuning();
        let start = first_start(Copies::USUAL, &path).unwrap();
        assert_eq!(matches!(start, FirstStart::Measured(_)), path.exists(), "{start:?}");
    }
}
