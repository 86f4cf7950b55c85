//! Interfaces, addresses, routes and neighbours, as the kernel tells of them.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const ERROR: u16 = 2;
const DONE: u16 = 3;
const GET_LINK: u16 = 18;
const GET_ADDRESS: u16 = 22;
const GET_ROUTE: u16 = 26;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;

const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;
const ALL: u16 = 0x300;

/// Groups of news: links, neighbours, addresses and routes of IPv4, and those of IPv6.
const GROUPS: u32 = 1 | 4 | 0x10 | 0x40 | 0x100 | 0x400;

const UP: u32 = 1;
const CARRIES: u32 = 0x1_0000;
const LOOPBACK: u32 = 8;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
/// The scope of addresses that lead everywhere, and what flags say of those that don't stand yet,
/// or clash with somebody's.
const EVERYWHERE: u8 = 0;
const UNSETTLED: u8 = 0x08 | 0x40;
/// An address that the kernel gives up after some days (privacy extensions).
const TEMPORARY: u8 = 0x01;
/// States of a neighbour in which its address is known.
const KNOWN: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;
/// The state of one that was not heard of for a while.
const STALE: u16 = 0x04;
const USE: u8 = 1;
/// The kind of a virtual interface, among what is said of it as one.
const INFO_KIND: u16 = 1;

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) mac: [u8; 6],
    pub(crate) mtu: u32,
    /// It is up and has a carrier.
    pub(crate) carries: bool,
    pub(crate) loopback: bool,
    /// It is one of a pair of virtual interfaces (veth).
    pub(crate) is_pair: bool,
}

/// A conversation with the kernel.
#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

fn open(groups: u32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | if groups == 0 { SocketFlags::empty() } else { SocketFlags::NONBLOCK };
    let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    bind(&fd, &SocketAddrNetlink::new(0, groups))?;
    Ok(fd)
}

/// News that are taken at once.
const AT_ONCE: usize = 64;

/// A socket that becomes readable when a link, a neighbour or an address has changed.
#[derive(Debug)]
pub(crate) struct News(OwnedFd);

impl News {
    pub(crate) fn open() -> io::Result<Self> {
        open(GROUPS).map(Self)
    }

    /// What news are of. What they say is forgotten: they are a reason to look, and no more.
    pub(crate) fn take(&self) -> Heard {
        let (mut heard, mut bytes) = (Heard::default(), [0u8; 4096]);
        // Whoever changes routes without end leaves time for others: the rest is another event.
        for _ in 0..AT_ONCE {
            match recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((len, _)) => heard.add(&bytes[..len]),
                // Too many at once: some are lost.
                Err(rustix::io::Errno::NOBUFS) => heard = Heard::ALL,
                Err(_) => return heard,
            }
        }
        heard
    }
}

/// What may have changed beside links and addresses, which are always looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) routes: bool,
    pub(crate) neighbours: bool,
}

impl Heard {
    pub(crate) const ALL: Self = Self { routes: true, neighbours: true };

    /// Counts messages of the kernel's.
    fn add(&mut self, mut bytes: &[u8]) {
        while let Some(len) = number(bytes, 0).filter(|len| (16..=bytes.len()).contains(&(*len as usize))) {
            match u16::from_ne_bytes([bytes[4], bytes[5]]) {
                // Routes go with links and addresses, too, and not all of that is told.
                16 | 17 | 20 | 21 | 24 | 25 => *self = Self::ALL,
                _ => self.neighbours = true,
            }
            bytes = bytes.get((len as usize).next_multiple_of(4)..).unwrap_or(&[]);
        }
    }
}

/// A neighbour whose address is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    pub(crate) mac: [u8; 6],
    /// It was not heard of for a while.
    pub(crate) is_stale: bool,
}

