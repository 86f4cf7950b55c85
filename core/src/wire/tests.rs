//! Headers: what is written is read, and what is no header is refused.

use super::*;
use proptest::prelude::*;

fn any_header() -> impl Strategy<Value = Header> {
    (1u8..=25, (0u8..16, 0u8..=15), prop_oneof![0..64u16, any::<u16>()], any::<u32>(), any::<[u64; 8]>())
        .prop_map(|(k, (flags, rail), uh, message, w)| {
            let kind = Kind::from_raw(k).unwrap();
            let (subject, total, extra) = kind.shape();
            let mut h = Header::new(kind, message, if subject { w[0] } else { 0 });
            h.flags = flags & (TARGET_COUNTER | COMPLETION | CHECKED);
            // A packet without such bytes has no word that says so.
            h = h.with_control(if flags & CONTROL != 0 && extra == 0 { w[7] } else { 0 });
            h = h.with_rail(rail.checked_sub(1));
            h.user_header = uh;
            h.target_counter = if flags & TARGET_COUNTER != 0 { w[1] } else { 0 };
            h.completion = if flags & COMPLETION != 0 { w[2] } else { 0 };
            h.total = if total { w[3] } else { 0 };
            h.extra[..extra].copy_from_slice(&w[4..4 + extra]);
            h
        })
}

proptest! {
    #[test]
    fn round_trip(h in any_header(), data in proptest::collection::vec(any::<u8>(), 0..64)) {
        let mut out = Encoded::new();
        let n = h.encode(&mut out);
        let mut packet = out.bytes(n).to_vec();
        packet.extend_from_slice(&data);
        let (back, rest) = Header::parse(&packet).unwrap();
        prop_assert_eq!(back, h);
        prop_assert_eq!(Header::rail_of(&packet), h.rail());
        prop_assert_eq!(rest, &data[..]);
    }

    #[test]
    fn the_short_cut_agrees_with_the_parser(h in any_header(), data in proptest::collection::vec(any::<u8>(), 0..64)) {
        let mut out = Encoded::new();
        let n = h.encode(&mut out);
        let packet = [out.bytes(n), &data].concat();
        let user = usize::from(h.user_header);
        let short = ShortMessage::parse::<false>(&packet).or_else(|| ShortMessage::parse::<true>(&packet));
        match short {
            None => prop_assert!(h.kind != Kind::Am || h.flags & !TARGET_COUNTER != 0 || user > data.len()),
            Some(m) => {
                prop_assert_eq!((h.kind, h.flags & !TARGET_COUNTER, h.message), (Kind::Am, 0, m.number));
                prop_assert_eq!((h.subject, h.target_counter), (m.handler, m.target_counter));
                prop_assert_eq!((m.user_header, m.data), data.split_at(user));
                let head = short_head(ShortKind::Am, m.number, user, h.flags != 0);
                prop_assert_eq!(&head.to_le_bytes()[..], &packet[..8]);
            }
        }
    }

    #[test]
    fn the_short_cut_of_fragments_agrees_with_the_parser(
        h in any_header(),
        fragment in any::<bool>(),
        data in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let h = if fragment { Header::new(Kind::Fragment, h.message, h.subject).with_rail(h.rail()) } else { h };
        let mut out = Encoded::new();
        let n = h.encode(&mut out);
        let packet = [out.bytes(n), &data].concat();
        let expected = h.kind == Kind::Fragment && h.flags & !RAIL == 0;
        let short = FragmentPacket::parse(&packet);
        prop_assert_eq!(short.is_some(), expected);
        if let Some(FragmentPacket { message, position, data: rest }) = short {
            prop_assert_eq!((message, position, rest), (h.message, h.subject, &data[..]));
        }
        prop_assert!(FragmentPacket::parse(&packet[..packet.len().min(15)]).is_none());
    }

    #[test]
    fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = Header::parse(&bytes);
    }

    #[test]
    fn every_truncation_is_refused(h in any_header()) {
        let mut out = Encoded::new();
        let n = h.encode(&mut out);
        for cut in 0..n {
            prop_assert!(Header::parse(out.bytes(cut)).is_err(), "cut {}", cut);
        }
    }
}
