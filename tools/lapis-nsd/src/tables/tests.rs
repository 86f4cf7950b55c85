use super::*;
use crate::adapters::soft_adapters;
use lapis_adapters::soft::{Sender, Window};
use lapis_copies::Copies;
use std::time::Duration;

const ANN: u32 = 1000;
const BOB: u32 = 1001;

fn tables() -> Tables {
    Tables::new(soft_adapters(2, 2, 8).expect("possible"), Some(6)).expect("memory")
}

fn caller(client: u64, user: u32) -> Caller {
    Caller { client, user, process: client as u32 + 7000, administrator: user == 0 }
}

fn place(window: u32) -> Place {
    Place { adapter: "sn0".to_owned(), window }
}

fn open(tables: &mut Tables, who: Caller, window: Option<u32>, key: &str) -> Result<(u32, Parts), Why> {
    let request = Request::Open { adapter: "sn0".to_owned(), window, key: Key::of_text(key) };
    match tables.handle(who, request, Vec::new()) {
        (Reply::Opened { window, geometry, wire: None }, fds) => {
            let [memory, bell] = fds.try_into().expect("two descriptors");
            Ok((window, Parts { memory, bell, geometry }))
        }
        (Reply::Refused { why, .. }, _) => Err(why),
        (other, _) => panic!("{other:?}"),
    }
}

fn done(tables: &mut Tables, who: Caller, request: Request) -> Result<(), Why> {
    match tables.handle(who, request, Vec::new()).0 {
        Reply::Done | Reply::Reserved { .. } | Reply::Attached { .. } => Ok(()),
        Reply::Refused { why, text } => {
            assert!(!text.is_empty());
            Err(why)
        }
        other => panic!("{other:?}"),
    }
}

fn attach(key: &str, window: u32) -> Request {
    Request::Attach { place: place(window), key: Key::of_text(key) }
}

#[test]
fn a_window_is_for_its_job_and_user_and_free_when_its_task_has_gone() {
    let mut tables = tables();
    let (ann, bob) = (caller(1, ANN), caller(2, BOB));
    let (number, parts) = open(&mut tables, ann, None, "a").expect("free");
    assert_eq!(number, 0);
    let (reply, fds) = tables.handle(caller(3, ANN), attach("a", 0), Vec::new());
    let Reply::Attached { geometry } = reply else { panic!("{reply:?}") };
    let [memory, bell] = fds.try_into().expect("two descriptors");
    let mut sender = Sender::open(Parts { memory, bell, geometry }, Copies::USUAL).expect("maps");
    let mut window = Window::open(parts).expect("maps");
    // SAFETY: one byte was asked for.
    assert!(sender.send(1, |to| unsafe { to.write(9) }));
    assert_eq!(window.receive(&mut [0; 8]), lapis_adapters::fifo::Found::Datagram(1));

    assert_eq!(done(&mut tables, bob, attach("a", 0)), Err(Why::WrongKey), "the key alone is not enough");
    assert_eq!(done(&mut tables, caller(4, ANN), attach("b", 0)), Err(Why::WrongKey));
    assert_eq!(done(&mut tables, bob, Request::Close { place: place(0) }), Err(Why::NoWindow));
    assert_eq!(open(&mut tables, bob, Some(0), "a").err(), Some(Why::Taken));
    assert_eq!(open(&mut tables, bob, None, "b").expect("free").0, 1);
    tables.gone(1, None);
    assert_eq!(done(&mut tables, ann, attach("a", 0)), Err(Why::NoWindow));
    assert_eq!(tables.taken(), 1);
    tables.gone(2, None);
    assert_eq!(tables.taken(), 0);
}

