//! Segmented buffers: a ring of segments of equal size that exists twice, at a source and at a
//! destination, and is kept equal from the one to the other.
//!
//! The n-th buffer that two processes make in one direction is the same at both. Each end has three
//! counters in memory of acp_malloc, which the other end adds to: *head*, segments that the
//! destination has given back; *tail*, segments that have come; *closed*. A segment's data and the
//! addition to the tail are an access and one that waits for it, so no message is needed but the
//! first one, by which the ends find each other.

use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::messages::{on, send_words, words_of};
use crate::operation::{Atomic, Operator};
use crate::order::NULL;
use crate::process::Process;
use crate::segbuf_ends::{End, Hello};
use lapis_core::{Delivery, HandlerId};
use std::collections::VecDeque;

const HELLO: HandlerId = HandlerId(11);

/// Counters of an end: bytes from where they begin.
const HEAD: u64 = 0;
const TAIL: u64 = 8;
const CLOSED: u64 = 16;
/// Where results of additions go, which nobody reads.
const SCRATCH: u64 = 24;
const COUNTERS: u64 = 32;

pub(crate) fn install(process: &'static Process) -> lapis_core::Result<()> {
    on(process, HELLO, |process, message| {
        let [from_source, number, buffer, counters, size, segments] = words_of(message.user_header)?;
        let hello = Hello { buffer, counters, size, segments };
        process.segbufs.lock().hellos.insert((from_source == 0, message.source, number), hello);
        Some(Delivery::bury())
    })
}

impl Process {
    /// Makes this process's end of a buffer, and tells the other one.
    pub(crate) fn create_segbuf(
        &self,
        source: bool,
        other: i32,
        address: usize,
        (size, segments): (u64, u64),
    ) -> Result<u64> {
        let world = self.world();
        let name = if source { "dst_rank" } else { "src_rank" };
        let known = u32::try_from(other).ok();
        if known == Some(world.rank) {
            return Err(Error::Ends).of(name, other);
        }
        let block = known.and_then(|rank| world.blocks.get(rank as usize)).ok_or(Error::Rank);
        let task = block.of(name, other)?.task;
        if address == 0 {
            return Err(Error::Null).at("buf", 0);
        }
        if segments == 0 {
            return Err(Error::Size).of("segnum", 0);
        }
        let len = size.checked_mul(segments).filter(|len| *len > 0).ok_or(Error::Size);
        let len = len.size_of("segsize", size)?;
        let counters = self.allocate(COUNTERS, world.rank)?;
        let made = self
            .write_words(counters, &[0; (COUNTERS / 8) as usize])
            .and_then(|()| self.regions().register(address, len, 0));
        let key = made.inspect_err(|_| {
            let _ = self.free(counters);
        })?;
        let mine = Hello { buffer: world.space.address(world.rank, key), counters, size, segments };
        let nth = self.segbufs.lock().count(source, task);
        let words = [u64::from(source), nth, mine.buffer, counters, size, segments];
        send_words(self, task, HELLO, words).inspect_err(|_| {
            self.segbufs.lock().uncount(source, task, nth);
            let _ = self.give_back(key, counters);
        })?;
        Ok(self.segbufs.lock().add(End {
            wire: (source, task, nth),
            key,
            mine,
            peer: None,
            disconnected: false,
            tail: 0,
            sent: 0,
            under_way: VecDeque::new(),
            head: 0,
            last: NULL,
        }))
    }

    /// Gives back what an end had: the buffer is the program's again.
    fn give_back(&self, key: u64, counters: u64) -> Result {
        let mut region = self.regions().unregister(key)?;
        self.wait_for_owners(&mut region)?;
        self.free(counters)
    }

