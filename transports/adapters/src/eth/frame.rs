//! What goes over the wire: a datagram in UDP over IPv4 or IPv6, so that switches and routers carry
//! it.
//!
//! ```text
//!   0            14         34        42       46       54
//!   │ Ethernet │ IPv4, DF │ UDP     │ magic  │ job    │ the packet engine's datagram …
//!   │ II       │ no option│ sum 0   │ 4 B    │ 8 B    │
//!
//!   0            14         54        62       66       74
//!   │ Ethernet │ IPv6, no │ UDP     │ magic  │ job    │ the packet engine's datagram …
//!   │ II       │ extension│ its sum │ 4 B    │ 8 B    │
//! ```
//!
//! The destination port says which window is meant. The steering program takes what carries the
//! magic number and leaves everything else to the kernel. The eight bytes of the job tell windows
//! apart that follow each other under one number; they are no secret. Into the last two of them
//! goes (by exclusive or) the length of the datagrams that leave together (`burst.rs`), which may
//! arrive in one frame: mark, job and datagram again and again. What is trusted is decided by
//! the packet engine's authenticator, which covers each byte of the datagram: so receivers look at
//! no checksum, and over IPv4 senders make none of UDP's, as IPv4 allows. IPv6 demands one, and
//! what lies in between may drop datagrams without it (RFC 8200, section 8.1). Short frames are
//! padded by interfaces; UDP's length counts.

use std::net::IpAddr;

/// What marks our frames, as it lies on the wire.
pub const MAGIC: [u8; 4] = *b"LaW\x01";

const ETHERNET: usize = 14;
const UDP: usize = 8;
/// Our own bytes behind the head of UDP: mark and job.
pub(super) const OURS: usize = 12;
const IPV4: usize = 20;
const IPV6: usize = 40;
/// The longest head.
pub const LONGEST: usize = ETHERNET + IPV6 + UDP + OURS;

/// The version of the Internet protocol, which says where things lie in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

impl Version {
    /// That of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::Four } else { Self::Six }
    }

    /// Where the head of UDP begins.
    pub const fn udp_at(self) -> usize {
        ETHERNET
            + match self {
                Self::Four => IPV4,
                Self::Six => IPV6,
            }
    }

    /// Where the magic number lies.
    pub const fn magic_at(self) -> usize {
        self.udp_at() + UDP
    }

    /// Bytes before the datagram.
    pub const fn overhead(self) -> usize {
        self.magic_at() + OURS
    }

    /// Those of them that count for the interface's MTU.
    pub const fn in_mtu(self) -> usize {
        self.overhead() - ETHERNET
    }
}

/// One end of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Address of the interface, or of the next hop.
    pub mac: [u8; 6],
    /// Address of the Internet protocol.
    pub address: IpAddr,
    /// UDP port.
    pub port: u16,
}

/// The bytes before each datagram of a way.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: [u8; LONGEST],
    version: Version,
    /// IPv4: sum of the IP header's words without the length. IPv6: sum of the words of UDP's
    /// pseudo header and of its own without the lengths, and of ours.
    sum: u32,
}

