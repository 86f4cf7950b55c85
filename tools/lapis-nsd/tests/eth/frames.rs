//! Which frames datagrams lie in.

use super::{hosts, open, patience, way};
use lapis_adapters::eth::frame::Template;
use lapis_adapters::eth::port::Port;
use lapis_adapters::key::Key;
use std::collections::BTreeSet;

/// Sends a datagram as a task does that waits for the answer, and tells where it was written.
fn ask(port: &mut Port, way: &Template) -> usize {
    let (mut at, mut patience) = (0, patience());
    // SAFETY: so many bytes were asked for.
    while !port.send(way, 8, |to| unsafe {
        at = to.addr();
        to.cast::<[u8; 8]>().write([7; 8]);
    }) {
        assert!(!patience.is_over(), "no room");
    }
    port.flush();
    at
}

/// Waits for a datagram, with nothing behind it.
fn hear(port: &mut Port) {
    let mut patience = patience();
    while port.receive(&mut [0; 64]) != Some(8) {
        assert!(!patience.is_over(), "nothing arrives: {:?}", port.counts());
    }
    assert!(!port.has_more());
    // A task that waits for the next one looks again and again.
    assert_eq!([(); 4].map(|()| port.receive(&mut [0; 64])), [None; 4]);
}

/// Whoever asks and waits for an answer each time sends from a frame that is in the nearest caches.
#[test]
fn the_frame_that_was_sent_last_is_the_next_to_be_written() {
    let Some(hosts) = hosts("last", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let ((_, mut here), (_, mut there)) = (open(&near, key), open(&far, key));
    let (go, back) = (way(&near, &here, &there), way(&far, &there, &here));
    let mut used = [BTreeSet::new(), BTreeSet::new()];
    for _ in 0..100 {
        used[0].insert(ask(&mut here, &go));
        hear(&mut there);
        used[1].insert(ask(&mut there, &back));
        hear(&mut here);
    }
    let used = used.map(|frames| frames.len());
    assert!(used.iter().all(|frames| *frames <= 4), "frames of 100 datagrams: {used:?}");
}

/// Of datagrams that come close together the first ones say that there is more.
#[test]
fn a_datagram_tells_whether_another_one_lies_behind_it() {
    let Some(hosts) = hosts("behind", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let ((_, mut here), (_, mut there)) = (open(&near, key), open(&far, key));
    let go = way(&near, &here, &there);
    let mut patience = patience();
    loop {
        (0..3).for_each(|_| _ = ask(&mut here, &go));
        let mut more = Vec::new();
        while more.len() < 3 {
            if there.receive(&mut [0; 64]).is_some() {
                more.push(there.has_more());
            }
            assert!(!patience.is_over(), "{more:?} {:?}", there.counts());
        }
        assert!(!more[2], "{more:?}");
        // Mostly the sender's core has brought all of them when the last call returns.
        if more[..2] == [true, true] {
            return;
        }
    }
}
