//! The order of global memory accesses: handles, dependencies and completion.
//!
//! A handle is the number of its operation. Operations complete in order: when one has, all before
//! it have. So one number, the oldest operation that has not ended, says everything that programs
//! may ask. An operation that ends within the call that starts it needs no entry and no number: it
//! is as complete as the operation before, so it has that one's handle.
//!
//! Code that holds the queue's lock makes no calls to core, because handlers take the lock as well.

use crate::error::{Error, Result};
use crate::regions::Region;
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use lapis_core::sync::{AtomicU64, AtomicUsize, Ordering};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::task::Waker;

/// No operation.
pub(crate) const NULL: u64 = 0;
/// After the operation before, like which it is.
pub(crate) const CONT: u64 = u64::MAX - 1;
/// All operations before.
pub(crate) const ALL: u64 = u64::MAX;

/// Operations that have an entry. A call that would make one more waits.
pub(crate) const MOST: usize = 4096;

/// Failures that nobody has asked for.
const MOST_FAILURES: usize = 256;

/// What operations wait for each other, and which have ended. `W` says what is to be done.
pub(crate) struct Order<W> {
    /// The last number that was given. 1 is nobody's: operations before the first number have it.
    issued: AtomicU64,
    /// The oldest operation that has not ended; `u64::MAX` if there is none.
    oldest: AtomicU64,
    entries: AtomicUsize,
    /// Failures that nobody has asked for: none is what calls find without the lock.
    failures: AtomicUsize,
    queue: Mutex<Queue<W>>,
}

struct Queue<W> {
    /// By handle. The first one has not ended.
    entries: VecDeque<Entry>,
    /// By the operation that each waits for, then by handle.
    waiting: BTreeMap<(u64, u64), W>,
    failed: VecDeque<(u64, Error)>,
    /// Failures of the library's own operations, which it asks for by handle.
    own_failed: BTreeMap<u64, Error>,
    /// Tasks of executors that wait for an operation and all before it.
    wakers: BTreeMap<u64, Vec<Waker>>,
}

#[derive(Default)]
struct Entry {
    handle: u64,
    ended: bool,
    /// The library began it, not the program.
    own: bool,
    needs: Needs,
}

/// What an operation needs while it is under way.
#[derive(Default)]
pub(crate) struct Needs {
    /// Tasks without which it can't end.
    pub(crate) tasks: [Option<u32>; 2],
    /// Registered memory of this process: kept, not read.
    #[expect(dead_code, reason = "its count of owners is what counts")]
    pub(crate) memory: Option<Arc<Region>>,
    /// Where the result goes, and its width.
    pub(crate) result: Option<(usize, u32)>,
}

