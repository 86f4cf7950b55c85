//! The sending side of one channel to one peer: units waiting, in flight, lost.

use std::collections::VecDeque;

use super::bytes::ByteRing;
use super::datagram_builder::{DatagramBuilder, External};
use super::sent::{Span, WHOLE};
use super::submission::PreferredPath;
use super::wire::{self, DATA_LEN};

/// The token of a unit whose acknowledgement is not reported.
pub const NO_TOKEN: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    InFlight,
    Lost,
    /// Travels in parts; `split.rs` knows more.
    Split,
    Acked,
}

#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    token: u64,
    external: External,
    /// Where the frame header, head and copied body are in the byte ring.
    place: u32,
    held: u32,
    /// Low bits of the packet number of the last transmission.
    number: u32,
    path: u8,
    state: State,
    preferred: PreferredPath,
}

const _: () = assert!(size_of::<Unit>() == 48);

impl Unit {
    fn frame_len(&self) -> usize {
        (self.held + self.external.len) as usize
    }
}

/// What stopped [`SendQueue::fill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// Nothing is left to send on this path.
    All,
    /// The datagram has no more room.
    Full,
    /// The next unit is too big for any datagram of this path; it has to be split first.
    TooBig(u64),
}

/// The path that datagrams are filled for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carrier {
    pub(super) path: u8,
    /// The number by which units prefer it.
    pub(super) rail: u8,
    /// The next datagram's number.
    pub(super) number: u64,
    /// The room of an empty datagram.
    pub(super) limit: usize,
    /// A bit for each such number of a path that carries data.
    pub(super) up: u8,
}

impl Carrier {
    #[inline]
    fn takes(&self, unit: &Unit) -> bool {
        unit.preferred.allows(self.rail, self.up)
    }
}

/// A channel's units by number: `base..fresh` were sent, `fresh..next` wait.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    units: Vec<Unit>,
    base: u64,
    fresh: u64,
    next: u64,
    /// Those that are [lost](State::Lost), each once.
    retry: VecDeque<u32>,
    bytes: ByteRing,
    channel: u8,
    /// Some unit has had a preferred path.
    any_preferred: bool,
    /// The last submission was refused: acknowledgements are urgent.
    pub(super) starved: bool,
}

impl SendQueue {
    pub(super) fn new(channel: u8) -> Self {
        Self { channel, ..Self::default() }
    }

    /// Units submitted and not yet known to be delivered in order.
    pub(super) fn len(&self) -> usize {
        (self.next - self.base) as usize
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.fresh < self.next || !self.retry.is_empty()
    }

    /// Bytes of heap.
    pub(super) fn heap(&self) -> usize {
        self.units.capacity() * size_of::<Unit>() + self.retry.capacity() * 4 + self.bytes.heap()
    }

    /// Takes a unit. False: the channel's window or memory is full.
    #[inline(always)]
    pub(super) fn submit(
        &mut self,
        limits: (usize, usize),
        (head, copied): (&[u8], &[u8]),
        external: External,
        token: u64,
        preferred: PreferredPath,
    ) -> bool {
        let held = DATA_LEN + head.len() + copied.len();
        let Some(place) = self.reserve(limits, held) else { return false };
        let payload = head.len() + copied.len() + external.len as usize;
        self.keep(place, payload, head, copied);
        let (place, held) = (place as u32, held as u32);
        self.any_preferred |= !preferred.is_none();
        self.append(Unit {
            token,
            external,
            place,
            held,
            number: 0,
            path: 0,
            state: State::Waiting,
            preferred,
        });
        true
    }

    /// Room for a unit's frame, which is to be kept at once. None: the channel's window or memory
    /// is full.
    #[inline(always)]
    pub(super) fn reserve(&mut self, limits: (usize, usize), held: usize) -> Option<usize> {
        let place = if self.len() < limits.0 {
            self.bytes.alloc(held).or_else(|| self.grow_bytes(held, limits.1))
        } else {
            None
        };
        self.starved |= place.is_none();
        place
    }

