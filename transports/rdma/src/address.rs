//! What a task publishes about itself.
//!
//! ```text
//!   "LRD3" │ nonce: 8 │ format: 4 │ length: 1, provider │ rails: 1 │ rails × rail
//!
//!   rail:  network: 4 │ length: 1, address
//! ```
//!
//! Numbers are little endian. Rails of one network reach each other.

use lapis_core::transport::MAX_ADDRESS;
use std::fmt;

const MAGIC: &[u8; 4] = b"LRD3";

/// Most rails of a task: what the guide has.
pub(crate) const MAX_RAILS: usize = 8;

/// A rail of a task, as others need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// A number that tells networks apart.
    pub(crate) network: u32,
    /// The address, as the provider gave it.
    pub(crate) address: Vec<u8>,
}

/// A task's end points, as others need them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// Which life of the task this is.
    pub(crate) nonce: u64,
    /// libfabric's kind of address.
    pub(crate) format: u32,
    /// The provider's name: only equal ones understand each other.
    pub(crate) provider: String,
    pub(crate) rails: Vec<Entry>,
}

impl Card {
    /// Rails for which there is no room are left out; there is for the first.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.nonce.to_le_bytes());
        out.extend(self.format.to_le_bytes());
        out.push(self.provider.len() as u8);
        out.extend(self.provider.as_bytes());
        let count_at = out.len();
        out.push(0);
        for Entry { network, address } in &self.rails {
            if out.len() + 5 + address.len() > MAX_ADDRESS {
                break;
            }
            out.extend(network.to_le_bytes());
            out.push(address.len() as u8);
            out.extend(address);
            out[count_at] += 1;
        }
        out
    }

    /// None for bytes that no task published.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let nonce = u64::from_le_bytes(take(&mut rest)?);
        let format = u32::from_le_bytes(take(&mut rest)?);
        let provider = std::str::from_utf8(counted(&mut rest)?).ok()?.to_owned();
        let [count] = take(&mut rest)?;
        let mut rails = Vec::new();
        for _ in 0..count {
            let network = u32::from_le_bytes(take(&mut rest)?);
            let address = counted(&mut rest)?.to_owned();
            rails.push(Entry { network, address });
        }
        let empty = provider.is_empty() || rails.iter().any(|rail| rail.address.is_empty());
        let good = !empty && rest.is_empty() && (1..=MAX_RAILS).contains(&rails.len());
        good.then_some(Self { nonce, format, provider, rails })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

/// Bytes behind their number.
fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let [len] = take(rest)?;
    let (bytes, tail) = rest.split_at_checked(len.into())?;
    *rest = tail;
    Some(bytes)
}

/// The number of a network of this name (FNV-1a).
pub(crate) fn network(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Which rails of two tasks reach each other, by their numbers: those of one network, in their
/// order. Both tasks come to the same answer. Where no networks are the same, routers are in
/// between, and rails pair in their order.
pub(crate) fn pairs(mine: &[Entry], theirs: &[Entry]) -> Vec<(usize, usize)> {
    let mut networks: Vec<u32> = mine.iter().map(|rail| rail.network).collect();
    networks.sort_unstable();
    networks.dedup();
    let on = |rails: &[Entry], network: u32| -> Vec<usize> {
        (0..rails.len()).filter(|at| rails[*at].network == network).collect()
    };
    let same = |network: u32| on(mine, network).into_iter().zip(on(theirs, network));
    let found: Vec<_> = networks.into_iter().flat_map(same).collect();
    if found.is_empty() { (0..mine.len().min(theirs.len())).map(|at| (at, at)).collect() } else { found }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "provider {}, address format {}", self.provider, self.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rails(networks: &[u32]) -> Vec<Entry> {
        networks.iter().map(|&network| Entry { network, address: vec![network as u8; 48] }).collect()
    }

    #[test]
    fn cards_come_back_and_nonsense_does_not() {
        let rails = rails(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let card = Card { nonce: 5, format: 2, provider: "verbs;ofi_rxm".into(), rails };
        let bytes = card.encode();
        assert!(bytes.len() <= MAX_ADDRESS);
        assert_eq!(Card::decode(&bytes), Some(card));
        for cut in 0..bytes.len() {
            assert_eq!(Card::decode(&bytes[..cut]), None, "{cut} bytes");
        }
        assert_eq!(Card::decode(&[0xa5; 512]), None);
        assert_eq!(Card::decode(&[bytes, vec![0]].concat()), None);
    }

    #[test]
    fn rails_pair_by_network_the_same_way_on_both_sides() {
        for (mine, theirs, expected) in [
            (&[0, 1][..], &[0, 1][..], &[(0, 0), (1, 1)][..]),
            (&[1, 0], &[0, 1], &[(1, 0), (0, 1)]),
            (&[5, 5, 6], &[5, 6, 6], &[(0, 0), (2, 1)]),
            (&[1, 2], &[3], &[(0, 0)]),
        ] {
            let (mine, theirs) = (rails(mine), rails(theirs));
            assert_eq!(pairs(&mine, &theirs), expected);
            let back: Vec<_> = pairs(&theirs, &mine).into_iter().map(|(a, b)| (b, a)).collect();
            assert_eq!(back, expected);
        }
        assert_ne!(network("10.217.0.0/24"), network("10.217.1.0/24"));
    }
}