impl<W> Order<W> {
    pub(crate) fn new() -> Self {
        let queue = Queue {
            entries: VecDeque::new(),
            waiting: BTreeMap::new(),
            failed: VecDeque::new(),
            own_failed: BTreeMap::new(),
            wakers: BTreeMap::new(),
        };
        Self {
            issued: AtomicU64::new(NULL + 1),
            oldest: AtomicU64::new(u64::MAX),
            entries: AtomicUsize::new(0),
            failures: AtomicUsize::new(0),
            queue: Mutex::new(queue),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<W>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an operation with this order may start at once.
    #[inline(always)]
    pub(crate) fn permits(&self, order: u64) -> bool {
        // SYNC: Acquire pairs with the Release in `publish`: what ended operations did is seen.
        let oldest = self.oldest.load(Ordering::Acquire);
        oldest == u64::MAX || order < oldest || (order < CONT && order > self.last())
    }

    /// The last handle that was given: that of an operation which has ended already, too.
    #[inline(always)]
    pub(crate) fn last(&self) -> u64 {
        self.issued.load(Ordering::Relaxed)
    }

    /// Whether everything up to an operation has ended. True for what never began.
    #[inline(always)]
    pub(crate) fn complete(&self, handle: u64) -> bool {
        // SYNC: Acquire as in `permits`.
        let oldest = self.oldest.load(Ordering::Acquire);
        match handle {
            ALL => oldest == u64::MAX,
            _ => oldest > handle || handle > self.last(),
        }
    }

    /// Whether everything up to an operation has ended, and none of what did has failed.
    #[inline(always)]
    pub(crate) fn is_well(&self, handle: u64) -> bool {
        // The end first, then the failure: see `failure`.
        self.complete(handle) && self.failures.load(Ordering::Relaxed) == 0
    }

    /// Whether there is room for one more entry.
    pub(crate) fn has_room(&self) -> bool {
        self.entries.load(Ordering::Relaxed) < MOST
    }

    /// Takes an operation in. Gives its handle, and the work if it may start now.
    pub(crate) fn enter(&self, order: u64, work: impl FnOnce(u64) -> W) -> (u64, Option<W>) {
        self.enter_as(false, order, work)
    }

    /// Takes in an operation of the library's own, which starts now: its failure is told by
    /// [`failure_of`](Self::failure_of) alone, so that no call of the program takes it away.
    pub(crate) fn enter_own(&self, work: impl FnOnce(u64) -> W) -> (u64, Option<W>) {
        self.enter_as(true, NULL, work)
    }

    fn enter_as(&self, own: bool, order: u64, work: impl FnOnce(u64) -> W) -> (u64, Option<W>) {
        let mut queue = self.lock();
        // Changed with the lock held only, so that a plain load and store do.
        let handle = self.last() + 1;
        self.issued.store(handle, Ordering::Relaxed);
        let after = match order {
            ALL | CONT => handle - 1,
            // Of the future, or of nobody: complete, as for acp_complete.
            other if other >= handle => NULL,
            other => other,
        };
        let work = work(handle);
        queue.entries.push_back(Entry { handle, own, ..Entry::default() });
        self.publish(&queue);
        if after < queue.oldest() {
            return (handle, Some(work));
        }
        queue.waiting.insert((after, handle), work);
        (handle, None)
    }

    /// Says what an operation needs from now on. Must precede its first message.
    pub(crate) fn needs(&self, handle: u64, needs: Needs) {
        if let Some(entry) = self.lock().entry(handle) {
            entry.needs = needs;
        }
    }

    /// An operation has ended. `store` puts the result where it belongs. What may start because of
    /// it is appended to `next`. A second end of the same operation is none.
    pub(crate) fn end(
        &self,
        handle: u64,
        outcome: Result,
        store: impl FnOnce(usize, u32),
        next: &mut VecDeque<W>,
    ) {
        let mut queue = self.lock();
        let Some(entry) = queue.entry(handle).filter(|entry| !entry.ended) else { return };
        entry.ended = true;
        let own = entry.own;
        let needs = std::mem::take(&mut entry.needs);
        match outcome {
            Ok(()) => {
                if let Some((at, width)) = needs.result {
                    store(at, width);
                }
            }
            Err(error) => queue.fail(handle, own, error),
        }
        queue.retire(next);
        self.publish(&queue);
        wake(queue);
    }

    /// The tasks without which operations up to a handle can't end.
    pub(crate) fn needed(&self, upto: u64) -> Vec<u32> {
        let queue = self.lock();
        let open = queue.entries.iter().take_while(|e| e.handle <= upto).filter(|e| !e.ended);
        let mut tasks: Vec<u32> = open.flat_map(|entry| entry.needs.tasks).flatten().collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// Ends every operation that needs a task which is gone.
    pub(crate) fn gone(&self, task: u32, next: &mut VecDeque<W>) {
        let mut queue = self.lock();
        let mut lost = Vec::new();
        for entry in queue.entries.iter_mut().filter(|e| !e.ended && e.needs.tasks.contains(&Some(task))) {
            entry.ended = true;
            entry.needs = Needs::default();
            lost.push((entry.handle, entry.own));
        }
        lost.into_iter().for_each(|(handle, own)| queue.fail(handle, own, Error::Peer));
        queue.retire(next);
        self.publish(&queue);
        wake(queue);
    }

    /// Whether an operation and all before it have ended; if not, the waker is woken when they
    /// have.
    pub(crate) fn wake_after(&self, handle: u64, waker: &Waker) -> bool {
        let mut queue = self.lock();
        if self.complete(handle) {
            return true;
        }
        let waiting = queue.wakers.entry(handle).or_default();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
        false
    }

    /// The last operation that tasks of executors wait for.
    pub(crate) fn awaited(&self) -> Option<u64> {
        self.lock().wakers.last_key_value().map(|(handle, _)| *handle)
    }

    /// The last failure among operations up to a handle, once.
    #[inline]
    pub(crate) fn failure(&self, handle: u64) -> Result {
        // Whoever saw an operation's end, by `oldest`, sees that it failed: `publish` says that
        // first.
        if self.failures.load(Ordering::Relaxed) == 0 { Ok(()) } else { self.take_failure(handle) }
    }

    #[cold]
    fn take_failure(&self, handle: u64) -> Result {
        let mut queue = self.lock();
        let last = queue.failed.iter().rev().find(|(failed, _)| *failed <= handle).map(|(_, error)| *error);
        queue.failed.retain(|(failed, _)| *failed > handle);
        self.failures.store(queue.failed.len(), Ordering::Relaxed);
        last.map_or(Ok(()), Err)
    }

    /// Whether one operation has ended, whatever those before it do.
    pub(crate) fn has_ended(&self, handle: u64) -> bool {
        self.complete(handle) || self.lock().entry(handle).is_none_or(|entry| entry.ended)
    }

    /// How an operation of the library's own has ended.
    pub(crate) fn failure_of(&self, handle: u64) -> Result {
        self.lock().own_failed.remove(&handle).map_or(Ok(()), Err)
    }

    fn publish(&self, queue: &Queue<W>) {
        self.entries.store(queue.entries.len(), Ordering::Relaxed);
        self.failures.store(queue.failed.len(), Ordering::Relaxed);
        // SYNC: Release pairs with `permits` and `complete`.
        self.oldest.store(queue.oldest(), Ordering::Release);
    }
}

/// Wakes who waits for what has ended, without the lock.
fn wake<W>(mut queue: MutexGuard<'_, Queue<W>>) {
    if queue.wakers.is_empty() {
        return;
    }
    let oldest = queue.oldest();
    let still = queue.wakers.split_off(&oldest);
    let ended = std::mem::replace(&mut queue.wakers, still);
    drop(queue);
    ended.into_values().flatten().for_each(Waker::wake);
}

impl<W> Queue<W> {
    fn oldest(&self) -> u64 {
        self.entries.front().map_or(u64::MAX, |entry| entry.handle)
    }

    fn entry(&mut self, handle: u64) -> Option<&mut Entry> {
        let at = self.entries.binary_search_by_key(&handle, |entry| entry.handle).ok()?;
        self.entries.get_mut(at)
    }

    /// Remembers a failure, for whoever asks; of many the latest.
    fn fail(&mut self, handle: u64, own: bool, error: Error) {
        if own {
            self.own_failed.insert(handle, error);
            return;
        }
        if self.failed.len() == MOST_FAILURES {
            self.failed.pop_front();
        }
        self.failed.push_back((handle, error));
    }

    /// Lets go of what has ended, oldest first, and takes out what may start then.
    fn retire(&mut self, next: &mut VecDeque<W>) {
        while self.entries.front().is_some_and(|entry| entry.ended) {
            self.entries.pop_front();
        }
        let oldest = self.oldest();
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 < oldest
        {
            next.push_back(first.remove());
        }
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
