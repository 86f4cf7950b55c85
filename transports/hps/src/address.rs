//! What a task publishes about its windows.
//!
//! ```text
//!   "LHW" version 5 │ host: 8 bytes │ landmark: 28 │ shared: 1 │ count: 1 │ count × window
//!
//!   landmark:  pid: 4 │ nonce at: 8 │ scratch at: 8 │ nonce: 8
//!   window:    network: 4 │ adapter: 4 │ window: 4 │ length of the name: 1 │ name
//!              │ length: 1, 0, 9 or 21 │ of an Ethernet's: address: 4 or 16 │ port: 2
//!              │ longest datagram: 2 │ joins: 1
//! ```
//!
//! Numbers are little endian. `host` tells whose windows can be reached from where. By the
//! landmark a peer finds out whether it can copy from and to this process's memory itself; pid 0
//! says that it shall not. `shared` is 1 where contexts share windows, so that each datagram names
//! its context. `joins` is 1 where datagrams that left together may arrive in one piece.

use lapis_adapters::protocol::Place;
use lapis_core::transport::MAX_ADDRESS;
use lapis_cross_memory::Landmark;
use std::net::IpAddr;

const MAGIC: &[u8; 4] = b"LHW\x05";

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
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    /// The longest datagram that it takes.
    pub(crate) room: u16,
    /// It takes in one piece what left together.
    pub(crate) joins: bool,
}

impl Contact {
    /// Length and contents.
    fn encode(self) -> Vec<u8> {
        let address = match self.address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let (port, room) = (self.port.to_le_bytes(), self.room.to_le_bytes());
        [&[address.len() as u8 + 5], &address[..], &port, &room, &[u8::from(self.joins)]].concat()
    }
}

/// All windows of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) host: u64,
    pub(crate) landmark: Landmark,
    /// Several contexts share the windows.
    pub(crate) shared: bool,
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
        out.push(u8::from(self.shared));
        let count_at = out.len();
        out.push(0);
        for entry in &self.entries {
            let name = entry.place.adapter.as_bytes();
            if out.len() + 35 + name.len() > MAX_ADDRESS || name.len() > 255 {
                break;
            }
            for number in [entry.network, entry.index, entry.place.window] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.push(name.len() as u8);
            out.extend_from_slice(name);
            out.extend_from_slice(&entry.wire.map_or_else(|| vec![0], Contact::encode));
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
        let [shared, count] = take(&mut rest)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let [network, index, window] =
                [take(&mut rest)?, take(&mut rest)?, take(&mut rest)?].map(u32::from_le_bytes);
            let [len] = take(&mut rest)?;
            let (name, others) = rest.split_at_checked(usize::from(len))?;
            rest = others;
            let adapter = std::str::from_utf8(name).ok()?.to_owned();
            let address = match take(&mut rest)? {
                [0] => None,
                [9] => Some(IpAddr::from(take::<4>(&mut rest)?)),
                [21] => Some(IpAddr::from(take::<16>(&mut rest)?)),
                _ => return None,
            };
            let wire = match address {
                None => None,
                Some(address) => Some(Contact {
                    address,
                    port: u16::from_le_bytes(take(&mut rest)?),
                    room: u16::from_le_bytes(take(&mut rest)?),
                    joins: take(&mut rest)? != [0],
                }),
            };
            entries.push(Entry { network, index, place: Place { adapter, window }, wire });
        }
        let landmark = Landmark { pid, nonce_at, scratch_at, nonce };
        (rest.is_empty() && shared < 2).then_some(Self { host, landmark, shared: shared == 1, entries })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

/// Which windows of two tasks talk to each other, by index: those of one network, in their order.
/// Both tasks come to the same answer, so that path *n* of one is path *n* of the other. Between
/// two hosts only windows of an Ethernet do, with addresses of one version.
pub(crate) fn pairs(mine: &Card, theirs: &Card) -> Vec<(usize, usize)> {
    let mut networks: Vec<u32> = mine.entries.iter().map(|entry| entry.network).collect();
    networks.sort_unstable();
    networks.dedup();
    let one_host = mine.host == theirs.host;
    let of = |card: &Card, network: u32, is_v6: bool| -> Vec<usize> {
        let by_wire = |entry: &Entry| entry.wire.is_some_and(|wire| wire.address.is_ipv6() == is_v6);
        // Memory has no addresses.
        let reaches = |entry: &Entry| if one_host { !is_v6 } else { by_wire(entry) };
        let is_one = |entry: &Entry| entry.network == network && reaches(entry);
        (0..card.entries.len()).filter(|at| is_one(&card.entries[*at])).collect()
    };
    let all = networks.into_iter().flat_map(|network| [(network, false), (network, true)]);
    all.flat_map(|(network, is_v6)| of(mine, network, is_v6).into_iter().zip(of(theirs, network, is_v6)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const ADDRESSES: [IpAddr; 2] =
        [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::new(0xfd00, 1, 2, 3, 4, 5, 6, 7))];

    fn card(networks: &[u32]) -> Card {
        let entry = |(at, network): (usize, &u32)| Entry {
            network: *network,
            index: at as u32,
            place: Place { adapter: format!("sn{at}"), window: 7 * at as u32 },
            wire: (at % 2 == 1).then_some(Contact {
                address: ADDRESSES[at / 2 % 2],
                port: 9,
                room: 1460,
                joins: at % 3 == 0,
            }),
        };
        let landmark = Landmark { pid: 7, nonce_at: 1 << 40, scratch_at: 8, nonce: u64::MAX };
        Card { host: 5, landmark, shared: false, entries: networks.iter().enumerate().map(entry).collect() }
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
        let card = Card { shared: true, ..self::card(&[0]) };
        assert_eq!(Card::parse(&card.encode()), Some(card));
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
        // sn1 has an address of IPv4, sn3 one of IPv6, and so on.
        let (mine, theirs) = (card(&[0, 0, 1, 1]), Card { host: 6, ..card(&[1, 0, 0, 1]) });
        assert_eq!(pairs(&mine, &theirs), [(1, 1), (3, 3)]);
        assert_eq!(pairs(&theirs, &mine), [(1, 1), (3, 3)]);
        let (mine, theirs) = (card(&[9, 0, 9, 1]), Card { host: 6, ..card(&[9, 1, 9, 0, 9, 0]) });
        assert_eq!(pairs(&mine, &theirs), [(1, 5)], "a version speaks with its like");
        assert_eq!(pairs(&theirs, &mine), [(5, 1)]);
    }
}
