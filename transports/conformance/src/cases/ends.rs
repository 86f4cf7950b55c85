//! Closing, and the death of peers.

use crate::rank::{Rank, pattern};
use lapis_core::transport::{Caps, Status};

pub(crate) fn closing_with_work_in_flight_is_orderly(r: &mut Rank) {
    let next = r.next();
    for round in 0..5 {
        for i in 0..200u32 {
            let _ = r.link_mut().am_short(next, &i.to_le_bytes(), &[]);
        }
        // Some close while others still send or poll: tasks come here at different times.
        if round % 2 == u32::from(r.task == 0) {
            r.poll();
        }
        r.close();
        r.sync_idle("closed with work in flight");
        r.reopen().unwrap_or_else(|e| panic!("opening again after round {round}: {e}"));
    }
    // And the last one works as if nothing had been.
    r.insist("am_short", |l| l.am_short(next, b"fresh", &[]));
    assert_eq!(r.receive().bytes, b"fresh", "an old message came through a new instance");
}

pub(crate) fn an_instance_opens_again_after_closing(r: &mut Rank) {
    for round in 0..10 {
        r.doing(format!("opening again, round {round}"));
        r.reopen().unwrap_or_else(|e| panic!("round {round}: {e}"));
        if r.common_caps().contains(Caps::AM_SHORT) {
            let next = r.next();
            let data = [round; 8];
            r.insist("am_short", |l| l.am_short(next, &data, &[]));
            assert_eq!(r.receive().bytes, data);
        }
        r.sync("the round is over");
    }
}

fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    unreachable!("killed")
}

/// The task that dies.
const VICTIM: u32 = 1;

/// Waits for the report, then checks that the dead stay dead and the living alive.
fn bury(r: &mut Rank) {
    r.expect_log("peer");
    r.expect_log("task");
    r.poll_until("waiting for the report of a death", |r| !r.down.is_empty());
    // Not an answer of the kind "try again": who tries for ever would hang.
    let mut tries = 0u64;
    let status = loop {
        match r.link_mut().am_short(VICTIM, b"hello?", &[]) {
            Status::Again if tries < 1_000_000 => {
                tries += 1;
                r.poll();
            }
            status => break status,
        }
    };
    assert_eq!(status, Status::PeerDown, "a message to the dead");
    let others: Vec<u32> = r.peers().into_iter().filter(|p| *p != VICTIM).collect();
    for i in 0..100u32 {
        for peer in &others {
            r.insist("am_short among the living", |l| l.am_short(*peer, &i.to_le_bytes(), b"alive"));
        }
    }
    let alive = |r: &Rank| r.inbox.iter().filter(|m| m.bytes.ends_with(b"alive")).count();
    r.poll_until("messages among the living", |r| alive(r) == 100 * others.len());
    r.sync("the living have talked");
    assert_eq!(r.down, [VICTIM], "reports of deaths");
}

pub(crate) fn the_death_of_a_peer_is_reported_once(r: &mut Rank) {
    r.sync("before the death");
    if r.task == VICTIM {
        die();
    }
    bury(r);
}

pub(crate) fn death_amid_traffic_leaves_the_others_working(r: &mut Rank) {
    r.sync("before the traffic");
    let peers = r.peers();
    let len = (r.link().limits().max_short as usize).min(64);
    let data = pattern(1, len);
    let mut sent = 0u32;
    while r.down.is_empty() {
        for peer in &peers {
            match r.link_mut().am_short(*peer, &data, &[]) {
                Status::Done => sent += 1,
                Status::Again | Status::PeerDown => {}
                status => panic!("traffic: {status:?}"),
            }
        }
        if r.task == VICTIM && sent > 3000 {
            // In the middle of whatever it was doing.
            die();
        }
        r.poll();
    }
    r.doing("burying");
    bury(r);
}
