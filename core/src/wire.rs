//! THE format of messages between tasks. Everything a task says to another is one of these.
//!
//! A *message* travels as one or more *packets*. A reliable transport carries packets as its active
//! messages; over a datagram transport the packet engine ([`crate::reliable`]) wraps them into
//! authenticated datagrams, whose envelope carries the version and the job's key. All numbers are
//! little endian and of fixed width: addresses and lengths have 64 bits whatever the word size of
//! either side.
//!
//! ```text
//!  byte 0      1       2       3       4       5       6       7
//! +-------+-------+---------------+-------------------------------+
//! | kind  | flags |  user header  |           message             |   common head, 8 bytes
//! +-------+-------+---------------+-------------------------------+
//! |  words: 0 … 6 of 64 bits, by kind and flags, in this order    |
//! |    A  handler | remote address | operation | epoch, round     |
//! |    B  target counter            (flag TARGET_COUNTER)         |
//! |    C  operation of the origin   (flag COMPLETION)             |
//! |    D  total length              (kinds with more packets)     |
//! |    E … kind's own (see the table)                             |
//! +---------------------------------------------------------------+
//! |  user header (length in the head, multiple of 4)              |
//! +---------------------------------------------------------------+
//! |  data                                                         |
//! +---------------------------------------------------------------+
//! ```
//!
//! | kind | word A | more words | meaning |
//! |---|---|---|---|
//! | `Am` | handler | | active message in one packet |
//! | `AmFirst` | handler | D | first packet of several |
//! | `AmPull` | handler | D, E = address at the origin, F = its operation, G = the transport's key | rendezvous: the target fetches the data (at 0: a layout of its own) |
//! | `Put` / `PutFirst` | address | D for `PutFirst` | one-sided write |
//! | `PutPull` | address | D, E, F, G as in `AmPull` | one-sided write whose data the target fetches |
//! | `GetPush` | address | D, E, F, G as in `AmPull` | one-sided read whose data the target puts into the origin's memory |
//! | `Fragment` | offset | | further data of `message` |
//! | `Get` | address | D, E = operation of the origin | one-sided read |
//! | `GetData` | operation | E = offset | its answer, in any number of packets |
//! | `Rmw` | address | E = operand, F = comparand, G = operation; user header field = op + 16 × width | atomic |
//! | `RmwReply` | operation | E = previous value | its answer |
//! | `Complete` | operation | | the completion handler has returned |
//! | `Pulled` | operation | D = bytes that no packet carried and only the sender has counted | `AmPull`, `PutPull` or `GetPush` is over: the origin's memory is free, or has the data |
//! | `Refused` | operation, 0 if none waits | D = length, E = address; user header field = access + 16 × reason | the sender has not done what a put, get or atomic asked of it: that has ended |
//! | `Counter` | | B | count the target counter (after a direct put) |
//! | `Fence` | number of messages | | answer when the first so many are done; all bits set: answer at once |
//! | `FenceReply` | the same | | they are |
//! | `Barrier` | barrier, step | | the sender has come to a step of a barrier; step 255: collective calls are over because of task `barrier` |
//! | `Gather` | exchange, tag | D, E = offset | data of an exchange of values |
//! | `Epoch` | receiver's epoch + 1, 0 if unknown | | what follows belongs to this pair of epochs; in place of `message` the sender's |
//! | `Regions` | | | tell me of the memory that transports reach by keys, from now on |
//! | `Region` | address | D, E = key, F = its number; user header field = 1: it is there, 0: it is not any more; 3, 2: the receiver has been told so | such memory of the sender's; 3, 2: of the receiver's |
//! | `Recall` | operation | | user header field = 0: leave alone what `AmPull`, `PutPull` or `GetPush` told of for this operation of mine; 1: I do so for this one of yours; 2: I use no key of yours any more |
//! | `Goodbye` | | | the sender terminates its context; its silence is no failure; in place of `message` how many messages of the receiver's, from the first on, are done |
//!
//! With CONTROL, which kinds with words of their own can't have, E counts data not the program's.
//!
//! `message` numbers the messages from one task to another, from 0, wrapping; kinds that are
//! answers carry 0. The upper half of the flags names a rail that the bytes should take, plus
//! one; 0: any. Unknown kinds, flags that a kind can't have and short packets are refused by
//! [`Header::parse`], which never panics.

use zerocopy::IntoBytes;

/// What a packet is. The numbers are part of the format.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the module's table is the documentation")]
pub enum Kind {
    Am = 1,
    AmFirst = 2,
    AmPull = 3,
    Put = 4,
    PutFirst = 5,
    Fragment = 6,
    Get = 7,
    GetData = 8,
    Rmw = 9,
    RmwReply = 10,
    Complete = 11,
    Pulled = 12,
    Counter = 13,
    Fence = 14,
    FenceReply = 15,
    Barrier = 16,
    Gather = 17,
    Goodbye = 18,
    Epoch = 19,
    Regions = 20,
    Region = 21,
    PutPull = 22,
    GetPush = 23,
    Recall = 24,
    Refused = 25,
}

