//! The header of each message.
//!
//! ```text
//!  0        8        12       16       20     21       24
//!  | cookie | source | acked  | length | kind | number | payload … padded to 8 bytes
//! ```
//!
//! All fields are little endian. The cookie is a keyed hash over both instances, so that a message
//! for an earlier instance at the same address, or from outside of the job, is dropped. `acked`
//! counts the messages that the sender has consumed from the receiver: the receiver's credits.
//! `number` counts the messages before this one, in 24 bits: providers do not report an injected
//! message that is lost with its connection, so the receiver has to detect it.
//!
//! **Short form.** Where the provider carries a [`Mark`] beside each message, most of the header of
//! one that is injected goes there, and this word precedes the payload:
//!
//! ```text
//!  0       32        35       64
//!  | acked | padding | cookie |
//! ```
//!
//! `padding` counts the bytes behind the payload. The cookie's lower half lacks its last three
//! bits.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Messages that may be under way to one peer, sent but not known to be consumed.
pub(crate) const WINDOW: u32 = 128;

/// Bytes of a header.
pub(crate) const LEN: usize = 24;
/// Bytes of the short form.
pub(crate) const SHORT_LEN: usize = 8;
/// Bits of the cookie that the short form lacks.
const CUT_BITS: u32 = 3;

/// What kind of message follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes for core.
    Message = 1,
    /// Nothing but `acked`; takes no credit.
    Ack = 2,
    /// The sender has given the receiver up; takes no credit.
    GivenUp = 3,
    /// Is there anybody on this path? Followed by the sender's [`RailLife`] and its address,
    /// which the receiver may not know yet; `number` is the question's. No kind from here on takes
    /// credit.
    Probe = 4,
    /// What was asked by a [`Kind::Probe`] of this number: yes.
    Answer = 5,
    /// Where is your rail now? Followed by a [`RailLife`] as the sender knows it.
    Where = 6,
    /// Nothing may come over that rail any more from what was sent before. Followed by a
    /// [`RailLife`], which ends.
    Leave = 7,
    /// A rail of the sender's is at this address. Followed by a [`RailLife`] and the address, which
    /// is empty if the rail is closed.
    Moved = 8,
    /// Short messages to the sender may go to its [slots](crate::slots). Followed by an
    /// [`Offer`](crate::slots::Offer).
    Slots = 9,
    /// The sender has left the path over that rail of the receiver's: what comes over it may get
    /// lost. Followed by a [`RailLife`] as the sender knows it.
    Left = 10,
    /// So many messages there were; an [`Ack`](Self::Ack) is to say how many of them have come.
    Vouch = 11,
}

/// Message numbers go up to here, then start again.
pub(crate) const LAST_NUMBER: u32 = (1 << 24) - 1;