    /// Waits until the other end is there, too.
    pub(crate) fn connect_segbuf(&self, number: u64) -> Result {
        let task = self.segbufs.lock().end(number)?.wire.1;
        let mut outcome = Err(Error::Unconnected);
        let found = || {
            let mut state = self.segbufs.lock();
            let end = state.end(number);
            outcome = match end {
                Err(error) => Err(error),
                Ok(end) if end.disconnected => Err(Error::Segbuf),
                Ok(End { peer: Some(peer), mine, .. }) => {
                    let same = (peer.size, peer.segments) == (mine.size, mine.segments);
                    if same { Ok(()) } else { Err(Error::Size) }
                }
                Ok(_) if self.is_gone(task) => Err(Error::Peer),
                Ok(_) => Err(Error::Unconnected),
            };
            outcome != Err(Error::Unconnected)
        };
        self.wait(|| vec![task], found)?;
        outcome
    }

    /// Whether the other end is there.
    pub(crate) fn is_connected_segbuf(&self, number: u64) -> Result<bool> {
        self.whether(number, || {
            let mut state = self.segbufs.lock();
            let end = state.end(number)?;
            let (mine, disconnected) = (end.mine, end.disconnected);
            Ok(end.peer.is_some_and(|peer| {
                (peer.size, peer.segments) == (mine.size, mine.segments) && !disconnected
            }))
        })
    }

    /// Whether a segment may be written.
    pub(crate) fn is_ready_segbuf(&self, number: u64) -> Result<bool> {
        self.whether(number, || {
            let (head, tail, segments) = self.indices_of_segbuf(number)?;
            Ok(tail - head < segments)
        })
    }

    /// Whether a segment may be read.
    pub(crate) fn is_acked_segbuf(&self, number: u64) -> Result<bool> {
        self.whether(number, || {
            let (head, tail, _) = self.indices_of_segbuf(number)?;
            Ok(tail > head)
        })
    }

    /// Answers a question that programs repeat until they like the answer. `Error::Peer`: they
    /// never will, for the other end has died without disconnecting.
    fn whether(&self, number: u64, yes: impl FnOnce() -> Result<bool>) -> Result<bool> {
        self.check_state()?;
        let task = self.segbufs.lock().end(number)?.wire.1;
        // Asked first: whatever a process did that is known to be dead is here.
        let gone = self.is_gone(task);
        if yes()? {
            return Ok(true);
        }
        let (mine, disconnected) = {
            let mut state = self.segbufs.lock();
            let end = state.end(number)?;
            (end.mine, end.disconnected)
        };
        if disconnected || self.counter(mine, CLOSED)? != 0 {
            return Ok(false);
        }
        if gone {
            return Err(Error::Peer);
        }
        self.probe_needed(|| vec![task]);
        Ok(false)
    }

    fn check_state(&self) -> Result {
        self.context.progress().map(drop).map_err(crate::error::of_core)
    }

    fn counter(&self, end: Hello, which: u64) -> Result<u64> {
        let mut word = [0];
        self.read_words(end.counters + which, &mut word)?;
        Ok(word[0])
    }

    /// Adds one to a counter of the other end, after an access.
    fn raise(&self, mine: Hello, peer: Hello, which: u64, after: u64) -> Result<u64> {
        let add = Atomic { operator: Operator::Add, width: 8, operand: 1, compare: 0 };
        self.atomic(mine.counters + SCRATCH, peer.counters + which, add, after)
    }

    /// Source: gives the segment at the tail away.
    pub(crate) fn ack_segbuf(&self, number: u64) -> Result {
        let (mine, peer, tail) = {
            let mut state = self.segbufs.lock();
            let (end, peer) = state.connected(number, true)?;
            if self.counter(end.mine, CLOSED)? != 0 {
                return Err(Error::Unconnected);
            }
            if end.tail - self.counter(end.mine, HEAD)? >= end.mine.segments {
                return Err(Error::Segments);
            }
            end.tail += 1;
            (end.mine, peer, end.tail - 1)
        };
        // The lock is not held: an access may wait for others, whose messages take it.
        let at = tail % mine.segments * mine.size;
        let copied = self.copy(peer.buffer + at, mine.buffer + at, mine.size, NULL)?;
        let last = self.raise(mine, peer, TAIL, copied)?;
        let mut state = self.segbufs.lock();
        let end = state.end(number)?;
        // A program need not ask how many have been: so that no more are kept than are under way.
        end.count_copied(|handle| self.order.complete(handle));
        end.under_way.push_back(copied);
        end.last = end.last.max(last);
        Ok(())
    }