/// Word B is present.
pub const TARGET_COUNTER: u8 = 1 << 0;
/// Word C is present.
pub const COMPLETION: u8 = 1 << 1;
/// The remote address lies in a region that the target must know, else the target answers `Refused`
/// (the safe interface).
pub const CHECKED: u8 = 1 << 2;
/// Word E is present, and counts bytes of the data that are not the program's.
pub const CONTROL: u8 = 1 << 3;
/// The number, from 1, of the rail that the bytes should take, here and in what they are
/// answered with; 0 for any.
const RAIL: u8 = 0xf0;
const RAIL_SHIFT: u32 = RAIL.trailing_zeros();
/// Rails that packets can name: those from number 0 to this one.
pub const LAST_RAIL: u8 = (RAIL >> RAIL_SHIFT) - 1;

/// Bytes of the common head.
pub const HEAD: usize = 8;
/// Most bytes a header can have, user header not counted.
pub const MAX_HEADER: usize = HEAD + 7 * 8;

impl Kind {
    fn from_raw(raw: u8) -> Option<Self> {
        use Kind::*;
        Some(match raw {
            1 => Am,
            2 => AmFirst,
            3 => AmPull,
            4 => Put,
            5 => PutFirst,
            6 => Fragment,
            7 => Get,
            8 => GetData,
            9 => Rmw,
            10 => RmwReply,
            11 => Complete,
            12 => Pulled,
            13 => Counter,
            14 => Fence,
            15 => FenceReply,
            16 => Barrier,
            17 => Gather,
            18 => Goodbye,
            19 => Epoch,
            20 => Regions,
            21 => Region,
            22 => PutPull,
            23 => GetPush,
            24 => Recall,
            25 => Refused,
            _ => return None,
        })
    }

    /// Whether word A, word D, and how many further words are there.
    #[inline(always)]
    const fn shape(self) -> (bool, bool, usize) {
        let shape = SHAPES[self as usize];
        (shape & SUBJECT != 0, shape & TOTAL != 0, (shape & EXTRA) as usize)
    }
}

/// Words of each kind: how many of its own, and whether it has A and D.
const EXTRA: u8 = 3;
const SUBJECT: u8 = 4;
const TOTAL: u8 = 8;
const SHAPES: [u8; 26] = {
    use Kind::*;
    let mut shapes = [0; 26];
    let mut at = 0;
    let subject = [Am, Put, Fragment, Complete, Fence, FenceReply, Barrier, Epoch, Recall];
    while at < subject.len() {
        shapes[subject[at] as usize] = SUBJECT;
        at += 1;
    }
    shapes[AmFirst as usize] = SUBJECT | TOTAL;
    shapes[PutFirst as usize] = SUBJECT | TOTAL;
    shapes[Pulled as usize] = SUBJECT | TOTAL;
    shapes[AmPull as usize] = SUBJECT | TOTAL | 3;
    shapes[PutPull as usize] = SUBJECT | TOTAL | 3;
    shapes[GetPush as usize] = SUBJECT | TOTAL | 3;
    shapes[Get as usize] = SUBJECT | TOTAL | 1;
    shapes[Gather as usize] = SUBJECT | TOTAL | 1;
    shapes[Region as usize] = SUBJECT | TOTAL | 2;
    shapes[Refused as usize] = SUBJECT | TOTAL | 1;
    shapes[GetData as usize] = SUBJECT | 1;
    shapes[RmwReply as usize] = SUBJECT | 1;
    shapes[Rmw as usize] = SUBJECT | 3;
    shapes
};

/// Room for an encoded header and a short user header behind it.
#[derive(Clone, Copy)]
pub struct Encoded([u64; Self::WORDS]);

impl Encoded {
    const WORDS: usize = (MAX_HEADER + Self::USER_ROOM) / 8;
    /// User headers up to this length fit behind the header.
    pub const USER_ROOM: usize = 64;

    /// Nothing encoded yet.
    #[inline(always)]
    pub const fn new() -> Self {
        Self([0; Self::WORDS])
    }

    /// The first `len` bytes.
    #[inline(always)]
    pub fn bytes(&self, len: usize) -> &[u8] {
        &self.0.as_bytes()[..len]
    }

    /// Puts `user` behind the first `at` bytes; gives the length of both.
    #[inline(always)]
    pub fn append(&mut self, at: usize, user: &[u8]) -> usize {
        if user.is_empty() {
            return at;
        }
        self.0.as_mut_bytes()[at..at + user.len()].copy_from_slice(user);
        at + user.len()
    }
}

