//! What ports say to each other: units of the packet engine, or of a lane. Numbers are little
//! endian.
//!
//! ```text
//!   0       1         2     3       4           8          16      24      32
//!   ┌───────┬─────────┬─────┬───────┬───────────┬──────────┬───────┬───────┬──
//!   │ kind  │priority │size │status │generation │ sequence │   a   │   b   │ bytes
//!   └───────┴─────────┴─────┴───────┴───────────┴──────────┴───────┴───────┴──
//!                                                          only where the kind has them
//! ```
//!
//! Messages from one port to another of one priority are a *stream*, numbered from 0. A stream's
//! generation grows whenever one of its messages fails: what is still on its way of the former
//! generation is void, and the sender sends it again, or drops it, as its program says.
//!
//! | kind | a | b | says |
//! |---|---|---|---|
//! | Message | number | | a message that fits one unit; and what Done says of the other direction |
//! | LongMessage | length | | a message whose bytes are asked for by Go |
//! | Put | address | | bytes for the target's memory |
//! | LongPut | length | address | the same, asked for by Go |
//! | Get | length | address | bytes of the target's memory are wanted |
//! | Go | | | the place for the message or put of this number is there |
//! | Part | offset | | bytes of a long message or put |
//! | Got | offset | | bytes that a Get wanted |
//! | Done | | | all before this number has been delivered |
//! | Failed | | | the message of this number was not, and why; all before it has been |
//! | Datagram | | | a message outside the streams |
//! | Bundle | number | | short messages, the first of which has this number, as `bundle.rs` draws them |
//!
//! What a Message says of the other direction holds if its status is the low byte of that stream's
//! generation. It saves a Done, and a datagram, where messages go to and fro.

/// Bytes of the shorter head.
pub(crate) const SHORT: usize = 16;
/// Bytes of the longest head.
pub(crate) const LONG: usize = 32;

/// Kinds of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Message = 1,
    LongMessage = 2,
    Put = 3,
    LongPut = 4,
    Get = 5,
    Go = 6,
    Part = 7,
    Got = 8,
    Done = 9,
    Failed = 10,
    Datagram = 11,
    Bundle = 12,
}

impl Kind {
    const ALL: [Self; 12] = [
        Self::Message,
        Self::LongMessage,
        Self::Put,
        Self::LongPut,
        Self::Get,
        Self::Go,
        Self::Part,
        Self::Got,
        Self::Done,
        Self::Failed,
        Self::Datagram,
        Self::Bundle,
    ];

    #[inline]
    fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number.wrapping_sub(1))).copied()
    }

    /// Bytes of the head.
    pub(crate) const fn head(self) -> usize {
        match self {
            Self::Go | Self::Done | Self::Failed | Self::Datagram => SHORT,
            Self::Message | Self::LongMessage | Self::Put | Self::Part | Self::Got | Self::Bundle => 24,
            Self::LongPut | Self::Get => LONG,
        }
    }
}

/// The head of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// 0 low, 1 high.
    pub(crate) priority: u8,
    /// The message's size class.
    pub(crate) size: u8,
    /// Of Failed: a status. Of Message: a generation's low byte.
    pub(crate) status: u8,
    pub(crate) generation: u32,
    pub(crate) sequence: u64,
    pub(crate) a: u64,
    pub(crate) b: u64,
}

impl Head {
    pub(crate) fn new(kind: Kind, priority: usize, generation: u32, sequence: u64) -> Self {
        Self { kind, priority: priority as u8, size: 0, status: 0, generation, sequence, a: 0, b: 0 }
    }

    /// The head as it is sent, and how long it is.
    #[inline]
    pub(crate) fn encode(&self) -> ([u8; LONG], usize) {
        let mut bytes = [0; LONG];
        bytes[..4].copy_from_slice(&[self.kind as u8, self.priority, self.size, self.status]);
        bytes[4..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.a.to_le_bytes());
        bytes[24..].copy_from_slice(&self.b.to_le_bytes());
        (bytes, self.kind.head())
    }

    /// Head and bytes of a unit. `None`: it is none.
    #[inline]
    pub(crate) fn parse(unit: &[u8]) -> Option<(Self, &[u8])> {
        let kind = Kind::of(*unit.first()?)?;
        let (head, bytes) = unit.split_at_checked(kind.head())?;
        let word = |at: usize| -> u64 {
            let word = head.get(at..at + 8).and_then(|word| word.try_into().ok());
            word.map_or(0, u64::from_le_bytes)
        };
        let [_, priority, size, status, g0, g1, g2, g3, ..] = *head else { return None };
        let sound = priority < 2 && size < 32;
        let generation = u32::from_le_bytes([g0, g1, g2, g3]);
        let (sequence, a, b) = (word(8), word(16), word(24));
        sound.then_some((Self { kind, priority, size, status, generation, sequence, a, b }, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_the_way_and_shorter_ones_are_refused() {
        for kind in Kind::ALL {
            let mut head = Head::new(kind, 1, 7, 1 << 40);
            (head.size, head.status) = (31, 17);
            if kind.head() >= 24 {
                head.a = u64::MAX - 3;
            }
            if kind.head() >= 32 {
                head.b = 1 << 63;
            }
            let (bytes, len) = head.encode();
            let unit = [&bytes[..len], b"data"].concat();
            assert_eq!(Head::parse(&unit), Some((head, &b"data"[..])), "{kind:?}");
            for short in 0..len {
                assert_eq!(Head::parse(&unit[..short]), None, "{kind:?} of {short} bytes");
            }
        }
    }

    #[test]
    fn kinds_are_found_by_their_numbers() {
        let found: Vec<_> = (0..=255).filter_map(Kind::of).collect();
        assert_eq!(found, Kind::ALL);
        assert!(Kind::ALL.iter().all(|kind| Kind::of(*kind as u8) == Some(*kind)));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused() {
        for first in 0..=255u8 {
            for second in [0, 1, 2, 255] {
                let unit = [first, second, second, 0].repeat(10);
                if let Some((head, _)) = Head::parse(&unit) {
                    assert!((1..=12).contains(&first) && head.priority < 2 && head.size < 32);
                }
            }
        }
    }
}
