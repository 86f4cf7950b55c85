//! Processes that outnumber the cores and hand them on: what a barrier of theirs takes at least.
//!
//! All arrive in a round, and who is not the last one gives its core away until the last one has
//! come. So every process must run once in a round, and none needs to run twice.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::duo::{Shared, WATCHDOG_SECONDS};
use anyhow::{Context, Result};
use lapis_bench::clock;
use lapis_bench::record::Record;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Jobs that this is measured for where nobody says which.
const TASKS: [usize; 3] = [8, 16, 64];

pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    TASKS
        .iter()
        .map(|tasks| {
            let mut record = among(*tasks, ask.budget)?;
            record.bench = format!("{}_{tasks}", record.bench);
            Ok(record)
        })
        .collect()
}

/// A round of so many processes, which the kernel puts where it likes, as tasks that outnumber the
/// cores are.
pub(crate) fn among(tasks: usize, budget: Duration) -> Result<Record> {
    let shared = Shared::new(4096)?;
    let meeting =
        Meeting { all: tasks as u64, there: shared.line(0), round: shared.line(1), last: shared.line(2) };
    let mut others = Others(Vec::new());
    // SAFETY: alarm has no preconditions.
    unsafe { libc::alarm(WATCHDOG_SECONDS) };
    for _ in 1..tasks {
        others.fork(|| while meeting.meet() != meeting.last.load(Ordering::Relaxed) {})?;
    }
    let mut round = 0;
    let summary = clock::per_operation(budget, |count| (0..count).for_each(|_| round = meeting.meet()));
    // Nobody comes out of that round before this process has come to it.
    meeting.last.store(round + 1, Ordering::Relaxed);
    meeting.meet();
    others.wait();
    // SAFETY: alarm has no preconditions; 0 switches the watchdog off.
    unsafe { libc::alarm(0) };
    Ok(Record::latency("hand_on", 0, summary).of("floor", "shm"))
}

/// Where processes meet.
struct Meeting<'a> {
    all: u64,
    there: &'a AtomicU64,
    round: &'a AtomicU64,
    /// The round after which all go; 0 while nobody knows.
    last: &'a AtomicU64,
}

impl Meeting<'_> {
    /// Waits until all have come; says which round it was, from 1 on.
    fn meet(&self) -> u64 {
        let mine = self.round.load(Ordering::Relaxed);
        // SYNC: each arrival follows those before it, so that the last one's store of the round
        // follows all.
        if self.there.fetch_add(1, Ordering::AcqRel) + 1 == self.all {
            self.there.store(0, Ordering::Relaxed);
            // SYNC: pairs with the Acquire load below: the count has begun anew.
            self.round.store(mine + 1, Ordering::Release);
            return mine + 1;
        }
        // SYNC: pairs with the Release store above.
        while self.round.load(Ordering::Acquire) == mine {
            // SAFETY: it has no arguments and touches no memory.
            unsafe { libc::sched_yield() };
        }
        mine + 1
    }
}

/// Forked processes; those that are left when it goes are killed.
struct Others(Vec<libc::pid_t>);

impl Others {
    fn fork(&mut self, work: impl FnOnce()) -> Result<()> {
        // SAFETY: this program is single-threaded when it forks, so the child may go on as if it
        // were a new program.
        let child = unsafe { libc::fork() };
        if child < 0 {
            return Err(io::Error::last_os_error()).context("cannot fork");
        }
        if child == 0 {
            // SAFETY: prctl with these arguments only sets which signal we get when the parent
            // dies.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            work();
            // SAFETY: ends the child without running the parent's destructors a second time.
            unsafe { libc::_exit(0) };
        }
        self.0.push(child);
        Ok(())
    }

    fn wait(&mut self) {
        for child in self.0.drain(..) {
            // SAFETY: child is our own and has not been waited for; no status is wanted.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &self.0 {
            // SAFETY: child is our own child and has not been waited for.
            unsafe { libc::kill(*child, libc::SIGKILL) };
        }
        self.wait();
    }
}
