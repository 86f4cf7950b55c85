//! RDMA keeps the contract over real verbs: in a machine that has devices, be it this one or one
//! that a command starts.
//!
//! `LAPIS_TEST_RDMA_MACHINE` names a program that runs the command behind its `--` on a machine with
//! verbs devices and the same file system, such as a virtual machine with Soft-RoCE, and ends with
//! the command's exit code. `LAPIS_TEST_RDMA_CASES=all` runs every case there, with tasks as
//! processes and as threads; without it a few run, which takes a minute in an emulated machine.

use lapis_conformance::{Mode, NO_OPTIONS, Source, case_names, run_configured};
use std::io::Write as _;
use std::process::Command;

/// A program that runs a command where there are devices.
const MACHINE: &str = "LAPIS_TEST_RDMA_MACHINE";
/// Which cases run there: `all`, or a few.
const CASES: &str = "LAPIS_TEST_RDMA_CASES";
/// The case that this process runs: it is on the machine with devices.
const CASE: &str = "LAPIS_TEST_RDMA_CASE";

/// Messages, puts and gets, memory, sleeping and the end of a task.
const FEW: &[&str] = &[
    "random_traffic_arrives_exactly_once",
    "zero_copy_puts_land_exactly",
    "zero_copy_gets_read_exactly",
    "registered_memory_is_reached_and_released",
    "no_wake_up_is_lost",
    "closing_with_work_in_flight_is_orderly",
];

/// Runs one case, on the machine with devices; the others' list of tests has it, too.
fn one_case(mode: Mode, test: &str) {
    match std::env::var(CASE) {
        Ok(case) => run_configured(&case, mode, Source::Linked(lapis_rdma::table), NO_OPTIONS, test),
        Err(_) => skip(test, &format!("{CASE} names no case: the test below does")),
    }
}

#[test]
fn a_case_passes_with_processes() {
    one_case(Mode::Processes, "verbs::a_case_passes_with_processes");
}

#[test]
fn a_case_passes_with_threads() {
    one_case(Mode::Threads, "verbs::a_case_passes_with_threads");
}

#[test]
fn the_suite_passes_over_verbs_devices() {
    let test = "verbs::the_suite_passes_over_verbs_devices";
    let Some(machine) = std::env::var_os(MACHINE) else {
        return skip(test, &format!("{MACHINE} names no program that starts a machine with devices"));
    };
    let all = std::env::var(CASES).is_ok_and(|cases| cases == "all");
    let cases: Vec<&str> = case_names().filter(|name| all || FEW.contains(name)).collect();
    assert!(all || cases.len() == FEW.len(), "a case of the list is gone: {cases:?}");
    let tests: &[&str] = if all {
        &["a_case_passes_with_processes", "a_case_passes_with_threads"]
    } else {
        &["a_case_passes_with_processes"]
    };
    // One after the other, for such machines are slow; all of them, and what fails is listed.
    // A machine's first line may end up in what it says while it starts.
    let script = format!(
        r#"echo; failed=
for test in {tests}; do for case in {cases}; do
  if out=$({CASE}=$case "$0" "$test" --exact --nocapture --test-threads=1 2>&1); then
    echo "passed: $case ($test)"
  else
    printf '%s\n' "$out"; failed="$failed $test:$case"
  fi
done; done
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ] && echo "all passed""#,
        tests = tests.join(" "),
        cases = cases.join(" ")
    );
    let done = Command::new(&machine)
        .args(["--timeout", if all { "3000" } else { "600" }, "--", "sh", "-c", &script])
        .arg(std::env::current_exe().expect("the test has a file"))
        .env("LAPIS_RDMA_PROVIDER", "verbs;ofi_rxm")
        // Small completion queues are enough, and Soft-RoCE has no others (docs/rdma.md).
        .env("FI_UNIVERSE_SIZE", "16")
        .env("FI_OFI_RXM_USE_SRX", "1")
        .env("LAPIS_TEST_PATIENCE", "300")
        .output()
        .unwrap_or_else(|e| panic!("{} does not start: {e}", machine.display()));
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}\n{out}\n{}", done.status, String::from_utf8_lossy(&done.stderr));
    let passed = out.lines().filter(|line| line.starts_with("passed: ")).count();
    assert_eq!(passed, cases.len() * tests.len(), "{out}");
    assert!(out.lines().any(|line| line == "all passed"), "{out}");
}

/// A skip is seen even where the output of passed tests is not.
fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIP {test}: {why}");
}