/// A header, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) cookie: u64,
    pub(crate) source: u32,
    pub(crate) acked: u32,
    pub(crate) length: u32,
    pub(crate) kind: Kind,
    /// At most [`LAST_NUMBER`].
    pub(crate) number: u32,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..8].copy_from_slice(&self.cookie.to_le_bytes());
        let words = [self.source, self.acked, self.length, self.kind as u32 | self.number << 8];
        for (place, word) in out[8..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// The short form: what goes beside the message, and what precedes its payload.
    #[inline]
    pub(crate) fn encode_short(&self) -> (Mark, [u8; SHORT_LEN]) {
        let padding = padded(self.length as usize) as u32 - self.length;
        let cookie = self.cookie as u32 >> CUT_BITS << CUT_BITS;
        let word = u64::from(self.acked) | u64::from(cookie | padding) << 32;
        (Mark::of(self), word.to_le_bytes())
    }

    /// What the short form has cut off comes from what is expected, a cookie and a number. None for
    /// anything that is not of this form.
    #[inline]
    pub(crate) fn decode_short(mark: Mark, message: &[u8], (cookie, number): (u64, u32)) -> Option<Self> {
        let (word, payload) = message.split_first_chunk::<SHORT_LEN>()?;
        let word = u64::from_le_bytes(*word);
        let (acked, upper) = (word as u32, (word >> 32) as u32);
        let cut = (1 << CUT_BITS) - 1;
        let length = (payload.len() as u32).checked_sub(upper & cut)?;
        if padded(length as usize) != payload.len() {
            return None;
        }
        let cookie = u64::from(mark.cookie) << 32 | u64::from(upper & !cut | cookie as u32 & cut);
        let number = mark.number_near(number);
        Some(Self { cookie, source: mark.source, acked, length, kind: Kind::Message, number })
    }

    /// None for anything that isn't a header followed by the payload that it announces.
    pub(crate) fn decode(message: &[u8]) -> Option<Self> {
        let (head, payload) = message.split_first_chunk::<LEN>()?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let kind = match word(20) & 0xff {
            1 => Kind::Message,
            2 => Kind::Ack,
            3 => Kind::GivenUp,
            4 => Kind::Probe,
            5 => Kind::Answer,
            6 => Kind::Where,
            7 => Kind::Leave,
            8 => Kind::Moved,
            9 => Kind::Slots,
            10 => Kind::Left,
            11 => Kind::Vouch,
            _ => return None,
        };
        let length = word(16);
        if padded(length as usize) != payload.len() {
            return None;
        }
        let cookie = u64::from_le_bytes(head[..8].try_into().ok()?);
        Some(Self { cookie, source: word(8), acked: word(12), length, kind, number: word(20) >> 8 })
    }
}

/// What goes beside a message or a short put as its remote data. Such a put is counted as a message
/// is, so that one that is lost is missed, and its credit comes back.
///
/// ```text
///  0        12       32       64
///  | number | source | cookie |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The last 12 bits of the number: more than a window of messages.
    pub(crate) number: u32,
    pub(crate) source: u32,
    /// The upper half of the cookie.
    pub(crate) cookie: u32,
}

impl Mark {
    const NUMBERS: u32 = 1 << 12;
    /// Tasks that have room in it.
    pub(crate) const TASKS: usize = 1 << 20;

    /// The number that ends with these bits and is next to the one that is expected.
    #[inline]
    fn number_near(self, expected: u32) -> u32 {
        let ahead = self.number.wrapping_sub(expected) % Self::NUMBERS;
        let behind = if ahead < Self::NUMBERS / 2 { 0 } else { Self::NUMBERS };
        expected.wrapping_add(ahead).wrapping_sub(behind) & LAST_NUMBER
    }

    /// Of a message with this header, or of the put that has its place.
    pub(crate) fn of(header: &Header) -> Self {
        let cookie = (header.cookie >> 32) as u32;
        Self { number: header.number % Self::NUMBERS, source: header.source, cookie }
    }

    pub(crate) fn encode(self) -> u64 {
        u64::from(self.number) | u64::from(self.source) << 12 | u64::from(self.cookie) << 32
    }

    pub(crate) fn decode(bits: u64) -> Self {
        let low = bits as u32;
        Self { number: low % Self::NUMBERS, source: low >> 12, cookie: (bits >> 32) as u32 }
    }
}

/// A rail, and how often it has been closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RailLife {
    pub(crate) rail: usize,
    pub(crate) life: u32,
}

impl RailLife {
    pub(crate) const LEN: usize = 8;

    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        (self.rail as u64 & 0xff | u64::from(self.life) << 32).to_le_bytes()
    }

    /// What it says, and what follows it.
    pub(crate) fn decode(payload: &[u8]) -> Option<(Self, &[u8])> {
        let (word, rest) = payload.split_first_chunk()?;
        let word = u64::from_le_bytes(*word);
        Some((Self { rail: word as usize & 0xff, life: (word >> 32) as u32 }, rest))
    }
}

