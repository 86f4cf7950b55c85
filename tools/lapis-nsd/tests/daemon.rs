//! The daemon as a process: windows of tasks that are killed, daemons that are killed, rubbish,
//! strangers, and the program for people.

use lapis_adapters::channel::{Address, Channel};
use lapis_adapters::client::{Daemon, DaemonError};
use lapis_adapters::fifo::Found;
use lapis_adapters::key::Key;
use lapis_adapters::listener::Listener;
use lapis_adapters::protocol::{MAX_REPLY, Place, Reply, Request, VERSION, Why};
use lapis_adapters::soft::{Parts, Sender, Window};
use lapis_copies::Copies;
use lapis_testing::{Running, clean, run};
use rustix::process::Signal;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// Where the tasks of these tests find the daemon; without it `holder` is no task.
const HOLD: &str = "LAPIS_TEST_HOLD";

fn address(test: &str) -> Address {
    Address::new(&format!("lapis-test-{test}-{}", std::process::id()))
}

fn start(address: &Address, more: &[&str]) -> Running {
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
    command.args(["--socket", address.as_str()]).args(more);
    let mut running = Running::start(command);
    let lines = running.read_lines(1);
    assert_eq!(lines, [format!("lapis-nsd: listening at `{address}`")]);
    running
}

/// The same in a PID namespace of its own, if this process may make one.
fn start_apart(address: &Address) -> Option<Running> {
    let unshare = ["--pid", "--fork", "--kill-child"];
    if !clean("unshare").args(unshare).arg("true").status().is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = clean("unshare");
    command.args(unshare).args([env!("CARGO_BIN_EXE_lapis-nsd"), "--socket", address.as_str()]);
    let mut running = Running::start(command);
    running.read_line("lapis-nsd: listening");
    Some(running)
}

fn windows(address: &Address, args: &[&str]) -> Command {
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-windows"));
    command.args(["--socket", address.as_str()]).args(args);
    command
}

fn send_signal(running: &Running, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(running.id().cast_signed()).expect("a process");
    rustix::process::kill_process(pid, signal).expect("ours");
}

fn kill(running: Running) {
    send_signal(&running, Signal::KILL);
    running.wait();
}

/// A task that opens a window and keeps it: this test's own program, started again.
fn hold(address: &Address) -> Command {
    let mut command = clean(std::env::current_exe().expect("the test has a file"));
    command.args(["holder", "--exact", "--nocapture", "--test-threads=1"]).env(HOLD, address.as_str());
    command
}

#[test]
fn holder() {
    let Ok(address) = std::env::var(HOLD) else { return };
    let daemon = Daemon::connect(&Address::new(&address)).expect("a daemon");
    let (place, parts) = daemon.open("sn0", None, Key::of_text("held")).expect("a window");
    println!("\nholds {place}");
    std::thread::sleep(Duration::from_secs(1000));
    drop(parts);
}

fn held(running: &mut Running) -> String {
    loop {
        let line = running.read_lines(1).remove(0);
        if let Some(place) = line.strip_prefix("holds ") {
            return place.to_owned();
        }
    }
}