impl Default for Encoded {
    fn default() -> Self {
        Self::new()
    }
}

/// A header, taken apart. Fields that a kind does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the packet is.
    pub kind: Kind,
    /// Flags.
    pub flags: u8,
    /// Length of the user header in bytes, or the kind's own small number.
    pub user_header: u16,
    /// Number of the message.
    pub message: u32,
    /// Word A.
    pub subject: u64,
    /// Word B: address of the target counter, 0 for none.
    pub target_counter: u64,
    /// Word C: operation at the origin that waits for [`Kind::Complete`].
    pub completion: u64,
    /// Word D.
    pub total: u64,
    /// Words E, F, G.
    pub extra: [u64; 3],
}

/// Why bytes are not a packet of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Too short for the header that its first bytes announce.
    #[error("packet of {have} bytes is too short for its header of {need}")]
    Short {
        /// Bytes there.
        have: usize,
        /// Bytes needed.
        need: usize,
    },
    /// No such kind.
    #[error("unknown packet kind {0}")]
    Kind(u8),
    /// A flag that packets of this kind can't have.
    #[error("packet flags {0:#04x}, which its kind can't have")]
    Flags(u8),
}

impl Header {
    /// A header with all optional fields absent.
    #[inline(always)]
    pub const fn new(kind: Kind, message: u32, subject: u64) -> Self {
        Self {
            kind,
            flags: 0,
            user_header: 0,
            message,
            subject,
            target_counter: 0,
            completion: 0,
            total: 0,
            extra: [0; 3],
        }
    }

    /// The same with a target counter; address 0 means none.
    #[inline(always)]
    pub const fn with_target_counter(mut self, addr: u64) -> Self {
        if addr != 0 {
            self.flags |= TARGET_COUNTER;
            self.target_counter = addr;
        }
        self
    }

    /// The same asking for [`Kind::Complete`].
    #[inline(always)]
    pub const fn with_completion(mut self, operation: u64) -> Self {
        self.flags |= COMPLETION;
        self.completion = operation;
        self
    }

    /// The same for a packet of which so many bytes of data are not the program's. Its kind has no
    /// words of its own.
    #[inline(always)]
    pub const fn with_control(mut self, bytes: u64) -> Self {
        self.flags = if bytes == 0 { self.flags & !CONTROL } else { self.flags | CONTROL };
        self.extra[0] = bytes;
        self
    }

    /// How many bytes of the packet's data are not the program's.
    #[inline(always)]
    pub const fn control(&self) -> usize {
        if self.flags & CONTROL != 0 { self.extra[0] as usize } else { 0 }
    }

    /// How many of the bytes behind the header are data of the program.
    pub fn data_of(&self, rest: usize) -> usize {
        rest.saturating_sub(usize::from(self.user_header)).saturating_sub(self.control())
    }

    /// The same with a preference for a rail, up to [`LAST_RAIL`]; others are none.
    #[inline(always)]
    pub const fn with_rail(mut self, rail: Option<u8>) -> Self {
        if let Some(rail) = rail
            && rail <= LAST_RAIL
        {
            self.flags = self.flags & !RAIL | (rail + 1) << RAIL_SHIFT;
        }
        self
    }

    /// Its preferred rail.
    #[inline(always)]
    pub const fn rail(&self) -> Option<u8> {
        (self.flags >> RAIL_SHIFT).checked_sub(1)
    }

    /// The preferred rail of an encoded header.
    #[inline(always)]
    pub fn rail_of(head: &[u8]) -> Option<u8> {
        (head.get(1)? >> RAIL_SHIFT).checked_sub(1)
    }

    /// Writes the header to `out` and returns its length in bytes.
    #[inline(always)]
    pub fn encode(&self, out: &mut Encoded) -> usize {
        let words = &mut out.0;
        words[0] = (self.kind as u64
            | (self.flags as u64) << 8
            | (self.user_header as u64) << 16
            | (self.message as u64) << 32)
            .to_le();
        let mut n = 1;
        let (subject, total, extra) = self.kind.shape();
        if subject {
            words[n] = self.subject.to_le();
            n += 1;
        }
        if self.flags & TARGET_COUNTER != 0 {
            words[n] = self.target_counter.to_le();
            n += 1;
        }
        if self.flags & COMPLETION != 0 {
            words[n] = self.completion.to_le();
            n += 1;
        }
        if total {
            words[n] = self.total.to_le();
            n += 1;
        }
        for w in &self.extra[..extra] {
            words[n] = w.to_le();
            n += 1;
        }
        if self.flags & CONTROL != 0 {
            words[n] = self.extra[0].to_le();
            n += 1;
        }
        n * 8
    }