    /// Low bits of the next unit's number.
    #[inline]
    pub(super) fn next_unit(&self) -> u32 {
        self.next as u32
    }

    /// The frame header of the next unit.
    #[inline]
    pub(super) fn header(&self, payload: usize) -> [u8; DATA_LEN] {
        wire::data_header(self.channel, payload as u16, self.next as u32)
    }

    /// Keeps a unit that has left already, by the fast path, in the datagram `number` of `path`.
    #[inline]
    pub(super) fn keep_sent(
        &mut self,
        place: usize,
        head: &[u8],
        body: &[u8],
        token: u64,
        path: u8,
        number: u64,
    ) {
        let payload = head.len() + body.len();
        self.keep(place, payload, head, body);
        let (place, held) = (place as u32, (DATA_LEN + payload) as u32);
        let (external, number) = (External::default(), number as u32);
        let (state, preferred) = (State::InFlight, PreferredPath::default());
        self.append(Unit { token, external, place, held, number, path, state, preferred });
        self.fresh += 1;
    }

    #[inline(always)]
    fn keep(&mut self, place: usize, payload: usize, head: &[u8], copied: &[u8]) {
        let header = self.header(payload);
        let frame = self.bytes.get_mut(place, DATA_LEN + head.len() + copied.len());
        frame[..DATA_LEN].copy_from_slice(&header);
        put(&mut frame[DATA_LEN..DATA_LEN + head.len()], head);
        put(&mut frame[DATA_LEN + head.len()..], copied);
    }

    #[inline(always)]
    fn append(&mut self, unit: Unit) {
        if self.len() == self.units.len() {
            self.grow_units();
        }
        let at = self.at(self.next);
        self.units[at] = unit;
        self.next += 1;
    }

    /// Whether something that waits may take a path, by the number by which units prefer it. `up`:
    /// a bit for each such number of a path that carries data.
    #[inline]
    pub(super) fn allows(&self, path: u8, up: u8) -> bool {
        !self.any_preferred || self.allows_lost(path, up) || self.allows_fresh(path, up)
    }

    fn allows_fresh(&self, path: u8, up: u8) -> bool {
        self.fresh < self.next && self.units[self.at(self.fresh)].preferred.allows(path, up)
    }

    fn allows_lost(&self, path: u8, up: u8) -> bool {
        self.retry.iter().any(|&unit| self.units[self.at(self.expand(unit))].preferred.allows(path, up))
    }

    /// Puts as many units into the datagram as fit: lost ones first, then fresh ones. Lost ones
    /// that are for another path wait there; fresh ones leave in their order, so that one for
    /// another path holds up those behind it.
    pub(super) fn fill(&mut self, builder: &mut DatagramBuilder<'_>, to: Carrier) -> Filled {
        let mut at = 0;
        while let Some(&unit) = self.retry.get(at) {
            let id = self.expand(unit);
            if !to.takes(&self.units[self.at(id)]) {
                at += 1;
                continue;
            }
            match self.put(builder, to, id) {
                Filled::All => self.retry.remove(at),
                stopped => return stopped,
            };
            builder.resent += 1;
        }
        if self.fresh < self.next {
            return self.fill_fresh(builder, to);
        }
        Filled::All
    }

    #[inline]
    fn fill_fresh(&mut self, builder: &mut DatagramBuilder<'_>, to: Carrier) -> Filled {
        while self.fresh < self.next {
            if self.fill_run(builder, to) {
                continue;
            }
            if self.fresh == self.next || !to.takes(&self.units[self.at(self.fresh)]) {
                break;
            }
            match self.put(builder, to, self.fresh) {
                Filled::All => self.fresh += 1,
                stopped => return stopped,
            }
        }
        Filled::All
    }