#[test]
fn a_window_that_is_held_is_its_holders_users_until_he_has_gone() {
    let mut tables = tables();
    let (holder, friend, bob) = (caller(1, ANN), caller(2, ANN), caller(3, BOB));
    let hold = Request::Reserve { adapter: "sn0".to_owned(), window: None, held: true };
    assert_eq!(done(&mut tables, holder, hold.clone()), Ok(()));
    assert_eq!(done(&mut tables, holder, hold), Ok(()));
    assert_eq!(open(&mut tables, bob, None, "b").expect("free").0, 2, "0 and 1 are held");
    assert_eq!(open(&mut tables, bob, Some(0), "b").err(), Some(Why::Taken));
    open(&mut tables, friend, Some(0), "a").expect("held for this user");
    // The one in use stays with who uses it, the other one is free.
    tables.gone(1, None);
    assert_eq!(open(&mut tables, bob, Some(1), "b").expect("free").0, 1);
    assert_eq!(open(&mut tables, bob, Some(0), "b").err(), Some(Why::Taken));
    tables.gone(2, None);
    assert_eq!(open(&mut tables, bob, Some(0), "b").expect("free").0, 0);
    tables.gone(3, None);
    assert_eq!(tables.taken(), 0);
}

/// After a daemon's restart the context that uses a window shows it before the one that holds it.
#[test]
fn a_window_that_is_open_is_held_again_by_the_holders_process_alone() {
    let (mut before, mut after) = (tables(), tables());
    let (holder, friend, bob) = (caller(1, ANN), caller(2, ANN), caller(3, BOB));
    let friend = Caller { process: holder.process, ..friend };
    let (number, parts) = open(&mut before, friend, None, "a").expect("free");
    let adopt = Request::Adopt { place: place(number), key: Key::of_text("a"), geometry: parts.geometry };
    assert_eq!(after.handle(friend, adopt, vec![parts.memory, parts.bell]).0, Reply::Done);
    let hold = Request::Reserve { adapter: "sn0".to_owned(), window: Some(number), held: true };
    for other in [bob, caller(4, ANN)] {
        assert_eq!(done(&mut after, other, hold.clone()), Err(Why::Taken), "another process");
    }
    assert_eq!(done(&mut after, holder, hold.clone()), Ok(()));
    assert_eq!(done(&mut after, holder, hold), Err(Why::Taken), "it is held");
    after.gone(friend.client, None);
    assert_eq!(open(&mut after, bob, Some(number), "b").err(), Some(Why::Taken), "held");
    after.gone(holder.client, None);
    assert_eq!(open(&mut after, bob, Some(number), "b").expect("free").0, number);
}

/// What is freed in the thread that serves keeps everybody waiting.
#[test]
fn memory_of_windows_and_what_was_passed_in_vain_is_left_for_others_to_close() {
    let (mut former, mut tables) = (tables(), tables());
    let ann = caller(1, ANN);
    let (first, _) = open(&mut tables, ann, None, "a").expect("free");
    let (_, ours) = open(&mut tables, ann, None, "a").expect("free");
    let sender = Sender::open(ours, Copies::USUAL).expect("maps");
    let (_, parts) = open(&mut former, ann, Some(5), "a").expect("free");
    assert_eq!(tables.take_unused().len(), 0);
    assert_eq!(done(&mut tables, ann, Request::Close { place: place(first) }), Ok(()));
    assert!(matches!(tables.take_unused()[..], [Unused::Window(_)]));
    let pass = |request| {
        (request, vec![parts.memory.try_clone().expect("free"), parts.bell.try_clone().expect("free")])
    };
    let wrong = Geometry { slots: 16, chunks: 16, chunk: 1024, lanes: 0 };
    let adopt = |window, geometry| Request::Adopt { place: place(window), key: Key::of_text("a"), geometry };
    for request in [Request::Adapters, adopt(1, parts.geometry), adopt(5, wrong)] {
        let (request, fds) = pass(request);
        tables.handle(ann, request, fds);
        assert_eq!(tables.take_unused().len(), 2, "passed in vain");
    }
    let (request, fds) = pass(adopt(5, parts.geometry));
    assert_eq!(tables.handle(ann, request, fds).0, Reply::Done);
    assert_eq!(tables.take_unused().len(), 0);
    tables.gone(ann.client, None);
    let unused = tables.take_unused();
    assert!(matches!(unused[..], [Unused::Window(_), Unused::Window(_)]), "{unused:?}");
    // Its senders are told by whoever closes it.
    assert!(!sender.fifo().is_closed());
}