fn sum_of(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// The sum of 16-bit words with their carries, of a sum of such words.
fn folded(sum: u64) -> u16 {
    let mut sum = sum;
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Template {
    /// For datagrams of the job of this tag, between ends of one version.
    pub fn new(from: End, to: End, tag: [u8; 8]) -> Self {
        let mut bytes = [0; LONGEST];
        bytes[..6].copy_from_slice(&to.mac);
        bytes[6..12].copy_from_slice(&from.mac);
        let version = match (from.address, to.address) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                bytes[12..14].copy_from_slice(&0x0800u16.to_be_bytes());
                bytes[14] = 0x45;
                // Not to be cut on its way.
                bytes[20] = 0x40;
                bytes[22] = 64;
                bytes[23] = 17;
                bytes[26..30].copy_from_slice(&from.octets());
                bytes[30..34].copy_from_slice(&to.octets());
                Version::Four
            }
            (from, to) => {
                let octets = |address: IpAddr| match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                    IpAddr::V6(address) => address.octets(),
                };
                bytes[12..14].copy_from_slice(&0x86ddu16.to_be_bytes());
                bytes[14] = 0x60;
                bytes[20] = 17;
                bytes[21] = 64;
                bytes[22..38].copy_from_slice(&octets(from));
                bytes[38..54].copy_from_slice(&octets(to));
                Version::Six
            }
        };
        let (udp, magic) = (version.udp_at(), version.magic_at());
        bytes[udp..udp + 2].copy_from_slice(&from.port.to_be_bytes());
        bytes[udp + 2..udp + 4].copy_from_slice(&to.port.to_be_bytes());
        bytes[magic..magic + 4].copy_from_slice(&MAGIC);
        bytes[magic + 4..magic + OURS].copy_from_slice(&tag);
        let sum = match version {
            Version::Four => sum_of(&bytes[ETHERNET..udp]),
            // Both addresses, the number of UDP, and all from the ports on.
            Version::Six => sum_of(&bytes[22..version.overhead()]) + 17,
        };
        Self { bytes, version, sum }
    }

    /// Bytes before the datagram.
    #[inline]
    pub fn overhead(&self) -> usize {
        self.version.overhead()
    }

    /// The bytes before a datagram of `len` bytes: the first [`overhead`](Self::overhead) of these.
    pub fn head(&self, len: usize) -> [u8; LONGEST] {
        let mut bytes = [0; LONGEST];
        // SAFETY: the place is as long as the longest head.
        unsafe { self.write_head(bytes.as_mut_ptr(), len) };
        bytes
    }

    /// Writes the bytes before a datagram of `len` bytes. What depends on the length is written
    /// over the rest where that lies: put together elsewhere and copied, it would wait until it has
    /// left the processor's store queue.
    ///
    /// # Safety
    /// At `frame` are [`overhead`](Self::overhead) bytes.
    #[inline]
    unsafe fn write_head(&self, frame: *mut u8, len: usize) {
        let udp = (len + UDP + OURS) as u16;
        let write = |at: usize, word: u16| {
            // SAFETY: the head has words at these places, by the caller's promise.
            unsafe { frame.add(at).cast::<[u8; 2]>().write(word.to_be_bytes()) };
        };
        // SAFETY: the caller's promise. (Lengths that the compiler knows: a few moves each.)
        unsafe {
            match self.version {
                Version::Four => {
                    let len = const { Version::Four.overhead() };
                    frame.copy_from_nonoverlapping(self.bytes.as_ptr(), len);
                }
                Version::Six => frame.copy_from_nonoverlapping(self.bytes.as_ptr(), LONGEST),
            }
        }
        if self.version == Version::Six {
            write(18, udp);
            write(58, udp);
            return;
        }
        let total = udp + IPV4 as u16;
        write(16, total);
        write(38, udp);
        write(24, !folded(u64::from(self.sum + u32::from(total))));
    }

    /// Puts head and datagram where a frame is to lie.
    ///
    /// # Safety
    /// At `frame` are so many bytes more than [`overhead`](Self::overhead), of which `write` writes
    /// all behind the head.
    #[inline]
    pub unsafe fn put(&self, frame: *mut u8, len: usize, write: impl FnOnce(*mut u8)) {
        let version = self.version;
        // SAFETY: the caller's promise.
        unsafe {
            self.write_head(frame, len);
            write(frame.add(version.overhead()));
            if version == Version::Six {
                self.seal(frame, len);
            }
        }
    }

    /// Writes UDP's checksum, which IPv6 demands.
    ///
    /// # Safety
    /// At `frame` lie head and datagram of IPv6.
    unsafe fn seal(&self, frame: *mut u8, len: usize) {
        let udp = (len + UDP + OURS) as u64;
        // SAFETY: the datagram lies behind the head.
        let body = unsafe { sum_at(frame.add(LONGEST), len) };
        // The length is in the pseudo header, and in UDP's own.
        let sum = !folded(u64::from(self.sum) + 2 * udp + body);
        // Zero would say that there is none.
        let sum = if sum == 0 { 0xffff } else { sum };
        // SAFETY: within the head.
        unsafe { frame.add(60).cast::<[u8; 2]>().write(sum.to_be_bytes()) };
    }
}

/// The sum of the 16-bit words of so many bytes, as they lie on the wire; an odd one is the high
/// half of the last.
///
/// # Safety
/// So many bytes can be read.
unsafe fn sum_at(bytes: *const u8, len: usize) -> u64 {
    // Sums of this kind don't depend on the order of bytes, which is turned round at the end
    // (RFC 1071).
    let mut sum = 0u64;
    let mut at = 0;
    while at + 4 <= len {
        // SAFETY: within the bytes.
        sum += u64::from(unsafe { bytes.add(at).cast::<u32>().read_unaligned() });
        at += 4;
    }
    let mut rest = [0; 4];
    // SAFETY: within the bytes; fewer than four are left.
    unsafe { bytes.add(at).copy_to_nonoverlapping(rest.as_mut_ptr(), len - at) };
    sum += u64::from(u32::from_ne_bytes(rest));
    u64::from(u16::from_be(folded(sum)))
}

