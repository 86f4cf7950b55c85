//! Two wires joined to one link.

use super::fakes::{link, pair, tell, wire};
use super::{join, join_neighbours};
use crate::transport::{
    Caps, DatagramBatch, Event, EventKind, Link, RawSlice, RemoteAddr, Status, TransportError,
};

/// The first transport and the one that stands by.
const FIRST: usize = 0;
const SECOND: usize = 1;

/// The news of paths at one poll: number, whether it stands by, whether it is up, its room.
fn news(link: &mut Link) -> Vec<(u64, bool, bool, u32)> {
    let mut events = [Event::EMPTY; 16];
    let n = link.poll(&mut events).expect("polls");
    let paths = events[..n].iter().filter(|event| event.kind == EventKind::Path as u32);
    let told = |e: &Event| (e.token & 0xff, e.token & Event::STANDBY != 0, e.status != 0, e.len);
    paths.map(told).collect()
}

fn send(link: &mut Link, path: u32) -> Result<usize, Status> {
    let slice = RawSlice { ptr: [1u8, 2, 3].as_mut_ptr(), len: 0 };
    let batch = DatagramBatch { peer: 1, path, slices: &slice, count: 1, segment: 3 };
    // SAFETY: the slice is empty.
    unsafe { link.send_datagrams(&[batch]) }
}

fn put(link: &mut Link) -> Status {
    let nothing = RawSlice { ptr: std::ptr::dangling_mut(), len: 0 };
    // SAFETY: nothing is read or written.
    unsafe { link.put_zcopy(1, nothing, RemoteAddr { addr: 0, key: 0 }, 0) }
}

#[test]
fn paths_of_both_have_numbers_and_datagrams_take_the_one_that_they_name() {
    let [mut link, _] = pair();
    assert_eq!(
        (link.name(), link.standby(), link.note()),
        ("first", Some("second"), "first; standby second: second")
    );
    for path in [0, 1] {
        tell(FIRST, 0, path, true, 1400);
        tell(SECOND, 0, path, path == 0, 1500);
    }
    assert_eq!(
        news(&mut link),
        [(0, false, true, 1400), (1, false, true, 1400), (7, true, true, 1500), (6, true, false, 1500)]
    );
    for path in [0, 1, 7, 6] {
        assert_eq!(send(&mut link, path), Ok(1));
    }
    assert_eq!(wire(FIRST, |wire| wire.sent.clone()), [(0, false), (1, false)]);
    assert_eq!(wire(SECOND, |wire| wire.sent.clone()), [(0, false), (1, false)]);
    tell(FIRST, 0, 1, false, 1400);
    assert_eq!(news(&mut link), [(1, false, false, 1400)]);
}

#[test]
fn only_who_takes_lent_pages_gets_them() {
    wire(FIRST, |wire| wire.lends = true);
    let [mut link, _] = pair();
    tell(FIRST, 0, 0, true, 1400);
    tell(SECOND, 0, 0, true, 1400);
    news(&mut link);
    for path in [0, 7] {
        assert_eq!(send(&mut link, path | DatagramBatch::LENT), Ok(1));
    }
    assert_eq!(wire(FIRST, |wire| wire.sent.clone()), [(0, true)]);
    assert_eq!(wire(SECOND, |wire| wire.sent.clone()), [(0, false)]);
}

#[test]
fn what_goes_past_datagrams_ends_while_no_path_of_the_first_is_up() {
    let [mut link, _] = pair();
    assert!(link.caps().contains(Caps::AM_SHORT | Caps::PUT_ZCOPY | Caps::QUIET_POLLS));
    tell(SECOND, 0, 0, true, 1400);
    for up in [true, false, true] {
        tell(FIRST, 0, 0, up, 1400);
        news(&mut link);
        let expected = if up { Status::Done } else { Status::Unsupported };
        assert_eq!((link.am_short(1, b"head", b"body"), put(&mut link)), (expected, expected));
    }
    // Without a standby to the peer, what is to be sent waits.
    wire(SECOND, |wire| wire.refuses = Some(TransportError::Unreachable("no".to_owned())));
    let [mut link, _] = pair();
    tell(FIRST, 0, 0, false, 1400);
    news(&mut link);
    assert_eq!(link.am_short(1, b"head", b"body"), Status::Done, "the first transport decides");
}