impl AsFd for News {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The value of an attribute among those at the end of a message.
fn find(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let [a, b, c, d, ..] = *bytes {
        let len = usize::from(u16::from_ne_bytes([a, b]));
        let value = bytes.get(4..len)?;
        if u16::from_ne_bytes([c, d]) == wanted {
            return Some(value);
        }
        bytes = bytes.get(len.next_multiple_of(4)..)?;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// Whether the kernel does not know a version of IP.
fn is_unknown(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP))
}

/// How the kernel calls the version, and the address's bytes.
fn parts(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (IPV4, address.octets().to_vec()),
        IpAddr::V6(address) => (IPV6, address.octets().to_vec()),
    }
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        open(0).map(Self)
    }

    /// Asks, and gives the bodies of all answers.
    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut message = ((body.len() + 16) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST | flags).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        send(&self.0, &message, SendFlags::empty())?;
        let mut answers = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let (len, _) = recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
            let mut rest = &buffer[..len];
            while let Some(len) = number(rest, 0).filter(|len| (16..=rest.len()).contains(&(*len as usize))) {
                let (head, body) = rest[..len as usize].split_at(16);
                match u16::from_ne_bytes([head[4], head[5]]) {
                    DONE => return Ok(answers),
                    ERROR => match number(body, 0).unwrap_or(0).cast_signed() {
                        0 => return Ok(answers),
                        code => return Err(io::Error::from_raw_os_error(-code)),
                    },
                    _ => answers.push(body.to_vec()),
                }
                rest = rest.get((len as usize).next_multiple_of(4)..).unwrap_or(&[]);
            }
            if flags & (ALL | ACKNOWLEDGE) == 0 {
                return Ok(answers);
            }
        }
    }

    fn link(&self, index: u32, name: Option<&str>) -> io::Result<Link> {
        let mut body = vec![0; 4];
        body.extend(index.to_ne_bytes());
        body.extend([0; 8]);
        if let Some(name) = name {
            body.extend(attribute(libc::IFLA_IFNAME, &[name.as_bytes(), &[0]].concat()));
        }
        let answers = self.ask(GET_LINK, 0, &body)?;
        let parse = |body: &Vec<u8>| {
            let flags = number(body, 8)?;
            let more = body.get(16..)?;
            let name = find(more, libc::IFLA_IFNAME)?.strip_suffix(&[0])?;
            let kind = find(more, libc::IFLA_LINKINFO).and_then(|info| find(info, INFO_KIND));
            Some(Link {
                index: number(body, 4)?,
                name: String::from_utf8_lossy(name).into_owned(),
                mac: find(more, libc::IFLA_ADDRESS).and_then(|m| m.try_into().ok()).unwrap_or_default(),
                mtu: number(find(more, libc::IFLA_MTU)?, 0)?,
                carries: flags & (UP | CARRIES) == UP | CARRIES,
                loopback: flags & LOOPBACK != 0,
                is_pair: kind.is_some_and(|kind| kind.strip_suffix(&[0]).unwrap_or(kind) == b"veth"),
            })
        };
        answers.first().and_then(parse).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The interface of this name.
    pub(crate) fn named(&self, name: &str) -> io::Result<Link> {
        self.link(0, Some(name))
    }

    /// The interface of this number.
    pub(crate) fn numbered(&self, index: u32) -> io::Result<Link> {
        self.link(index, None)
    }

    /// An interface's addresses, each with how many bits of it are its network's: those of IPv4,
    /// and then those of IPv6 that lead beyond the link and stay.
    pub(crate) fn addresses(&self, index: u32) -> io::Result<Vec<(IpAddr, u8)>> {
        let parse = |body: &Vec<u8>| {
            let [version, bits, flags, scope, ..] = body[..] else { return None };
            let leads = version == IPV4 || scope == EVERYWHERE && flags & (UNSETTLED | TEMPORARY) == 0;
            let is_it = leads && number(body, 4) == Some(index);
            let more = body.get(8..).filter(|_| is_it)?;
            // The interface's own address; the other one is a peer's, if there is one.
            let own = find(more, 2).or_else(|| find(more, 1))?;
            Some((address_of(own)?, bits))
        };
        let mut all = Vec::new();
        for version in [IPV4, IPV6] {
            match self.ask(GET_ADDRESS, ALL, &[version, 0, 0, 0, 0, 0, 0, 0]) {
                Ok(answers) => all.extend(answers.iter().filter_map(parse)),
                // A kernel without IPv6.
                Err(e) if version == IPV6 && is_unknown(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(all)
    }

    /// The next hop to an address over an interface.
    pub(crate) fn next_hop(&self, index: u32, to: IpAddr) -> io::Result<IpAddr> {
        let (version, octets) = parts(to);
        let mut body = vec![version, 8 * octets.len() as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        body.extend(attribute(1, &octets));
        body.extend(attribute(4, &index.to_ne_bytes()));
        let answers = self.ask(GET_ROUTE, 0, &body)?;
        let gateway = answers.first().and_then(|body| find(body.get(12..)?, 5)).and_then(address_of);
        Ok(gateway.unwrap_or(to))
    }

    /// The hardware's address of a neighbour, if the kernel knows it.
    pub(crate) fn neighbour(&self, index: u32, of: IpAddr) -> io::Result<Option<[u8; 6]>> {
        let answers = match self.ask(GET_NEIGHBOUR, 0, &neighbour(index, of, 0)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            answers => answers?,
        };
        Ok(answers.first().and_then(|body| parse_neighbour(body)).map(|(_, neighbour)| neighbour.mac))
    }

    /// All neighbours at an interface whose hardware's address the kernel knows.
    pub(crate) fn neighbours(&self, index: u32) -> io::Result<HashMap<IpAddr, Neighbour>> {
        // Of no version in particular: of all.
        let answers = self.ask(GET_NEIGHBOUR, ALL, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        let here = answers.iter().filter(|body| number(body, 4) == Some(index));
        Ok(here.filter_map(|body| parse_neighbour(body)).collect())
    }

    /// Has the kernel find a neighbour out.
    pub(crate) fn look_for(&self, index: u32, of: IpAddr) -> io::Result<()> {
        self.ask(NEW_NEIGHBOUR, ACKNOWLEDGE | CREATE | REPLACE, &neighbour(index, of, USE)).map(drop)
    }
}

/// A neighbour, if its hardware's address is known.
fn parse_neighbour(body: &[u8]) -> Option<(IpAddr, Neighbour)> {
    let state = u16::from_ne_bytes([*body.get(8)?, *body.get(9)?]);
    let address = address_of(find(body.get(12..)?, 1)?)?;
    let mac = find(body.get(12..)?, 2)?.try_into().ok()?;
    (state & KNOWN != 0).then_some((address, Neighbour { mac, is_stale: state & STALE != 0 }))
}

fn neighbour(index: u32, of: IpAddr, flags: u8) -> Vec<u8> {
    let (version, octets) = parts(of);
    let mut body = vec![version, 0, 0, 0];
    body.extend(index.to_ne_bytes());
    body.extend([0, 0, flags, 0]);
    body.extend(attribute(1, &octets));
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_kernel_tells_of_the_loopback_interface() {
        let netlink = Netlink::open().expect("everybody may ask");
        let lo = netlink.named("lo").expect("is everywhere");
        assert!(lo.loopback && lo.name == "lo" && !lo.is_pair, "{lo:?}");
        assert_eq!(netlink.numbered(lo.index).expect("the same"), lo);
        assert_eq!(netlink.named("lapis-none").expect_err("is nowhere").raw_os_error(), Some(libc::ENODEV));
        if lo.carries {
            let all = netlink.addresses(lo.index).expect("asks");
            assert_eq!(all.first(), Some(&(IpAddr::from(Ipv4Addr::LOCALHOST), 8)), "{all:?}");
        }
    }

    #[test]
    fn torn_answers_are_refused() {
        let whole = [attribute(1, &[1, 2, 3]), attribute(7, &[9; 4])].concat();
        assert_eq!(find(&whole, 7), Some(&[9; 4][..]));
        assert_eq!(find(&whole, 1), Some(&[1, 2, 3][..]));
        for cut in 0..whole.len() {
            assert_eq!(find(&whole[..cut], 7), None);
        }
        // Lengths of nothing at all end the search.
        assert_eq!(find(&[0; 64], 7), None);
    }
}