#[test]
fn reservations_outlive_connections_and_are_their_makers() {
    let mut tables = tables();
    let (ann, bob) = (caller(1, ANN), caller(2, BOB));
    let reserve = |window| Request::Reserve { adapter: "sn0".to_owned(), window, held: false };
    assert_eq!(done(&mut tables, ann, reserve(Some(5))), Ok(()));
    assert_eq!(done(&mut tables, bob, reserve(Some(5))), Err(Why::Taken));
    assert_eq!(done(&mut tables, bob, reserve(Some(8))), Err(Why::NoWindow));
    let load = |key| Request::Load { place: place(5), key: Key::of_text(key) };
    assert_eq!(done(&mut tables, bob, load("b")), Err(Why::NotAllowed));
    assert_eq!(done(&mut tables, ann, load("a")), Ok(()));
    assert_eq!(done(&mut tables, ann, load("c")), Err(Why::Taken));
    tables.gone(1, None);
    assert_eq!(open(&mut tables, bob, Some(5), "a").err(), Some(Why::Taken));
    assert_eq!(open(&mut tables, ann, Some(5), "b").err(), Some(Why::WrongKey));
    assert_eq!(open(&mut tables, caller(3, ANN), Some(5), "a").expect("its job").0, 5);
    assert_eq!(done(&mut tables, ann, Request::Release { place: place(5) }), Err(Why::Taken), "in use");
    tables.gone(3, None);
    assert_eq!(done(&mut tables, ann, Request::Unload { place: place(5) }), Ok(()));
    assert_eq!(open(&mut tables, caller(4, ANN), Some(5), "other").expect("any job of hers").0, 5);
    tables.gone(4, None);
    assert_eq!(done(&mut tables, bob, Request::Release { place: place(5) }), Err(Why::NotAllowed));
    assert_eq!(done(&mut tables, ann, Request::Release { place: place(5) }), Ok(()));
    assert_eq!(tables.taken(), 0);
}

#[test]
fn a_share_that_nobody_names_is_half_of_each_adapters_windows() {
    let mut specs = soft_adapters(2, 2, 8).expect("possible");
    specs[1].windows = 3;
    let mut tables = Tables::new(specs, None).expect("memory");
    let mut has = |adapter: &str| {
        let request = || Request::Reserve { adapter: adapter.to_owned(), window: None, held: false };
        (0..9).take_while(|_| done(&mut tables, caller(1, ANN), request()).is_ok()).count()
    };
    assert_eq!((has("sn0"), has("sn1")), (4, 2));
}

#[test]
fn where_descriptors_are_short_something_is_left_for_others() {
    let mut tables = tables();
    // An eighth of them: four windows.
    tables.set_shares(Shares::of(Some(32)));
    let kept: Vec<_> =
        (0..4).map(|_| open(&mut tables, caller(1, ANN), None, "a").expect("is left")).collect();
    assert_eq!(open(&mut tables, caller(1, ANN), None, "a").err(), Some(Why::Full));
    assert!(open(&mut tables, caller(2, BOB), None, "b").is_ok());
    assert!(open(&mut tables, caller(3, 0), None, "c").is_ok());
    drop(kept);
}

#[test]
fn a_user_gets_a_share_and_full_tables_refuse() {
    let mut tables = tables();
    let mut kept = Vec::new();
    for _ in 0..6 {
        kept.push(open(&mut tables, caller(1, ANN), None, "a").expect("within the share"));
    }
    assert_eq!(open(&mut tables, caller(1, ANN), None, "a").err(), Some(Why::Full));
    for _ in 0..2 {
        kept.push(open(&mut tables, caller(2, BOB), None, "b").expect("left over for others"));
    }
    assert_eq!(open(&mut tables, caller(2, BOB), None, "b").err(), Some(Why::Full));
    assert_eq!(open(&mut tables, caller(9, 0), None, "r").err(), Some(Why::Full), "full is full");
    tables.gone(1, None);
    assert_eq!(open(&mut tables, caller(2, BOB), None, "b").expect("the lowest").0, 0);
}