#[test]
fn a_peer_is_reached_by_whichever_transport_leads_to_it() {
    let unreachable = |why: &str| Some(TransportError::Unreachable(why.to_owned()));
    wire(FIRST, |wire| wire.refuses = unreachable("no window"));
    let [mut link, _] = pair();
    // What the second one can do is all there is.
    assert_eq!(link.caps(), Caps::DATAGRAM | Caps::WAIT);
    assert_eq!(link.limits().receive_buffer, 1 << 19);
    tell(SECOND, 0, 0, true, 1400);
    assert_eq!(news(&mut link), [(7, true, true, 1400)]);
    assert_eq!(link.am_short(1, b"head", b"body"), Status::Unsupported);
    wire(SECOND, |wire| wire.refuses = unreachable("no network"));
    let mut link = join(self::link(FIRST, 0), self::link(SECOND, 0), 2).expect("two links");
    let address = link.address().expect("two addresses");
    let refused = link.connect(1, &address);
    assert_eq!(refused, Err(TransportError::Unreachable("no window; second: no network".to_owned())));
    assert!(matches!(link.connect(2, &address), Err(TransportError::Invalid(_))));
    assert!(matches!(link.connect(1, b"x"), Err(TransportError::Invalid(_))));
    // Another failure is one of the job.
    wire(FIRST, |wire| wire.refuses = Some(TransportError::Exhausted("full".to_owned())));
    assert_eq!(link.connect(1, &address), Err(TransportError::Exhausted("full".to_owned())));
}

#[test]
fn a_peer_that_has_the_second_transport_alone_numbers_its_paths_as_it_does() {
    let [mut link, _] = pair();
    link.disconnect(1);
    link.connect(1, &super::joined([None, Some(&[1; 512])])).expect("it has the second one");
    tell(SECOND, 0, 0, true, 1400);
    assert_eq!(news(&mut link), [(0, true, true, 1400)]);
    assert_eq!(send(&mut link, 0), Ok(1));
    assert_eq!(wire(SECOND, |wire| wire.sent.clone()), [(0, false)]);
}

#[test]
fn the_card_names_both_transports() {
    let [mut link, _] = pair();
    let expected = [("first", vec![0; 512]), ("second", vec![1; 512])];
    assert_eq!(link.addresses().expect("two addresses"), expected);
    assert_eq!(self::link(FIRST, 0).addresses().expect("one"), expected[..1]);
}

#[test]
fn a_quiet_standby_is_looked_at_now_and_then_and_a_busy_one_each_time() {
    let [mut link, _] = pair();
    let polls = || wire(SECOND, |wire| wire.polls);
    let mut look = |times: u32| {
        let before = polls();
        (0..times).for_each(|_| assert_eq!(news(&mut link), []));
        polls() - before
    };
    assert_eq!(look(256), 256, "connecting brings news");
    let seldom = look(100_000);
    assert!(seldom < 50_000, "{seldom} looks");
    // At last it is looked at, and then each time.
    tell(SECOND, 0, 0, true, 1400);
    let mut patience = lapis_patience::Patience::with_myself(std::time::Duration::from_secs(20));
    while news(&mut link).is_empty() {
        assert!(!patience.is_over());
    }
    let before = polls();
    (0..200).for_each(|_| assert_eq!(news(&mut link), []));
    assert_eq!(polls() - before, 200);
}