/// Our own bytes before each of the datagrams of `each` bytes that leave together, for the job of
/// this tag.
pub(super) fn mark_of_many(tag: [u8; 8], each: u16) -> [u8; OURS] {
    let mut bytes = [0; OURS];
    bytes[..4].copy_from_slice(&MAGIC);
    let word = u64::from_le_bytes(tag) ^ u64::from(each) << 48;
    bytes[4..].copy_from_slice(&word.to_le_bytes());
    bytes
}

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Bytes behind the head.
    pub len: usize,
    /// Bytes of each datagram if they are several, each after the first one behind a mark of its
    /// own; the last one may be shorter. Otherwise the same as `len`.
    pub each: usize,
}

/// What lies in a frame of `len` bytes that begins like this, if the frame is one for this port and
/// job.
#[inline]
pub fn parse(head: &[u8; LONGEST], len: usize, version: Version, port: u16, tag: [u8; 8]) -> Option<Found> {
    let (udp, magic) = (version.udp_at(), version.magic_at());
    let is_version = match version {
        Version::Four => head[12..15] == [8, 0, 0x45] && head[23] == 17,
        Version::Six => head[12..14] == [0x86, 0xdd] && head[14] >> 4 == 6 && head[20] == 17,
    };
    let mut job = [0; 8];
    job.copy_from_slice(&head[magic + 4..magic + OURS]);
    let many = u64::from_le_bytes(job) ^ u64::from_le_bytes(tag);
    let is_ours = is_version
        && head[udp + 2..udp + 4] == port.to_be_bytes()
        && head[magic..magic + 4] == MAGIC
        && many << 16 == 0;
    let told = usize::from(u16::from_be_bytes([head[udp + 4], head[udp + 5]]));
    let datagram = told.checked_sub(UDP + OURS)?;
    let each = if many == 0 { datagram } else { datagram.min((many >> 48) as usize) };
    (is_ours && version.overhead() + datagram <= len).then_some(Found { len: datagram, each })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: [u8; 8] = *b"job's ow";
    const BOTH: [Version; 2] = [Version::Four, Version::Six];

    fn template(version: Version) -> Template {
        let address = |n: u8| match version {
            Version::Four => IpAddr::from([10, 0, 255, n]),
            Version::Six => IpAddr::from([0xfd00, 0, 0xffff, 0xfffe, 0xffff, 0, 0, u16::from(n)]),
        };
        let end = |n: u8, port| End { mac: [2, 0, 0, 0, 0, n], address: address(n), port };
        Template::new(end(1, 700), end(2, 65_000), TAG)
    }

    fn frame(version: Version, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; version.overhead() + len];
        let write = |to: *mut u8| {
            for at in 0..len {
                // SAFETY: the vector has so many bytes behind the head.
                unsafe { to.add(at).write((at * 31 + len) as u8 | 0xc0) };
            }
        };
        // SAFETY: the vector is as long as the frame.
        unsafe { template(version).put(bytes.as_mut_ptr(), len, write) };
        bytes
    }

    fn one(len: usize) -> Option<Found> {
        Some(Found { len, each: len })
    }

    #[test]
    fn the_mark_of_many_says_how_long_each_of_them_is() {
        for version in BOTH {
            let (overhead, magic) = (version.overhead(), version.magic_at());
            let mut head = template(version).head(1000);
            head[magic..overhead].copy_from_slice(&mark_of_many(TAG, 300));
            let parse = |head: &_, tag| parse(head, overhead + 1000, version, 65_000, tag);
            assert_eq!(parse(&head, TAG), Some(Found { len: 1000, each: 300 }));
            assert_eq!(parse(&head, [0; 8]), None, "another job");
            // Taken apart on its way: the last one may be shorter than the others.
            head[magic..overhead].copy_from_slice(&mark_of_many(TAG, 1100));
            assert_eq!(parse(&head, TAG), one(1000));
        }
    }

    /// The sum that is to be zero, computed the plain way.
    fn checked(bytes: &[u8], more: u32) -> u16 {
        let even = [bytes, &vec![0; bytes.len() % 2]].concat();
        !folded(u64::from(sum_of(&even) + more))
    }

    #[test]
    fn frames_have_the_sums_and_lengths_that_routers_check() {
        for len in [0usize, 1, 2, 3, 8, 1401, 3700] {
            let four = frame(Version::Four, len);
            assert_eq!(checked(&four[14..34], 0), 0, "{len}");
            assert_eq!(usize::from(u16::from_be_bytes([four[16], four[17]])), len + 40);
            assert_eq!(four[40..42], [0, 0], "no sum of UDP's");
            let six = frame(Version::Six, len);
            let udp = (len + 20) as u16;
            assert_eq!(six[18..20], udp.to_be_bytes());
            assert_eq!(six[58..60], udp.to_be_bytes());
            // Addresses and all behind them; length and protocol of the pseudo header.
            assert_eq!(checked(&six[22..], u32::from(udp) + 17), 0, "{len}");
            assert_ne!(six[60..62], [0, 0]);
            for (version, bytes) in [(Version::Four, four), (Version::Six, six)] {
                let mut head = [0; LONGEST];
                let known = LONGEST.min(bytes.len());
                head[..known].copy_from_slice(&bytes[..known]);
                assert_eq!(parse(&head, bytes.len(), version, 65_000, TAG), one(len));
                // Padded by the interface.
                assert_eq!(parse(&head, bytes.len() + 10, version, 65_000, TAG), one(len));
                let other = if version == Version::Four { Version::Six } else { Version::Four };
                assert_eq!(parse(&head, bytes.len() + 20, other, 65_000, TAG), None, "{version:?}");
            }
        }
    }

    #[test]
    fn a_sum_that_comes_to_zero_is_written_as_ones() {
        let template = template(Version::Six);
        let len = 2;
        let mut bytes = vec![0; LONGEST + len];
        let mut seen = 0;
        for word in 0..=u16::MAX {
            // SAFETY: the vector is as long as the frame.
            unsafe {
                template.put(bytes.as_mut_ptr(), len, |to| to.cast::<[u8; 2]>().write(word.to_be_bytes()));
            }
            assert_ne!(bytes[60..62], [0, 0], "{word}");
            seen += u32::from(bytes[60..62] == [0xff, 0xff]);
        }
        assert!(seen >= 1);
    }

    #[test]
    fn what_is_not_for_this_window_is_refused() {
        for version in BOTH {
            let (overhead, magic) = (version.overhead(), version.magic_at());
            let head = template(version).head(100);
            let parse = |head: &_, len, port, tag| parse(head, len, version, port, tag);
            assert_eq!(parse(&head, overhead + 100, 65_000, TAG), one(100));
            assert_eq!(parse(&head, overhead + 99, 65_000, TAG), None, "torn");
            assert_eq!(parse(&head, overhead + 100, 65_001, TAG), None, "another window");
            assert_eq!(parse(&head, overhead + 100, 65_000, [0; 8]), None, "another job");
            let protocol = if version == Version::Four { 23 } else { 20 };
            for at in [12, protocol, version.udp_at() + 2, magic, magic + 4, overhead - 3] {
                let mut wrong = head;
                wrong[at] ^= 1;
                assert_eq!(parse(&wrong, overhead + 100, 65_000, TAG), None, "byte {at}");
            }
            let mut wrong = head;
            wrong[14] ^= 0x10;
            assert_eq!(parse(&wrong, overhead + 100, 65_000, TAG), None, "another version");
            for length in 0..20u16 {
                let mut wrong = head;
                let at = version.udp_at() + 4;
                wrong[at..at + 2].copy_from_slice(&length.to_be_bytes());
                assert_eq!(parse(&wrong, overhead + 100, 65_000, TAG), None, "length {length}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_frame_at_all_is_parsed_or_refused(bytes: Vec<u8>, len in 0usize..5000, port: u16) {
            for version in BOTH {
                let mut head = [0; LONGEST];
                head.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
                if let Some(found) = parse(&head, len, version, port, TAG) {
                    assert!(version.overhead() + found.len <= len && found.each <= found.len);
                }
                // The same behind a true beginning.
                let (udp, magic) = (version.udp_at(), version.magic_at());
                head[..udp + 4].copy_from_slice(&template(version).head(0)[..udp + 4]);
                head[magic..].copy_from_slice(&template(version).head(0)[magic..]);
                if let Some(found) = parse(&head, len, version, 65_000, TAG) {
                    assert!(version.overhead() + found.len <= len && found.each <= found.len);
                }
            }
        }
    }
}
