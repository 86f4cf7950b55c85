//! Active messages: every length, every flavour, order.

use crate::rank::{Rank, lengths, pattern};
use lapis_core::transport::{Caps, Link, Status};
use std::collections::BTreeMap;

/// Lengths that all tasks agree on: the smallest of their limits counts.
fn agreed(r: &mut Rank, mine: u64) -> usize {
    let parts = r.exchange("a limit", &mine.to_le_bytes());
    let least = parts.values().map(|p| u64::from_le_bytes(p[..8].try_into().expect("8 bytes"))).min();
    usize::try_from(least.expect("at least this task")).unwrap_or(usize::MAX)
}

/// Receives one message of each of `expected` from the previous task, in any order.
fn expect_all(r: &mut Rank, expected: Vec<Vec<u8>>) {
    let previous = r.previous();
    let mut missing: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let count = expected.len();
    for e in expected {
        *missing.entry(e).or_default() += 1;
    }
    for _ in 0..count {
        let m = r.receive();
        assert_eq!(m.peer, previous, "a message of {} bytes", m.bytes.len());
        match missing.get_mut(&m.bytes) {
            Some(n) if *n > 0 => *n -= 1,
            _ => panic!("a message of {} bytes that nobody sent, or sent twice", m.bytes.len()),
        }
    }
}

pub(crate) fn short_messages_of_every_length_arrive_whole(r: &mut Rank) {
    let mine = r.link().limits().max_short;
    let max = agreed(r, u64::from(mine));
    let (me, next, previous) = (r.task, r.next(), r.previous());
    for len in lengths(max) {
        // Every way of cutting for the smallest, some for the others.
        let mut cuts: Vec<usize> = if len <= 40 { (0..=len).collect() } else { vec![0, 1, 8, len / 2, len] };
        cuts.dedup();
        for cut in &cuts {
            let data = pattern(u64::from(me) << 32 | *cut as u64, len);
            let (head, body) = data.split_at(*cut);
            assert_eq!(r.insist("am_short", |l| l.am_short(next, head, body)), Status::Done);
        }
        let sent = cuts.iter().map(|cut| pattern(u64::from(previous) << 32 | *cut as u64, len)).collect();
        expect_all(r, sent);
    }
}

pub(crate) fn a_short_message_over_the_limit_is_invalid(r: &mut Rank) {
    let max = r.link().limits().max_short as usize;
    let next = r.next();
    let data = vec![1u8; max + 4096];
    for (head, body) in [(0, max + 1), (max + 1, 0), (max, 1), (max / 2, max + 4096 - max / 2)] {
        let status = r.link_mut().am_short(next, &data[..head], &data[..body]);
        assert_eq!(status, Status::Invalid, "head {head}, body {body}, limit {max}");
    }
    r.sync("after messages over the limit");
    assert!(r.inbox.is_empty(), "something arrived");
}

pub(crate) fn packed_messages_of_every_length_arrive_whole(r: &mut Rank) {
    let mine = r.link().limits().max_packed;
    let max = agreed(r, u64::from(mine));
    let (me, next, previous) = (u64::from(r.task), r.next(), u64::from(r.previous()));
    for len in lengths(max) {
        let data = pattern(me << 32, len);
        let mut calls = 0;
        let mut packed = 0;
        let status = r.insist("am_packed", |l| {
            let before = packed;
            let status = l.am_packed(next, len, |into| {
                packed += 1;
                assert_eq!(into.len(), len, "the room differs from what was asked for");
                into.copy_from_slice(&data);
            });
            calls += 1;
            assert_eq!(
                packed - before,
                u32::from(status == Status::Done),
                "packings in call {calls}: {status:?}"
            );
            status
        });
        assert_eq!(status, Status::Done);
        expect_all(r, vec![pattern(previous << 32, len)]);
    }
}

pub(crate) fn a_packed_message_over_the_limit_is_invalid_and_not_packed(r: &mut Rank) {
    let max = r.link().limits().max_packed as usize;
    let next = r.next();
    for len in [max + 1, max * 2, u32::MAX as usize, usize::MAX] {
        if len <= max {
            continue;
        }
        let status = r.link_mut().am_packed(next, len, |_| panic!("packed {len} bytes, the limit is {max}"));
        assert_eq!(status, Status::Invalid, "{len} bytes, limit {max}");
    }
    r.sync("after packed messages over the limit");
    assert!(r.inbox.is_empty(), "something arrived");
}

/// Sends a message of either flavour, if the transport has it.
fn send_any(link: &mut Link, common: Caps, flavour: u64, peer: u32, data: &[u8]) -> Status {
    let limits = *link.limits();
    if flavour == 1 && common.contains(Caps::AM_PACKED) && data.len() <= limits.max_packed as usize {
        return link.am_packed(peer, data.len(), |into| into.copy_from_slice(data));
    }
    let cut = (limits.max_short as usize).min(data.len());
    link.am_short(peer, &data[..cut.min(8)], &data[cut.min(8)..cut])
}

/// `count` messages of random length and flavour to every peer, the number of the message in front;
/// returns what came by peer, in order of arrival.
fn traffic(r: &mut Rank, count: u32) -> BTreeMap<u32, Vec<(u32, Vec<u8>)>> {
    let common = r.common_caps();
    let (me, peers) = (r.task, r.peers());
    for i in 0..count {
        for peer in peers.clone() {
            let max = u64::from(r.link().limits().max_short).min(600);
            let len = 8.max(r.random(max + 1)) as usize;
            let mut data = pattern(u64::from(me) << 40 | u64::from(peer) << 32 | u64::from(i), len);
            data[..4].copy_from_slice(&i.to_le_bytes());
            data[4..8].copy_from_slice(&(len as u32).to_le_bytes());
            let flavour = r.random(2);
            let status = r.insist("mixed traffic", |l| send_any(l, common, flavour, peer, &data));
            assert_eq!(status, Status::Done, "a message is copied when it is accepted");
        }
        if i % 16 == 0 {
            r.poll();
        }
    }
    let expected = count as usize * peers.len();
    r.poll_until("collecting the traffic", |r| r.inbox.len() >= expected);
    r.sync("all traffic came");
    assert_eq!(r.inbox.len(), expected, "messages that nobody sent");
    let mut came: BTreeMap<u32, Vec<(u32, Vec<u8>)>> = BTreeMap::new();
    for m in std::mem::take(&mut r.inbox) {
        let number = u32::from_le_bytes(m.bytes[..4].try_into().expect("4 bytes"));
        let len = u32::from_le_bytes(m.bytes[4..8].try_into().expect("4 bytes")) as usize;
        assert_eq!(m.bytes.len(), len, "message {number} from task {}", m.peer);
        let seed = u64::from(m.peer) << 40 | u64::from(me) << 32 | u64::from(number);
        assert_eq!(m.bytes[8..], pattern(seed, len)[8..], "message {number} from task {}", m.peer);
        came.entry(m.peer).or_default().push((number, m.bytes));
    }
    came
}

pub(crate) fn messages_to_one_peer_keep_their_order(r: &mut Rank) {
    for (peer, messages) in traffic(r, 2000) {
        for (i, (number, _)) in messages.iter().enumerate() {
            assert_eq!(i as u32, *number, "order of messages from task {peer}");
        }
    }
}

pub(crate) fn random_traffic_arrives_exactly_once(r: &mut Rank) {
    for (peer, messages) in traffic(r, 2000) {
        let mut numbers: Vec<u32> = messages.iter().map(|(n, _)| *n).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..2000), "some message from task {peer} came twice");
    }
}
