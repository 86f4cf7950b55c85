//! Any bytes as a frame that arrived: none is read past its end, none is taken for a window that it
//! does not name, and its datagrams have bytes.
#![no_main]

use lapis_adapters::eth::frame::{LONGEST, MAGIC, Version, parse};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&[which, high, low], frame)) = data.split_first_chunk() else { return };
    let version = if which % 2 == 0 { Version::Four } else { Version::Six };
    let port = u16::from_be_bytes([high, low]);
    let mut head = [0; LONGEST];
    head.iter_mut().zip(frame).for_each(|(to, from)| *to = *from);
    let (udp, magic) = (version.udp_at(), version.magic_at());
    let mut tag = [0; 8];
    tag.copy_from_slice(&head[magic + 4..magic + 12]);
    if let Some(found) = parse(&head, frame.len(), version, port, tag) {
        assert!(version.overhead() + found.len <= frame.len());
        assert_eq!(found.each, found.len, "one datagram");
        assert_eq!(frame[udp + 2..udp + 4], port.to_be_bytes());
        assert_eq!(frame[magic..magic + 4], MAGIC);
        assert_eq!(parse(&head, frame.len(), version, !port, tag), None);
        tag[7] ^= which;
        let many = parse(&head, frame.len(), version, port, tag).expect("datagrams of some length");
        assert!(many.len == found.len && many.each <= many.len && (many.each > 0 || many.len == 0));
        tag[5] ^= 1;
        assert_eq!(parse(&head, frame.len(), version, port, tag), None);
    }
});
