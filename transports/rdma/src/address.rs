//! What a task publishes about itself.

use std::fmt;

const MAGIC: u32 = u32::from_le_bytes(*b"LRD2");

/// A task's end point, as others need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// Which life of the task this is.
    pub(crate) nonce: u64,
    /// libfabric's kind of address.
    pub(crate) format: u32,
    /// The provider's name: only equal ones understand each other.
    pub(crate) provider: String,
    /// The address, as the provider gave it.
    pub(crate) address: Vec<u8>,
}

impl Card {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_le_bytes().to_vec();
        out.extend(self.nonce.to_le_bytes());
        out.extend(self.format.to_le_bytes());
        out.push(self.provider.len() as u8);
        out.extend(self.provider.as_bytes());
        out.extend(&self.address);
        out
    }

    /// None for bytes that no task published.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (format, rest) = rest.split_first_chunk()?;
        let (&len, rest) = rest.split_first()?;
        let (provider, address) = rest.split_at_checked(len.into())?;
        if u32::from_le_bytes(*magic) != MAGIC || provider.is_empty() || address.is_empty() {
            return None;
        }
        Some(Self {
            nonce: u64::from_le_bytes(*nonce),
            format: u32::from_le_bytes(*format),
            provider: std::str::from_utf8(provider).ok()?.to_owned(),
            address: address.to_owned(),
        })
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "provider {}, address format {}", self.provider, self.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_come_back_and_nonsense_does_not() {
        let card = Card { nonce: 5, format: 2, provider: "tcp;ofi_rxm".into(), address: vec![1; 16] };
        let bytes = card.encode();
        assert_eq!(Card::decode(&bytes), Some(card));
        for cut in 0..bytes.len() - 16 {
            assert_eq!(Card::decode(&bytes[..cut]), None, "{cut} bytes");
        }
        assert_eq!(Card::decode(&[0xa5; 512]), None);
    }
}
