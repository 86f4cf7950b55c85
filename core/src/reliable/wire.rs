//! The datagram format of the reliable-packet engine, version 1.
//!
//! Every field has a fixed width and is little endian. A datagram is one header and the frames
//! behind it.
//!
//! ```text
//!          0        1        2        3        4        5        6        7
//!      +--------+--------+--------+--------+--------+--------+--------+--------+
//!    0 |version | flags  |  path  |   0    |              job key              |
//!      +--------+--------+--------+--------+--------+--------+--------+--------+
//!    8 |            source task            |         destination task          |
//!      +--------+--------+--------+--------+--------+--------+--------+--------+
//!   16 |           source epoch            |  destination epoch (0: unknown)   |
//!      +--------+--------+--------+--------+--------+--------+--------+--------+
//!   24 |                    packet number (per path and direction)             |
//!      +--------+--------+--------+--------+--------+--------+--------+--------+
//!   32 |           credit, bytes           |      span       |     length      |
//!      +--------+--------+--------+--------+--------+--------+--------+--------+
//!   40 |                                                                       |
//!      |           authenticator over bytes 0..40 and all the frames           |
//!   48 |                                                                       |
//!      +--------+--------+--------+--------+--------+--------+--------+--------+
//!   56 | frames, `length` bytes ...
//! ```
//!
//! * `flags`: bit 0 [`ACK_NOW`] asks for an acknowledgement without delay. Other bits are zero.
//! * `path`: the rail, the same number on both sides.
//! * `packet number`: starts at 0 for every pair of epochs and is never used twice.
//! * `credit`: how many bytes (each datagram counted with an overhead) the sender of this header is
//!   ready to take from the receiver of it without having acknowledged them.
//! * `span`: packet number minus the oldest number on this path whose fate still matters to the
//!   sender. The receiver stops reporting on anything older.
//! * `length`: bytes of frames. A datagram of any other size is refused.
//!
//! Frames (the first byte is the kind):
//!
//! ```text
//! DATA  0x01 | channel u8 | len u16 | unit u32 | len bytes                                      (8 + len)
//! PART  0x02 | channel u8 | len u16 | unit u32 | total u32 | offset u32 | len bytes            (16 + len)
//! ACK   0x03 | path u8 | words u8 | 0 | delay u32, ns | settled u64 | words * u64      (16 + 8 * words)
//! PROBE 0x04 | 0 x 7                                                                               (8)
//! ```
//!
//! * `DATA` carries one whole unit. `channel` is 0 for requests, 1 for replies. `unit` counts per
//!   channel and identifies the unit for removal of duplicates; a retransmission has the same unit
//!   and a new packet number.
//! * `PART` carries [`PART_LEN`] bytes (the last part: the rest) of a unit that no longer fits a
//!   datagram since the path MTU shrank. `offset` is a multiple of [`PART_LEN`].
//! * `ACK` reports on one path: every number below `settled` was received or given up; bit *i* of
//!   the bitmap is number `settled + i`. `delay` is the time since the highest number arrived.
//! * `PROBE` carries nothing and asks to be acknowledged.
//!
//! A datagram with `destination epoch` 0 is a greeting: its frames are ignored, and it is answered
//! by a datagram that shows the receiver's own epoch. Version, path numbers, job keys and epochs
//! unknown to the receiver make it drop the datagram and count it.

