//! Measuring at the first start on a kind of processor that nobody knows, once for each user.

use crate::{Copies, Measured, measure};
use lapis_core::config::{Environment, TUNING, processor, write_tuning};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// The variable whose value the limits are.
pub const VARIABLE: &str = "LAPIS_SHM_COPIES";

/// How long the start of a job may take longer for it, once.
const BUDGET: Duration = Duration::from_millis(30);

/// What people read in front of the values.
pub fn about(measured: &[Measured]) -> String {
    let pairs = measured.iter().map(|m| format!("cores {} and {}: {} ns", m.cores[0], m.cores[1], m.line));
    format!(
        "Written by Lapis for {}. A line's way between {}.\n`lapis-perf tune` measures it anew.",
        processor(),
        pairs.collect::<Vec<_>>().join("; ")
    )
}

/// Measures for some milliseconds and leaves the limits in the file at `path`, in which there are
/// none so far. `None`: another process does so at this moment, there is one core only, or the
/// place is another user's.
///
/// # Errors
/// The file can't be written: the next start would measure again.
pub fn first_start(guessed: Copies, path: &Path) -> io::Result<Option<Copies>> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(None);
    };
    // A home that is somebody else's gets no folder that its owner can't use.
    // SAFETY: a call without pointers.
    let user = unsafe { libc::geteuid() };
    let there = folder.ancestors().find_map(|above| above.metadata().ok());
    if there.is_none_or(|above| above.uid() != user) {
        return Ok(None);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let lock = File::open(folder)?;
    // The tasks of a job start at once: one of them measures, on cores that are as quiet as may be.
    // SAFETY: a call without pointers; the descriptor is open.
    if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        return Ok(None);
    }
    let named = [(TUNING, path.to_string_lossy().into_owned())];
    if let Some(text) = Environment::from_pairs(named).with_tuning_file().get(VARIABLE) {
        // Whoever held the lock before has measured.
        return Ok(guessed.with(text).ok());
    }
    let measured = measure(BUDGET);
    if measured.is_empty() {
        return Ok(None);
    }
    let copies = measured.iter().fold(guessed, |known, one| one.refine(known));
    if measured.iter().any(|one| one.read > 0) {
        write_tuning(path, &about(&measured), &[(VARIABLE, &copies.to_string())])?;
    }
    Ok(Some(copies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_leaves_what_it_measured_for_the_next_one() {
        let dir = std::env::temp_dir().join(format!("lapis-first-start-{}", std::process::id()));
        let path = dir.join("of-a-test/tuning");
        let (guessed, _) = Copies::shipped("Nobody-1-2");
        let held = || {
            let folder = File::open(path.parent().unwrap()).unwrap();
            // SAFETY: a call without pointers; the descriptor is open.
            assert_eq!(unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX) }, 0);
            folder
        };
        let measured = first_start(guessed, &path).unwrap();
        if let Some(copies) = measured {
            let names = [(TUNING, path.to_str().unwrap())];
            let environment = Environment::from_pairs(names).with_tuning_file();
            assert_eq!(environment.tuning_problem(), None);
            assert_eq!(guessed.with(environment.get(VARIABLE).unwrap()), Ok(copies));
        }
        // Who comes while another one measures goes on with what is usual.
        let lock = held();
        assert_eq!(first_start(guessed, &path).unwrap(), None);
        drop(lock);
        let _ = std::fs::remove_dir_all(&dir);
    }
}
