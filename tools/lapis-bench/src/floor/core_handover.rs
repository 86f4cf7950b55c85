//! Processes that outnumber the cores and hand them over: the least time of a barrier.
//!
//! All arrive in a round, and all but the last one yield their core until the last one has arrived.
//! So every process must run once in a round, and none needs to run twice.
//!
//! The same with data: before it arrives each process writes into the mapping as much as an
//! alltoall gives all others, and afterwards reads as much from there. Both lie in one piece, so an
//! alltoall takes at least that long.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{Shared, WATCHDOG_SECONDS};
use anyhow::{Context, Result};
use lapis_bench::clock;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
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

/// What each process gives all others at most: more does not go at once.
const MOST_GIVEN: usize = 1 << 20;

pub(super) fn run_copies(ask: &Ask) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for tasks in TASKS {
        for size in ask.sizes.iter().copied().filter(|size| *size > 0) {
            if let Some(mut record) = copies_among(tasks, size as usize, ask.budget)? {
                record.bench = format!("{}_{tasks}", record.bench);
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// A round of so many processes, which the kernel puts where it likes, as tasks that outnumber the
/// cores are.
pub(crate) fn among(tasks: usize, budget: Duration) -> Result<Record> {
    Ok(Record::latency("hand_on", 0, rounds(tasks, 0, budget)?).of("floor", "shm"))
}

/// The same where each has so many bytes for each other one; `None` if that is too much for one
/// round.
pub(crate) fn copies_among(tasks: usize, size: usize, budget: Duration) -> Result<Option<Record>> {
    if tasks * size > MOST_GIVEN {
        return Ok(None);
    }
    let summary = rounds(tasks, tasks * size, budget)?;
    Ok(Some(Record::latency("copy_among", size as u64, summary).of("floor", "shm")))
}

/// What a round takes in which each process writes and reads so many bytes.
fn rounds(tasks: usize, bytes: usize, budget: Duration) -> Result<Summary> {
    let place = bytes.next_multiple_of(4096);
    let shared = Shared::new(2 * 4096 + 2 * tasks * place)?;
    let meeting =
        Meeting { all: tasks as u64, there: shared.line(0), round: shared.line(1), last: shared.line(2) };
    let process = |me: usize| {
        // Memory of its own: a process that has just been forked shares what is there already.
        let (given, mut got) = (vec![me as u8; bytes], vec![0u8; bytes]);
        let (meeting, shared) = (&meeting, &shared);
        move || {
            // Two places of each alternately: what is written now was read before the last meeting.
            let turn = (meeting.round.load(Ordering::Relaxed) % 2) as usize * tasks;
            let at = |who: usize| shared.at(4096 + (turn + who % tasks) * place);
            // SAFETY: the places are `bytes` long, and within the mapping; this process alone
            // writes to its own one, which nobody reads before all have come.
            unsafe { std::ptr::copy_nonoverlapping(given.as_ptr(), at(me), bytes) };
            let round = meeting.meet();
            // SAFETY: all have written, and nobody writes there before this process comes again.
            unsafe { std::ptr::copy_nonoverlapping(at(me + 1), got.as_mut_ptr(), bytes) };
            std::hint::black_box(&mut got);
            round
        }
    };
    let mut others = Others(Vec::new());
    // SAFETY: alarm has no preconditions.
    unsafe { libc::alarm(WATCHDOG_SECONDS) };
    for me in 1..tasks {
        others.fork(|| {
            let mut go = process(me);
            while go() != meeting.last.load(Ordering::Relaxed) {}
        })?;
    }
    let (mut go, mut round) = (process(0), 0);
    let summary = clock::per_operation(budget, |count| (0..count).for_each(|_| round = go()));
    // Nobody comes out of that round before this process has come to it.
    meeting.last.store(round + 1, Ordering::Relaxed);
    go();
    others.wait();
    // SAFETY: alarm has no preconditions; 0 switches the watchdog off.
    unsafe { libc::alarm(0) };
    Ok(summary)
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
            // SYNC: pairs with the Acquire load below: the count has started again.
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