    /// Takes a packet apart: the header and what follows it (user header and data).
    #[inline(always)]
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let Some((head, rest)) = packet.split_first_chunk::<8>() else {
            return Err(Malformed::Short { have: packet.len(), need: HEAD });
        };
        let kind = Kind::from_raw(head[0]).ok_or(Malformed::Kind(head[0]))?;
        let flags = head[1];
        let (subject, total, extra) = kind.shape();
        let (counted, completes) = (flags & TARGET_COUNTER != 0, flags & COMPLETION != 0);
        if flags & CONTROL != 0 && extra != 0 {
            return Err(Malformed::Flags(flags));
        }
        let extra = extra + usize::from(flags & CONTROL != 0);
        let need =
            usize::from(subject) + usize::from(counted) + usize::from(completes) + usize::from(total) + extra;
        let Some((words, rest)) = rest.split_at_checked(8 * need) else {
            return Err(Malformed::Short { have: packet.len(), need: HEAD + 8 * need });
        };
        let mut words = words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        // There are as many as the kind has, so that the default never shows.
        let mut word = |there: bool| if there { words.next().unwrap_or_default() } else { 0 };
        let h = Self {
            kind,
            flags,
            user_header: u16::from_le_bytes([head[2], head[3]]),
            message: u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
            subject: word(subject),
            target_counter: word(counted),
            completion: word(completes),
            total: word(total),
            extra: std::array::from_fn(|at| word(at < extra)),
        };
        Ok((h, rest))
    }
}

/// What a message in one packet is of which the origin wants to hear no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum ShortKind {
    /// An active message.
    Am = Kind::Am as u16,
    /// A put.
    Put = Kind::Put as u16,
    /// A put of the safe interface.
    CheckedPut = Kind::Put as u16 | (CHECKED as u16) << 8,
}

/// The head of such a message. A word follows that says whereto, and the counter's if there is one.
#[inline(always)]
pub(crate) fn short_head(kind: ShortKind, message: u32, user_header: usize, counted: bool) -> u64 {
    let flags = if counted { u64::from(TARGET_COUNTER) << 8 } else { 0 };
    kind as u64 | flags | (user_header as u64) << 16 | u64::from(message) << 32
}

/// A packet with such a head, taken apart.
pub(crate) struct ShortMessage<'a> {
    pub(crate) number: u32,
    pub(crate) handler: u64,
    /// 0 for none.
    pub(crate) target_counter: u64,
    pub(crate) user_header: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl<'a> ShortMessage<'a> {
    /// `None` for every other packet.
    #[inline(always)]
    pub(crate) fn parse<const COUNTED: bool>(packet: &'a [u8]) -> Option<Self> {
        let (fixed, mut rest) = packet.split_first_chunk::<16>()?;
        let head = u64::from_le_bytes(*fixed.first_chunk()?);
        let handler = u64::from_le_bytes(*fixed.last_chunk()?);
        if head as u16 != short_head(ShortKind::Am, 0, 0, COUNTED) as u16 {
            return None;
        }
        let mut target_counter = 0;
        if COUNTED {
            let (word, behind) = rest.split_first_chunk::<8>()?;
            (target_counter, rest) = (u64::from_le_bytes(*word), behind);
        }
        let (user_header, data) = rest.split_at_checked((head >> 16 & 0xffff) as usize)?;
        Some(Self { number: (head >> 32) as u32, handler, target_counter, user_header, data })
    }
}

/// A further packet of a message, taken apart: most packets of long messages.
pub(crate) struct FragmentPacket<'a> {
    pub(crate) message: u32,
    pub(crate) position: u64,
    pub(crate) data: &'a [u8],
}

impl<'a> FragmentPacket<'a> {
    /// The message that a packet is a further one of, for who only asks for that; `None` for every
    /// other packet.
    #[inline(always)]
    pub(crate) fn message_of(packet: &[u8]) -> Option<u32> {
        let &[kind, _, _, _, ref message @ ..] = packet.first_chunk::<8>()?;
        (kind == Kind::Fragment as u8).then(|| u32::from_le_bytes(*message))
    }

    /// `None` for every other packet.
    #[inline(always)]
    pub(crate) fn parse(packet: &'a [u8]) -> Option<Self> {
        let (fixed, data) = packet.split_first_chunk::<16>()?;
        let [kind, flags, ..] = *fixed;
        if kind != Kind::Fragment as u8 || flags & !RAIL != 0 {
            return None;
        }
        let message = u32::from_le_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
        Some(Self { message, position: u64::from_le_bytes(*fixed.last_chunk()?), data })
    }
}

#[cfg(test)]
mod tests;
