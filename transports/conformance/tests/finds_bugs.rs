//! The suite's own test: a small honest transport passes with tasks as threads and as processes,
//! and one bug at a time is found out.

mod pipes;

use lapis_conformance::{Mode, Source, run};
use std::process::Command;

mod honest {
    lapis_conformance::conformance_tests!(together: crate::pipes::honest::table());
    lapis_conformance::chaos_tests!(Threads, crate::pipes::honest::table(), "again=0.2,delay=100us,seed=3");
}

/// Runs a case with a buggy transport and gives the words with which it fails.
#[track_caller]
fn found(case: &str, table: fn() -> &'static lapis_core::transport::abi::TransportOps) -> String {
    let failed = std::panic::catch_unwind(|| run(case, Mode::Threads, Source::Linked(table), "buggy"));
    let panic = failed.expect_err("the bug was not found");
    panic.downcast_ref::<String>().cloned().expect("the harness fails with a text")
}

#[track_caller]
fn says(text: &str, part: &str) {
    assert!(text.contains(part), "\"{part}\" is not in:\n{text}");
}

#[test]
fn a_message_sent_twice_is_found() {
    let text = found("random_traffic_arrives_exactly_once", pipes::twice::table);
    assert!(text.contains("messages that nobody sent") || text.contains("came twice"), "{text}");
}

#[test]
fn messages_out_of_order_are_found() {
    says(
        &found("messages_to_one_peer_keep_their_order", pipes::swapped::table),
        "order of messages from task",
    );
}

#[test]
fn a_changed_byte_is_found() {
    says(&found("short_messages_of_every_length_arrive_whole", pipes::changed::table), "that nobody sent");
}

#[test]
fn a_limit_that_is_not_kept_is_found() {
    says(&found("a_short_message_over_the_limit_is_invalid", pipes::limitless::table), "limit");
}

#[test]
fn bytes_that_change_before_the_next_poll_are_found() {
    says(&found("bytes_of_an_event_stay_until_the_next_poll", pipes::reused::table), "round");
}

#[test]
fn polls_that_call_the_system_are_found() {
    says(&found("polls_that_find_nothing_ask_the_system_nothing", pipes::asks::table), "called the system");
}

#[test]
fn a_warning_is_found() {
    let text = found("attributes_agree_with_the_table", pipes::warns::table);
    says(&text, "unexpected log lines");
    says(&text, "something is fishy");
}

/// Not a test by itself: [`the_watchdog_says_who_waits_for_what`] runs it with little patience.
#[test]
#[ignore = "hangs on purpose"]
fn hangs() {
    run("random_traffic_arrives_exactly_once", Mode::Threads, Source::Linked(pipes::loses::table), "hangs");
}

#[test]
fn the_watchdog_says_who_waits_for_what() {
    let output = Command::new(std::env::current_exe().expect("the test has a file"))
        .args(["hangs", "--exact", "--ignored", "--nocapture"])
        .env("LAPIS_TEST_PATIENCE", "2")
        .output()
        .expect("the test runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    says(&text, "nothing happened for 2s");
    says(&text, "is at: collecting the traffic");
}