#[test]
fn who_sleeps_is_woken_by_either_and_looks_at_what_woke_it() {
    let parts = [link(FIRST, 0), link(SECOND, 0)];
    let sleepers = parts.each_ref().map(Link::sleeper);
    let [first, second] = parts;
    let mut link = join(first, second, 2).expect("two links");
    (0..1000).for_each(|_| assert_eq!(news(&mut link), []));
    for sleeper in &sleepers {
        for _ in 0..2 {
            assert_eq!(link.arm(), Status::Done);
            sleeper.wake();
            // Nothing else ends this sleep before the test's time is over.
            link.wait(u64::MAX);
            link.disarm();
            let before = wire(SECOND, |wire| wire.polls);
            news(&mut link);
            assert_eq!(wire(SECOND, |wire| wire.polls), before + 1);
        }
    }
    link.wake();
    link.wait(u64::MAX);
    // By descriptor, as those do who sleep on several links.
    let is_readable = |link: &Link| {
        let mut fd = libc::pollfd { fd: link.wait_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the descriptor is valid for the call.
        unsafe { libc::poll(&raw mut fd, 1, 0) == 1 }
    };
    for sleeper in &sleepers {
        assert!(!is_readable(&link));
        sleeper.wake();
        assert!(is_readable(&link));
        link.wait(0);
    }
    // What is there already keeps from sleeping, and the next poll finds it.
    tell(SECOND, 0, 0, true, 1400);
    assert_eq!(link.arm(), Status::Again);
    assert_eq!(news(&mut link).len(), 1);
}

#[test]
fn paths_that_a_peer_has_no_more_are_gone_when_it_is_back() {
    let [mut link, _] = pair();
    let address = link.address().expect("two addresses");
    tell(FIRST, 0, 0, true, 1400);
    tell(SECOND, 0, 0, true, 1400);
    assert_eq!(news(&mut link).len(), 2);
    link.disconnect(1);
    assert_eq!([FIRST, SECOND].map(|which| wire(which, |wire| wire.disconnected)), [1, 1]);
    wire(FIRST, |wire| wire.refuses = Some(TransportError::Unreachable("elsewhere".to_owned())));
    link.connect(1, &address).expect("the second one leads there");
    tell(SECOND, 0, 0, true, 1500);
    assert_eq!(news(&mut link), [(7, true, true, 1500), (0, false, false, 0)]);
}

/// Its new process was started with the second transport alone, its next one with both again.
#[test]
fn a_peer_that_comes_back_with_other_transports_is_reached_over_those() {
    let [mut link, _] = pair();
    let both = link.address().expect("two addresses");
    tell(FIRST, 0, 0, true, 1400);
    tell(SECOND, 0, 0, true, 1500);
    assert_eq!(news(&mut link).len(), 2);
    link.disconnect(1);
    link.connect(1, &super::joined([None, Some(&[1; 512])])).expect("it has the second one");
    tell(SECOND, 0, 0, true, 1500);
    assert_eq!(news(&mut link), [(0, true, true, 1500), (7, true, false, 0)]);
    assert_eq!(send(&mut link, 0), Ok(1));
    assert_eq!(wire(SECOND, |wire| std::mem::take(&mut wire.sent)), [(0, false)]);
    link.disconnect(1);
    link.connect(1, &both).expect("it has both");
    tell(FIRST, 0, 0, true, 1400);
    tell(SECOND, 0, 0, true, 1500);
    assert_eq!(news(&mut link), [(0, false, true, 1400), (7, true, true, 1500)]);
    assert_eq!((send(&mut link, 0), send(&mut link, 7)), (Ok(1), Ok(1)));
    assert_eq!(wire(FIRST, |wire| wire.sent.clone()), [(0, false)]);
    assert_eq!(wire(SECOND, |wire| wire.sent.clone()), [(0, false)]);
}

#[test]
fn a_transport_that_fails_where_nothing_stands_by_takes_the_link_along() {
    wire(SECOND, |wire| wire.refuses = Some(TransportError::Unreachable("no".to_owned())));
    let [mut link, _] = pair();
    wire(FIRST, |wire| wire.broken = true);
    assert_eq!(link.poll(&mut [Event::EMPTY; 16]), Err(Status::Panicked));
}

#[test]
fn a_transport_that_fails_altogether_takes_its_paths_along() {
    let [mut link, _] = pair();
    tell(FIRST, 0, 0, true, 1400);
    tell(SECOND, 0, 0, true, 1400);
    assert_eq!(news(&mut link).len(), 2);
    wire(FIRST, |wire| wire.broken = true);
    assert_eq!(news(&mut link), [(0, false, false, 0)]);
    assert_eq!(link.am_short(1, b"head", b"body"), Status::Unsupported);
    assert_eq!(send(&mut link, 7), Ok(1));
    assert_eq!(wire(SECOND, |wire| wire.sent.len()), 1);
}

#[test]
fn neighbours_are_joined_and_others_are_left_alone() {
    let names = |links: Vec<Link>| -> Vec<_> {
        let joined = join_neighbours(links, 2).expect("links");
        joined.iter().map(|link| (link.name(), link.standby())).collect()
    };
    assert_eq!(names(vec![link(FIRST, 0)]), [("first", None)]);
    let three = vec![link(SECOND, 0), link(FIRST, 0), link(FIRST, 0)];
    assert_eq!(names(three), [("second", Some("first")), ("first", None)]);
}
