//! What decides how long traffic stalls when an adapter is pulled: the first poll afterwards tells
//! core of the paths that are down, and a task that sleeps wakes for it. No timer is involved.
//! Adapters that are pulled while windows are opened. Lanes of windows on different adapters.

mod puller;

use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_core::config::Environment;
use lapis_core::transport::{Event, EventKind, Link, OpenParams, Plugin, Status, with_options};
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use lapis_testing::{Finished, Job, program};
use puller::Puller;

fn daemon(name: &str) -> (Address, Handle) {
    let address = Address::new(&format!("lapis-test-failover-{name}-{}", std::process::id()));
    let adapters = soft_adapters(2, 2, 16).expect("possible");
    let options = Options { address: address.clone(), adapters, share: Some(16), ..Options::default() };
    (address, Server::open(options).and_then(Server::spawn).expect("a daemon"))
}

/// The end of a task.
fn open(address: &Address, task: u32, tasks: u32, variable: (&str, &str)) -> Link {
    let variables = [("LAPIS_NSD", address.as_str()), variable];
    let plugin = Plugin::from_table(lapis_hps::table()).expect("a good table");
    let params = OpenParams {
        task,
        tasks,
        context: 0,
        incarnation: 1,
        job: address.as_str(),
        secret: &[7; 32],
        interrupts: false,
    };
    with_options(&Environment::from_pairs(variables), || plugin.open(&params)).expect("opens")
}

/// Two tasks with a window on each adapter, connected.
fn pair(address: &Address) -> [Link; 2] {
    let mut links = [0, 1].map(|task| open(address, task, 2, ("MP_INSTANCES", "2")));
    let cards = links.each_mut().map(|link| link.address().expect("a card"));
    for (task, link) in (0..).zip(&mut links) {
        link.connect(1 - task, &cards[1 - task as usize]).expect("connects");
        assert_eq!(news(link), [(0, true), (1, true)]);
    }
    links
}

/// What one poll tells of paths: their numbers, and whether they are up.
fn news(link: &mut Link) -> Vec<(u64, bool)> {
    let mut events = [Event::EMPTY; 16];
    let n = link.poll(&mut events).expect("polls");
    let paths = events[..n].iter().filter(|event| event.kind == EventKind::Path as u32);
    paths.map(|event| (event.token, event.status != 0)).collect()
}

#[test]
fn the_first_poll_after_an_adapter_was_pulled_or_put_back_tells_of_its_path() {
    let (address, _daemon) = daemon("poll");
    let control = Daemon::connect(&address).expect("a daemon");
    let mut links = pair(&address);
    for round in 0..10 {
        let (adapter, path) = [("sn0", 0), ("sn1", 1)][round % 2];
        for up in [false, true] {
            control.set(adapter, up).expect("the daemon's user may");
            for link in &mut links {
                assert_eq!(news(link), [(path, up)]);
                assert_eq!(news(link), [], "it is told once");
            }
        }
    }
}

/// Task 0 has two windows; task 1 reaches the first one, and task 2 the second one.
#[test]
fn a_lane_that_is_never_empty_keeps_nobody_out_who_has_one_of_another_window() {
    let (address, _daemon) = daemon("lanes");
    let both = ("MP_INSTANCES", "2");
    let variables = [both, ("MP_EUIDEVICE", "sn0"), ("MP_EUIDEVICE", "sn1")];
    let mut task = 0..;
    let [mut owner, mut busy, mut quiet] =
        variables.map(|variable| open(&address, task.next().expect("a number"), 3, variable));
    let card = owner.address().expect("a card");
    for (task, link) in [(1, &mut busy), (2, &mut quiet)] {
        owner.connect(task, &link.address().expect("a card")).expect("connects");
        link.connect(0, &card).expect("connects");
    }
    // Who has lanes is known when all are connected.
    for link in [&mut owner, &mut busy, &mut quiet] {
        link.refresh_attributes().expect("good ones");
    }
    let fill = |link: &mut Link| {
        while link.am_short(0, &[1; 8], &[]) == Status::Done {}
    };
    fill(&mut busy);
    assert_eq!(quiet.am_short(0, &[2; 8], &[]), Status::Done);
    let mut from = Vec::new();
    for _ in 0..4 {
        let mut events = [Event::EMPTY; 64];
        let n = owner.poll(&mut events).expect("polls");
        let messages = events[..n].iter().filter(|event| event.kind == EventKind::Message as u32);
        from.extend(messages.map(|event| event.peer));
        fill(&mut busy);
    }
    assert!(from.contains(&1) && from.contains(&2), "{from:?}");
}

/// Nothing but the daemon's news can end this sleep before the test's time is over.
#[test]
fn a_task_that_sleeps_wakes_for_an_adapter_that_is_pulled() {
    let (address, _daemon) = daemon("sleep");
    let control = Daemon::connect(&address).expect("a daemon");
    let mut links = pair(&address);
    for up in [false, true] {
        for link in &mut links {
            while link.arm() != Status::Done {
                assert_eq!(news(link), []);
            }
        }
        control.set("sn1", up).expect("the daemon's user may");
        for link in &mut links {
            link.wait(u64::MAX);
            link.disarm();
            assert_eq!(news(link), [(1, up)]);
        }
    }
}

/// A job, each of whose tasks has as many windows as `variables` say. Each time that a task asks
/// for a window of `pulled`, the adapter has just been taken down.
fn job_that_meets_pulled_adapters(
    tasks: u32,
    pulled: &'static [&'static str],
    variables: &[(&str, &str)],
) -> Finished {
    let daemon = Puller::start(pulled);
    let mut job = Job::new(tasks).var("LAPIS_TRANSPORT", "hps").var("LAPIS_LOG", "warn");
    job = job.var("LAPIS_NSD", daemon.address.as_str());
    for (name, value) in variables {
        job = job.var(name, value);
    }
    job.run(program("lapis-testing", "lapis-job-task"), &["all-to-all"])
}

#[test]
fn an_adapter_that_goes_down_before_its_window_is_open_is_left_out() {
    let two = ("MP_INSTANCES", "2");
    for (pulled, variables) in [
        (&["sn0"][..], &[][..]),
        (&["sn0"], &[two]),
        (&["sn1"], &[two]),
        (&["sn1"], &[("MP_EUIDEVICE", "sn_all")]),
        (&["sn0", "sn2", "sn1"], &[("MP_INSTANCES", "max")]),
    ] {
        let done = job_that_meets_pulled_adapters(2, pulled, variables).expect(0);
        assert_eq!(done.lines_with("all-to-all: 48 messages").len(), 2, "{pulled:?} {variables:?}: {done:?}");
        for adapter in pulled {
            let line = format!("{adapter} went down while windows were opened: without it");
            let said = done.err.lines().filter(|text| text.contains(&line) && text.contains("WARN"));
            // The other task may find it down already.
            assert!((1..=2).contains(&said.count()), "{line}: {done:?}");
        }
    }
}

#[test]
fn adapters_of_which_none_serves_the_need_are_an_error_in_one_line() {
    let all = job_that_meets_pulled_adapters(2, &["sn0", "sn1", "sn2", "sn3"], &[]).expect(3).out;
    assert!(all.contains("all adapters are down: sn0 is down: "), "{all}");
    // Windows that are named by number are one task's.
    for (tasks, variable) in [(2, ("MP_EUIDEVICE", "sn1")), (1, ("MP_LAPI_NETWORK", "@2:3,sn0:4,sn1"))] {
        let named = job_that_meets_pulled_adapters(tasks, &["sn1"], &[variable]).expect(3).out;
        assert!(named.contains("sn1 is down"), "{named}");
    }
}
