//! Ends over two transports, of which one stands by for the other.

use super::{packet, poll};
use crate::config::Config;
use crate::datagrams::{Datagrams, Parties, Timing};
use crate::transport::standby::fakes::{pair, tell, wire};
use crate::transport::{Link, Status};
use crate::wire::Kind;

/// The first transport and the one that stands by.
const FIRST: usize = 0;
const SECOND: usize = 1;

fn ends() -> [(Link, Datagrams); 2] {
    for task in 0..2 {
        tell(FIRST, task, 0, true, 1400);
        tell(SECOND, task, 0, true, 9000);
    }
    let mut task = 0;
    pair().map(|mut link| {
        let secret = [7; 32];
        let peers = vec![(1 - task, Some(1))];
        let (context, epoch) = ((0, 0), 1);
        let parties = Parties { task, job: "j", context, secret: &secret, epoch, alone: true, peers };
        let datagrams = Datagrams::new(&mut link, Timing::of(&Config::default()), &parties);
        task += 1;
        (link, datagrams.expect("an engine"))
    })
}

/// One turn of both: what arrived at the second one, by number.
fn turn([(near_link, near), (far_link, far)]: &mut [(Link, Datagrams); 2]) -> Vec<u32> {
    let mut came = Vec::new();
    for (link, datagrams) in [(near_link, near), (far_link, far)] {
        came = poll(link, datagrams).into_iter().map(|(_, number)| number).collect();
        let now = datagrams.now();
        datagrams.flush(link, now);
        while datagrams.event().is_some() {}
    }
    came
}

#[test]
fn sizes_are_those_of_the_first_transport() {
    let [(_, near), _] = ends();
    assert_eq!((near.datagram, near.paths(1)), (1400, vec![true]));
    assert!(near.room(1) < 1400 && near.stands_in(1, 7) && !near.has_only_standby(1));
    assert_eq!(
        near.rails().iter().map(|rail| (rail.standby, rail.number)).collect::<Vec<_>>(),
        [(false, 0), (true, 0)]
    );
}

/// The first transport is cut and heals again and again, mostly with news of it, once without.
#[test]
fn each_packet_comes_once_whichever_transport_carries_it() {
    const PACKETS: u32 = 30_000;
    let mut both = ends();
    let (mut sent, mut times, mut by_second) = (0, vec![0u32; PACKETS as usize], Vec::new());
    let mut patience = lapis_patience::Patience::with_myself(std::time::Duration::from_secs(60));
    while times.contains(&0) || both[0].1.owes(1) {
        let spell = sent / 5000;
        let cut = sent < PACKETS && spell % 2 == 1;
        if wire(FIRST, |wire| std::mem::replace(&mut wire.cut, cut)) != cut {
            wire(FIRST, |wire| wire.datagrams.iter_mut().for_each(|wire| wire.clear()));
            by_second.push(wire(SECOND, |wire| wire.sent.len()));
            if spell != 3 {
                (0..2).for_each(|task| tell(FIRST, task, 0, !cut, 1400));
            }
        }
        let (link, near) = &mut both[0];
        for _ in 0..50 {
            if sent < PACKETS && near.send(link, 1, &packet(Kind::Am, sent), &[7; 100], true) == Status::Done
            {
                sent += 1;
            }
        }
        turn(&mut both).into_iter().for_each(|number| times[number as usize] += 1);
        assert!(!patience.is_over(), "{sent} sent, {:?}", both[0].1.rails());
    }
    assert!(times.iter().all(|n| *n == 1), "each once");
    // Cut, healed, and so on: the second one had something to do while the first was cut.
    assert!(by_second.chunks_exact(2).all(|two| two[1] > two[0] + 50), "{by_second:?}");
}

/// A peer that was reached by another link before may be reached over the standby alone.
#[test]
fn a_peer_that_is_taken_up_has_the_paths_that_the_link_tells() {
    let [(mut link, mut near), _] = ends();
    near.adopt(5, 9);
    assert_eq!(near.paths(5), [true], "as long as nothing is known");
    let told = crate::transport::Event {
        kind: crate::transport::EventKind::Path as u32,
        peer: 5,
        token: 7 | crate::transport::Event::STANDBY,
        status: 1,
        len: 1400,
        ..crate::transport::Event::EMPTY
    };
    near.told(0, &told);
    assert!(near.has_only_standby(5));
    assert!(poll(&mut link, &mut near).is_empty());
}
