//! One end of a channel.

use crate::channel_lane::{LONGEST, Reader, Writer};
use crate::channel_words::{Action, EAGER, Send, Span, WINDOW, Wire};
use lapis_core::transport::lane::{INLINE, copy_short};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What came before its receive.
#[derive(Debug)]
pub(crate) enum Arrival {
    Whole(Vec<u8>),
    Offered { request: u64, len: u64 },
}

/// Requests of an end that have not ended, by number of the message: each has the request's handle
/// and memory.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// In the order of numbers, some of which may be missing.
    requests: VecDeque<(u64, u64, Span)>,
}

impl Open {
    /// Numbers come in ascending order.
    #[inline(always)]
    pub(crate) fn insert(&mut self, number: u64, request: u64, bytes: Span) {
        self.requests.push_back((number, request, bytes));
    }

    #[inline(always)]
    fn place(&self, number: u64) -> Option<usize> {
        let (first, ..) = self.requests.front()?;
        // Mostly none is missing.
        let at = usize::try_from(number.checked_sub(*first)?).ok()?;
        match self.requests.get(at) {
            Some(open) if open.0 == number => Some(at),
            _ => self.search(number),
        }
    }

    #[cold]
    fn search(&self, number: u64) -> Option<usize> {
        self.requests.binary_search_by_key(&number, |open| open.0).ok()
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u64) -> Option<(u64, Span)> {
        let (_, request, bytes) = *self.requests.get(self.place(number)?)?;
        Some((request, bytes))
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, number: u64) -> Option<(u64, Span)> {
        let at = self.place(number)?;
        let (_, request, bytes) = if at == 0 { self.requests.pop_front() } else { self.take_out(at) }?;
        Some((request, bytes))
    }

    /// One that has overtaken others, of which there are few.
    #[cold]
    fn take_out(&mut self, at: usize) -> Option<(u64, u64, Span)> {
        self.requests.remove(at)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The requests of messages from a number on.
    pub(crate) fn from(&self, number: u64) -> Vec<u64> {
        self.requests.iter().filter(|open| open.0 >= number).map(|open| open.1).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
    }
}

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) wire: Wire,
    /// Whether the program made it; a message may come before.
    pub(crate) made: bool,
    /// Messages sent, or receives posted.
    pub(crate) posted: u64,
    /// Of messages of core's. Sender: how many the receiver has taken. Receiver: how many it has
    /// taken and not told yet.
    pub(crate) taken: u64,
    /// Sender: how many messages have gone by core.
    sent: u64,
    pub(crate) open: Open,
    /// Sends that wait for the window, or for room in the lane.
    pub(crate) held: VecDeque<u64>,
    pub(crate) arrived: FxHashMap<u64, Arrival>,
    /// The lane of a channel within a host, as its sender or its receiver has it.
    pub(crate) writer: Option<Writer>,
    pub(crate) reader: Option<Reader>,
    /// Receiver: where its lane is.
    pub(crate) lane_at: Option<u64>,
    /// Sender: it has asked to be told of room in the lane. Receiver: the sender has.
    asked: bool,
    /// Receiver: the last message came by core.
    pub(crate) by_core: bool,
    /// Receiver: threads that sleep.
    pub(crate) sleepers: u32,
    /// The request that frees this end, and whether the other end has been told.
    pub(crate) closing: Option<u64>,
    pub(crate) told: bool,
    /// The other end has been freed: so many messages there are.
    pub(crate) closed: Option<u64>,
    pub(crate) dead: bool,
}

/// Requests that have ended, with the bytes that were sent or received.
pub(crate) type Ended = Vec<(u64, u64)>;

