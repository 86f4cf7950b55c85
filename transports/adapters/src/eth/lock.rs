//! The lock of a ring that the tasks of an interface share: who doesn't get it does something else,
//! and who is killed with it loses it.
//!
//! ```text
//!   63                32 31        22 21             0
//!   │ PID name space    │ window     │ process       │    0: nobody has it
//! ```
//!
//! Tasks may be in different PID name spaces. Each finds the end of processes in its own, and takes
//! the lock over. The daemon, which knows each task's end, frees the lock of those whom no other
//! task sees.

use lapis_core::process::{Pid, has_ended};
use lapis_core::sync::{AtomicU64, Ordering};
use std::os::unix::fs::MetadataExt as _;

/// So many times a lock is missed before its holder is looked for.
const MISSES: u32 = 1024;

/// Bits of a process's number: what Linux gives at most.
const PROCESS_BITS: u32 = 22;
const WINDOW_BITS: u32 = 10;

/// One who takes locks: this process, for a window.
#[derive(Debug)]
pub(super) struct Taker {
    /// What the lock's word says while this one has it.
    mark: u64,
    misses: u32,
}

fn mark_of(space: u32, window: u32, process: u32) -> u64 {
    u64::from(space) << 32 | u64::from(window) << PROCESS_BITS | u64::from(process)
}

fn space_of(mark: u64) -> u32 {
    (mark >> 32) as u32
}

fn window_of(mark: u64) -> u32 {
    mark as u32 >> PROCESS_BITS
}

fn process_of(mark: u64) -> Option<Pid> {
    Pid::from_raw((mark as u32 & ((1 << PROCESS_BITS) - 1)).cast_signed())
}

impl Taker {
    /// This process, for a window below 2^10.
    pub(super) fn new(window: u32) -> Self {
        debug_assert!(window < 1 << WINDOW_BITS);
        // The number of the name space is 32 bits long. 0: it can't be told.
        let space = std::fs::metadata("/proc/self/ns/pid").map_or(0, |file| file.ino() as u32);
        let process = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
        Self { mark: mark_of(space, window, process), misses: 0 }
    }

    /// Takes a lock if nobody has it, or who had it has ended.
    #[inline]
    pub(super) fn try_lock(&mut self, word: &AtomicU64) -> bool {
        // SYNC: pairs with `unlock` of the holder before.
        match word.compare_exchange(0, self.mark, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => true,
            Err(holder) => self.take_over(word, holder),
        }
    }

    #[cold]
    fn take_over(&mut self, word: &AtomicU64, holder: u64) -> bool {
        self.misses += 1;
        if self.misses < MISSES {
            return false;
        }
        self.misses = 0;
        // A number of another name space is somebody else's in this one.
        let is_seen = space_of(holder) == space_of(self.mark) && space_of(holder) != 0;
        let has_ended = is_seen && process_of(holder).is_none_or(has_ended);
        // SYNC: what the holder left is read from the rings' positions, which are atomics.
        has_ended && word.compare_exchange(holder, self.mark, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes a lock away that was taken for a window whose task has ended, or has closed it: for
    /// the daemon.
    pub(super) fn break_lock_of(&self, window: u32, word: &AtomicU64) {
        let holder = word.load(Ordering::Relaxed);
        if holder != 0 && holder != self.mark && window_of(holder) == window {
            // SYNC: pairs with the Acquire of the next holder, who reads the rings' positions.
            let _ = word.compare_exchange(holder, 0, Ordering::Release, Ordering::Relaxed);
        }
    }
}

/// Lets go of a lock.
#[inline]
pub(super) fn unlock(word: &AtomicU64) {
    // SYNC: pairs with the Acquire of the next holder.
    word.store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{WaitId, WaitIdOptions, test_kill_process, waitid};
    use std::process::{Child, Command, Stdio};

    fn child() -> (Child, Pid) {
        let child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat is everywhere");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a child");
        (child, pid)
    }

    /// A child that is dead and whose number is not free, because nobody has waited for it.
    fn zombie() -> (Child, Pid) {
        let (mut child, pid) = child();
        child.kill().expect("a child");
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("a child");
        test_kill_process(pid).expect("it has its number still");
        (child, pid)
    }

    fn tries(taker: &mut Taker, word: &AtomicU64) -> Option<u32> {
        (1..=2 * MISSES).find(|_| taker.try_lock(word))
    }

    #[test]
    fn the_lock_of_one_who_was_killed_is_taken_over_and_no_other_one() {
        let mut taker = Taker::new(3);
        let (mut dead, ended) = zombie();
        let (mut living, alive) = child();
        let space = space_of(taker.mark);
        let mark = |space, pid: Pid| mark_of(space, 7, pid.as_raw_nonzero().get().cast_unsigned());
        let word = AtomicU64::new(mark(space, ended));
        assert_eq!(tries(&mut taker, &word), Some(MISSES));
        unlock(&word);
        assert_eq!(tries(&mut taker, &word), Some(1), "free");
        word.store(mark(space, alive), Ordering::Relaxed);
        assert_eq!(tries(&mut taker, &word), None, "put aside");
        living.kill().expect("a child");
        living.wait().expect("a child");
        dead.wait().expect("a child");
    }

    #[test]
    fn a_holder_in_another_name_space_has_its_lock_until_its_window_is_closed() {
        let mut taker = Taker::new(3);
        let (mut dead, ended) = zombie();
        let process = ended.as_raw_nonzero().get().cast_unsigned();
        for space in [space_of(taker.mark) ^ 1, 0] {
            // There it is the number of another process, which lives.
            let word = AtomicU64::new(mark_of(space, 7, process));
            assert_eq!(tries(&mut taker, &word), None, "{space}");
            taker.break_lock_of(6, &word);
            assert_eq!(tries(&mut taker, &word), None, "another window's");
            taker.break_lock_of(7, &word);
            assert_eq!(tries(&mut taker, &word), Some(1));
            taker.break_lock_of(3, &word);
            assert_ne!(word.load(Ordering::Relaxed), 0, "its own");
        }
        dead.wait().expect("a child");
    }

    #[test]
    fn a_mark_has_room_for_every_process_and_window() {
        let mark = mark_of(u32::MAX, 1023, (1 << PROCESS_BITS) - 1);
        assert_eq!((mark, space_of(mark), window_of(mark)), (u64::MAX, u32::MAX, 1023));
        assert_eq!(process_of(mark), Pid::from_raw((1 << PROCESS_BITS) - 1));
    }
}