/// The version in the first byte.
pub const VERSION: u8 = 1;
/// Bytes before the frames.
pub const HEADER_LEN: usize = 56;
/// Bytes of the header under the authenticator; the tag itself follows.
pub const SIGNED_LEN: usize = 40;
/// Bytes of the authenticator.
pub const TAG_LEN: usize = 16;
/// Header flag: acknowledge without delay.
pub const ACK_NOW: u8 = 0x01;
/// Bytes of a `DATA` frame before its payload.
pub const DATA_LEN: usize = 8;
/// Bytes of a `PART` frame before its payload.
pub const PART_HEADER_LEN: usize = 16;
/// Payload bytes of every part of a split unit but the last.
pub const PART_LEN: usize = 448;
/// The most parts that a unit can have.
pub const MAX_PARTS: usize = 255;
/// Bytes of an `ACK` frame without its bitmap.
pub const ACK_LEN: usize = 16;
/// The most 64-bit words in the bitmap of an `ACK` frame: more than a sender keeps open, and few
/// enough for the smallest datagram.
pub const MAX_ACK_WORDS: usize = 48;
/// Bytes of a `PROBE` frame.
pub const PROBE_LEN: usize = 8;
/// The smallest datagram size that a path may have: a part fits, and so does IPv4's 576 less its
/// headers.
pub const MIN_DATAGRAM: usize = 548;
/// The largest datagram size: what UDP can carry over IPv4.
pub const MAX_DATAGRAM: usize = 65_507;
/// The most paths between two tasks; path numbers are below it.
pub const MAX_PATHS: usize = 8;
const _: () = assert!(HEADER_LEN + ACK_LEN + 8 * MAX_ACK_WORDS <= MIN_DATAGRAM);
const _: () = assert!(HEADER_LEN + PART_HEADER_LEN + PART_LEN <= MIN_DATAGRAM);

/// The highest packet number, which is never reached in practice.
pub const MAX_NUMBER: u64 = 1 << 62;

const DATA: u8 = 0x01;
const PART: u8 = 0x02;
const ACK: u8 = 0x03;
const PROBE: u8 = 0x04;

/// Why a datagram could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Shorter than a header.
    #[error("datagram of {0} bytes is shorter than the header of 56")]
    Short(usize),
    /// Another version of the format.
    #[error(
        "datagram has format version {0}, this library speaks version 1: do all tasks run the same release?"
    )]
    Version(u8),
    /// The length field and the datagram disagree.
    #[error("header announces {announced} bytes of frames, the datagram has {actual}")]
    Length {
        /// What the header says.
        announced: usize,
        /// What is there.
        actual: usize,
    },
    /// A field that must be zero is not, or a path or channel number is out of range.
    #[error("reserved or out-of-range field at byte {0}")]
    Field(usize),
    /// A frame kind that version 1 does not have.
    #[error("unknown frame kind {kind:#04x} at byte {at} of the frames")]
    Kind {
        /// The first byte of the frame.
        kind: u8,
        /// Where it stands.
        at: usize,
    },
    /// A frame runs past the end.
    #[error("frame at byte {0} of the frames is cut off")]
    Truncated(usize),
}

/// The fixed header, without the authenticator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// [`ACK_NOW`] or zero.
    pub flags: u8,
    /// The rail.
    pub path: u8,
    /// The job that both tasks belong to.
    pub job: u32,
    /// Who sent it.
    pub source: u32,
    /// Whom it is for.
    pub destination: u32,
    /// The incarnation of the sender.
    pub source_epoch: u32,
    /// The incarnation of the receiver that the sender talks to, 0 when it knows none yet.
    pub destination_epoch: u32,
    /// The packet number.
    pub number: u64,
    /// Bytes that the sender is ready to receive unacknowledged.
    pub credit: u32,
    /// Distance down to the oldest number that still matters to the sender.
    pub span: u16,
}

