//! C programs of `tests/programs`, on two nodes of this host, with a services daemon of their own.

mod common;

use common::{BINDING, Daemon, compile, library};
use lapis_adapters::channel::Address;
use lapis_patience::Patience;
use lapis_testing::{Running, checked, clean, scratch};
use std::path::Path;
use std::process::Command;

fn traffic(test: &str, count: &str, more: &[(&str, &str)]) {
    let (daemon, program) = (Daemon::start(test), compile("traffic"));
    let start = |node, args: &[&str]| {
        let mut command = daemon.command(node, &program, args);
        command.envs(more.iter().copied());
        Running::start(command)
    };
    let left = start("left", &["right", "1234567", "7654321", count]);
    let right = start("right", &["left", "7654321", "1234567", count]);
    let said = format!("sent {count} received {count}\n");
    for end in [left.wait().expect_quiet(0), right.wait().expect_quiet(0)] {
        assert_eq!(end.out, said);
    }
}

#[test]
fn random_traffic_arrives_as_the_model_says() {
    traffic("traffic", "1500", &[]);
}

#[test]
fn random_traffic_arrives_through_the_windows_alone() {
    traffic("windows", "500", &[("LAPIS_GM_COPY", "windows")]);
}

#[test]
fn random_traffic_arrives_whatever_gets_lost() {
    traffic("loss", "300", &[("LAPIS_GM_LOSS", "5"), ("LAPIS_GM_COPY", "windows")]);
    traffic("loss-direct", "300", &[("LAPIS_GM_LOSS", "5")]);
}

#[test]
fn calls_answer_as_they_should() {
    let daemon = Daemon::start("basics");
    let done = daemon.run("left", &compile("basics"), &[]).expect(0);
    assert_eq!(done.out, "first\nlast\n");
}

#[test]
fn what_goes_wrong_is_told_by_its_status() {
    let daemon = Daemon::start("failures");
    let mut command = daemon.command("left", &compile("failures"), &[]);
    // Longer than a busy machine keeps a program from running; each is waited for a few times.
    command.env("LAPIS_GM_TIMEOUT", "2").env("LAPIS_GM_OPEN_WAIT", "2");
    assert_eq!(lapis_testing::run(command).expect(0).out, "done\n");
}

