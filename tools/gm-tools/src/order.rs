//! What the asker wants done: a message of 24 bytes, little endian.

/// Tells such messages from others'.
const MAGIC: u32 = 0x6c61_6701;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Each message comes back.
    Latency,
    /// The last message is answered.
    Bandwidth,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// What is measured.
    pub what: What,
    /// Bytes of a message.
    pub length: u64,
    /// How many messages.
    pub count: u64,
}

/// The longest message: longer ones need more memory than an answerer gives strangers.
pub(crate) const LONGEST: u64 = (1 << 24) - 8;
/// The most messages in a row.
pub(crate) const MOST: u64 = 100_000_000;

impl Order {
    /// The order as it is sent.
    pub fn encode(&self) -> Vec<u8> {
        let what: u32 = match self.what {
            What::Latency => 1,
            What::Bandwidth => 2,
        };
        let words = [MAGIC.to_le_bytes(), what.to_le_bytes()].concat();
        [words, self.length.to_le_bytes().to_vec(), self.count.to_le_bytes().to_vec()].concat()
    }

    /// An order out of a message. `None`: it is none, or asks for too much.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 24] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let what = match word(4) {
            1 => What::Latency,
            2 => What::Bandwidth,
            _ => return None,
        };
        let order = Self { what, length: long(8), count: long(16) };
        let sound = word(0) == MAGIC && order.length <= LONGEST && (1..=MOST).contains(&order.count);
        sound.then_some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_were_written_and_others_refused() {
        let order = Order { what: What::Bandwidth, length: LONGEST, count: 7 };
        let bytes = order.encode();
        assert_eq!(Order::decode(&bytes), Some(order));
        assert_eq!(Order::decode(&bytes[1..]), None);
        for (at, value) in [(0, 9), (4, 3), (11, 1), (16, 0)] {
            let mut other = bytes.clone();
            other[at] = value;
            assert_eq!(Order::decode(&other), None, "byte {at}");
        }
    }
}