    /// Puts fresh units into the datagram that are neighbours in the byte ring, and so are copied
    /// and noted in one go. False: there is none that goes this way.
    #[inline]
    fn fill_run(&mut self, builder: &mut DatagramBuilder<'_>, to: Carrier) -> bool {
        let (first, room) = (self.fresh, builder.room());
        if !builder.sent.takes(self.channel, first as u32) {
            return false;
        }
        let run = self.units[self.at(first)].place as usize;
        let (mut id, mut len) = (first, 0);
        while id < self.next {
            let at = self.at(id);
            let unit = &mut self.units[at];
            let whole = len + unit.held as usize;
            if unit.external.len != 0 || whole > room || run + len != unit.place as usize || !to.takes(unit) {
                break;
            }
            (unit.state, unit.path, unit.number) = (State::InFlight, to.path, to.number as u32);
            len = whole;
            id += 1;
        }
        if id == first {
            return false;
        }
        builder.sent.add(self.channel, first as u32, (id - first) as u16);
        builder.push(self.bytes.get(run, len));
        self.fresh = id;
        true
    }

    fn put(&mut self, builder: &mut DatagramBuilder<'_>, to: Carrier, id: u64) -> Filled {
        let at = self.at(id);
        let unit = &mut self.units[at];
        if unit.frame_len() > builder.room() {
            return if unit.frame_len() > to.limit { Filled::TooBig(id) } else { Filled::Full };
        }
        if !builder.sent.add(self.channel, id as u32, 1) {
            return Filled::Full;
        }
        builder.push(self.bytes.get(unit.place as usize, unit.held as usize));
        builder.push_external(unit.external);
        unit.state = State::InFlight;
        unit.path = to.path;
        unit.number = to.number as u32;
        Filled::All
    }

    /// The unit named by [`Filled::TooBig`] goes on in parts. Returns its payload's size.
    pub(super) fn start_split(&mut self, id: u64) -> u32 {
        if id == self.fresh {
            self.fresh += 1;
        } else {
            self.retry.retain(|unit| *unit != id as u32);
        }
        let at = self.at(id);
        self.units[at].state = State::Split;
        (self.units[at].frame_len() - DATA_LEN) as u32
    }

    /// Puts bytes `offset..offset + len` of a unit's payload into the datagram.
    pub(super) fn put_part(&self, builder: &mut DatagramBuilder<'_>, id: u64, offset: usize, len: usize) {
        let unit = &self.units[self.at(id)];
        let held = unit.held as usize - DATA_LEN;
        let end = offset + len;
        if offset < held {
            builder.push(self.bytes.get(unit.place as usize + DATA_LEN + offset, len.min(held - offset)));
        }
        if end > held {
            let from = offset.max(held) - held;
            builder.push_external(External {
                buffer: unit.external.buffer,
                offset: unit.external.offset + from as u64,
                len: (end - held - from) as u32,
            });
        }
    }

    /// The units were delivered. Returns for how many this is news, and calls `done` with the token
    /// of each of them that has one.
    #[inline]
    pub(super) fn acked(&mut self, span: Span, mut done: impl FnMut(u64)) -> usize {
        let (first, mut news) = (self.expand(span.unit), 0);
        for id in first.max(self.base)..first.wrapping_add(span.count.into()).min(self.fresh) {
            let at = self.at(id);
            let unit = &mut self.units[at];
            if unit.state != State::Acked {
                if unit.state == State::Lost {
                    self.retry.retain(|lost| *lost != id as u32);
                }
                unit.state = State::Acked;
                news += 1;
                if unit.token != NO_TOKEN {
                    done(unit.token);
                }
            }
        }
        let mut base = self.base;
        while base < self.fresh && self.units[self.at(base)].state == State::Acked {
            base += 1;
        }
        if base > self.base {
            let next = (base < self.next).then(|| self.units[self.at(base)].place as usize);
            self.bytes.free_oldest((base - self.base) as usize, next);
            self.base = base;
            self.starved = false;
        }
        news
    }

    /// The units with this token that were sent and are not known to have arrived.
    pub(super) fn sent_with(&self, token: u64) -> Vec<u32> {
        let open = |id: &u64| {
            let unit = &self.units[self.at(*id)];
            unit.token == token && unit.state != State::Acked
        };
        (self.base..self.fresh).filter(open).map(|id| id as u32).collect()
    }

