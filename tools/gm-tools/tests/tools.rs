//! The tools between two nodes of this host.

use lapis_adapters::channel::Address;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use lapis_testing::{Running, clean, program};
use std::process::Command;
use std::time::Duration;

fn tool(daemon: &str, node: &str, name: &str, args: &[&str]) -> Command {
    let mut command = clean(program("lapis-gm-tools", name));
    command.args(args).env("LAPIS_NSD", daemon).env("LAPIS_GM_NODE", node);
    command
}

fn number(object: &serde_json::Value, field: &str) -> f64 {
    object[field].as_f64().unwrap_or_else(|| panic!("{field} of {object}"))
}

/// A daemon of a test's own, and where it listens.
fn daemon(test: &str) -> (String, Handle) {
    let name = format!("lapis-gm-tools-{test}-{}", std::process::id());
    let adapters = soft_adapters(2, 2, 64).expect("possible");
    let options = Options { address: Address::new(&name), adapters, share: Some(64), ..Options::default() };
    let mut server = Server::open(options).expect("nobody listens there");
    server.add_nodes(&["left".to_owned(), "right".to_owned()]).expect("names");
    (name, server.spawn().expect("a thread"))
}

/// Askers that are killed in the middle of a figure; the next one has the port of the one before.
#[test]
fn an_asker_that_is_killed_leaves_the_next_one_an_answerer() {
    let (daemon, _handle) = daemon("killed");
    let mut answerer = Running::start(tool(&daemon, "left", "gm_allsize", &[]));
    answerer.read_line("answering");
    for killed in 0..8u64 {
        // Every other one while it waits for answers, the others while it sends without.
        let each = if killed % 2 == 0 { "2000" } else { "20" };
        let asks = ["--host", "left", "--json", "--each", each, "--longest", "8"];
        let mut asker = Running::start(tool(&daemon, "right", "gm_allsize", &asks));
        if killed % 2 == 1 {
            asker.read_line("length");
        }
        std::thread::sleep(Duration::from_millis(20 + 37 * killed));
        drop(asker);
    }
    // As often as there would be no tokens left if each had buffers of its own.
    for _ in 0..3 {
        let asks = ["--host", "left", "--json", "--each", "1", "--longest", "70000"];
        let done = lapis_testing::run(tool(&daemon, "right", "gm_allsize", &asks)).expect(0);
        assert_eq!(done.out.lines().count(), 14, "{}", done.out);
    }
    assert!(answerer.alive());
}

/// Messages that are shorter than their size class says, from a program that is no asker.
#[test]
fn a_stranger_uses_up_no_buffers_of_the_answerer() {
    use gm::{Event, Port, Target};
    let (daemon, _handle) = daemon("stranger");
    let mut answerer = Running::start(tool(&daemon, "left", "gm_allsize", &[]));
    answerer.read_line("answering");
    let asks = ["--host", "left", "--json", "--each", "1", "--longest", "8"];
    let ask = || lapis_testing::run(tool(&daemon, "right", "gm_allsize", &asks)).expect_quiet(0);
    ask();
    let mut stranger = Port::open_at(&daemon, "right", 0, 5, "stranger").expect("free");
    let node = stranger.find("left").expect("the daemon lives").expect("it has the node");
    let to = Target { node, port: 4, high: false };
    for _ in 0..8 {
        stranger.send(to, 4, Vec::new()).expect("a token");
    }
    for _ in 0..8 {
        let Event::Sent { status, .. } = stranger.wait() else { panic!("nobody sends here") };
        assert_eq!(status, gm::abi::Status::Success);
    }
    ask();
    assert!(answerer.alive());
}

#[test]
fn every_size_is_measured_and_counted() {
    let (daemon, _handle) = daemon("sizes");
    assert_eq!(
        lapis_testing::run(tool(&daemon, "left", "gm_debug", &[])).expect_quiet(0).out,
        "no port is open\n"
    );

    let mut answerer = Running::start(tool(&daemon, "left", "gm_allsize", &[]));
    answerer.read_line("answering");
    // One asker after the other; the second one has sizes that the answerer has had.
    for longest in ["120", "70000"] {
        let asks = ["--host", "left", "--json", "--each", "1", "--longest", longest];
        let done = lapis_testing::run(tool(&daemon, "right", "gm_allsize", &asks)).expect_quiet(0);
        let figures: Vec<serde_json::Value> =
            done.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let most = longest.parse::<f64>().expect("a number");
        assert!(number(&figures[0], "length") == 0.0 && figures.len() > 4, "{}", done.out);
        assert!(figures.iter().all(|figure| number(figure, "length") <= most));
        for figure in &figures {
            assert!(number(figure, "latency_us") > 0.0 && number(figure, "messages_per_second") > 0.0);
        }
    }
    let table = lapis_testing::run(tool(
        &daemon,
        "right",
        "gm_allsize",
        &["--host", "left", "--each", "1", "--longest", "8"],
    ));
    assert_eq!(table.expect_quiet(0).out.lines().count(), 3);

    let shown = lapis_testing::run(tool(&daemon, "left", "gm_debug", &["--json"])).expect_quiet(0).out;
    let rows: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let row = &rows[0];
    assert!(row["node"] == "left" && row["port"] == 4 && row["name"] == "gm_allsize", "{shown}");
    assert_eq!(number(row, "process"), f64::from(answerer.id()));
    // Most messages come by lanes, and few in datagrams that are taken out of the FIFO.
    for (field, least) in [("sent", 20.0), ("received", 20.0), ("buffers", 0.0), ("taken", 0.0)] {
        assert!(number(row, field) > least, "{field}: {shown}");
    }
    assert_eq!(
        (number(row, "failed"), number(row, "tokens"), number(row, "events")),
        (0.0, 0.0, 0.0),
        "{shown}"
    );

    // An asker that finds nobody, and an answerer that ends with its asker.
    let nobody = lapis_testing::run(tool(&daemon, "right", "gm_allsize", &["--host", "middle"])).expect(1);
    assert!(nobody.err.contains("`middle`") && nobody.err.contains("gm_board_info"), "{}", nobody.err);
    // One that can't have its port says which, why, and what to do.
    for (args, said) in [
        (&["--port", "3"][..], "port 3 of board 0: no such port number: --port takes 2 and 4 to 15"),
        (&["-B", "7"], "port 4 of board 7: no such device"),
        (&[], "port 4 of board 0: busy: somebody else has it: `gm_board_info` shows who"),
    ] {
        let refused = lapis_testing::run(tool(&daemon, "left", "gm_allsize", args)).expect(1);
        assert!(refused.err.contains(said), "{args:?}: {}", refused.err);
    }
    let mut told = tool(&daemon, "left", "gm_allsize", &[]);
    told.env("LAPIS_LOG", "info");
    let told = lapis_testing::run(told).expect(1);
    assert!(told.err.contains(&format!("process {}", answerer.id())), "{}", told.err);
    drop(answerer);
    let mut once = Running::start(tool(&daemon, "left", "gm_allsize", &["--once", "--json"]));
    once.read_line("answers");
    let asks = ["--host", "left", "--each", "1", "--longest", "0"];
    lapis_testing::run(tool(&daemon, "right", "gm_allsize", &asks)).expect_quiet(0);
    once.wait().expect_quiet(0);
}