fn until_free(daemon: &Daemon, adapter: &str) {
    while !daemon.windows(adapter).expect("the daemon lives").is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_windows_of_a_killed_task_are_free_and_a_closed_connection_frees_them_too() {
    let address = address("killed");
    let _daemon = start(&address, &[]);
    let daemon = Daemon::connect(&address).expect("a daemon");
    let mut task = Running::start(hold(&address));
    assert_eq!(held(&mut task), "window 0 of sn0");
    let seen = &daemon.windows("sn0").expect("windows")[0];
    assert_eq!((seen.state.as_str(), seen.process), ("open", Some(task.id())));
    kill(task);
    until_free(&daemon, "sn0");

    let other = Daemon::connect(&address).expect("a daemon");
    other.open("sn0", Some(7), Key::of_text("a")).expect("free");
    assert_eq!(daemon.windows("sn0").expect("windows").len(), 1);
    drop(other);
    until_free(&daemon, "sn0");
}

#[test]
fn a_client_whose_process_the_daemon_cant_see_has_windows_as_long_as_it_is_connected() {
    let address = address("apart");
    let Some(_daemon) = start_apart(&address) else {
        return eprintln!("SKIPPED: this process may not make PID namespaces");
    };
    let (daemon, other) = [(); 2].map(|()| Daemon::connect(&address).expect("serves")).into();
    let (place, parts) = daemon.open("sn0", None, Key::of_text("a")).expect("a window");
    let seen = other.windows("sn0").expect("windows").remove(0);
    assert_eq!((seen.window, seen.state.as_str(), seen.process), (place.window, "open", None));
    drop(daemon);
    until_free(&other, "sn0");
    other.adopt(&place, Key::of_text("a"), &parts).expect("shows its window");
    assert_eq!(other.windows("sn0").expect("windows").len(), 1);
}

#[test]
fn windows_outlive_the_daemon_and_the_next_one_takes_them_over() {
    let address = address("restart");
    let key = Key::of_text("job");
    let mut number = 0;
    let mut daemon = start(&address, &[]);
    let mut owner = Daemon::connect(&address).expect("a daemon");
    let (place, parts) = owner.open("sn1", None, key).expect("a window");
    let mut window = Window::open(parts.try_clone().expect("descriptors")).expect("maps");
    let mut sender = Sender::open(owner.attach(&place, key).expect("open"), Copies::USUAL).expect("maps");
    for life in 0..3 {
        kill(daemon);
        while !owner.has_gone() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: one byte was asked for.
        assert!(sender.send(1, |to| unsafe { to.write(life) }), "messages need no daemon");
        assert_eq!(window.receive(&mut [0; 8]), Found::Datagram(1));
        assert!(matches!(Daemon::connect(&address), Err(DaemonError::Absent(..))));

        daemon = start(&address, &[]);
        owner = Daemon::connect(&address).expect("the next one");
        assert_ne!(owner.number(), std::mem::replace(&mut number, owner.number()));
        owner.adopt(&place, key, &parts).expect("takes it over");
        let again = Daemon::connect(&address).expect("a daemon");
        sender = Sender::open(again.attach(&place, key).expect("it knows the window"), Copies::USUAL)
            .expect("maps");
        let taken = again.open("sn1", Some(place.window), key).expect_err("taken");
        assert!(matches!(taken, DaemonError::Refused { why: Why::Taken, .. }), "{taken}");
    }
    kill(daemon);
}

#[test]
fn rubbish_and_floods_of_connections_leave_the_daemon_working() {
    let address = address("rubbish");
    let _daemon = start(&address, &[]);
    let mut flood = Vec::new();
    for i in 0..300u32 {
        let channel = Channel::connect(&address, Duration::from_secs(10)).expect("listens");
        let bytes: Vec<u8> = (0..i * 13 % 4096).map(|at| (at * 31 + i) as u8).collect();
        let _ = channel.send(&bytes, &[], false);
        // Some of them stay and say nothing.
        if i % 3 == 0 {
            flood.push(channel);
        }
    }
    let daemon = Daemon::connect(&address).expect("still there");
    assert_eq!(daemon.adapters().expect("answers").len(), 2);
    drop(flood);
    daemon.open("sn0", None, Key::of_text("a")).expect("and gives windows");
}

/// Clients of the daemon's own user may use all descriptors up.
#[test]
fn without_descriptors_for_more_clients_those_that_are_there_are_served() {
    let address = address("few");
    let mut command = clean("prlimit");
    command.args(["--nofile=64:64", env!("CARGO_BIN_EXE_lapis-nsd"), "--socket", address.as_str()]);
    let mut daemon = Running::start(command);
    daemon.read_line("lapis-nsd: listening");
    let first = Daemon::connect(&address).expect("is accepted");
    let waiting: Vec<_> = (0..64).map(|_| Channel::connect(&address, Duration::from_secs(10))).collect();
    let soon = Duration::from_millis(50);
    assert!(Daemon::connect_within(&address, soon).is_err(), "64 descriptors are enough");
    for _ in 0..100 {
        assert_eq!(first.adapters().expect("answers").len(), 2);
    }
    drop(waiting);
    Daemon::connect(&address).expect("is accepted now");
}

/// A connection whose last close waits for so long until the other end, which comes with it, has
/// taken what was sent.
fn lingering(time: Duration) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("listens");
    let (far, _) = listener.accept().expect("a connection");
    rustix::net::sockopt::set_socket_linger(&near, Some(time)).expect("can be set");
    near.set_nonblocking(true).expect("can be set");
    while (&near).write(&[0; 1 << 16]).is_ok() {}
    near.set_nonblocking(false).expect("can be set");
    (near, far)
}