impl Endpoint {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            wire,
            made: false,
            posted: 0,
            taken: 0,
            sent: 0,
            open: Open::default(),
            held: VecDeque::new(),
            arrived: FxHashMap::default(),
            writer: None,
            reader: None,
            lane_at: None,
            asked: false,
            by_core: false,
            sleepers: 0,
            closing: None,
            told: false,
            closed: None,
            dead: false,
        }
    }

    /// Sends what there is room for.
    pub(crate) fn release(&mut self, ended: &mut Ended, actions: &mut Vec<Action>) {
        let (_, task, channel) = self.wire;
        while let Some(&number) = self.held.front() {
            let Some((request, bytes)) = self.open.get(number) else {
                self.held.pop_front();
                continue;
            };
            if self.writer.is_some() && bytes.1 <= LONGEST {
                if !self.put(number, bytes, actions) {
                    return;
                }
                self.open.remove(number);
                ended.push((request, bytes.1));
            } else if self.sent < self.taken + WINDOW {
                self.sent += 1;
                let send = if bytes.1 <= EAGER {
                    Send::Whole { channel, number, bytes, request }
                } else {
                    Send::Offer { channel, number, len: bytes.1, request }
                };
                actions.push(Action { task, send });
            } else {
                return;
            }
            self.held.pop_front();
        }
    }

    /// Whether there is nothing to think of but the lane, if there is one.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        let undisturbed = self.made && !self.dead && !self.asked && self.held.is_empty();
        undisturbed && self.closing.is_none() && self.closed.is_none()
    }

    /// Puts the next message into the lane, if there is room; says whether the receiver has to be
    /// [woken](Self::wakes).
    #[inline(always)]
    pub(crate) fn put_at_once(&mut self, bytes: Span) -> Option<bool> {
        // Receivers have no writer.
        let writer = self.writer.as_mut().filter(|_| bytes.1 <= LONGEST)?;
        // SAFETY: the program has lent the memory until the request ends, which is not yet.
        let wakes = unsafe { writer.put(self.posted, bytes) }?;
        self.posted += 1;
        Some(wakes)
    }

    /// What makes a receiver that sleeps look at the lane.
    pub(crate) fn wakes(&self) -> Action {
        let (_, task, channel) = self.wire;
        Action { task, send: Send::Look { channel, full: false, awaited: 0 } }
    }

    /// Receives a message if it is the next one of the lane.
    #[inline(always)]
    pub(crate) fn receive_at_once(&mut self, number: u64) -> Option<u64> {
        if self.asked || self.closing.is_some() {
            return None;
        }
        let reader = self.reader.as_mut()?;
        let waiting = reader.next().filter(|waiting| waiting.number == number)?;
        let (_, room) = self.open.get(number)?;
        // SAFETY: the slot holds so many bytes until it is passed.
        let len = unsafe { fill(room, waiting.bytes, waiting.len) };
        reader.pass();
        self.by_core = false;
        self.open.remove(number);
        Some(len)
    }

    /// What a new request brings about.
    pub(crate) fn begin(&mut self, number: u64, sending: bool, actions: &mut Vec<Action>) -> Ended {
        let mut ended = Ended::new();
        if sending {
            self.held.push_back(number);
            self.release(&mut ended, actions);
        } else if let Some(arrival) = self.arrived.remove(&number) {
            ended.extend(self.meet(number, arrival, actions));
        } else if self.asked {
            self.receive(&mut ended, actions);
        }
        ended
    }

    /// Puts a message into the lane; if there is no room, asks to be told when there is.
    #[inline]
    fn put(&mut self, number: u64, bytes: Span, actions: &mut Vec<Action>) -> bool {
        let Some(writer) = &mut self.writer else { return false };
        // SAFETY: the program has lent the memory until the request ends.
        let put = unsafe { writer.put(number, bytes) };
        let awaited = writer.awaited();
        let (_, task, channel) = self.wire;
        if put == Some(true) {
            actions.push(self.wakes());
        } else if put.is_none() && !self.asked {
            self.asked = true;
            actions.push(Action { task, send: Send::Look { channel, full: true, awaited } });
        }
        put.is_some()
    }

    /// The receiver has taken messages: of core's so many, of the lane maybe some.
    pub(crate) fn credited(&mut self, taken: u64, ended: &mut Ended, actions: &mut Vec<Action>) {
        self.taken += taken;
        self.asked = false;
        self.release(ended, actions);
    }

    /// Receives what the lane has for open receives.
    #[inline]
    pub(crate) fn receive(&mut self, ended: &mut Ended, actions: &mut Vec<Action>) {
        let mut any = false;
        while let Some(reader) = &mut self.reader
            && let Some(waiting) = reader.next()
            && let Some((request, room)) = self.open.get(waiting.number)
        {
            // SAFETY: the slot holds so many bytes until it is passed.
            let len = unsafe { fill(room, waiting.bytes, waiting.len) };
            reader.pass();
            self.by_core = false;
            self.open.remove(waiting.number);
            ended.push((request, len));
            any = true;
        }
        if any && self.asked {
            self.tell_of_room(actions);
        }
    }

    /// The other end is gone. What it has sent whole waits to be received; what it has offered is
    /// lost.
    pub(crate) fn keep_what_came(&mut self) {
        self.arrived.retain(|_, arrival| matches!(arrival, Arrival::Whole(_)));
        while let Some(reader) = &mut self.reader
            && let Some(waiting) = reader.next()
        {
            // SAFETY: the slot holds so many bytes until it is passed.
            let bytes = unsafe { std::slice::from_raw_parts(waiting.bytes, waiting.len) }.to_vec();
            reader.pass();
            self.arrived.insert(waiting.number, Arrival::Whole(bytes));
        }
    }

    /// Whether the message of the next receive has come by core, or was
    /// [kept](Self::keep_what_came).
    pub(crate) fn has_next(&self) -> bool {
        self.arrived.contains_key(&self.posted)
    }

    fn tell_of_room(&mut self, actions: &mut Vec<Action>) {
        let (_, task, channel) = self.wire;
        self.asked = false;
        if let Some(reader) = &mut self.reader {
            reader.release(0);
        }
        actions.push(Action { task, send: Send::Credit { channel, taken: 0 } });
    }

    /// The sender says that something is in the lane, or that it has no room.
    pub(crate) fn look(&mut self, full: bool, awaited: u64, ended: &mut Ended, actions: &mut Vec<Action>) {
        self.receive(ended, actions);
        let Some(reader) = &mut self.reader else { return };
        if full {
            self.asked = true;
            if reader.release(awaited) {
                self.tell_of_room(actions);
            }
        }
    }

    /// A receive meets a message of core's. Gives the receive's request and size if that ends it.
    pub(crate) fn meet(
        &mut self,
        number: u64,
        arrival: Arrival,
        actions: &mut Vec<Action>,
    ) -> Option<(u64, u64)> {
        let (receive, bytes) = self.open.get(number)?;
        self.took(actions);
        match arrival {
            Arrival::Whole(data) => {
                self.open.remove(number);
                // SAFETY: these are the vector's bytes.
                Some((receive, unsafe { fill(bytes, data.as_ptr(), data.len()) }))
            }
            Arrival::Offered { request, len } => {
                let len = len.min(bytes.1);
                actions.push(Action { task: self.wire.1, send: Send::Clear { request, receive, len } });
                (len == 0).then_some((receive, 0))
            }
        }
    }

    /// A message of core's has left the window.
    pub(crate) fn took(&mut self, actions: &mut Vec<Action>) {
        let (_, task, channel) = self.wire;
        self.by_core = true;
        self.taken += 1;
        if self.taken >= WINDOW / 2 {
            actions.push(Action { task, send: Send::Credit { channel, taken: self.taken } });
            self.taken = 0;
        }
    }
}

