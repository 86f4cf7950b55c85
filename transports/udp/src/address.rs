//! What a task publishes about itself: the network stack that it lives in and its sockets.
//!
//! ```text
//! version u8 | rails u8 | flags u8 | count u8 | network identity, 16 bytes | count entries
//! entry: flags u8 | prefix u8 | port u16 | scope u32 | name length u8 | name | address, 4 or 16 bytes
//! ```
//! All numbers are little endian.

use lapis_core::transport::MAX_ADDRESS;
use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};

const VERSION: u8 = 1;
const EXPLICIT: u8 = 1;
const V6: u8 = 1;
const LOOPBACK: u8 = 2;
const BRIDGE: u8 = 4;

/// Longest name of an interface that is published.
const NAME: usize = 15;

/// Interfaces that fit an address.
pub(crate) const MAX_ENTRIES: usize = (MAX_ADDRESS - 20) / (9 + NAME + 16);

/// One socket of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) ip: IpAddr,
    pub(crate) prefix: u8,
    pub(crate) scope: u32,
    pub(crate) port: u16,
    pub(crate) loopback: bool,
    pub(crate) bridge: bool,
}

impl Entry {
    pub(crate) fn socket_addr(&self) -> SocketAddr {
        match self.ip {
            IpAddr::V4(ip) => SocketAddrV4::new(ip, self.port).into(),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, self.port, 0, self.scope).into(),
        }
    }

    /// The part of the address that all hosts of the subnet share.
    pub(crate) fn network(&self) -> (bool, u128) {
        let prefix = u32::from(self.prefix);
        match self.ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - prefix.min(32)).unwrap_or(0);
                (false, u128::from(u32::from(ip) & mask))
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
                (true, u128::from(ip) & mask)
            }
        }
    }

    pub(crate) fn link_local(&self) -> bool {
        match self.ip {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unicast_link_local(),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.name, self.ip, self.prefix)
    }
}

/// The addresses of a task whose program told them, one for each path, from
/// `@address:port,address:port…`; `None`: that is none of this form.
pub(crate) fn plain(bytes: &[u8]) -> Option<Result<Vec<SocketAddr>, String>> {
    let text = std::str::from_utf8(bytes.strip_prefix(b"@")?).unwrap_or_default();
    let parse = |one: &str| match one.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(address),
        _ => Err(format!("{one:?} is no address with a port")),
    };
    Some(text.split(',').map(parse).collect())
}

/// Everything that a task publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) identity: [u8; 16],
    /// Rails that the task wants.
    pub(crate) rails: u8,
    /// The user named the interfaces.
    pub(crate) explicit: bool,
    pub(crate) entries: Vec<Entry>,
}

impl Card {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.rails, u8::from(self.explicit) * EXPLICIT, self.entries.len() as u8];
        out.extend_from_slice(&self.identity);
        for entry in &self.entries {
            let flags = (u8::from(entry.ip.is_ipv6()) * V6)
                | (u8::from(entry.loopback) * LOOPBACK)
                | (u8::from(entry.bridge) * BRIDGE);
            let name = &entry.name.as_bytes()[..entry.name.len().min(NAME)];
            out.extend_from_slice(&[flags, entry.prefix]);
            out.extend_from_slice(&entry.port.to_le_bytes());
            out.extend_from_slice(&entry.scope.to_le_bytes());
            out.push(name.len() as u8);
            out.extend_from_slice(name);
            match entry.ip {
                IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
                IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
            }
        }
        out
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let [version, rails, flags, count] = *take::<4>(&mut rest)?;
        if version != VERSION {
            return None;
        }
        let identity = *take::<16>(&mut rest)?;
        let mut entries = Vec::with_capacity(count.into());
        for _ in 0..count {
            let [flags, prefix] = *take::<2>(&mut rest)?;
            let port = u16::from_le_bytes(*take::<2>(&mut rest)?);
            let scope = u32::from_le_bytes(*take::<4>(&mut rest)?);
            let [len] = *take::<1>(&mut rest)?;
            let (name, after) = rest.split_at_checked(len.into())?;
            rest = after;
            let ip = if flags & V6 == 0 {
                IpAddr::from(*take::<4>(&mut rest)?)
            } else {
                IpAddr::from(*take::<16>(&mut rest)?)
            };
            entries.push(Entry {
                name: String::from_utf8_lossy(name).into_owned(),
                ip,
                prefix,
                scope,
                port,
                loopback: flags & LOOPBACK != 0,
                bridge: flags & BRIDGE != 0,
            });
        }
        rest.is_empty().then_some(Self { identity, rails, explicit: flags & EXPLICIT != 0, entries })
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() {
            return f.write_str("none");
        }
        for (i, entry) in self.entries.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{entry}")?;
        }
        Ok(())
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_survive_the_journey_and_torn_ones_are_refused() {
        let entry = |name: &str, ip: &str, loopback| Entry {
            name: name.into(),
            ip: ip.parse().expect("an address"),
            prefix: 24,
            scope: 3,
            port: 4711,
            loopback,
            bridge: !loopback,
        };
        let card = Card {
            identity: [9; 16],
            rails: 2,
            explicit: true,
            entries: vec![entry("lo", "127.0.0.1", true), entry("en0", "fd00::7", false)],
        };
        let bytes = card.encode();
        assert_eq!(Card::parse(&bytes).as_ref(), Some(&card));
        for cut in 0..bytes.len() {
            assert_eq!(Card::parse(&bytes[..cut]), None);
        }
    }

    #[test]
    fn plain_addresses_are_told_from_cards_and_checked() {
        let two = plain(b"@10.0.0.1:4000,[fd00::1]:4001").expect("plain").expect("good");
        assert_eq!((two.len(), two[1].port()), (2, 4001));
        for wrong in [&b"@"[..], b"@10.0.0.1", b"@10.0.0.1:0", b"@10.0.0.1:4000,", b"@\xff"] {
            assert!(plain(wrong).expect("plain").is_err(), "{wrong:?}");
        }
        assert!(plain(&[VERSION, 1, 0, 0]).is_none());
    }

    #[test]
    fn the_longest_card_fits_an_address() {
        let entry = Entry {
            name: "a-very-long-interface-name".into(),
            ip: "fd00::1".parse().expect("an address"),
            prefix: 64,
            scope: 1,
            port: 1,
            loopback: false,
            bridge: false,
        };
        let card = Card { identity: [0; 16], rails: 8, explicit: false, entries: vec![entry; MAX_ENTRIES] };
        assert!(card.encode().len() <= MAX_ADDRESS);
    }
}