impl Header {
    /// Reads the header and checks the datagram's length. Says nothing about authenticity.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let Some((head, frames)) = datagram.split_first_chunk::<HEADER_LEN>() else {
            return Err(WireError::Short(datagram.len()));
        };
        if head[0] != VERSION {
            return Err(WireError::Version(head[0]));
        }
        if head[1] & !ACK_NOW != 0 {
            return Err(WireError::Field(1));
        }
        if usize::from(head[2]) >= MAX_PATHS {
            return Err(WireError::Field(2));
        }
        if head[3] != 0 {
            return Err(WireError::Field(3));
        }
        let announced = usize::from(u16_at(head, 38));
        if announced != frames.len() {
            return Err(WireError::Length { announced, actual: frames.len() });
        }
        let number = u64_at(head, 24);
        if number > MAX_NUMBER {
            return Err(WireError::Field(24));
        }
        let header = Self {
            flags: head[1],
            path: head[2],
            job: u32_at(head, 4),
            source: u32_at(head, 8),
            destination: u32_at(head, 12),
            source_epoch: u32_at(head, 16),
            destination_epoch: u32_at(head, 20),
            number,
            credit: u32_at(head, 32),
            span: u16_at(head, 36),
        };
        Ok((header, frames))
    }

    /// Writes everything but the authenticator, which stays as it was in `out`. `length` is the
    /// size of the frames.
    pub fn write(&self, out: &mut [u8; HEADER_LEN], length: u16) {
        out[0] = VERSION;
        out[1] = self.flags;
        out[2] = self.path;
        out[3] = 0;
        out[4..8].copy_from_slice(&self.job.to_le_bytes());
        out[8..12].copy_from_slice(&self.source.to_le_bytes());
        out[12..16].copy_from_slice(&self.destination.to_le_bytes());
        out[16..20].copy_from_slice(&self.source_epoch.to_le_bytes());
        out[20..24].copy_from_slice(&self.destination_epoch.to_le_bytes());
        out[24..32].copy_from_slice(&self.number.to_le_bytes());
        out[32..36].copy_from_slice(&self.credit.to_le_bytes());
        out[36..38].copy_from_slice(&self.span.to_le_bytes());
        out[38..40].copy_from_slice(&length.to_le_bytes());
    }
}

/// One frame of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A whole unit.
    Data {
        /// 0 requests, 1 replies.
        channel: u8,
        /// The unit's number in its channel, low 32 bits.
        unit: u32,
        /// The unit.
        payload: &'a [u8],
    },
    /// A part of a unit.
    Part {
        /// 0 requests, 1 replies.
        channel: u8,
        /// The unit's number in its channel, low 32 bits.
        unit: u32,
        /// Size of the whole unit in bytes.
        total: u32,
        /// Which part this is; it begins at `index * PART_LEN`.
        index: u8,
        /// The part.
        payload: &'a [u8],
    },
    /// An acknowledgement.
    Ack(Ack<'a>),
    /// Asks to be acknowledged.
    Probe,
}

/// The content of an `ACK` frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The rail it reports on.
    pub path: u8,
    /// Nanoseconds since the highest number arrived.
    pub delay: u32,
    /// Everything below it is settled.
    pub settled: u64,
    bitmap: &'a [u8],
}

impl Ack<'_> {
    /// The same for longer than the datagram, if it has no bitmap.
    pub(super) fn kept(&self) -> Option<Ack<'static>> {
        let &Self { path, delay, settled, bitmap } = self;
        bitmap.is_empty().then_some(Ack { path, delay, settled, bitmap: &[] })
    }

    /// The bitmap, word by word: bit *i* of word *w* is number `settled + 64 * w + i`.
    pub fn words(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + '_ {
        self.bitmap.chunks_exact(8).map(|word| u64_at(word, 0))
    }
}

