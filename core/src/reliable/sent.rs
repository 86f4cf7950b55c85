//! The datagrams of a path whose fate is still open.

use super::config::Nanos;

/// Runs of units that one datagram can carry.
pub(super) const MAX_SPANS: usize = 4;
/// [`Span::part`] of whole units.
pub(super) const WHOLE: u8 = u8::MAX;
/// The most numbers that a path keeps track of.
pub(super) const MAX_SENT: usize = 2048;

/// A run of units of one channel, or one part of one unit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    pub(super) unit: u32,
    pub(super) count: u16,
    pub(super) channel: u8,
    pub(super) part: u8,
}

impl Span {
    /// One whole unit.
    pub(super) fn whole(channel: u8, unit: u32) -> Self {
        Self { unit, count: 1, channel, part: WHOLE }
    }

    /// Whether this whole unit follows the last one of the run.
    #[inline]
    fn leads_to(&self, channel: u8, unit: u32) -> bool {
        self.channel == channel && self.part == WHOLE && self.unit.wrapping_add(self.count.into()) == unit
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// Acknowledged, or nothing that would be.
    #[default]
    Settled,
    InFlight,
    /// Given up; a late acknowledgement still counts.
    Lost,
    /// Filled up to find out whether its size passes: whether it is lost tells about nothing else.
    Sizing,
}

/// One datagram.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    pub(super) time: Nanos,
    pub(super) size: u32,
    pub(super) fate: Fate,
    pub(super) spans_used: u8,
    pub(super) spans: [Span; MAX_SPANS],
}

const _: () = assert!(size_of::<Sent>() == 48);

impl Sent {
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans[..usize::from(self.spans_used)]
    }

    /// Notes the first unit, a whole one.
    #[inline]
    pub(super) fn begin(&mut self, channel: u8, unit: u32) {
        self.spans[0] = Span::whole(channel, unit);
        self.spans_used = 1;
    }

    /// Notes `count` whole units, from this one on; false when there is no place left.
    #[inline]
    pub(super) fn add(&mut self, channel: u8, unit: u32, count: u16) -> bool {
        if let Some(last) = self.spans[..usize::from(self.spans_used)].last_mut()
            && last.leads_to(channel, unit)
        {
            // No datagram has room for 2^16 units.
            last.count += count;
            return true;
        }
        self.push(Span { count, ..Span::whole(channel, unit) })
    }

    /// Whether whole units from this one on can be noted.
    #[inline]
    pub(super) fn takes(&self, channel: u8, unit: u32) -> bool {
        !self.full() || self.spans[MAX_SPANS - 1].leads_to(channel, unit)
    }

    /// Notes a span; false when there is no place left.
    pub(super) fn push(&mut self, span: Span) -> bool {
        let Some(slot) = self.spans.get_mut(usize::from(self.spans_used)) else { return false };
        *slot = span;
        self.spans_used += 1;
        true
    }

    pub(super) fn full(&self) -> bool {
        usize::from(self.spans_used) == MAX_SPANS
    }
}

/// Consecutive packet numbers, oldest first.
#[derive(Debug, Default)]
pub(super) struct SentRing {
    slots: Vec<Sent>,
    base: u64,
    end: u64,
}

impl SentRing {
    /// The oldest number in the ring.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// One more than the newest number.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn len(&self) -> usize {
        (self.end - self.base) as usize
    }

    /// Bytes of heap.
    pub(super) fn heap(&self) -> usize {
        self.slots.capacity() * size_of::<Sent>()
    }

    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&Sent> {
        if number < self.base || number >= self.end {
            return None;
        }
        let mask = self.slots.len() - 1;
        self.slots.get(number as usize & mask)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Sent> {
        if number < self.base || number >= self.end {
            return None;
        }
        let mask = self.slots.len() - 1;
        self.slots.get_mut(number as usize & mask)
    }

    /// Appends `number`, which follows the newest; the caller has made room.
    pub(super) fn push(&mut self, number: u64, sent: Sent) {
        if self.base == self.end {
            if sent.fate == Fate::Settled {
                // Nothing waits in front of it: nobody will ever ask.
                self.base = number + 1;
                self.end = number + 1;
                return;
            }
            self.base = number;
            self.end = number;
        }
        debug_assert_eq!(self.end, number);
        if self.len() == self.slots.len() {
            let mut grown = vec![Sent::default(); (self.slots.len() * 2).max(16)];
            let mask = grown.len() - 1;
            for number in self.base..self.end {
                if let Some(sent) = self.get(number) {
                    grown[number as usize & mask] = *sent;
                }
            }
            self.slots = grown;
        }
        let mask = self.slots.len() - 1;
        self.slots[number as usize & mask] = sent;
        self.end += 1;
    }

    /// Drops settled datagrams from the front, and those of no weight for which `forget` says so.
    pub(super) fn retire(&mut self, forget: impl Fn(&Sent) -> bool) {
        while let Some(front) = self.get(self.base) {
            match front.fate {
                Fate::Settled => self.base += 1,
                Fate::Lost | Fate::Sizing if forget(front) => self.base += 1,
                _ => return,
            }
        }
    }
}
