//! Jobs over verbs devices: a task that dies, little memory to lock, a device that is not there,
//! and two rails, one of which is pulled.
//!
//! `LAPIS_TEST_RDMA_MACHINE` names a program that runs a command where there are such devices, and
//! the same files (docs/rdma.md, *Verbs*): `rxe0` over the interface `ve0`, and `rxe2` over
//! another. Such a machine may take half a minute to start, so one does for all.

use lapis_testing::{folder, program};
use std::io::Write as _;
use std::process::Command;

const MACHINE: &str = "LAPIS_TEST_RDMA_MACHINE";
const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// Rounds of traffic, and messages of each task in so many (`tasks/faults.rs`). Such a machine may
/// be emulated, and slow.
const ROUNDS: u64 = 200;
const MESSAGES: u64 = ROUNDS * 2 + ROUNDS / 8 * 2;

/// Runs the jobs, each between two lines with its name, the second with its exit code. The last one
/// starts, then its first rail is pulled once all tasks are there, and again and again until it has
/// ended.
const SCRIPT: &str = r#"
echo # such a machine's first line may end up in what it says while it starts
said=$(mktemp -d) || exit 1
trap 'rm -r "$said"' EXIT
run() { # NAME COMMAND...: in one piece, for machines have one line for both outputs
  name=$1; shift
  "$@" >"$said/$name" 2>&1; code=$?
  echo "<$name>"; cat "$said/$name"; echo "</$name> $code"
}
export LAPIS_RDMA_DOMAIN=rxe0
run dead "$0" -n 3 --keep-going "$1" die-amid-transfers
run missing env LAPIS_RDMA_DOMAIN=rxe9 "$0" -n 1 "$1" one-sided
run locked sh -c 'ulimit -l 64; exec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$@"' sh \
  "$0" -n 2 "$1" one-sided
export LAPIS_RDMA_DOMAIN=rxe0,rxe2
"$0" -n 2 "$1" faults "$2" >"$said/out" 2>"$said/err" & job=$!
until [ "$(grep -c 'all are there' "$said/out")" = 2 ]; do
  kill -0 $job || break; sleep 0.1
done
pulled=0
while kill -0 $job 2>/dev/null; do
  ip link set ve0 down; pulled=$((pulled + 1)); sleep 0.5; ip link set ve0 up; sleep 2
done
wait $job; code=$?
echo '<pulled>'; cat "$said/out" "$said/err"; echo "pulled $pulled times"; echo "</pulled> $code"
"#;

/// What a job of the script wrote, and its exit code.
#[track_caller]
fn job<'a>(out: &'a str, name: &str) -> (&'a str, &'a str) {
    let (begin, end) = (format!("<{name}>\n"), format!("</{name}> "));
    let rest = out.split_once(&begin).unwrap_or_else(|| panic!("{name} did not run:\n{out}")).1;
    let (text, rest) = rest.split_once(&end).unwrap_or_else(|| panic!("{name} did not end:\n{out}"));
    (text, rest.lines().next().unwrap_or_default().trim())
}

#[test]
fn over_verbs_deaths_and_limits_are_told_and_a_pulled_rail_loses_nothing() {
    let test = "over_verbs_deaths_and_limits_are_told_and_a_pulled_rail_loses_nothing";
    let Some(machine) = std::env::var_os(MACHINE) else {
        let why = format!("{MACHINE} names no program that starts a machine with devices");
        let _ = writeln!(std::io::stderr(), "SKIP {test}: {why}");
        return;
    };
    let done = Command::new(&machine)
        .args(["--timeout", "600", "--", "sh", "-c", SCRIPT])
        .arg(program("lapirun", "lapirun"))
        .args([TASK, &ROUNDS.to_string()])
        .env_remove(MACHINE)
        .env("LAPIS_TRANSPORT_PATH", folder().join("deps"))
        .env("LAPIS_TRANSPORT", "rdma")
        .env("LAPIS_RDMA_PROVIDER", "verbs;ofi_rxm")
        .env("LAPIS_LOG", "info")
        .env("LAPIS_TIMEOUT", "300")
        .env("LAPIS_TUNING", "none")
        // As Soft-RoCE wants it (docs/rdma.md).
        .env("FI_UNIVERSE_SIZE", "16")
        .env("FI_OFI_RXM_USE_SRX", "1")
        .output()
        .unwrap_or_else(|e| panic!("{} does not start: {e}", machine.display()));
    let out = String::from_utf8_lossy(&done.stdout).replace('\r', "");
    assert!(done.status.success(), "{}\n{out}\n{}", done.status, String::from_utf8_lossy(&done.stderr));
    a_dead_task_is_told_of(job(&out, "dead"));
    a_missing_device_is_named(job(&out, "missing"));
    little_memory_is_said(job(&out, "locked"));
    a_pulled_rail_loses_nothing(job(&out, "pulled"));
}

/// The others' calls fail, and they go on with each other.
fn a_dead_task_is_told_of((text, code): (&str, &str)) {
    assert_eq!(code, "137", "{text}");
    assert_eq!(text.matches(" was told: task 1 is down: ").count(), 2, "{text}");
}

fn a_missing_device_is_named((text, code): (&str, &str)) {
    assert_eq!(code, "3", "{text}");
    let named: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(named.len() == 1 && named[0].contains("LAPIS_RDMA_DOMAIN=rxe9"), "{text}");
}

/// Whether the transport can do without or not: the line says what to do.
fn little_memory_is_said((text, code): (&str, &str)) {
    assert!(text.contains("ulimit -l"), "exit code {code}: {text}");
}

fn a_pulled_rail_loses_nothing((text, code): (&str, &str)) {
    assert_eq!(code, "0", "{text}");
    for (from, to) in [(0, 1), (1, 0)] {
        let line = format!("task {from} with {to}: {MESSAGES} confirmed, {MESSAGES} got");
        assert!(text.contains(&line), "{line}:\n{text}");
    }
    assert!(!text.contains("pulled 0 times"), "the traffic ended before the rail was pulled:\n{text}");
    assert!(text.contains("over rxe0 (rail 0) has failed"), "nobody noticed:\n{text}");
}