/// Iterates over the frames of a datagram; stops after the first error.
#[derive(Debug, Clone)]
pub struct Frames<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Frames<'a> {
    /// Starts at the first byte behind the header.
    #[must_use]
    pub fn new(frames: &'a [u8]) -> Self {
        Self { rest: frames, at: 0 }
    }

    /// The next bytes of the frame that starts at `frame`: what every frame of its kind begins
    /// with.
    #[inline]
    fn head<const N: usize>(&mut self, frame: usize) -> Result<&'a [u8; N], WireError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(WireError::Truncated(frame));
        };
        self.rest = rest;
        self.at += N;
        Ok(taken)
    }

    /// The next `len` bytes of the frame that starts at `frame`.
    #[inline]
    fn take(&mut self, len: usize, frame: usize) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(WireError::Truncated(frame));
        };
        self.rest = rest;
        self.at += len;
        Ok(taken)
    }

    // In line, so that a frame is not written to memory to be read again.
    #[inline(always)]
    fn frame(&mut self) -> Result<Frame<'a>, WireError> {
        let at = self.at;
        match self.rest[0] {
            DATA => {
                let head = self.head::<DATA_LEN>(at)?;
                let channel = channel_at(head, at)?;
                let payload = self.take(usize::from(u16_at(head, 2)), at)?;
                Ok(Frame::Data { channel, unit: u32_at(head, 4), payload })
            }
            PART => {
                let head = self.head::<PART_HEADER_LEN>(at)?;
                let channel = channel_at(head, at)?;
                let payload = self.take(usize::from(u16_at(head, 2)), at)?;
                let (total, offset) = (u32_at(head, 8), u32_at(head, 12));
                // The length of a part follows from its place, so that parts can't overlap or leave
                // holes.
                let (whole, start) = (total as usize, offset as usize);
                if start % PART_LEN != 0 || start >= whole || whole > MAX_PARTS * PART_LEN {
                    return Err(WireError::Field(at + 12));
                }
                if payload.len() != PART_LEN.min(whole - start) {
                    return Err(WireError::Field(at + 2));
                }
                let index = u8::try_from(start / PART_LEN).map_err(|_| WireError::Field(at + 12))?;
                Ok(Frame::Part { channel, unit: u32_at(head, 4), total, index, payload })
            }
            ACK => {
                let head = self.head::<ACK_LEN>(at)?;
                let (path, words) = (head[1], usize::from(head[2]));
                if usize::from(path) >= MAX_PATHS || words > MAX_ACK_WORDS || head[3] != 0 {
                    return Err(WireError::Field(at + 1));
                }
                let bitmap = self.take(words * 8, at)?;
                Ok(Frame::Ack(Ack { path, delay: u32_at(head, 4), settled: u64_at(head, 8), bitmap }))
            }
            PROBE => {
                let head = self.head::<PROBE_LEN>(at)?;
                if head[1..].iter().any(|&byte| byte != 0) {
                    return Err(WireError::Field(at + 1));
                }
                Ok(Frame::Probe)
            }
            kind => Err(WireError::Kind { kind, at }),
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let frame = self.frame();
        if frame.is_err() {
            self.rest = &[];
        }
        Some(frame)
    }
}

/// The header of a `DATA` frame.
#[inline]
pub(super) fn data_header(channel: u8, len: u16, unit: u32) -> [u8; DATA_LEN] {
    let [l0, l1] = len.to_le_bytes();
    let [u0, u1, u2, u3] = unit.to_le_bytes();
    [DATA, channel, l0, l1, u0, u1, u2, u3]
}

/// The header of a `PART` frame.
pub(super) fn part_header(
    channel: u8,
    len: u16,
    unit: u32,
    total: u32,
    offset: u32,
) -> [u8; PART_HEADER_LEN] {
    let mut out = [0; PART_HEADER_LEN];
    out[..DATA_LEN].copy_from_slice(&data_header(channel, len, unit));
    out[0] = PART;
    out[8..12].copy_from_slice(&total.to_le_bytes());
    out[12..16].copy_from_slice(&offset.to_le_bytes());
    out
}

/// The header of an `ACK` frame whose bitmap of `words` words follows.
pub(super) fn ack_header(path: u8, words: u8, delay: u32, settled: u64) -> [u8; ACK_LEN] {
    let mut out = [0; ACK_LEN];
    out[0] = ACK;
    out[1] = path;
    out[2] = words;
    out[4..8].copy_from_slice(&delay.to_le_bytes());
    out[8..16].copy_from_slice(&settled.to_le_bytes());
    out
}

/// A `PROBE` frame.
pub(super) fn probe() -> [u8; PROBE_LEN] {
    [PROBE, 0, 0, 0, 0, 0, 0, 0]
}

fn channel_at(head: &[u8], at: usize) -> Result<u8, WireError> {
    if head[1] > 1 { Err(WireError::Field(at + 1)) } else { Ok(head[1]) }
}

// The callers pass arrays and places in them, which the compiler checks once these are part of
// them.
#[inline(always)]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline(always)]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline(always)]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
