//! The header of each message of a collective: 24 bytes, little endian.
//!
//! ```text
//! | team (8) | number and kind (4) | tag (4) | signature (8) |
//! ```
//!
//! It is the user header of longer messages; in short ones it precedes the data, where it costs
//! less.

/// Bytes of a header.
pub(crate) const HEADER: usize = 24;

/// Operations of a team are numbered up to this number, then from 0 on again.
pub(crate) const NUMBERS: u32 = (1 << KIND) - 1;

/// Bits of a number, below the kind.
const KIND: u32 = 29;

/// Whether a number comes before another one; they are never half of all numbers apart.
pub(crate) fn before(number: u32, other: u32) -> bool {
    let ahead = other.wrapping_sub(number) & NUMBERS;
    ahead != 0 && ahead <= NUMBERS / 2
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data.
    Data,
    /// The receiver of data that waits is ready for it.
    Ready,
    /// The team is over because of the task in place of the tag; the number says why. If calls did
    /// not match, the signature is that of the sender's call, whose number follows in 4 bytes; then
    /// may follow another task, in 4, and the signature of its call with that number, in 8.
    Over,
    /// Data waits for its receiver to be ready: its length, in 8 bytes, follows. Said of long data
    /// for the sake of checks.
    Long,
    /// Something has changed in memory for which the receiver sleeps.
    Nudge,
    /// The sender has waited for the message with this tag; what it waits for, in a byte, follows.
    Ask,
    /// The call of the sender, which was asked, is or was this one, without that message.
    Answer,
    /// Without data: how far is the receiver with this operation, and for whom does it wait? The
    /// tag is the number of the sender's operation. With data: the answer, for that operation.
    Stand,
}

/// A parsed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) team: u64,
    /// Which operation of the team.
    pub(crate) number: u32,
    pub(crate) kind: Kind,
    pub(crate) tag: u32,
    pub(crate) signature: u64,
}

impl Header {
    pub(crate) fn bytes(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[..8].copy_from_slice(&self.team.to_le_bytes());
        out[8..12].copy_from_slice(&(self.number << (32 - KIND) | self.kind as u32).to_le_bytes());
        out[12..16].copy_from_slice(&self.tag.to_le_bytes());
        out[16..].copy_from_slice(&self.signature.to_le_bytes());
        out
    }

    /// `None`: nothing that a collective sends.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let kind = match word(8) & 7 {
            0 => Kind::Data,
            1 => Kind::Ready,
            2 => Kind::Over,
            3 => Kind::Long,
            4 => Kind::Nudge,
            5 => Kind::Ask,
            6 => Kind::Answer,
            _ => Kind::Stand,
        };
        Some(Self { team: long(0), number: word(8) >> (32 - KIND), kind, tag: word(12), signature: long(16) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_round() {
        assert!(before(0, 1) && !before(1, 0) && !before(7, 7));
        assert!(before(NUMBERS, 0) && !before(0, NUMBERS));
    }

    proptest::proptest! {
        #[test]
        fn headers_survive_their_bytes(
            team: u64, number in 0u32..1 << 29, kind in 0usize..8, tag: u32, signature: u64,
        ) {
            let kind = [
                Kind::Data,
                Kind::Ready,
                Kind::Over,
                Kind::Long,
                Kind::Nudge,
                Kind::Ask,
                Kind::Answer,
                Kind::Stand,
            ][kind];
            let header = Header { team, number, kind, tag, signature };
            proptest::prop_assert_eq!(Header::parse(&header.bytes()), Some(header));
        }

        #[test]
        fn bytes_are_refused_that_are_too_few(bytes: Vec<u8>) {
            proptest::prop_assert_eq!(Header::parse(&bytes).is_some(), bytes.len() >= HEADER);
        }
    }
}