/// Payloads are padded, so that the next message in a receive buffer is aligned as its fields want.
pub(crate) fn padded(len: usize) -> usize {
    len.next_multiple_of(8)
}

/// One end of a connection: who, and which life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) task: u32,
    /// A random number that an instance chose when it was opened.
    pub(crate) nonce: u64,
}

/// What messages from one end to the other carry.
pub(crate) fn cookie(secret: &[u8; 32], from: End, to: End) -> u64 {
    // Keys of any length are fine with HMAC.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return 0 };
    mac.update(b"lapis rdma message");
    for end in [from, to] {
        mac.update(&end.task.to_le_bytes());
        mac.update(&end.nonce.to_le_bytes());
    }
    let tag = mac.finalize().into_bytes();
    u64::from_le_bytes(std::array::from_fn(|i| tag[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_as_they_were() {
        for (kind, number) in [(Kind::Message, LAST_NUMBER), (Kind::Ack, 0), (Kind::GivenUp, 5)] {
            let header = Header { cookie: 7, source: 3, acked: u32::MAX, length: 9, kind, number };
            let mut message = header.encode().to_vec();
            message.extend([0; 16]);
            assert_eq!(Header::decode(&message), Some(header));
        }
    }

    #[test]
    fn short_forms_become_the_header_that_is_expected() {
        let cookie = 0x1234_5678_9abc_def5;
        for (number, length, expected) in [
            (LAST_NUMBER, 9, LAST_NUMBER),
            (0, 0, LAST_NUMBER),
            (LAST_NUMBER, 8, 0),
            (4096, 15, 4095),
            (4000, 1, 4200),
        ] {
            let header = Header { cookie, source: 3, acked: u32::MAX, length, kind: Kind::Message, number };
            let (mark, word) = header.encode_short();
            let message = [&word[..], &vec![7; padded(length as usize)]].concat();
            let decode = |cookie| Header::decode_short(mark, &message, (cookie, expected));
            assert_eq!(decode(cookie), Some(header));
            assert_ne!(decode(!cookie).map(|header| header.cookie), Some(!cookie), "another life's");
            for len in 0..message.len() {
                let cut = Header::decode_short(mark, &message[..len], (cookie, expected));
                assert!(cut.is_none_or(|header| len % 8 == 0 && (header.length as usize) < len), "{len}");
            }
        }
    }

    #[test]
    fn marks_come_back_as_they_were() {
        for (number, source) in [(0, 0), (4095, 7), (1, (1 << 20) - 1)] {
            let mark = Mark { number, source, cookie: 0x8000_0001 };
            assert_eq!(Mark::decode(mark.encode()), mark);
        }
    }

    #[test]
    fn rails_come_back_with_what_follows_them() {
        let it = RailLife { rail: 7, life: u32::MAX };
        let bytes = [&it.encode()[..], b"ad"].concat();
        assert_eq!(RailLife::decode(&bytes), Some((it, &b"ad"[..])));
        assert_eq!(RailLife::decode(&bytes[..7]), None);
    }

    #[test]
    fn what_announces_another_length_is_no_header() {
        let header = Header { cookie: 7, source: 3, acked: 0, length: 9, kind: Kind::Message, number: 0 };
        let mut message = header.encode().to_vec();
        message.extend([0; 8]);
        assert_eq!(Header::decode(&message), None);
        assert_eq!(Header::decode(&message[..LEN - 1]), None);
        assert_eq!(Header::decode(&[0xff; 64]), None);
    }

    #[test]
    fn cookies_differ_by_direction_life_and_secret() {
        let (a, b) = (End { task: 0, nonce: 1 }, End { task: 1, nonce: 2 });
        let secret = [7; 32];
        let plain = cookie(&secret, a, b);
        assert_ne!(plain, cookie(&secret, b, a));
        assert_ne!(plain, cookie(&secret, End { nonce: 3, ..a }, b));
        assert_ne!(plain, cookie(&[8; 32], a, b));
    }
}
