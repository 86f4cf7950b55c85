//! Running jobs, seen from outside.

use lapis_testing::{Job, Running, clean, program, run};
use std::process::Command;
use std::time::Duration;

fn lapis_top(args: &[&str]) -> Command {
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-top"));
    command.args(args);
    command
}

/// A job of three tasks, one of which hangs in some way while the others wait in a fence.
fn hanging(transport: &str, kind: &str) -> Running {
    let task = program("lapis-testing", "lapis-job-task");
    let mut running = Job::new(3).var("LAPIS_TRANSPORT", transport).start(task, &["hang", kind, "1"]);
    running.read_lines(3);
    // Waits are told when they have lasted.
    std::thread::sleep(Duration::from_millis(500));
    running
}

/// The identity of the job of a launcher begins with its process.
fn job_of(running: &Running) -> String {
    format!("{}-", running.id())
}

fn end(running: Running) {
    for _ in 0..2 {
        // SAFETY: sends a signal to a process that this test has started.
        unsafe { libc::kill(running.id().cast_signed(), libc::SIGTERM) };
        std::thread::sleep(Duration::from_millis(50));
    }
    running.wait();
}

#[test]
fn a_job_is_shown_as_a_table_as_json_and_for_prometheus() {
    let running = hanging("udp", "no-fence");
    let job = job_of(&running);
    let table = run(lapis_top(&["--once", "--rails", &job])).expect_quiet(0).out;
    assert!(table.contains(": 3 tasks, 3 contexts here"), "{table}");
    assert_eq!(table.matches("waits: barrier").count(), 2, "{table}");
    assert_eq!(table.matches("waits: counter").count(), 1, "{table}");
    assert_eq!(table.matches("rail udp/0: 2 peers, 0 silent").count(), 3, "{table}");

    let json = run(lapis_top(&["--once", "--json", &job])).expect_quiet(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let contexts = json[0]["contexts"].as_array().unwrap();
    assert_eq!(contexts.len(), 3, "{json}");
    for (task, context) in contexts.iter().enumerate() {
        assert_eq!(context["task"], task, "{json}");
        assert!(context["packets_sent"].as_u64().unwrap() > 0, "{json}");
        assert!(context["rails"][0]["credit"].as_u64().unwrap() > 0, "{json}");
    }
    let waits = contexts.iter().filter(|c| c["waiting"][0]["kind"] == "barrier").count();
    assert_eq!(waits, 2, "{json}");

    let text = run(lapis_top(&["--prometheus", &job])).expect_quiet(0).out;
    let sent =
        text.lines().filter(|l| l.starts_with("lapis_packets_sent_total{") && l.contains("path=\"network\""));
    assert_eq!(sent.count(), 3, "{text}");
    let typed = text.lines().filter(|l| l.starts_with("# TYPE")).count();
    assert_eq!(typed, text.lines().filter(|l| l.starts_with("# HELP")).count(), "{text}");
    end(running);
}

#[test]
fn rails_of_rdma_show_what_each_has_carried() {
    let task = program("lapis-testing", "lapis-job-task");
    let job = Job::new(2).var("LAPIS_TRANSPORT", "rdma").var("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm");
    let job = job.var("LAPIS_RDMA_ADDR", "127.0.0.1,127.0.0.2");
    let mut running = job.start(task, &["put-and-wait"]);
    running.read_lines(2);
    std::thread::sleep(Duration::from_millis(500));
    let job = job_of(&running);
    let table = run(lapis_top(&["--once", "--rails", &job])).expect_quiet(0).out;
    for rail in 0..2 {
        let line = format!("rail rdma/{rail}: 1 peers, 0 left, up, ");
        assert_eq!(table.matches(&line).count(), 2, "{table}");
    }
    let json = run(lapis_top(&["--once", "--json", &job])).expect_quiet(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rails: Vec<_> =
        (0..2).flat_map(|task| json[0]["contexts"][task]["rails"].as_array().unwrap().clone()).collect();
    assert_eq!(rails.len(), 4, "{json}");
    let sum = |name: &str| -> u64 { rails.iter().map(|rail| rail[name].as_u64().unwrap()).sum() };
    // Each task has put four megabytes in pieces of half a megabyte.
    assert_eq!(sum("transfers"), 16, "{json}");
    assert!(sum("bytes_sent") >= 8 << 20, "{json}");
    assert!(sum("messages_sent") >= sum("messages_received"), "{json}");
    assert!(sum("messages_received") > 0 && sum("renewals") == 0, "{json}");
    assert!(rails.iter().all(|rail| rail["up"] == true && rail.get("credit").is_none()), "{json}");

    let text = run(lapis_top(&["--prometheus", &job])).expect_quiet(0).out;
    for name in ["rail_bytes_sent_total", "rail_transfers_total", "rail_up"] {
        assert_eq!(text.lines().filter(|l| l.starts_with(&format!("lapis_{name}{{"))).count(), 4, "{text}");
    }
    assert!(!text.contains("lapis_rail_credit_bytes{"), "{text}");
    end(running);
}

#[test]
fn counts_of_a_task_that_computes_are_exact() {
    let running = hanging("udp", "computes");
    let json = run(lapis_top(&["--once", "--json", &job_of(&running)])).expect_quiet(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    // Nothing but barriers was sent. The task that computes has come to none but the first.
    let sent: Vec<u64> =
        (0..3).map(|task| json[0]["contexts"][task]["packets_sent"].as_u64().unwrap()).collect();
    if std::thread::available_parallelism().unwrap().get() < 3 {
        // Tasks that outnumber cores meet at the first one, which answers all at once.
        assert_eq!(sent, [2, 1, 2], "{json}");
    } else {
        // A barrier of three tasks has two rounds.
        assert_eq!(sent[1], 2, "{json}");
        assert!(sent[0] > 2 && sent[2] > 2, "{json}");
    }
    end(running);
}

#[test]
fn no_job_is_said() {
    let done = run(lapis_top(&["--once", "no job begins so"])).expect_quiet(1);
    assert_eq!(done.out, "no task of this user on this machine has a context\n");
}
