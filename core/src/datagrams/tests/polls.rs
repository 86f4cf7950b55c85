//! When polls look at what arrives and at the timers, and what they say of it.

use super::super::{BATCH, arrivals::BUSY};
use super::*;
use crate::config::Origin;
use crate::reliable::Event as EngineEvent;
use lapis_patience::Patience;
use std::time::Duration;

/// What a peer has said while the task was stopped may lie behind a lot that was said beside the
/// engine.
#[test]
fn a_task_that_was_away_for_long_hears_its_peers_before_it_calls_them_silent() {
    const TIMEOUT: Duration = Duration::from_millis(20);
    let (mut near_link, mut near) = end(0);
    let (mut far_link, mut far) = end(1);
    near.set_timeout(Some(TIMEOUT));
    assert_eq!(near.send(&mut near_link, 1, &packet(Kind::Am, 0), &[], false), Status::Done);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while under_way(0).is_empty() {
        poll(&mut far_link, &mut far);
        far.flush(&mut far_link, far.now());
        assert!(!patience.is_over(), "it is never acknowledged");
    }
    for n in 0..BATCH as u32 {
        let first = packet(Kind::AmFirst, n);
        assert_eq!(far.send_bypassing(&mut far_link, 0, &first, &[]), Status::Done);
    }
    std::thread::sleep(3 * TIMEOUT);
    assert_eq!(poll(&mut near_link, &mut near).len(), BATCH);
    assert!(near.owes(1), "the acknowledgement is behind them");
    let said = std::iter::from_fn(|| near.event());
    let silent: Vec<_> = said.filter(|event| matches!(event, EngineEvent::PeerTimeout { .. })).collect();
    assert!(silent.is_empty(), "{silent:?}");
    poll(&mut near_link, &mut near);
    assert!(!near.owes(1));
}

/// A thread that polls again and again may leave some looks out. One that polls now and then, or
/// has slept, may not.
#[test]
fn beside_another_link_a_poll_looks_for_datagrams_unless_one_has_just_done_so() {
    let (mut near_link, mut near) = end(0);
    let (mut far_link, mut far) = end(1);
    far.alone = false;
    for number in 0..20 {
        // Nothing has come for long.
        for _ in 0..BUSY + number {
            assert!(poll(&mut far_link, &mut far).is_empty());
        }
        assert_eq!(near.send(&mut near_link, 1, &packet(Kind::Am, number), &[], false), Status::Done);
        near.flush(&mut near_link, near.now());
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(poll(&mut far_link, &mut far), [(Kind::Am as u8, number)]);
    }
}

/// Where nothing arrives, it is the poll's answer that makes what asks for it leave.
#[test]
fn a_poll_that_leaves_something_to_be_sent_says_so() {
    let mut config = Config::default();
    config.set("MP_RETRANSMIT_INTERVAL", "1000", Origin::Environment).expect("the least");
    let (mut link, mut near) = end_with(0, 1, Some(1), &config);
    assert_eq!(near.send(&mut link, 1, &packet(Kind::Am, 0), &[], false), Status::Done);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    // Nobody answers: it is asked for again and again.
    while near.rails()[0].timeouts < 10 {
        let found = near.poll(&mut link, places(usize::MAX), true).expect("polls");
        assert!(found > 0 || !near.engine.has_ready(), "after {:?}", near.rails()[0]);
        near.flush_what_is_ready(&mut link);
        assert!(!patience.is_over(), "{:?}", near.rails()[0]);
    }
    assert!(under_way(1).len() > 10, "{} datagrams", under_way(1).len());
}
