//! A job over two rails of verbs devices, one of which is pulled.
//!
//! `LAPIS_TEST_RDMA_MACHINE` names a program that runs a command where there are such devices, and
//! the same files (docs/rdma.md, *Verbs*): `rxe0` over the interface `ve0`, and `rxe2` over
//! another.

use lapis_testing::{folder, program};
use std::io::Write as _;
use std::process::Command;

const MACHINE: &str = "LAPIS_TEST_RDMA_MACHINE";
const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// Rounds of traffic, and messages of each task in so many (`tasks/faults.rs`). Such a machine may
/// be emulated, and slow.
const ROUNDS: u64 = 200;
const MESSAGES: u64 = ROUNDS * 2 + ROUNDS / 8 * 2;

/// Starts the job, pulls the first rail once all tasks are there, and again and again until the
/// job has ended, which it says with its exit code.
const SCRIPT: &str = r#"
echo # such a machine's first line may end up in what it says while it starts
said=$(mktemp -d) || exit 1
trap 'rm -r "$said"' EXIT
"$0" -n 2 "$1" faults "$2" >"$said/out" 2>"$said/err" & job=$!
until [ "$(grep -c 'all are there' "$said/out")" = 2 ]; do
  kill -0 $job || break; sleep 0.1
done
pulled=0
while kill -0 $job 2>/dev/null; do
  ip link set ve0 down; pulled=$((pulled + 1)); sleep 0.5; ip link set ve0 up; sleep 2
done
wait $job; code=$?
cat "$said/out"; cat "$said/err" >&2; echo "pulled $pulled times"; exit $code
"#;

#[test]
fn a_rail_of_verbs_is_pulled_and_nothing_is_lost() {
    let test = "a_rail_of_verbs_is_pulled_and_nothing_is_lost";
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
        .env("LAPIS_RDMA_DOMAIN", "rxe0,rxe2")
        .env("LAPIS_LOG", "info")
        .env("LAPIS_TIMEOUT", "300")
        .env("LAPIS_TUNING", "none")
        // As Soft-RoCE wants it (docs/rdma.md).
        .env("FI_UNIVERSE_SIZE", "16")
        .env("FI_OFI_RXM_USE_SRX", "1")
        .output()
        .unwrap_or_else(|e| panic!("{} does not start: {e}", machine.display()));
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{}\n{out}\n{err}", done.status);
    for (from, to) in [(0, 1), (1, 0)] {
        let line = format!("task {from} with {to}: {MESSAGES} confirmed, {MESSAGES} got");
        assert!(out.contains(&line), "{line}:\n{out}\n{err}");
    }
    assert!(!out.contains("pulled 0 times"), "the traffic ended before the rail was pulled:\n{out}");
    // Machines have one line for both outputs.
    let all = format!("{out}\n{err}");
    assert!(all.contains("over rxe0 (rail 0) has failed"), "nobody noticed:\n{all}");
}
