//! What a task publishes through the launcher: `1,KEY,HOST,ADDRESS,ADDRESS…`, without blanks, which
//! PMI-1 can't carry.

use std::ffi::CStr;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sha2::{Digest, Sha256};

use crate::bootstrap::Address;
use crate::bootstrap::error::BootstrapError;
use crate::bootstrap::key::Key;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) key: Key,
    /// The same in all processes that have one loopback interface in common.
    pub(super) host: String,
    /// Where task 0 listens; empty for others.
    pub(super) addresses: Vec<Address>,
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1,{},{}", hex(&self.key), self.host)?;
        self.addresses.iter().try_for_each(|address| write!(f, ",{address}"))
    }
}

/// The card of task `from`.
pub(super) fn parse(text: &str, from: u32) -> Result<Card, BootstrapError> {
    let read = || {
        let mut parts = text.split(',');
        let version = parts.next()?;
        let key = unhex(parts.next()?)?;
        let host = parts.next()?.to_owned();
        let addresses = parts.map(|part| part.parse().ok()).collect::<Option<Vec<Address>>>()?;
        (version == "1").then_some(Card { key, host, addresses })
    };
    read().ok_or_else(|| unreadable(from, text))
}

pub(super) fn unreadable(from: u32, text: &str) -> BootstrapError {
    BootstrapError::Manager {
        during: format!("reading what task {from} has pinned"),
        reason: format!("{text:?} is not what this version of Lapis writes: do all tasks use one version?"),
    }
}

impl Card {
    /// Where to look for task 0, nearest first.
    pub(super) fn candidates(&self) -> Vec<Address> {
        let mut all = self.addresses.clone();
        if self.host == host()
            && let Some(Address::Tcp { port, .. }) = all.first()
        {
            all.insert(0, Address::Tcp { host: "localhost".into(), port: *port });
        }
        all
    }
}

/// Tells machines, and network namespaces on them, apart.
pub(super) fn host() -> String {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let digest = Sha256::new().chain_update(&boot).chain_update(network.as_os_str().as_encoded_bytes());
    hex(&digest.finalize()[..8])
}

/// Addresses of this machine that others may reach, and its name.
pub(super) fn own_addresses(port: u16) -> Vec<Address> {
    let at = |host: String| Address::Tcp { host, port };
    let mut all: Vec<Address> = interfaces().into_iter().map(|ip| at(ip.to_string())).collect();
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        all.push(at(name));
    }
    all
}

/// Addresses of the interfaces, but for loopback and those that count on one link only; not more
/// than a card can carry.
fn interfaces() -> Vec<IpAddr> {
    const MOST: usize = 8;
    let mut found = Vec::new();
    let mut first = std::ptr::null_mut();
    // SAFETY: getifaddrs stores a list that lives until freeifaddrs.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return found;
    }
    let mut next = first;
    // SAFETY: the pointers are null or lead to the next entry of the list, which is not freed
    // before the loop ends.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: a name that the list owns, ended by a zero byte.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        let up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
        let ip = (up && name != c"lo").then(|| address(entry.ifa_addr)).flatten();
        found.extend(ip);
    }
    // SAFETY: the list that getifaddrs gave, once.
    unsafe { libc::freeifaddrs(first) };
    found.sort_by_key(IpAddr::is_ipv6);
    found.truncate(MOST);
    found
}

fn address(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null, or an address of the list, which begins with its family.
    let family = i32::from(unsafe { at.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: the family says what is there.
            let raw = unsafe { at.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(raw.sin_addr.s_addr));
            (!ip.is_loopback() && !ip.is_link_local()).then_some(IpAddr::V4(ip))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says what is there.
            let raw = unsafe { at.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
            (!ip.is_loopback() && !ip.is_unicast_link_local()).then_some(IpAddr::V6(ip))
        }
        _ => None,
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

pub(super) fn unhex(text: &str) -> Option<Key> {
    crate::bootstrap::environment::from_hex(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_survive_the_board() {
        for addresses in [Vec::new(), own_addresses(4711)] {
            let card = Card { key: [7; 32], host: host(), addresses };
            let text = card.to_string();
            assert!(!text.contains([' ', '=', ';', '\n']), "{text}");
            assert_eq!(parse(&text, 0).unwrap(), card);
        }
        let mut addresses = own_addresses(1);
        addresses.push(Address::Tcp { host: "::1".into(), port: 9 });
        let card = Card { key: [7; 32], host: host(), addresses };
        assert_eq!(parse(&card.to_string(), 0).unwrap(), card);
        assert_eq!(card.candidates()[0], Address::Tcp { host: "localhost".into(), port: 1 });
        let there = Card { host: "elsewhere".into(), ..card.clone() };
        assert_eq!(there.candidates(), card.addresses);
    }

    #[test]
    fn nonsense_is_refused_with_its_task() {
        for wrong in ["", "1", "1,ab,h", "2,00,h", "1,zz,h,tcp:a"] {
            assert!(parse(wrong, 5).unwrap_err().to_string().contains("task 5"), "{wrong}");
        }
    }
}
