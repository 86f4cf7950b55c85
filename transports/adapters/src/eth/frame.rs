//! What goes over the wire: a datagram in UDP over IPv4, so that switches and routers carry it.
//!
//! ```text
//!   0            14         34        42       46       54
//!   │ Ethernet │ IPv4, DF │ UDP     │ magic  │ job    │ the packet engine's datagram …
//!   │ II       │ no option│ sum 0   │ 4 B    │ 8 B    │
//! ```
//!
//! The destination port says which window is meant. The steering program takes what carries the
//! magic number and leaves everything else to the kernel. The eight bytes of the job tell windows
//! apart that follow each other under one number; they are no secret. What is trusted is decided by
//! the packet engine's authenticator, which covers each byte of the datagram: so there is no
//! checksum of UDP's, which IPv4 allows. Short frames are padded by interfaces; UDP's length
//! counts.

use std::net::Ipv4Addr;

/// Bytes before the datagram.
pub const OVERHEAD: usize = 54;
/// Those of them that count for the interface's MTU.
pub const IN_MTU: usize = OVERHEAD - ETHERNET;
/// What marks our frames, as it lies on the wire.
pub const MAGIC: [u8; 4] = *b"LaW\x01";

/// Where the magic number lies.
pub const MAGIC_AT: usize = 42;
const ETHERNET: usize = 14;
const UDP_AT: usize = 34;
const TAG_AT: usize = 46;

/// One end of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Address of the interface, or of the next hop.
    pub mac: [u8; 6],
    /// Address of the Internet protocol.
    pub address: Ipv4Addr,
    /// UDP port.
    pub port: u16,
}

/// The bytes before each datagram of a way.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: [u8; OVERHEAD],
    /// Sum of the IP header's words without the length.
    sum: u32,
}

impl Template {
    /// For datagrams of the job of this tag.
    pub fn new(from: End, to: End, tag: [u8; 8]) -> Self {
        let mut bytes = [0; OVERHEAD];
        bytes[..6].copy_from_slice(&to.mac);
        bytes[6..12].copy_from_slice(&from.mac);
        bytes[12..14].copy_from_slice(&0x0800u16.to_be_bytes());
        bytes[14] = 0x45;
        // Not to be cut on its way.
        bytes[20] = 0x40;
        bytes[22] = 64;
        bytes[23] = 17;
        bytes[26..30].copy_from_slice(&from.address.octets());
        bytes[30..34].copy_from_slice(&to.address.octets());
        bytes[34..36].copy_from_slice(&from.port.to_be_bytes());
        bytes[36..38].copy_from_slice(&to.port.to_be_bytes());
        bytes[MAGIC_AT..TAG_AT].copy_from_slice(&MAGIC);
        bytes[TAG_AT..OVERHEAD].copy_from_slice(&tag);
        let words = bytes[ETHERNET..UDP_AT].chunks_exact(2);
        let sum = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        Self { bytes, sum }
    }

    /// The bytes before a datagram of `len` bytes.
    #[inline]
    pub fn head(&self, len: usize) -> [u8; OVERHEAD] {
        let mut bytes = self.bytes;
        let total = (len + OVERHEAD - ETHERNET) as u16;
        let udp = (len + OVERHEAD - UDP_AT) as u16;
        bytes[16..18].copy_from_slice(&total.to_be_bytes());
        bytes[38..40].copy_from_slice(&udp.to_be_bytes());
        let mut sum = self.sum + u32::from(total);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        bytes[24..26].copy_from_slice(&(!sum as u16).to_be_bytes());
        bytes
    }
}

/// The length of the datagram in a frame of `len` bytes that begins like this, if the frame is one
/// for this port and job.
#[inline]
pub fn parse(head: &[u8; OVERHEAD], len: usize, port: u16, tag: [u8; 8]) -> Option<usize> {
    let is_ours = head[12..15] == [8, 0, 0x45]
        && head[23] == 17
        && head[36..38] == port.to_be_bytes()
        && head[MAGIC_AT..TAG_AT] == MAGIC
        && head[TAG_AT..] == tag;
    let udp = usize::from(u16::from_be_bytes([head[38], head[39]]));
    let datagram = udp.checked_sub(OVERHEAD - UDP_AT)?;
    (is_ours && OVERHEAD + datagram <= len).then_some(datagram)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: [u8; 8] = *b"job's ow";

    fn template() -> Template {
        let end = |n: u8, port| End { mac: [2, 0, 0, 0, 0, n], address: Ipv4Addr::new(10, 0, 255, n), port };
        Template::new(end(1, 700), end(2, 65_000), TAG)
    }

    #[test]
    fn frames_have_the_sums_and_lengths_that_routers_check() {
        for len in [0usize, 1, 8, 1400, 3700] {
            let head = template().head(len);
            let words = head[14..34].chunks_exact(2);
            let mut sum: u32 = words.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!(sum, 0xffff, "{len}");
            assert_eq!(usize::from(u16::from_be_bytes([head[16], head[17]])), len + 40);
            assert_eq!(parse(&head, len + OVERHEAD, 65_000, TAG), Some(len));
            // Padded by the interface.
            assert_eq!(parse(&head, len + OVERHEAD + 10, 65_000, TAG), Some(len));
        }
    }

    #[test]
    fn what_is_not_for_this_window_is_refused() {
        let head = template().head(100);
        assert_eq!(parse(&head, OVERHEAD + 99, 65_000, TAG), None, "torn");
        assert_eq!(parse(&head, OVERHEAD + 100, 65_001, TAG), None, "another window");
        assert_eq!(parse(&head, OVERHEAD + 100, 65_000, [0; 8]), None, "another job");
        for at in [12, 14, 23, 36, MAGIC_AT, TAG_AT, OVERHEAD - 1] {
            let mut wrong = head;
            wrong[at] ^= 1;
            assert_eq!(parse(&wrong, OVERHEAD + 100, 65_000, TAG), None, "byte {at}");
        }
        for length in 0..20u16 {
            let mut wrong = head;
            wrong[38..40].copy_from_slice(&length.to_be_bytes());
            assert_eq!(parse(&wrong, OVERHEAD + 100, 65_000, TAG), None, "length {length}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_frame_at_all_is_parsed_or_refused(bytes: [u8; OVERHEAD], len in 0usize..5000, port: u16) {
            let mut bytes = bytes;
            if let Some(datagram) = parse(&bytes, len, port, TAG) {
                assert!(OVERHEAD + datagram <= len);
            }
            // The same behind a true beginning.
            bytes[..38].copy_from_slice(&template().head(0)[..38]);
            bytes[MAGIC_AT..].copy_from_slice(&template().head(0)[MAGIC_AT..]);
            if let Some(datagram) = parse(&bytes, len, 65_000, TAG) {
                assert!(OVERHEAD + datagram <= len);
            }
        }
    }
}