#[test]
fn descriptors_that_take_long_to_close_keep_no_other_client_waiting() {
    const LONG: Duration = Duration::from_secs(60);
    let address = address("linger");
    let daemon = start(&address, &[]);
    let other = Daemon::connect(&address).expect("a daemon");
    let plain = std::fs::File::open("/dev/null").expect("is everywhere");
    // Refused, more than a request ever has, and left in the queue of a connection that is ended.
    let mut kept = Vec::new();
    for (before, count) in [(&[][..], 1), (&[], 253), (&[b"rubbish"][..], 1)] {
        let (near, far) = lingering(LONG);
        let channel = Channel::connect(&address, LONG).expect("listens");
        let hello = serde_json::to_vec(&Request::Hello { version: VERSION }).expect("plain");
        channel.send(&hello, &[], true).expect("room");
        // Who is admitted may pass descriptors.
        assert!(channel.receive(&mut [0; MAX_REPLY], &mut Vec::new(), true).expect("welcome") > 0);
        // It sees all of it at once, when nobody else has the connection any more.
        send_signal(&daemon, Signal::STOP);
        for bytes in before {
            channel.send(*bytes, &[], true).expect("room");
        }
        let mut fds = vec![plain.as_fd(); count - 1];
        fds.push(near.as_fd());
        channel.send(b"{}", &fds, true).expect("room");
        drop(near);
        send_signal(&daemon, Signal::CONT);
        kept.push((channel, far));
        let begun = Instant::now();
        assert_eq!(other.adapters().expect("answers").len(), 2);
        Daemon::connect(&address).expect("admits others").adapters().expect("answers");
        assert!(begun.elapsed() < LONG / 2, "{count}: {:?}", begun.elapsed());
    }
    for (channel, _far) in &kept {
        let (mut bytes, mut fds) = (vec![0; 4096], Vec::new());
        while channel.receive(&mut bytes, &mut fds, true).is_ok_and(|len| len > 0) {}
    }
}

/// A task that computes reads nothing while adapters go down and up. Then it asks for something.
#[test]
fn a_client_that_has_left_news_unread_is_answered() {
    let address = address("news");
    let _daemon = start(&address, &[]);
    let channel = Channel::connect(&address, Duration::from_secs(60)).expect("a daemon");
    let say = |request: &Request| {
        channel.send(&serde_json::to_vec(request).expect("plain"), &[], true).expect("room");
    };
    let hear = || -> Option<Reply> {
        let (mut bytes, mut fds) = (vec![0; MAX_REPLY], Vec::new());
        let len = channel.receive(&mut bytes, &mut fds, true).expect("something");
        (len > 0).then(|| serde_json::from_slice(&bytes[..len]).expect("a reply"))
    };
    say(&Request::Hello { version: VERSION });
    assert!(matches!(hear(), Some(Reply::Welcome { .. })));
    let control = Daemon::connect(&address).expect("a daemon");
    for up in [false, true].into_iter().cycle().take(800) {
        control.set("sn0", up).expect("the daemon's user may");
    }
    say(&Request::Adapters);
    // It has answered when it has served others that came later.
    for _ in 0..2 {
        Daemon::connect(&address).and_then(|other| other.adapters()).expect("a daemon");
    }
    let mut told = 0;
    loop {
        match hear().expect("the connection lives") {
            Reply::Changed => told += 1,
            Reply::Adapters { .. } => break,
            other => panic!("{other:?}"),
        }
    }
    assert!((1..800).contains(&told), "{told}");
}