    /// Units with this token that are not known to have arrived name no memory of the caller's any
    /// more. Those of them that were sent lose the token; returns how many.
    pub(super) fn void(&mut self, token: u64) -> usize {
        let mut sent = 0;
        for id in self.base..self.next {
            let at = self.at(id);
            let unit = &mut self.units[at];
            if unit.token != token || unit.state == State::Acked {
                continue;
            }
            (unit.external.buffer, unit.external.offset) = (0, 0);
            if id < self.fresh {
                unit.token = NO_TOKEN;
                sent += 1;
            }
        }
        sent
    }

    /// The datagram `number` of `path` was lost: what it carried and nothing else carries is sent
    /// again. Returns the number of units that are to be sent again.
    pub(super) fn lost(&mut self, span: Span, path: u8, number: u64) -> u32 {
        debug_assert_eq!(span.part, WHOLE);
        let first = self.expand(span.unit);
        let mut count = 0;
        for id in first..first.wrapping_add(span.count.into()) {
            if id < self.base || id >= self.fresh {
                continue;
            }
            let at = self.at(id);
            let unit = &mut self.units[at];
            if unit.state == State::InFlight && unit.path == path && unit.number == number as u32 {
                unit.state = State::Lost;
                self.retry.push_back(id as u32);
                count += 1;
            }
        }
        count
    }

    /// Empties the channel, calling `purged` with the token of every unit that was not
    /// acknowledged.
    pub(super) fn purge(&mut self, mut purged: impl FnMut(u64)) {
        for id in self.base..self.next {
            let unit = &self.units[self.at(id)];
            if unit.state != State::Acked {
                purged(unit.token);
            }
        }
        *self = Self::new(self.channel);
    }

    /// The full number of which `unit` is the low half.
    pub(super) fn expand(&self, unit: u32) -> u64 {
        expand(self.base, unit)
    }

    fn at(&self, id: u64) -> usize {
        id as usize & (self.units.len().wrapping_sub(1))
    }

    fn grow_units(&mut self) {
        let mut grown = vec![Unit::default(); (self.units.len() * 2).max(8)];
        let mask = grown.len() - 1;
        for id in self.base..self.next {
            grown[id as usize & mask] = self.units[self.at(id)];
        }
        self.units = grown;
    }

    fn grow_bytes(&mut self, held: usize, bound: usize) -> Option<usize> {
        let (base, next, mask) = (self.base, self.next, self.units.len().wrapping_sub(1));
        // Two disjoint ranges of the ring, in the order of age.
        let (first, second) = if base == next {
            (0..0, 0..0)
        } else {
            let (from, to) = (base as usize & mask, ((next - 1) as usize & mask) + 1);
            if from < to { (from..to, 0..0) } else { (from..self.units.len(), 0..to) }
        };
        let (low, high) = self.units.split_at_mut(first.start);
        let places = high[..first.end - first.start].iter_mut().chain(low[second].iter_mut());
        let grown = self.bytes.grow(held, bound, places.map(|unit| (&mut unit.place, unit.held)));
        if grown { self.bytes.alloc(held) } else { None }
    }
}

/// Copies bytes; those of the shortest packets without a call.
#[inline(always)]
fn put(to: &mut [u8], from: &[u8]) {
    fn words<const N: usize>(to: &mut [u8], from: &[u8]) -> bool {
        match (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            (Some(to), Some(from)) => *to = *from,
            _ => return false,
        }
        true
    }
    let done = match from.len() {
        8 => words::<8>(to, from),
        16 => words::<16>(to, from),
        24 => words::<24>(to, from),
        _ => false,
    };
    if !done {
        to.copy_from_slice(from);
    }
}

/// The number nearest to `base` whose low half is `low`.
pub(super) fn expand(base: u64, low: u32) -> u64 {
    base.wrapping_add_signed(i64::from(low.wrapping_sub(base as u32).cast_signed()))
}
