//! Receivers of many senders: lanes that are found by a bitmap, and the ring for those without one.

mod common;
use common::*;
use lapis_core::transport::*;
use lapis_patience::Patience;
use lapis_shm::{Shm, ShmWaiter};
use std::time::{Duration, Instant};

fn silent(e: &Event) {
    panic!("nothing was to arrive: {e:?}");
}

/// Senders that have lanes of their own.
const LANES: u32 = 64;

/// Task 0, to which all others of `tasks` can send, and they to it: the first [`LANES`] of them in
/// lanes of their own, the rest through the ring that they share.
fn hub(what: &str, tasks: u32) -> Vec<(Shm, ShmWaiter)> {
    let name = job_name(what);
    let mut all: Vec<_> = (0..tasks).map(|t| try_open(t, tasks, 0, 0, &name).unwrap()).collect();
    let addresses: Vec<_> = all.iter().map(|(t, _)| t.address()).collect();
    // One after the other: lanes go to those who come first.
    for task in 1..tasks {
        let [one, two] = all.get_disjoint_mut([0, task as usize]).unwrap();
        one.0.connect(task, &addresses[task as usize]).unwrap();
        two.0.connect(0, &addresses[0]).unwrap();
        settle(&mut [&mut one.0, &mut two.0]);
    }
    all
}

#[test]
fn neither_lanes_nor_the_shared_ring_starve_while_both_have_more_than_a_poll_takes() {
    let mut all = hub("fair", LANES + 6);
    let (root, rest) = all.split_at_mut(1);
    let (with_lane, without) = rest.split_at_mut(LANES as usize);
    let m = message(1, 1, 40);
    let fill = |tasks: &mut [(Shm, ShmWaiter)]| {
        for (task, _) in tasks {
            while task.am_short(0, &m, b"") == Status::Done {}
        }
    };
    let mut seen = [0; 2];
    let mut events = [Event::EMPTY; 16];
    const POLLS: usize = 64;
    for _ in 0..POLLS {
        fill(with_lane);
        fill(without);
        let n = root[0].0.poll(&mut events);
        assert_eq!(n, events.len(), "a poll that was not full");
        for e in &events[..n] {
            assert_eq!(e.kind, EventKind::Message as u32, "{e:?}");
            seen[usize::from(e.peer > LANES)] += 1;
        }
    }
    let share = POLLS * events.len() / 4;
    assert!(seen.iter().all(|&n| n > share), "{seen:?} messages from lanes and from the shared ring");
}

#[test]
fn a_slot_that_is_claimed_and_not_yet_filled_keeps_nobody_awake() {
    let mut all = hub("claimed", LANES + 2);
    let (root, rest) = all.split_at_mut(1);
    let (root, waiter) = &mut root[0];
    root.set_interrupts(true);
    while poll(root, &mut silent) > 0 || root.arm() == Status::Again {}
    let last = &mut rest.last_mut().unwrap().0;
    let m = message(LANES + 1, 1, 40);
    const NAP: Duration = Duration::from_millis(20);
    let mut slept = Duration::ZERO;
    let status = last.am_packed(0, m.len(), &mut |into| {
        // Between the claim and the publication.
        assert_eq!(root.arm(), Status::Done);
        let start = Instant::now();
        waiter.wait(NAP.as_nanos() as u64);
        slept = start.elapsed();
        into.copy_from_slice(&m);
    });
    assert_eq!(status, Status::Done);
    assert!(slept >= NAP, "the sleep ended after {slept:?}, though nothing could be read");
    assert_eq!(root.arm(), Status::Again, "the message is there now");
    assert_eq!(poll(root, &mut |e| assert_eq!(parse(&bytes(e)), (LANES + 1, 1))), 1);
}

#[test]
fn the_end_of_a_peer_is_reported_by_a_receiver_of_many_lanes_too() {
    // More than eight lanes: the receiver reads the bitmap.
    let mut job = local_job("many-closed", 12);
    assert_eq!(send(&mut job[1].0, 0, &message(1, 3, 40), &mut silent), Status::Done);
    drop(job.remove(1));
    let mut got = Vec::new();
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while got.len() < 2 {
        poll(&mut job[0].0, &mut |e| got.push((e.kind, e.peer)));
        assert!(!patience.is_over(), "only {got:?}");
    }
    assert_eq!(got, [(EventKind::Message as u32, 1), (EventKind::PeerDown as u32, 1)]);
}

#[test]
fn many_senders_share_one_receiver() {
    // More than lanes: some go through the shared ring; enough to use the bitmap.
    const TASKS: u32 = 70;
    let mut all = hub("many", TASKS);
    let (root, rest) = all.split_at_mut(1);
    let root = &mut root[0].0;
    let mut seen = vec![0u64; TASKS as usize];
    let mut on = |e: &Event| {
        let (from, number) = parse(&bytes(e));
        assert_eq!((from, number), (e.peer, seen[from as usize]));
        seen[from as usize] += 1;
    };
    for number in 0..400u64 {
        for (i, (t, _)) in rest.iter_mut().enumerate() {
            let from = i as u32 + 1;
            let len = [12, 40, 56, 57, 900, 16384][(number as usize + i) % 6];
            let m = message(from, number, len);
            while t.am_packed(0, len, &mut |into| into.copy_from_slice(&m)) == Status::Again {
                poll(root, &mut on);
            }
            assert_eq!(root.am_short(from, &[9], &[]), Status::Done);
            let mut n = 0;
            poll(t, &mut |_| n += 1);
            assert_eq!(n, 1);
        }
        poll(root, &mut on);
    }
    while poll(root, &mut on) > 0 {}
    assert!(seen[1..].iter().all(|&n| n == 400), "{seen:?}");
}

/// The mailbox line of a pair lies beside the lane of one of them. The other one may have come too
/// late for a lane.
#[test]
fn answers_arrive_where_one_task_of_a_pair_has_a_lane_and_the_other_has_none() {
    let name = job_name("late");
    let last = LANES + 1;
    let mut all: Vec<_> = (0..=last).map(|t| try_open(t, last + 1, 0, 0, &name).unwrap()).collect();
    let addresses: Vec<_> = all.iter().map(|(t, _)| t.address()).collect();
    // All but task 0 take the lanes of the last task; then task 0 comes.
    for task in (1..last).chain([0]) {
        let (t, last) = (task as usize, last as usize);
        all[t].0.connect(last as u32, &addresses[last]).unwrap();
        all[last].0.connect(task, &addresses[t]).unwrap();
        let [one, two] = all.get_disjoint_mut([t, last]).unwrap();
        settle(&mut [&mut one.0, &mut two.0]);
    }
    for number in 0..3u64 {
        for (from, to) in [(last, 0), (0, last)] {
            let [sender, receiver] = all.get_disjoint_mut([from as usize, to as usize]).unwrap();
            assert_eq!(send(&mut sender.0, to, &message(from, number, 16), &mut silent), Status::Done);
            let mut got = Vec::new();
            poll(&mut receiver.0, &mut |e| got.push(parse(&bytes(e))));
            assert_eq!(got, [(from, number)], "to task {to}");
        }
    }
}
