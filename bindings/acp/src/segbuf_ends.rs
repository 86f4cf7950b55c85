//! The ends of segmented buffers that this process has, without messages or memory of their own.

use crate::error::{Error, Result};
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;

/// What the ends tell each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hello {
    pub(crate) buffer: u64,
    pub(crate) counters: u64,
    pub(crate) size: u64,
    pub(crate) segments: u64,
}

/// Which end: whether it is the source, the task of the other one, and the number of the buffer.
pub(crate) type Wire = (bool, u32, u64);

#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) wire: Wire,
    /// The position of the registered buffer.
    pub(crate) key: u64,
    pub(crate) mine: Hello,
    pub(crate) peer: Option<Hello>,
    pub(crate) disconnected: bool,
    /// Source: segments that were given away, and those of them whose data have been copied.
    pub(crate) tail: u64,
    pub(crate) sent: u64,
    pub(crate) under_way: VecDeque<u64>,
    /// Destination: segments that were given back.
    pub(crate) head: u64,
    /// The last access of this end.
    pub(crate) last: u64,
}

impl End {
    /// Source: counts the segments whose data have been copied, as `copied` says by their accesses.
    pub(crate) fn count_copied(&mut self, copied: impl Fn(u64) -> bool) {
        while self.under_way.front().is_some_and(|handle| copied(*handle)) {
            self.under_way.pop_front();
            self.sent += 1;
        }
    }
}

/// The ends that this process has.
#[derive(Default)]
pub(crate) struct Segbufs {
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) last: u64,
    pub(crate) ends: HashMap<u64, End>,
    /// How many buffers there have been to or from each task.
    pub(crate) counts: HashMap<(bool, u32), u64>,
    /// What other ends have told, by the wire of this process's end.
    pub(crate) hellos: HashMap<Wire, Hello>,
}

impl Segbufs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is any more.
    pub(crate) fn reset(&self) {
        let mut state = self.lock();
        state.ends.clear();
        state.counts.clear();
        state.hellos.clear();
    }
}

impl State {
    /// The number of the next buffer to or from a task.
    pub(crate) fn count(&mut self, source: bool, task: u32) -> u64 {
        let count = self.counts.entry((source, task)).or_default();
        *count += 1;
        *count - 1
    }

    /// The other end has not been told of a buffer: the next one has its number, unless another
    /// thread's has come in between.
    pub(crate) fn uncount(&mut self, source: bool, task: u32, nth: u64) {
        if let Some(count) = self.counts.get_mut(&(source, task)).filter(|count| **count == nth + 1) {
            *count = nth;
        }
    }

    pub(crate) fn add(&mut self, end: End) -> u64 {
        self.last += 1;
        self.ends.insert(self.last, end);
        self.last
    }

    /// An end, with what the other one has told meanwhile.
    pub(crate) fn end(&mut self, number: u64) -> Result<&mut End> {
        let end = self.ends.get_mut(&number).ok_or(Error::Segbuf)?;
        if end.peer.is_none() {
            end.peer = self.hellos.remove(&end.wire);
        }
        Ok(end)
    }

    pub(crate) fn connected(&mut self, number: u64, source: bool) -> Result<(&mut End, Hello)> {
        let end = self.end(number)?;
        match end.peer.filter(|_| !end.disconnected) {
            Some(_) if end.wire.0 != source => Err(Error::Segbuf),
            Some(peer) => Ok((end, peer)),
            None => Err(Error::Unconnected),
        }
    }
}