/// Who has a port is told, and where there is no daemon, how to start one.
#[test]
fn what_stands_in_the_way_of_a_port_is_said_in_one_line() {
    let daemon = Daemon::start("taken");
    let program = compile("holder");
    let mut command = daemon.command("left", &program, &[]);
    let mut holder = Running::start(command);
    holder.read_line("open");
    let tool = lapis_testing::program("lapis-nsd", "gm_board_info");
    let shown = daemon.run("left", &tool, &[]).expect_quiet(0).out;
    assert!(shown.contains(&format!("2 (holder, process {}, user", holder.id())), "{shown}");
    let shown = daemon.run("left", &tool, &["--json"]).expect_quiet(0).out;
    let port = format!(
        r#"{{"port":2,"name":"holder","user":{},"process":{},"place":"#,
        rustix::process::getuid().as_raw(),
        holder.id()
    );
    assert!(shown.contains(&port) && shown.contains(r#""name":"right""#), "{shown}");
    command = daemon.command("left", &program, &[]);
    command.env("LAPIS_LOG", "info");
    let refused = lapis_testing::run(command).expect(5);
    let line = format!("port 2 of board 0 of left is taken: process {} of user", holder.id());
    assert!(refused.err.contains(&line), "{}", refused.err);
    let absent = lapis_testing::run({
        let mut command = daemon.command("left", &program, &[]);
        command.env("LAPIS_NSD", format!("{}-nobody", daemon.name));
        command
    });
    let absent = absent.expect(24);
    assert!(absent.err.contains("start `lapis-nsd`"), "{}", absent.err);
    assert_eq!(absent.err.lines().count(), 1, "{}", absent.err);
}

/// All headers.
fn header() -> String {
    let read = |name| std::fs::read_to_string(Path::new(BINDING).join("include").join(name));
    ["gm.h", "gm_events.h", "gm_helpers.h"].map(|name| read(name).expect("the header")).concat()
}

#[test]
fn the_header_says_what_the_library_means() {
    use gm::abi::{Status, kind};
    let statuses = [
        ("SUCCESS", Status::Success),
        ("FAILURE", Status::Failure),
        ("TRY_AGAIN", Status::TryAgain),
        ("BUSY", Status::Busy),
        ("MEMORY_FAULT", Status::MemoryFault),
        ("INVALID_PARAMETER", Status::InvalidParameter),
        ("OUT_OF_MEMORY", Status::OutOfMemory),
        ("PERMISSION_DENIED", Status::PermissionDenied),
        ("INTERNAL_ERROR", Status::InternalError),
        ("SEND_TIMED_OUT", Status::SendTimedOut),
        ("SEND_REJECTED", Status::SendRejected),
        ("SEND_TARGET_PORT_CLOSED", Status::SendTargetPortClosed),
        ("SEND_TARGET_NODE_UNREACHABLE", Status::SendTargetNodeUnreachable),
        ("SEND_DROPPED", Status::SendDropped),
        ("SEND_PORT_CLOSED", Status::SendPortClosed),
        ("NO_SUCH_DEVICE", Status::NoSuchDevice),
        ("INCOMPATIBLE_LIB_AND_DRIVER", Status::IncompatibleLibAndDriver),
        ("NO_DRIVER_SUPPORT", Status::NoDriverSupport),
        ("NO_MATCH", Status::NoMatch),
        ("INVALID_PORT_NUMBER", Status::InvalidPortNumber),
        ("YP_NO_MATCH", Status::YpNoMatch),
    ];
    let kinds = [
        ("NO_RECV", kind::NONE),
        ("ALARM", kind::ALARM),
        ("SENT", kind::SENT),
        ("SEND_TOKEN_VIOLATION", kind::SEND_TOKEN_VIOLATION),
        ("RECV_TOKEN_VIOLATION", kind::RECV_TOKEN_VIOLATION),
        ("RECV", kind::RECV),
        ("HIGH_RECV", kind::RECV + 1),
        ("PEER_RECV", kind::RECV + 2),
        ("HIGH_PEER_RECV", kind::RECV + 3),
        ("FAST_RECV", kind::FAST_RECV),
        ("FAST_HIGH_PEER_RECV", kind::FAST_RECV + 3),
        ("REJECTED_SEND", kind::REJECTED_SEND),
        ("ORPHANED_SEND", kind::ORPHANED_SEND),
        ("DROPPED_SEND", kind::DROPPED_SEND),
        ("SENT_TOKENS", kind::SENT_TOKENS),
        ("NEW_SENT_TOKENS", 128 + kind::SENT_TOKENS),
    ];
    let mut text = String::from(
        "#include <gm.h>\n#include <stddef.h>\n#define MEANS(name, value) typedef char means_##name[(name) == (value) ? 1 : -1];\n",
    );
    for (name, status) in statuses {
        text += &format!("MEANS(GM_{name}, {})\n", status as i32);
    }
    for (name, kind) in kinds {
        text += &format!("MEANS(GM_{name}_EVENT, {kind})\n");
    }
    for (field, offset) in [
        ("message", 32),
        ("buffer", 40),
        ("length", 52),
        ("sender_node_id", 56),
        ("tag", 60),
        ("size", 61),
        ("sender_port_id", 62),
        ("type", 63),
    ] {
        text += &format!("typedef char at_{field}[offsetof(gm_recv_t, {field}) == {offset} ? 1 : -1];\n");
    }
    text += "typedef char left[offsetof(gm_flushed_alarm_t, usecs_remaining) == 56 ? 1 : -1];\n";
    text += &format!("MEANS(_GM_FLUSHED_ALARM_EVENT, {})\n", kind::FLUSHED_ALARM);
    text += "typedef char whole[sizeof(gm_recv_event_t) == 64 ? 1 : -1];\n";
    text +=
        &format!("typedef char alarm[sizeof(gm_alarm_t) == {} ? 1 : -1];\n", size_of::<gm::alarm::GmAlarm>());
    let file = scratch("constants").with_extension("c");
    std::fs::write(&file, text).expect("the file can be written");
    for (compiler, standard) in
        [("cc", "-std=gnu89"), ("cc", "-std=gnu17"), ("c++", "-std=c++98"), ("c++", "-std=c++17")]
    {
        let mut command = Command::new(compiler);
        command.args([
            standard,
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-local-typedefs",
        ]);
        command.arg(format!("-I{BINDING}/include"));
        if compiler == "c++" {
            command.args(["-x", "c++"]);
        }
        checked(command.arg(&file));
    }
}

/// What the header declares is in the library and in the table of docs/gm.md, with a test that
/// calls it; and the library has nothing else.
#[test]
fn the_coverage_table_is_whole() {
    let header = header();
    let declared: Vec<&str> = header
        .lines()
        .filter(|line| {
            !line.starts_with([' ', '#', '/', 'G']) && !line.starts_with("typedef") && line.contains('(')
        })
        .filter(|line| !line.starts_with("static"))
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .filter(|name| name.trim_start_matches('_').starts_with("gm_"))
        .collect();
    assert!(declared.len() > 80, "{declared:?}");
    let symbols = checked(Command::new("nm").args(["-D", "--defined-only"]).arg(library().join("libgm.so")));
    let exported: Vec<&str> = symbols
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .map(|name| name.split('@').next().unwrap_or(name))
        .collect();
    let page = std::fs::read_to_string(Path::new(BINDING).join("../../docs/gm.md")).expect("the page");
    for name in &declared {
        assert!(exported.contains(name), "{name} is declared and not exported");
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("docs/gm.md has no row for {name}"));
        for test in row.rsplit('|').nth(1).expect("the last column").split(',').map(str::trim) {
            let file = Path::new(BINDING).join(format!("tests/programs/{}", test.trim_matches('`')));
            let helpers = Path::new(BINDING).join("tests/programs/gmcheck.h");
            let read = |file: &Path| {
                std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
            };
            let uses = |text: String| {
                [format!("{name}("), format!("{name},")].iter().any(|use_of| text.contains(use_of))
            };
            assert!(uses(read(&file)) || uses(read(&helpers)), "{name}: {test} does not call it");
        }
    }
    let data = ["GM_PAGE_LEN", "gm_log2_roundup_table"];
    for name in exported {
        assert!(declared.contains(&name) || data.contains(&name), "{name} is exported and not declared");
    }
}

#[test]
fn what_takes_no_message_is_answered() {
    let daemon = Daemon::start("local");
    let done = daemon.run("left", &compile("local"), &[]).expect_quiet(0);
    let dump = "00000000  47 4d 27 73 20 62 79 74 65 73 0a 01 02 2c 20 73  GM's bytes..., s\n\
                00000010  68 6f 77 6e                                      hown\n\
                buffer 0x2000, size 13\ndone\n";
    assert_eq!(done.out, dump);
}

#[test]
fn two_threads_share_a_port() {
    let daemon = Daemon::start("threads");
    assert_eq!(daemon.run("left", &compile("threads"), &[]).expect_quiet(0).out, "done\n");
}

#[test]
fn a_thread_that_sleeps_is_woken_by_what_another_one_calls() {
    let daemon = Daemon::start("sleeper");
    assert_eq!(daemon.run("left", &compile("sleeper"), &[]).expect_quiet(0).out, "done\n");
}

/// A new daemon learns of a port whose program makes no calls, and tells who asks.
#[test]
fn a_port_whose_program_is_busy_elsewhere_is_shown_to_the_next_daemon() {
    use gm::{Event, Port, Target};
    let daemon = Daemon::start("quiet");
    let name = daemon.name.clone();
    let open = |host, number| Port::open_at(&name, host, 0, number, "rust").expect("free");
    let mut right = open("right", 4);
    right.provide(5, false, 0).expect("a token");
    drop(daemon);
    let _next = Daemon::start("quiet");
    let asker = lapis_adapters::client::Daemon::connect(&Address::new(&name)).expect("the daemon lives");
    let mut patience = Patience::with_myself(lapis_testing::WATCHDOG);
    let is_shown = || {
        let nodes = asker.nodes().expect("the daemon lives");
        nodes.iter().any(|node| node.name == "right" && !node.ports.is_empty())
    };
    while !is_shown() {
        assert!(!patience.is_over(), "the port was not shown");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // Whoever comes now finds it, and it goes on as before.
    let mut left = open("left", 2);
    left.send(Target { node: right.node(), port: 4, high: false }, 5, vec![1, 2, 3]).expect("a token");
    let (mut came, mut went) = (None, None);
    while came.is_none() || went.is_none() {
        came = came.or_else(|| right.poll());
        went = went.or_else(|| left.poll());
    }
    assert!(matches!(came, Some(Event::Received { message, .. }) if message == [1, 2, 3]));
}

/// The first call after a peer's port was closed and reopened is a send. What the new one has
/// sent by then, and sends later, arrives.
#[test]
fn a_send_to_a_port_that_was_opened_anew_loses_nothing_that_comes_from_there() {
    use gm::abi::Status;
    use gm::{Event, Port, Target};
    let daemon = Daemon::start("anew-send");
    let open = |host, number| Port::open_at(&daemon.name, host, 0, number, "rust").expect("free");
    let (mut left, mut right) = (open("left", 2), open("right", 4));
    let to = |node, port| Target { node, port, high: false };
    let (to_left, to_right) = (to(left.node(), 2), to(right.node(), 4));
    left.provide(5, false, 0).expect("a token");
    left.provide(5, false, 0).expect("a token");
    right.provide(5, false, 0).expect("a token");
    left.send(to_right, 5, vec![1]).expect("a token");
    let mut events = 0;
    while events < 2 {
        events += [left.poll(), right.poll()].iter().flatten().count();
    }
    drop(right);
    let mut right = open("right", 4);
    right.send(to_left, 5, vec![2]).expect("a token");
    left.send(to_right, 5, vec![3]).expect("a token");
    right.send(to_left, 5, vec![4]).expect("a token");
    let (mut came, mut went) = (Vec::new(), 0);
    while came.len() < 2 || went < 2 {
        if let Some(Event::Received { message, .. }) = left.poll() {
            came.push(message[0]);
        }
        if let Some(event) = right.poll() {
            assert!(matches!(event, Event::Sent { status: Status::Success, .. }), "{event:?}");
            went += 1;
        }
    }
    assert_eq!(came, [2, 4]);
}

#[test]
fn helpers_help() {
    assert_eq!(lapis_testing::run(clean(compile("helpers"))).expect_quiet(0).out, "done\n");
}

#[test]
fn an_adapter_that_stays_down_makes_its_nodes_unreachable_until_it_is_up_again() {
    let daemon = Daemon::start("cutoff");
    let administrator =
        lapis_adapters::client::Daemon::connect(&Address::new(&daemon.name)).expect("the daemon lives");
    let mut command = daemon.command("left", &compile("cutoff"), &[]);
    command.env("LAPIS_GM_TIMEOUT", "0.2");
    let mut program = Running::start(command);
    program.read_line("sends");
    administrator.set("sn0", false).expect("the daemon's user");
    program.read_line("cut off");
    administrator.set("sn0", true).expect("the daemon's user");
    program.read_line("back");
    program.wait().expect(0);
}

#[test]
fn rust_programs_have_the_same_safely() {
    use gm::abi::Status;
    use gm::{Event, Port, SendId, Target};
    let daemon = Daemon::start("rust");
    let open = |host, number| Port::open_at(&daemon.name, host, 0, number, "rust");
    let (mut left, mut right) = (open("left", 2).expect("free"), open("right", 4).expect("free"));
    assert_eq!(open("left", 2).expect_err("taken"), Status::Busy);
    assert_eq!(left.find("right"), Ok(Some(right.node())));
    assert_eq!(left.find("nobody"), Ok(None));
    let to = Target { node: right.node(), port: 4, high: true };
    for (n, len) in [0usize, 100, 5000, 100_000].into_iter().enumerate() {
        let message: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let size = Port::size_for(len);
        right.provide(size, true, n as u8).expect("a token");
        assert_eq!(left.send(to, size, message.clone()), Ok(SendId(n as u64)));
        let (mut came, mut went) = (None, None);
        while came.is_none() || went.is_none() {
            came = came.or_else(|| right.poll());
            went = went.or_else(|| left.poll());
        }
        let from = Target { node: left.node(), port: 2, high: true };
        assert_eq!(came, Some(Event::Received { from, tag: n as u8, message: message.clone() }));
        assert_eq!(went, Some(Event::Sent { id: SendId(n as u64), message, status: Status::Success }));
    }
    assert_eq!(left.send(Target { port: 99, ..to }, 9, vec![1]), Ok(SendId(4)));
    assert!(matches!(left.wait(), Event::Sent { status: Status::InvalidParameter, .. }));
    assert_eq!(left.provide(2, false, 0), Err(Status::InvalidParameter));
    drop(right);
    left.send(to, 9, vec![1]).expect("a token");
    left.send(to, 9, vec![2]).expect("a token");
    assert!(matches!(left.wait(), Event::Sent { status: Status::SendTargetPortClosed, .. }));
    left.drop_sends(to).expect("a token");
    assert!(
        matches!(left.wait(), Event::Sent { status: Status::SendDropped, message, .. } if message == [2])
    );
}

/// A stream that stopped while a message was handed in keeps it: it is there to be dropped.
#[test]
fn a_message_to_a_port_that_was_opened_anew_waits_in_a_stopped_stream() {
    use gm::abi::Status;
    use gm::{Event, Port, Target};
    let daemon = Daemon::start("anew");
    let open = |host, number| Port::open_at(&daemon.name, host, 0, number, "rust").expect("free");
    let (mut left, mut right) = (open("left", 2), open("right", 4));
    let to = Target { node: right.node(), port: 4, high: false };
    // They have met.
    right.provide(9, false, 0).expect("a token");
    left.send(to, 9, vec![0; 20]).expect("a token");
    let (mut came, mut went) = (None, None);
    while came.is_none() || went.is_none() {
        came = came.or_else(|| right.poll());
        went = went.or_else(|| left.poll());
    }
    // This one meets no buffer, and then no port.
    left.send(to, 9, vec![1; 20]).expect("a token");
    drop(right);
    let mut right = open("right", 4);
    right.provide(9, false, 1).expect("a token");
    left.send(to, 9, vec![2; 20]).expect("a token");
    let ends = |left: &mut Port, right: &mut Port, wanted: Status, first: u8| loop {
        assert_eq!(right.poll(), None, "the stream is stopped");
        if let Some(event) = left.poll() {
            let Event::Sent { status, message, .. } = event else { panic!("{event:?}") };
            assert_eq!((status, message[0]), (wanted, first));
            return;
        }
    };
    ends(&mut left, &mut right, Status::SendTargetPortClosed, 1);
    left.drop_sends(to).expect("a token");
    ends(&mut left, &mut right, Status::SendDropped, 2);
    left.send(to, 9, vec![3; 20]).expect("a token");
    let (mut came, mut went) = (None, None);
    while came.is_none() || went.is_none() {
        came = came.or_else(|| right.poll());
        went = went.or_else(|| left.poll());
    }
    assert!(matches!(came, Some(Event::Received { message, .. }) if message == [3; 20]));
    assert!(matches!(went, Some(Event::Sent { status: Status::Success, .. })), "{went:?}");
}

/// Nobody wakes a receiver that copies a message out of its sender's memory: it must not sleep.
#[test]
fn a_long_message_comes_while_its_receiver_waits() {
    use gm::abi::Status;
    use gm::{Event, Port, Target};
    let daemon = Daemon::start("long");
    let open = |host, number| Port::open_at(&daemon.name, host, 0, number, "rust").expect("free");
    let (mut left, mut right) = (open("left", 2), open("right", 4));
    let to = Target { node: right.node(), port: 4, high: false };
    let message: Vec<u8> = (0..64 << 20).map(|n: u32| (n >> 10) as u8).collect();
    let size = Port::size_for(message.len());
    right.provide(size, false, 0).expect("a token");
    left.send(to, size, message.clone()).expect("a token");
    let (tell, told) = std::sync::mpsc::channel();
    let waits = |mut port: Port, tell: std::sync::mpsc::Sender<Event>| {
        std::thread::spawn(move || {
            let event = port.wait();
            tell.send(event).map(|()| port)
        })
    };
    let mut patience = Patience::with_myself(lapis_testing::WATCHDOG);
    let ports = [waits(left, tell.clone()), waits(right, tell)];
    let (mut came, mut went) = (false, false);
    for _ in 0..2 {
        match patience.receive(&told).expect("the receiver sleeps over its message") {
            Event::Received { message: got, .. } => came = got == message,
            Event::Sent { status, .. } => went = status == Status::Success,
        }
    }
    assert!(came && went);
    for port in ports {
        port.join().expect("no panic").expect("the event was heard");
    }
}

#[test]
fn ports_outlive_the_daemon_and_the_next_one_takes_them_over() {
    use gm::abi::Status;
    use gm::{Event, Port, Target};
    let daemon = Daemon::start("restart");
    let name = daemon.name.clone();
    let open = |host, number| Port::open_at(&name, host, 0, number, "rust");
    let (mut left, mut right) = (open("left", 2).expect("free"), open("right", 4).expect("free"));
    let to = Target { node: right.node(), port: 4, high: false };
    let passes = |from: &mut Port, right: &mut Port| {
        right.provide(5, false, 0).expect("a token");
        from.send(to, 5, vec![1, 2, 3]).expect("a token");
        let (mut came, mut went) = (false, false);
        while !(came && went) {
            came |= matches!(right.poll(), Some(Event::Received { message, .. }) if message == [1, 2, 3]);
            went |= matches!(from.poll(), Some(Event::Sent { status: Status::Success, .. }));
        }
    };
    passes(&mut left, &mut right);
    drop(daemon);
    passes(&mut left, &mut right);
    assert_eq!(open("left", 6).expect_err("no daemon"), Status::NoSuchDevice);
    let _next = Daemon::start("restart");
    // Whether a call of their programs' shows the ports or the thread that watches.
    let mut third = open("left", 6).expect("free");
    passes(&mut third, &mut right);
    passes(&mut left, &mut right);
    assert_eq!(open("right", 4).expect_err("taken"), Status::Busy);
}
