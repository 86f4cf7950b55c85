//! What a task publishes about its windows.
//!
//! ```text
//!   "LHW" version 3 │ host: 8 bytes │ landmark: 28 │ count: 1 │ count × window
//!
//!   landmark:  pid: 4 │ nonce at: 8 │ scratch at: 8 │ nonce: 8
//!   window:    network: 4 │ adapter: 4 │ window: 4 │ length of the name: 1 │ name
//!              │ length: 1, 0 or 8 │ of an Ethernet's: address: 4 │ port: 2 │ longest datagram: 2
//! ```
//!
//! Numbers are little endian. `host` tells whose windows can be reached from where. By the
//! landmark a peer finds out whether it can copy from and to this process's memory itself; pid 0
//! says that it shall not.

use lapis_adapters::protocol::Place;
use lapis_core::transport::MAX_ADDRESS;
use lapis_cross_memory::Landmark;
use std::net::Ipv4Addr;

const MAGIC: &[u8; 4] = b"LHW\x03";

/// A window of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) network: u32,
    /// The adapter's place in the availability matrix.
    pub(crate) index: u32,
    pub(crate) place: Place,
    /// Where it is on an Ethernet.
    pub(crate) wire: Option<Contact>,
}

/// Where a window is on an Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contact {
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    /// The longest datagram that it takes.
    pub(crate) room: u16,
}

/// All windows of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) host: u64,
    pub(crate) landmark: Landmark,
    pub(crate) entries: Vec<Entry>,
}

impl Card {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.host.to_le_bytes());
        let Landmark { pid, nonce_at, scratch_at, nonce } = self.landmark;
        out.extend_from_slice(&pid.to_le_bytes());
        for word in [nonce_at, scratch_at, nonce] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        let count_at = out.len();
        out.push(0);
        for entry in &self.entries {
            let name = entry.place.adapter.as_bytes();
            if out.len() + 22 + name.len() > MAX_ADDRESS || name.len() > 255 {
                break;
            }
            for number in [entry.network, entry.index, entry.place.window] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.push(name.len() as u8);
            out.extend_from_slice(name);
            out.push(if entry.wire.is_some() { 8 } else { 0 });
            if let Some(Contact { address, port, room }) = entry.wire {
                out.extend_from_slice(&address.octets());
                out.extend_from_slice(&port.to_le_bytes());
                out.extend_from_slice(&room.to_le_bytes());
            }
            out[count_at] += 1;
        }
        out
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let host = u64::from_le_bytes(take(&mut rest)?);
        let pid = i32::from_le_bytes(take(&mut rest)?);
        let [nonce_at, scratch_at, nonce] =
            [take(&mut rest)?, take(&mut rest)?, take(&mut rest)?].map(u64::from_le_bytes);
        let [count] = take(&mut rest)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let [network, index, window] =
                [take(&mut rest)?, take(&mut rest)?, take(&mut rest)?].map(u32::from_le_bytes);
            let [len] = take(&mut rest)?;
            let (name, others) = rest.split_at_checked(usize::from(len))?;
            rest = others;
            let adapter = std::str::from_utf8(name).ok()?.to_owned();
            let [len] = take(&mut rest)?;
            let wire = match len {
                0 => None,
                8 => Some(Contact {
                    address: Ipv4Addr::from(take::<4>(&mut rest)?),
                    port: u16::from_le_bytes(take(&mut rest)?),
                    room: u16::from_le_bytes(take(&mut rest)?),
                }),
                _ => return None,
            };
            entries.push(Entry { network, index, place: Place { adapter, window }, wire });
        }
        let landmark = Landmark { pid, nonce_at, scratch_at, nonce };
        rest.is_empty().then_some(Self { host, landmark, entries })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

/// Which windows of two tasks talk to each other, by index: those of one network, in their order.
/// Both tasks come to the same answer, so that path *n* of one is path *n* of the other. Between
/// two hosts only windows of an Ethernet do.
pub(crate) fn pairs(mine: &Card, theirs: &Card) -> Vec<(usize, usize)> {
    let mut networks: Vec<u32> = mine.entries.iter().map(|entry| entry.network).collect();
    networks.sort_unstable();
    networks.dedup();
    let one_host = mine.host == theirs.host;
    let of = |card: &Card, network: u32| -> Vec<usize> {
        let reaches = |entry: &Entry| entry.network == network && (one_host || entry.wire.is_some());
        (0..card.entries.len()).filter(|at| reaches(&card.entries[*at])).collect()
    };
    networks.into_iter().flat_map(|network| of(mine, network).into_iter().zip(of(theirs, network))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(networks: &[u32]) -> Card {
        let entry = |(at, network): (usize, &u32)| Entry {
            network: *network,
            index: at as u32,
            place: Place { adapter: format!("sn{at}"), window: 7 * at as u32 },
            wire: (at % 2 == 1).then_some(Contact { address: [10, 0, 0, 9].into(), port: 9, room: 1460 }),
        };
        let landmark = Landmark { pid: 7, nonce_at: 1 << 40, scratch_at: 8, nonce: u64::MAX };
        Card { host: 5, landmark, entries: networks.iter().enumerate().map(entry).collect() }
    }

    #[test]
    fn cards_survive_the_journey_and_torn_ones_are_refused() {
        let card = card(&[0, 1, 0, 1, 2, 3, 4, 5]);
        let bytes = card.encode();
        assert!(bytes.len() <= MAX_ADDRESS);
        assert_eq!(Card::parse(&bytes), Some(card));
        for cut in 0..bytes.len() {
            assert_eq!(Card::parse(&bytes[..cut]), None);
        }
        assert_eq!(Card::parse(&[bytes, vec![0]].concat()), None);
    }

    #[test]
    fn windows_pair_by_network_the_same_way_on_both_sides() {
        for (mine, theirs, expected) in [
            (&[0, 1][..], &[0, 1][..], &[(0, 0), (1, 1)][..]),
            (&[1, 0], &[0, 1], &[(1, 0), (0, 1)]),
            (&[0, 0, 1], &[0, 1, 1], &[(0, 0), (2, 1)]),
            (&[0], &[1], &[]),
        ] {
            let (mine, theirs) = (card(mine), card(theirs));
            assert_eq!(pairs(&mine, &theirs), expected);
            let back: Vec<_> = pairs(&theirs, &mine).into_iter().map(|(a, b)| (b, a)).collect();
            assert_eq!(back, expected);
        }
    }

    #[test]
    fn between_hosts_windows_of_an_ethernet_alone_pair() {
        let (mine, theirs) = (card(&[0, 0, 1, 1]), Card { host: 6, ..card(&[1, 1, 0, 0]) });
        assert_eq!(pairs(&mine, &theirs), [(1, 3), (3, 1)]);
        assert_eq!(pairs(&theirs, &mine), [(3, 1), (1, 3)]);
    }
}