#[test]
fn a_restarted_daemon_takes_windows_that_it_is_shown_and_no_rubbish() {
    let (mut before, mut after) = (tables(), tables());
    let ann = caller(1, ANN);
    let (number, parts) = open(&mut before, ann, Some(3), "a").expect("free");
    let adopt = |geometry| Request::Adopt { place: place(3), key: Key::of_text("a"), geometry };
    let fds = |parts: &Parts| {
        let copy = parts.try_clone().expect("descriptors");
        vec![copy.memory, copy.bell]
    };
    let refused =
        |answer: (Reply, Vec<OwnedFd>)| matches!(answer.0, Reply::Refused { why: Why::Malformed, .. });
    assert!(refused(after.handle(ann, adopt(parts.geometry), Vec::new())));
    let wrong = Geometry { slots: 16, chunks: 16, chunk: 1024, lanes: 0 };
    assert!(refused(after.handle(ann, adopt(wrong), fds(&parts))));
    let mut pair = fds(&parts);
    pair.swap(0, 1);
    assert!(refused(after.handle(ann, adopt(parts.geometry), pair)));
    assert_eq!(after.taken(), 0);
    for _ in 0..2 {
        // The second time as by one who has given up to wait for the answer.
        assert_eq!(after.handle(ann, adopt(parts.geometry), fds(&parts)).0, Reply::Done);
    }
    assert_eq!((number, done(&mut after, caller(2, ANN), attach("a", 3))), (3, Ok(())));
    assert!(matches!(
        after.handle(caller(5, BOB), adopt(parts.geometry), fds(&parts)).0,
        Reply::Refused { why: Why::Taken, .. }
    ));
}

#[test]
fn a_young_daemon_gives_no_windows_that_tasks_may_have_already() {
    let (mut before, mut after) = (tables(), tables());
    let (ann, bob) = (caller(1, ANN), caller(2, BOB));
    let (number, parts) = open(&mut before, ann, None, "a").expect("free");
    let (other, others) = open(&mut before, ann, None, "a").expect("free");
    let hour = Duration::from_secs(3600);
    after.be_young(hour);
    let reserve = |window, held| Request::Reserve { adapter: "sn0".to_owned(), window, held };
    assert_eq!(open(&mut after, bob, None, "b").err(), Some(Why::Soon));
    assert_eq!(open(&mut after, bob, Some(number), "b").err(), Some(Why::Soon));
    for (window, held) in [(None, false), (Some(number), false), (None, true)] {
        assert_eq!(done(&mut after, bob, reserve(window, held)), Err(Why::Soon));
    }
    // Whoever looks for a window that is not known yet asks again.
    assert_eq!(done(&mut after, caller(3, ANN), attach("a", number)), Err(Why::Soon));
    let adopt = |window, parts: &Parts| {
        let parts = parts.try_clone().expect("descriptors");
        let (place, key) = (place(window), Key::of_text("a"));
        (Request::Adopt { place, key, geometry: parts.geometry }, vec![parts.memory, parts.bell])
    };
    let mut show = |who, window, parts| {
        let (request, fds) = adopt(window, parts);
        after.handle(who, request, fds).0
    };
    // Memory of one's own, or of another window, shows nothing.
    let own = Parts::make("lapis-window", parts.geometry).expect("memory");
    for (window, parts) in [(number, &own), (number + 1, &parts)] {
        let answer = show(bob, window, parts);
        assert!(matches!(answer, Reply::Refused { why: Why::Malformed, .. }), "{answer:?}");
    }
    // Who has shown a window may hold another one again; who has not might take one that its task
    // has still to show.
    let first = caller(3, ANN);
    assert_eq!(show(first, other, &others), Reply::Done);
    let hold = reserve(Some(number), true);
    assert_eq!(done(&mut after, bob, hold.clone()), Err(Why::Soon));
    assert_eq!(done(&mut after, first, hold), Ok(()));
    assert_eq!(done(&mut after, first, reserve(Some(7), true)), Err(Why::Soon), "more than it shows");
    // What is held for another context may be shown by that one.
    let (request, fds) = adopt(number, &parts);
    assert_eq!(after.handle(ann, request, fds).0, Reply::Done);
    assert_eq!(done(&mut after, caller(3, ANN), attach("a", number)), Ok(()));
    after.be_young(Duration::ZERO);
    assert_ne!(open(&mut after, bob, None, "b").expect("another one").0, number);
    assert_eq!(done(&mut after, bob, attach("b", 7)), Err(Why::NoWindow));
}