    /// Destination: gives the segment at the head back.
    pub(crate) fn ready_segbuf(&self, number: u64) -> Result {
        let (mine, peer) = {
            let mut state = self.segbufs.lock();
            let (end, peer) = state.connected(number, false)?;
            if self.counter(end.mine, TAIL)? <= end.head {
                return Err(Error::Segments);
            }
            end.head += 1;
            (end.mine, peer)
        };
        let last = self.raise(mine, peer, HEAD, NULL)?;
        let mut state = self.segbufs.lock();
        let end = state.end(number)?;
        end.last = end.last.max(last);
        Ok(())
    }

    /// Segments that were given back, and segments that were given away, as this end knows them.
    fn progress_of(&self, end: &End) -> Result<(u64, u64)> {
        if end.wire.0 {
            Ok((self.counter(end.mine, HEAD)?, end.tail))
        } else {
            Ok((end.head, self.counter(end.mine, TAIL)?))
        }
    }

    /// Head and tail of a buffer that is connected, and how many segments it has.
    pub(crate) fn indices_of_segbuf(&self, number: u64) -> Result<(u64, u64, u64)> {
        self.check_state()?;
        let mut state = self.segbufs.lock();
        let end = state.end(number)?;
        if end.peer.is_none() || end.disconnected {
            return Err(Error::Unconnected);
        }
        let (head, tail) = self.progress_of(end)?;
        Ok((head, tail, end.mine.segments))
    }

    /// Source: segments whose data have been copied, so that they may be written again, and how
    /// many the buffer has.
    pub(crate) fn sent_of_segbuf(&self, number: u64) -> Result<(u64, u64)> {
        self.check_state()?;
        let mut state = self.segbufs.lock();
        let (end, _) = state.connected(number, true)?;
        end.count_copied(|handle| self.order.complete(handle));
        Ok((end.sent, end.mine.segments))
    }

    /// Ends the use of this end; the other one is told after all data, if there has been one.
    pub(crate) fn disconnect_segbuf(&self, number: u64) -> Result {
        let (mine, peer, last) = {
            let mut state = self.segbufs.lock();
            let end = state.end(number)?;
            // A process that ended before it made its end never will: nobody is to be told.
            if end.disconnected || (end.peer.is_none() && !self.is_gone(end.wire.1)) {
                return Err(Error::Unconnected);
            }
            end.disconnected = true;
            let Some(peer) = end.peer else { return Ok(()) };
            (end.mine, peer, end.last)
        };
        let last = self.raise(mine, peer, CLOSED, last)?;
        self.segbufs.lock().end(number)?.last = last;
        Ok(())
    }

    /// Frees this end when the other one is disconnected, too, or its process has ended.
    pub(crate) fn free_segbuf(&self, number: u64) -> Result {
        let (mine, key, task, last) = {
            let mut state = self.segbufs.lock();
            let end = state.end(number)?;
            if !end.disconnected {
                return Err(Error::Segbuf);
            }
            (end.mine, end.key, end.wire.1, end.last)
        };
        let mut failed = Ok(());
        let is_over = || match self.counter(mine, CLOSED) {
            Ok(closed) => self.order.complete(last) && (closed != 0 || self.is_gone(task)),
            Err(error) => {
                failed = Err(error);
                true
            }
        };
        self.wait(|| [self.order.needed(last), vec![task]].concat(), is_over)?;
        self.segbufs.lock().ends.remove(&number).ok_or(Error::Segbuf)?;
        self.give_back(key, mine.counters).and(failed)
    }
}