#[test]
fn a_second_daemon_is_refused_and_a_missing_one_named() {
    let address = address("second");
    let missing = run(windows(&address, &["status"])).expect(1).err;
    assert!(missing.contains("no services daemon") && missing.contains("lapis-nsd"), "{missing}");
    assert_eq!(missing.lines().count(), 1, "{missing}");
    let _daemon = start(&address, &[]);
    let mut second = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
    second.args(["--socket", address.as_str()]);
    let why = run(second).expect(1).err;
    assert!(why.contains("a daemon is there already"), "{why}");
    for wrong in [&["--soft", "0"][..], &["--soft", "65"], &["--windows", "0"]] {
        let mut command = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
        command.args(["--socket", "lapis-test-nowhere"]).args(wrong);
        assert_eq!(run(command).expect(2).err.lines().count(), 1);
    }
}

/// Names in the abstract name space are anybody's.
#[test]
fn another_user_who_has_the_name_is_told() {
    const NOBODY: u32 = 65_534;
    let address = address("squatted");
    let mut command = clean(std::env::current_exe().expect("the test has a file"));
    command.args(["squatter", "--exact", "--nocapture", "--test-threads=1"]).uid(NOBODY);
    command.env("LAPIS_TEST_SQUAT", address.as_str());
    let file = std::env::current_exe().expect("the test has a file");
    if clean(file).arg("--list").uid(NOBODY).current_dir("/").output().is_err() {
        return eprintln!(
            "SKIP another_user_who_has_the_name_is_told: only root can be two users, and the other one must reach this file"
        );
    }
    let mut squatter = Running::start(command);
    squatter.read_line("listens");
    let mut daemon = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
    daemon.args(["--socket", address.as_str()]);
    let why = run(daemon).expect(1).err;
    assert!(why.contains("user 65534") && why.contains("--socket") && why.lines().count() == 1, "{why}");
    kill(squatter);
}