#[test]
fn a_young_daemon_neither_gives_identities_nor_denies_ports_that_programs_may_have_already() {
    let (mut before, mut after) = (tables(), tables());
    let (ann, other) = (caller(1, ANN), caller(2, ANN));
    let key = || Key::of_text("gm");
    let wish = |node: &str| Request::OpenPort {
        node: node.to_owned(),
        board: 0,
        port: 2,
        name: "test".to_owned(),
        key: key(),
    };
    let (Reply::PortOpened { node, place, life, geometry, .. }, fds) =
        before.handle(ann, wish("left"), Vec::new())
    else {
        panic!("free");
    };
    after.be_young(Duration::from_secs(3600));
    let attach = |node, port| Request::AttachPort { from: 1, node, port, key: key() };
    let ask = |tables: &mut Tables, request| match tables.handle(other, request, Vec::new()).0 {
        Reply::Refused { why, .. } => Err(why),
        Reply::PortAttached { life, .. } => Ok(life),
        reply => panic!("{reply:?}"),
    };
    assert_eq!(ask(&mut after, attach(node, 2)), Err(Why::Soon));
    // This one would get the other's identity.
    assert_eq!(ask(&mut after, wish("right")), Err(Why::Soon));
    let adopt = Request::AdoptPort {
        node,
        host: "left".to_owned(),
        board: 0,
        port: 2,
        name: "test".to_owned(),
        life,
        place,
        key: key(),
        geometry,
    };
    assert_eq!(after.handle(ann, adopt, fds).0, Reply::Done);
    assert_eq!(ask(&mut after, attach(node, 2)), Ok(life));
    let unknown = [attach(node, 4), attach(node + 1, 2)];
    assert_eq!(unknown.clone().map(|request| ask(&mut after, request)), [Err(Why::Soon); 2]);
    after.be_young(Duration::ZERO);
    assert_eq!(unknown.map(|request| ask(&mut after, request)), [Err(Why::NoPort), Err(Why::NoNode)]);
}

#[test]
fn adapters_go_down_and_up_by_those_who_may() {
    let mut tables = tables();
    let set = |up| Request::Set { adapter: "sn1".to_owned(), up };
    let reader = lapis_adapters::matrix::Reader::map(tables.matrix().file()).expect("maps");
    assert_eq!(done(&mut tables, caller(1, ANN), set(false)), Err(Why::NotAllowed));
    assert!(!tables.take_changed() && reader.is_up(1));
    assert_eq!(done(&mut tables, caller(1, 0), set(false)), Ok(()));
    assert!(tables.take_changed() && !reader.is_up(1) && reader.is_up(0));
    let request = Request::Open { adapter: "sn1".to_owned(), window: None, key: Key::of_text("a") };
    assert_eq!(done(&mut tables, caller(1, ANN), request), Err(Why::Down));
    assert_eq!(done(&mut tables, caller(1, 0), set(true)), Ok(()));
    assert!(reader.is_up(1));
    let nowhere = Request::Set { adapter: "en0".to_owned(), up: true };
    assert_eq!(done(&mut tables, caller(1, 0), nowhere), Err(Why::NoAdapter));
}

#[test]
fn long_lists_come_in_parts() {
    let mut tables = Tables::new(soft_adapters(1, 1, 1000).expect("possible"), Some(1000)).expect("memory");
    for window in (0..600).step_by(2) {
        let request = Request::Reserve { adapter: "sn0".to_owned(), window: Some(window), held: false };
        assert_eq!(done(&mut tables, caller(1, ANN), request), Ok(()));
    }
    let (mut seen, mut from) = (Vec::new(), 0);
    loop {
        let request = Request::Windows { adapter: "sn0".to_owned(), from };
        let (Reply::Windows { windows, next }, _) = tables.handle(caller(2, BOB), request, Vec::new()) else {
            panic!("windows were asked for");
        };
        let bytes = serde_json::to_vec(&Reply::Windows { windows: windows.clone(), next }).expect("json");
        assert!(bytes.len() < lapis_adapters::protocol::MAX_REPLY, "{}", bytes.len());
        seen.extend(windows.iter().map(|w| w.window));
        let Some(next) = next else { break };
        from = next;
    }
    assert_eq!(seen, (0..600).step_by(2).collect::<Vec<u32>>());
}
