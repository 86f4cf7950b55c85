//! Units that are larger than a datagram: they travel in parts of a size that every path carries.
//! The upper layer makes units that fit the path; this is for units that were made before the path
//! MTU shrank.

use super::datagram_builder::DatagramBuilder;
use super::send_queue::SendQueue;
use super::sent::Span;
use super::wire::{self, MAX_DATAGRAM, MAX_PARTS, PART_HEADER_LEN, PART_LEN};

/// Units of one peer that travel in parts at the same time; as many can be put together.
pub(super) const MAX_SPLITS: usize = 4;

type Bits = [u64; 4];
const _: () = assert!(MAX_PARTS <= 256);
const _: () = assert!(MAX_DATAGRAM <= MAX_PARTS * PART_LEN);

fn all(parts: usize) -> Bits {
    let mut bits = [0; 4];
    for part in 0..parts {
        set(&mut bits, part);
    }
    bits
}

fn set(bits: &mut Bits, part: usize) {
    bits[part / 64] |= 1 << (part % 64);
}

fn clear(bits: &mut Bits, part: usize) {
    bits[part / 64] &= !(1 << (part % 64));
}

fn has(bits: &Bits, part: usize) -> bool {
    bits[part / 64] >> (part % 64) & 1 == 1
}

fn first(bits: &Bits) -> Option<usize> {
    bits.iter().position(|&word| word != 0).map(|word| word * 64 + bits[word].trailing_zeros() as usize)
}

#[derive(Debug)]
struct Split {
    channel: u8,
    id: u64,
    total: u32,
    /// Parts to be sent.
    pending: Bits,
    /// Parts not acknowledged.
    missing: Bits,
}

/// The sending side.
#[derive(Debug, Default)]
pub(super) struct Splits {
    splits: Vec<Split>,
}

impl Splits {
    pub(super) fn full(&self) -> bool {
        self.splits.len() >= MAX_SPLITS
    }

    /// Units that travel in parts.
    #[cfg(any(test, feature = "sim"))]
    pub(super) fn len(&self) -> usize {
        self.splits.len()
    }

    pub(super) fn heap(&self) -> usize {
        self.splits.capacity() * size_of::<Split>()
    }

    pub(super) fn clear(&mut self) {
        self.splits.clear();
    }

    pub(super) fn start(&mut self, channel: u8, id: u64, total: u32) {
        let bits = all((total as usize).div_ceil(PART_LEN));
        self.splits.push(Split { channel, id, total, pending: bits, missing: bits });
    }

    pub(super) fn has_unsent(&self, channel: u8) -> bool {
        self.splits.iter().any(|split| split.channel == channel && split.pending != [0; 4])
    }

    /// Puts waiting parts of units of `channel` into the datagram. False when it is full.
    pub(super) fn fill(
        &mut self,
        builder: &mut DatagramBuilder<'_>,
        channel: &SendQueue,
        channel_number: u8,
    ) -> bool {
        for split in self.splits.iter_mut().filter(|split| split.channel == channel_number) {
            while let Some(part) = first(&split.pending) {
                let offset = part * PART_LEN;
                let len = PART_LEN.min(split.total as usize - offset);
                let span =
                    Span { unit: split.id as u32, count: 1, channel: channel_number, part: part as u8 };
                if builder.room() < PART_HEADER_LEN + len || !builder.sent.push(span) {
                    return false;
                }
                builder.push(&wire::part_header(
                    channel_number,
                    len as u16,
                    split.id as u32,
                    split.total,
                    offset as u32,
                ));
                channel.put_part(builder, split.id, offset, len);
                clear(&mut split.pending, part);
            }
        }
        true
    }

    /// A part arrived. Returns the unit when that was the last one.
    pub(super) fn acked(&mut self, span: Span) -> Option<Span> {
        let at = self.find(span)?;
        let split = &mut self.splits[at];
        clear(&mut split.missing, span.part.into());
        clear(&mut split.pending, span.part.into());
        (split.missing == [0; 4]).then(|| {
            self.splits.swap_remove(at);
            Span { part: super::sent::WHOLE, ..span }
        })
    }

    /// A part was lost: it is sent again unless it arrived by another datagram.
    pub(super) fn lost(&mut self, span: Span) -> u32 {
        let Some(at) = self.find(span) else { return 0 };
        let split = &mut self.splits[at];
        if has(&split.missing, span.part.into()) {
            set(&mut split.pending, span.part.into());
            return 1;
        }
        0
    }

    /// The unit was acknowledged as a whole after all.
    pub(super) fn whole_acked(&mut self, span: Span) {
        self.splits.retain(|split| {
            split.channel != span.channel || (split.id as u32).wrapping_sub(span.unit) >= span.count.into()
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.splits.is_empty()
    }

    fn find(&self, span: Span) -> Option<usize> {
        self.splits.iter().position(|split| split.channel == span.channel && split.id as u32 == span.unit)
    }
}

#[derive(Debug)]
struct Join {
    channel: u8,
    id: u64,
    missing: Bits,
    bytes: Vec<u8>,
}

/// The receiving side.
#[derive(Debug, Default)]
pub(super) struct Joins {
    joins: Vec<Join>,
}

/// What became of a part.
#[derive(Debug)]
pub(super) enum Joined<'a> {
    /// Kept, or known already.
    Kept,
    /// No place: as if it never arrived.
    Refused,
    /// The unit is whole. Call [`Joins::finish`] once it was accepted.
    Whole(&'a [u8]),
}

impl Joins {
    pub(super) fn heap(&self) -> usize {
        self.joins.iter().map(|join| join.bytes.capacity() + size_of::<Join>()).sum()
    }

    pub(super) fn clear(&mut self) {
        self.joins.clear();
    }

    pub(super) fn part(&mut self, channel: u8, id: u64, total: u32, index: u8, payload: &[u8]) -> Joined<'_> {
        let found = self.joins.iter().position(|join| join.channel == channel && join.id == id);
        let at = match found {
            Some(at) => at,
            None if self.joins.len() >= MAX_SPLITS => return Joined::Refused,
            None => {
                let missing = all((total as usize).div_ceil(PART_LEN));
                self.joins.push(Join { channel, id, missing, bytes: vec![0; total as usize] });
                self.joins.len() - 1
            }
        };
        let join = &mut self.joins[at];
        if join.bytes.len() != total as usize {
            return Joined::Refused;
        }
        let start = usize::from(index) * PART_LEN;
        // The parser has checked that a part lies inside of its unit.
        let Some(place) = join.bytes.get_mut(start..start + payload.len()) else { return Joined::Refused };
        place.copy_from_slice(payload);
        clear(&mut join.missing, index.into());
        if join.missing == [0; 4] { Joined::Whole(&join.bytes) } else { Joined::Kept }
    }

    /// The upper layer refused the unit: the last part is wanted again.
    pub(super) fn unfinish(&mut self, channel: u8, id: u64, index: u8) {
        if let Some(join) = self.joins.iter_mut().find(|join| join.channel == channel && join.id == id) {
            set(&mut join.missing, index.into());
        }
    }

    /// The unit was taken (from parts or whole).
    pub(super) fn finish(&mut self, channel: u8, id: u64) {
        self.joins.retain(|join| join.channel != channel || join.id != id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.joins.is_empty()
    }
}
