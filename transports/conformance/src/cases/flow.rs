//! Back-pressure, and what poll promises.

use crate::rank::{Rank, bytes, lengths, pattern};
use lapis_core::transport::{Caps, DatagramBatch, Event, EventKind, Limits, RawSlice, Status};

/// A queue this deep is no bounded queue.
const BOTTOMLESS: u64 = 1 << 30;

pub(crate) fn a_full_queue_answers_again_and_loses_nothing(r: &mut Rank) {
    let (me, next, previous) = (r.task, r.next(), r.previous());
    let len = (r.link().limits().max_short as usize).min(64);
    let message = |from: u32, i: u64| {
        let mut data = pattern(u64::from(from) << 32 | i, len);
        data[..8].copy_from_slice(&i.to_le_bytes());
        data
    };
    r.sync_idle("before filling");
    r.doing("filling the queue");
    // Nobody polls until everybody has seen Again.
    let mut sent = 0u64;
    loop {
        match r.link_mut().am_short(next, &message(me, sent), &[]) {
            Status::Done => sent += 1,
            Status::Again => break,
            status => panic!("message {sent} into a filling queue: {status:?}"),
        }
        assert!(sent * len as u64 <= BOTTOMLESS, "{sent} messages of {len} bytes accepted with no poll");
    }
    // Full stays full, and says so without harm.
    for _ in 0..100 {
        let status = r.link_mut().am_short(next, &message(me, sent), &[]);
        if status == Status::Done {
            sent += 1;
        } else {
            assert_eq!(status, Status::Again);
        }
    }
    r.sync_idle("all queues are full");
    // More than the queue holds goes through once there is polling.
    let more = sent + sent.min(5000);
    while sent < more {
        let data = message(me, sent);
        r.insist("sending on after Again", |l| l.am_short(next, &data, &[]));
        sent += 1;
    }
    let parts = r.exchange("how many were sent", &sent.to_le_bytes());
    let expected = u64::from_le_bytes(parts[&previous][..8].try_into().expect("8 bytes"));
    r.poll_until("draining", |r| r.inbox.len() as u64 >= expected);
    r.sync("drained");
    let mut seen = vec![false; expected as usize];
    for m in std::mem::take(&mut r.inbox) {
        let i = u64::from_le_bytes(m.bytes[..8].try_into().expect("8 bytes"));
        assert_eq!(m.bytes, message(previous, i), "message {i}");
        assert!(!std::mem::replace(&mut seen[i as usize], true), "message {i} came twice");
    }
    assert!(seen.iter().all(|s| *s), "some message was lost");
}

/// Sends up to `count` messages to the next task, as many as there is room for with nobody polling;
/// gives how many the previous task sent.
fn send_some(r: &mut Rank, count: u32, message: impl Fn(u32) -> Vec<u8>) -> u32 {
    let next = r.next();
    let mut sent = 0;
    r.sync_idle("before sending some");
    while sent < count {
        match r.link_mut().am_short(next, &message(sent), &[]) {
            Status::Done => sent += 1,
            Status::Again if sent > 0 => break,
            status => panic!("message {sent} into a queue with room: {status:?}"),
        }
    }
    let previous = r.previous();
    let parts = r.exchange_idle("how many are under way", &sent.to_le_bytes());
    u32::from_le_bytes(parts[&previous][..4].try_into().expect("4 bytes"))
}

pub(crate) fn poll_keeps_to_its_capacity(r: &mut Rank) {
    let coming = send_some(r, 40, |i| i.to_le_bytes().to_vec()) as usize;
    assert_eq!(r.link_mut().poll(&mut []), Ok(0), "a poll without room");
    const GUARD: u64 = 0x5ca1_ab1e;
    let mut got = 0;
    let mut capacity = 1;
    r.doing("polling with small arrays");
    while got < coming {
        let mut events = [Event { token: GUARD, ..Event::EMPTY }; 8];
        let n = r.link_mut().poll(&mut events[..capacity]).expect("poll works");
        assert!(n <= capacity, "{n} events in an array of {capacity}");
        for event in &events[capacity..] {
            assert!(event.kind == u32::MAX && event.token == GUARD, "written beyond the array: {event:?}");
        }
        got += events[..n].iter().filter(|e| e.kind == EventKind::Message as u32).count();
        capacity = capacity % 3 + 1;
        if n == 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(got, coming);
}

pub(crate) fn bytes_of_an_event_stay_until_the_next_poll(r: &mut Rank) {
    let (me, next, previous) = (r.task, r.next(), r.previous());
    let len = (r.link().limits().max_short as usize).min(200);
    for round in 0..200u64 {
        let coming = send_some(r, 4, |_| pattern(u64::from(me) << 32 | round, len));
        let mut got = 0;
        let mut events = [Event::EMPTY; 8];
        r.doing("receiving up to four");
        while got < coming {
            let n = r.link_mut().poll(&mut events).expect("poll works");
            // A handler answers before the bytes of the other events were looked at: they must be
            // there all the same.
            for _ in 0..n {
                let noise = [0xee; 8];
                let _ = r.link_mut().am_short(next, &noise, &[]);
            }
            for event in events[..n].iter().filter(|e| e.kind == EventKind::Message as u32) {
                if event.len == 8 {
                    continue;
                }
                assert_eq!(bytes(event), pattern(u64::from(previous) << 32 | round, len), "round {round}");
                got += 1;
            }
            if n == 0 {
                std::thread::yield_now();
            }
        }
        r.sync("the round is over");
        // The noise must not fill the queue of the next round.
        while r.poll() > 0 {}
        r.inbox.clear();
        // Who is still leaving the exchange polls: nobody may send before all have emptied their
        // inboxes.
        r.sync_idle("inboxes are empty");
    }
}

pub(crate) fn datagrams_arrive_whole(r: &mut Rank) {
    let Limits { max_packed, paths, .. } = *r.link().limits();
    let (next, previous) = (r.next(), r.previous());
    for path in 0..paths {
        for len in lengths(max_packed as usize).into_iter().filter(|l| *l >= 8).step_by(7) {
            let data = pattern(u64::from(r.task) << 40 | u64::from(path) << 32 | len as u64, len);
            let expected = pattern(u64::from(previous) << 40 | u64::from(path) << 32 | len as u64, len);
            // In two slices, cut where no field would be.
            let (a, b) = data.split_at(len / 3);
            let slices = [a, b].map(|s| RawSlice { ptr: s.as_ptr().cast_mut(), len: s.len() });
            // Every other time the transport need not copy them.
            let lent = r.link().caps().contains(Caps::LENT_PAGES) && len % 2 == 0;
            let path = path | if lent { DatagramBatch::LENT } else { 0 };
            let batch =
                DatagramBatch { peer: next, path, slices: slices.as_ptr(), count: 2, segment: len as u32 };
            r.doing(format!("datagrams of {len} bytes over path {path}"));
            let mut here = false;
            loop {
                // Datagrams may be lost: sent again until all have come everywhere.
                // SAFETY: the slices outlive the call.
                let sent = unsafe { r.link_mut().send_datagrams(&[batch]) }.expect("sending works");
                assert!(sent <= 1, "{sent} of 1 batches accepted");
                r.poll();
                here |= r.inbox.drain(..).any(|m| m.bytes == expected);
                let parts = r.exchange("who has it", &[u8::from(here)]);
                here |= r.inbox.drain(..).any(|m| m.bytes == expected);
                if parts.values().all(|p| p == &[1]) {
                    break;
                }
            }
        }
    }
}