#[test]
fn squatter() {
    let Ok(address) = std::env::var("LAPIS_TEST_SQUAT") else { return };
    let listener = Listener::bind(&Address::new(&address)).expect("free");
    listener.listen().expect("bound");
    println!("\nlistens");
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn a_daemon_at_a_path_ends_orderly_and_can_be_started_again_however_it_ended() {
    let path = std::env::temp_dir().join(format!("lapis-nsd-path-{}", std::process::id()));
    let address = Address::new(&path.to_string_lossy());
    // A test that a shell has started in the background ignores SIGINT, and so do its children.
    for (how, signal) in [("--ignore-signal=INT", Signal::TERM), ("--default-signal=INT", Signal::INT)] {
        let mut command = clean("env");
        command.args([how, env!("CARGO_BIN_EXE_lapis-nsd"), "--socket", address.as_str()]);
        let mut daemon = Running::start(command);
        daemon.read_line("listening");
        assert!(path.exists());
        if signal == Signal::TERM {
            send_signal(&daemon, Signal::INT);
            Daemon::connect(&address).expect("it was told to ignore that one");
        }
        send_signal(&daemon, signal);
        daemon.wait().expect(0);
        assert!(!path.exists(), "it removes its name");
    }
    kill(start(&address, &[]));
    assert!(path.exists(), "it could not remove its name");
    let daemon = start(&address, &[]);
    let mut second = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
    second.args(["--socket", address.as_str()]);
    assert!(run(second).expect(1).err.contains("a daemon is there already"));
    Daemon::connect(&address).expect("the first one is still there");
    send_signal(&daemon, Signal::TERM);
    daemon.wait().expect(0);
}

#[test]
fn people_reserve_load_and_release_windows_and_take_adapters_down() {
    let address = address("people");
    let _daemon = start(&address, &["--soft", "3", "--networks", "2", "--windows", "200"]);
    let quiet = |args: &[&str]| run(windows(&address, args)).expect_quiet(0).out;
    let refused = |code, args: &[&str]| run(windows(&address, args)).expect(code).err;
    assert_eq!(quiet(&["reserve", "164,sn0"]), "164,sn0\n");
    assert_eq!(quiet(&["reserve", "sn0"]), "0,sn0\n");
    assert_eq!(quiet(&["--json", "reserve", "sn2"]), "{\"adapter\":\"sn2\",\"window\":0}\n");
    assert!(refused(1, &["reserve", "164,sn0"]).contains("taken"));
    assert!(refused(1, &["reserve", "200,sn0"]).contains("0 to 199"));
    assert!(refused(1, &["reserve", "en0"]).contains("sn0, sn1, sn2"));
    assert!(refused(2, &["release", "sn0"]).contains("WINDOW,ADAPTER"));
    let key = String::from(Key::of_text("job"));
    quiet(&["load", "164,sn0", "--key", &key]);
    let table = quiet(&["status"]);
    assert!(table.contains("164,sn0") && table.contains("loaded") && !table.contains(&key), "{table}");
    let other = Daemon::connect(&address).expect("a daemon").open("sn0", Some(164), Key::of_text("b"));
    assert!(matches!(other, Err(DaemonError::Refused { why: Why::WrongKey, .. })), "{other:?}");
    quiet(&["unload", "164,sn0"]);
    quiet(&["down", "sn1"]);
    let status: serde_json::Value = serde_json::from_str(&quiet(&["status", "--json"])).expect("json");
    assert_eq!((&status[1]["up"], &status[2]["network"]), (&false.into(), &0.into()), "{status}");
    assert_eq!(status[0]["not_free"].as_array().map(Vec::len), Some(2), "{status}");
    quiet(&["up", "sn1"]);
    for window in ["164,sn0", "0,sn0", "0,sn2"] {
        quiet(&["release", window]);
    }
    assert!(!quiet(&["status"]).contains("reserved"));
}

/// Another user knows window and key, and still gets nothing; his windows are his share.
#[test]
fn another_user_can_neither_attach_nor_starve() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIP another_user_can_neither_attach_nor_starve: only root can be two users");
        return;
    }
    let address = address("stranger");
    let _daemon = start(&address, &["--windows", "8"]);
    let mut command = windows(&address, &["reserve", "sn0"]);
    command.uid(NOBODY);
    let Ok(output) = command.output() else {
        eprintln!(
            "SKIP another_user_can_neither_attach_nor_starve: that user may not run the tests' programs"
        );
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let stranger = |args: &[&str]| {
        let mut command = windows(&address, args);
        command.uid(NOBODY);
        run(command)
    };
    for _ in 1..4 {
        stranger(&["reserve", "sn0"]).expect_quiet(0);
    }
    let full = stranger(&["reserve", "sn0"]).expect(1).err;
    assert!(full.contains("as many as one user may have"), "{full}");
    let daemon = Daemon::connect(&address).expect("a daemon");
    let (place, _) = daemon.open("sn0", None, Key::of_text("a")).expect("some are left");
    assert!(stranger(&["release", "4,sn0"]).expect(1).err.contains("not your reservation"));
    assert!(stranger(&["down", "sn0"]).expect(1).err.contains("may not"));
    // The stranger's own program, with the right key: this test's, as that user.
    let mut command = clean(std::env::current_exe().expect("the test has a file"));
    command.args(["stranger", "--exact", "--nocapture", "--test-threads=1"]).env(HOLD, address.as_str());
    command.env("LAPIS_TEST_WINDOW", place.window.to_string()).uid(NOBODY);
    let done = run(command).expect(0);
    assert!(done.out.contains("refused as it should be"), "{done:?}");
}

#[test]
fn stranger() {
    let (Ok(address), Ok(window)) = (std::env::var(HOLD), std::env::var("LAPIS_TEST_WINDOW")) else { return };
    let place = Place { adapter: "sn0".to_owned(), window: window.parse().expect("a number") };
    let daemon = Daemon::connect(&Address::new(&address)).expect("the daemon is root's");
    let refused = |answer: Result<Parts, DaemonError>| {
        matches!(answer, Err(DaemonError::Refused { why: Why::WrongKey | Why::Taken, .. }))
    };
    assert!(refused(daemon.attach(&place, Key::of_text("a"))));
    assert!(refused(daemon.open("sn0", Some(place.window), Key::of_text("a")).map(|(_, parts)| parts)));
    println!("refused as it should be");
}