/// Copies as much of a message as a receive takes.
///
/// # Safety
/// `data` is readable for `len` bytes.
#[inline(always)]
pub(crate) unsafe fn fill((address, room): Span, data: *const u8, len: usize) -> u64 {
    let len = len.min(room as usize);
    if len > 0 {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: the program has lent the memory, whose bounds it gave, until the request ends.
        unsafe {
            if len <= INLINE { copy_short(data, to, len) } else { to.copy_from_nonoverlapping(data, len) }
        }
    }
    len as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_lasts_keeps_no_room_for_those_that_overtake_it() {
        let mut open = Open::default();
        open.insert(7, 700, (70, 7));
        for number in 8..10_000 {
            open.insert(number, 100 * number, (1, number));
            assert_eq!(open.get(number), Some((100 * number, (1, number))));
            assert_eq!(open.remove(number), Some((100 * number, (1, number))));
        }
        // Numbers between were nobody's.
        open.insert(1_000_000, 5, (5, 5));
        open.insert(1_000_001, 6, (6, 6));
        assert!(open.requests.len() == 3 && open.requests.capacity() < 100, "{}", open.requests.len());
        let got = [6, 7, 8, 999_999, 1_000_000, 1_000_001, 1_000_002].map(|number| open.get(number));
        assert_eq!(
            got.map(|open| open.map(|open| open.0)),
            [None, Some(700), None, None, Some(5), Some(6), None]
        );
        assert_eq!((open.from(0), open.from(8)), (vec![700, 5, 6], vec![5, 6]));
        assert_eq!(open.remove(1_000_000), Some((5, (5, 5))));
        assert_eq!(
            (open.remove(1_000_000), open.remove(7), open.remove(7)),
            (None, Some((700, (70, 7))), None)
        );
        assert_eq!((open.get(1_000_001), open.is_empty()), (Some((6, (6, 6))), false));
        open.clear();
        assert!(open.is_empty() && open.get(1_000_001).is_none() && open.remove(7).is_none());
    }
}
