use proptest::prelude::*;

use super::*;

fn whole(message: &Message) -> Vec<u8> {
    let mut bytes = message.encode();
    bytes.extend_from_slice(message.shared().map_or(&[][..], |shared| &shared[..]));
    bytes
}

fn any_message() -> impl Strategy<Value = Message> {
    let text = || "[ -~äß€]{0,40}";
    let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
    let failure = prop_oneof![
        (any::<u32>(), text()).prop_map(|(task, how)| Failure::TaskLost { task, how }),
        (any::<u32>(), any::<i32>(), text()).prop_map(|(task, code, message)| Failure::Aborted {
            task,
            code,
            message
        }),
        text().prop_map(|detail| Failure::Timeout { detail }),
        text().prop_map(|detail| Failure::Mismatch { detail }),
        text().prop_map(|detail| Failure::Limit { detail }),
    ];
    prop_oneof![
        any::<[u8; 32]>().prop_map(|nonce| Message::Challenge { scheme: Scheme::SameUser, nonce }),
        (any::<[u32; 4]>(), any::<[u8; 32]>(), any::<[u8; 32]>()).prop_map(|(n, nonce, proof)| {
            Message::Hello { task: n[0], tasks: n[1], context: n[2], pid: n[3], nonce, proof }
        }),
        (any::<[u8; 32]>(), any::<[u32; 2]>(), text(), any::<Option<[u8; 32]>>()).prop_map(
            |(proof, [generation, rounds], job, secret)| Message::Welcome {
                proof,
                generation,
                rounds,
                job,
                secret
            }
        ),
        text().prop_map(|reason| Message::Refused { reason }),
        (any::<u32>(), text(), bytes()).prop_map(|(id, key, value)| Message::Put { id, key, value }),
        (any::<u32>(), any::<u32>(), text()).prop_map(|(id, timeout_ms, key)| Message::Get {
            id,
            timeout_ms,
            key
        }),
        any::<[u32; 3]>().prop_map(|n| Message::Fence { id: n[0], timeout_ms: n[1], epoch: n[2] }),
        (any::<[u32; 3]>(), text(), bytes()).prop_map(|(n, key, value)| Message::Exchange {
            id: n[0],
            timeout_ms: n[1],
            epoch: n[2],
            key,
            value
        }),
        (any::<u32>(), any::<i32>(), text()).prop_map(|(id, code, message)| Message::Abort {
            id,
            code,
            message
        }),
        any::<u32>().prop_map(|id| Message::Finalize { id }),
        any::<u32>().prop_map(|id| Message::Done { id }),
        (any::<u32>(), bytes()).prop_map(|(id, value)| Message::Value { id, value }),
        (any::<u32>(), proptest::collection::vec(bytes(), 0..8)).prop_map(|(id, values)| Message::Values {
            id,
            values: Packed::new(values.iter().map(|v| &v[..]))
        }),
        (any::<u32>(), failure).prop_map(|(id, failure)| Message::Failed { id, failure }),
        (any::<u32>(), text()).prop_map(|(task, how)| Message::Ended { task, how }),
    ]
}

proptest! {
    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Message::decode(&body);
    }

    #[test]
    fn random_fields_behind_a_valid_kind_never_panic(
        kind in prop_oneof![0x01u8..0x05, 0x10u8..0x16, 0x20u8..0x24],
        mut body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        body.insert(0, kind);
        let _ = Message::decode(&body);
    }

    #[test]
    fn what_was_encoded_is_decoded(message in any_message()) {
        prop_assert_eq!(Message::decode(&whole(&message)), Ok(message));
    }

    #[test]
    fn every_proper_prefix_and_extension_is_refused(message in any_message(), cut in any::<prop::sample::Index>()) {
        let whole = whole(&message);
        prop_assert!(Message::decode(&whole[..cut.index(whole.len())]).is_err());
        let mut longer = whole;
        longer.push(0);
        prop_assert!(Message::decode(&longer).is_err());
    }
}

#[test]
fn a_huge_count_without_bytes_is_refused_without_memory() {
    let mut body = vec![0x22, 0, 0, 0, 0];
    body.extend_from_slice(&MAX_TASKS.to_le_bytes());
    assert!(matches!(Message::decode(&body), Err(ProtocolError::Short { .. })));
    body[5..9].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(Message::decode(&body), Err(ProtocolError::BadField { .. })));
}

#[test]
fn another_version_is_named() {
    let mut body = Message::Challenge { scheme: Scheme::Secret, nonce: [0; 32] }.encode();
    body[9] = 77;
    assert_eq!(Message::decode(&body), Err(ProtocolError::WrongVersion { theirs: 77 }));
    body[1] = b'X';
    assert_eq!(Message::decode(&body), Err(ProtocolError::WrongMagic));
}

#[test]
fn clipping_respects_characters() {
    let long = "€".repeat(MAX_TEXT);
    assert!(clip(&long).len() <= MAX_TEXT);
    assert_eq!(clip("short"), "short");
}
