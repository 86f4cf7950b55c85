//! Nonsense in every variable, and machines without the usual /dev/shm.

use lapis::core::bootstrap::variables;
use lapis::core::config::{Kind, VARIABLES};
use lapis_testing::{Job, clean, folder, program};
use std::process::Command;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// No number, no word of any list, no list of anything.
const NONSENSE: &str = ",,?!";

/// A task alone with one variable: its exit code and all that it said.
fn alone(variable: &str, value: &str) -> (Option<i32>, String) {
    let mut command = clean(TASK);
    // A folder of that name is made where the task runs.
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.arg("all-to-all").env("LAPIS_TRANSPORT_PATH", folder().join("deps")).env(variable, value);
    let done = command.output().expect("the task starts");
    (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

#[test]
fn nonsense_in_a_variable_of_the_table_is_an_error_that_names_value_and_range() {
    let declared = lapis_standard::TRANSPORTS.iter().flat_map(|known| known.declaration.variables);
    for variable in VARIABLES.iter().chain(declared) {
        let (code, said) = alone(variable.name, NONSENSE);
        // Any text is a file, a filter or a yes; faults have a grammar of their own.
        let free =
            matches!(variable.kind, Kind::Text | Kind::Flag | Kind::Paths) && variable.name != "LAPIS_CHAOS";
        if free {
            assert!(matches!(code, Some(0 | 3)), "{}: {code:?} {said}", variable.name);
            continue;
        }
        assert_eq!(code, Some(3), "{}: {said}", variable.name);
        assert!(said.contains(&format!("{}=`{NONSENSE}`", variable.name)), "{said}");
        assert!(said.contains(" it takes ") || said.contains("expected"), "{}: {said}", variable.name);
        if variable.name != "LAPIS_CHAOS" {
            assert!(said.contains(&variable.kind.range()), "{} is not said: {said}", variable.kind.range());
        }
    }
}

#[test]
fn nonsense_in_a_variable_of_the_launchers_is_an_error_that_names_it() {
    use variables::*;
    for name in [KVS, TASK, TASKS] {
        let (code, said) = alone(name, NONSENSE);
        assert_eq!(code, Some(3), "{name}: {said}");
        assert!(said.contains(name), "{name}: {said}");
    }
    // A task without its partners' place, and a place without a secret.
    for (name, value) in [(TASKS, "2"), (KVS, "unix:@nowhere")] {
        let (code, said) = alone(name, value);
        assert_eq!(code, Some(3), "{name}: {said}");
        assert!(said.contains(name) && said.contains("lapirun"), "{name}: {said}");
    }
}

#[test]
fn nonsense_in_a_variable_that_a_launcher_reads_is_an_error_that_names_it() {
    for (launcher, variable) in [("lapirun", "LAPIS_BIND"), ("poe", "LAPIS_BIND"), ("poe", "MP_PROCS")] {
        let mut command = clean(program("lapirun", launcher));
        command.args(if launcher == "poe" { &["true"][..] } else { &["-n", "2", "true"] });
        let done = command.env(variable, NONSENSE).output().expect("the launcher starts");
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(done.status.code(), Some(2), "{variable}: {said}");
        assert!(said.contains(NONSENSE) && said.contains(variable), "{variable}: {said}");
    }
}

/// The job in a mount namespace of its own, after these commands.
fn with_mounts(commands: &str) -> Option<(Option<i32>, String)> {
    let job = Job::new(2).command(TASK, &["all-to-all"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-ec", &format!("{commands}; exec \"$@\""), "sh"]);
    command.arg(job.get_program()).args(job.get_args()).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.envs(job.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let possible = Command::new("unshare").args(["--mount", "--map-root-user", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no mount namespaces for this user (unshare --mount --map-root-user)");
        return None;
    }
    let done = command.output().expect("unshare starts");
    Some((done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()))
}

#[test]
fn a_small_or_missing_dev_shm_is_no_matter() {
    let expected = "all-to-all: 48 messages\n".repeat(2);
    let small =
        "mount -t tmpfs -o size=64k none /dev/shm; test $(df -k --output=size /dev/shm | tail -1) = 64";
    // A /dev of its own that has the usual devices and no shm.
    let missing = "d=$(mktemp -d /tmp/lapis-dev-XXXXXX); mount --rbind /dev $d; mount -t tmpfs none /dev; \
        for f in null zero full random urandom tty; do touch /dev/$f; mount --bind $d/$f /dev/$f; done; umount -l $d; rmdir $d; \
        test ! -e /dev/shm";
    for commands in [small, missing] {
        if let Some((code, said)) = with_mounts(commands) {
            assert_eq!((code, said), (Some(0), expected.clone()));
        }
    }
}

#[test]
fn jobs_of_one_program_side_by_side_do_not_meet() {
    let job = Job::new(3);
    let running: Vec<_> = (0..3).map(|_| job.start(TASK, &["all-to-all"])).collect();
    for one in running {
        let done = one.wait().expect_quiet(0);
        assert_eq!(done.sorted(), ["all-to-all: 72 messages"; 3]);
    }
}
