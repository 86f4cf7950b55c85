//! Running a case: alone, with tasks as threads, or with tasks as processes that run this very test
//! again.

use crate::control::{self, Coordinator, Outcome, Report};
use crate::rank::{Rank, Setup};
use crate::subject::{Mode, NO_OPTIONS, Options, Source};
use crate::{cases, log::Collector};
use lapis_core::transport::{ChaosError, Plugin, load_file};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How many tasks cases have that are not alone.
const TASKS: u32 = 3;

// Variables by which a task that is a process learns its part.
const TASK: &str = "LAPIS_CONFORMANCE_TASK";
const CONTROL: &str = "LAPIS_CONFORMANCE_CONTROL";

/// Runs the case `name`. `test` is the path of the calling test function, by which processes are
/// told to come here.
///
/// # Panics
/// When the case fails, with the reason.
pub fn run(name: &str, mode: Mode, source: Source, test: &str) {
    run_configured(name, mode, source, NO_OPTIONS, test);
}

/// As [`run`], with a transport that is configured by `options`. If there are none, the process's
/// variables count. `None`: the transport can't be had here, as the caller has said.
///
/// # Panics
/// When the case fails, with the reason.
pub fn run_configured(
    name: &str,
    mode: Mode,
    source: Source,
    options: impl Into<Option<Options>>,
    test: &str,
) {
    let Some(options) = options.into() else {
        skip(test, "the transport can't be had on this machine");
        return;
    };
    let case = cases::find(name);
    if mode == Mode::Processes
        && let (Ok(task), Ok(control)) = (std::env::var(TASK), std::env::var(CONTROL))
    {
        let task = task.parse().expect("the harness gives a number");
        rank_main(case, &Setup { control, task, tasks: TASKS, mode, source, options });
        std::process::exit(0);
    }
    if case.dies && mode != Mode::Processes {
        skip(test, "a task dies in it, and threads and single tasks can't");
        return;
    }
    let tasks = if mode == Mode::Alone { 1 } else { TASKS };
    // Unique among all tests of all processes: the address of a local is, together with the process
    // id.
    let control = format!("lapis-{}-{:x}", std::process::id(), (&raw const tasks).addr());
    let coordinator = Coordinator::new(&control, tasks).expect("a socket in the abstract name space");
    let mut children = Vec::new();
    for task in 0..tasks {
        if mode == Mode::Processes {
            children.push((task, spawn(test, task, &control)));
        } else {
            let setup = Setup { control: control.clone(), task, tasks, mode, source, options };
            // Not joined: one that hangs must not hang the verdict.
            std::thread::spawn(move || rank_main(case, &setup));
        }
    }
    let outcome = coordinator.run(case.dies.then_some(1));
    let mut output = String::new();
    for (task, mut child) in children {
        if matches!(outcome, Outcome::Failed(_)) {
            let _ = child.kill();
        }
        if let Ok(out) = child.wait_with_output() {
            let text = [out.stdout, out.stderr].concat();
            output += &format!("--- task {task}: {}\n{}", out.status, String::from_utf8_lossy(&text));
        }
    }
    match outcome {
        Outcome::Passed => {}
        Outcome::Skipped(why) => skip(test, &why),
        Outcome::Failed(why) => panic!("{test}: {why}\n{output}"),
    }
}

/// Runs every case, one after another, with tasks of this process: for plugins that a test builds
/// itself. `test` names it.
///
/// # Panics
/// When a case fails, with the reason.
pub fn run_every_case(mode: Mode, source: Source, test: &str) {
    assert_ne!(mode, Mode::Processes, "processes need a test of their own for each case");
    for case in cases::ALL {
        run(case.name, mode, source, &format!("{test}::{}", case.name));
    }
}

/// A skip is seen even where the output of passed tests is not: it goes around the test runner's
/// capture.
fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIP {test}: {why}");
}

fn spawn(test: &str, task: u32, control: &str) -> Child {
    // The runner's names lack the crate's.
    let name = test.split_once("::").map_or(test, |(_, rest)| rest);
    Command::new(std::env::current_exe().expect("the test has a file"))
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(TASK, task.to_string())
        .env(CONTROL, control)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the test's own executable runs")
}

/// One task from beginning to end.
fn rank_main(case: &'static cases::Case, setup: &Setup) {
    let log = Collector::default();
    let mut control = control::connect(&setup.control, setup.task).expect("the coordinator listens");
    let body = || -> Result<Option<String>, String> {
        let plugin = plugin(setup.source)?;
        let wire = control.try_clone().map_err(|e| format!("duplicating the wire: {e}"))?;
        let mut rank = Rank::open(plugin, setup, wire)?;
        let lacking = case.needs.difference(rank.common_caps());
        if !lacking.is_empty() {
            let names: Vec<_> = lacking.iter_names().map(|(name, _)| name).collect();
            return Ok(Some(format!(
                "{} lacks {} here ({})",
                rank.link().name(),
                names.join(", "),
                rank.link().note()
            )));
        }
        (case.run)(&mut rank);
        let expected = rank.finish();
        let (bad, all) = log.unexpected(&expected);
        if bad.is_empty() { Ok(None) } else { Err(format!("unexpected log lines: {bad:#?}\n{all}")) }
    };
    let result = tracing::subscriber::with_default(log.clone(), || catch_unwind(AssertUnwindSafe(body)));
    let report = match result {
        Ok(Ok(None)) => Report::Passed,
        Ok(Ok(Some(why))) => Report::Skipped(why),
        Ok(Err(why)) => Report::Failed(why),
        Err(panic) => {
            let text = panic
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Report::Failed(format!("{text}\n  its log:\n{}", log.unexpected(&[]).1))
        }
    };
    let _ = control::send(&mut control, &report);
}

fn plugin(source: Source) -> Result<Plugin, String> {
    match source {
        Source::Linked(table) => Plugin::from_table(table()).map_err(|e| e.to_string()),
        Source::Chaotic(table, faults) => {
            let mut plugin = Plugin::from_table(table()).map_err(|e| e.to_string())?;
            plugin.set_chaos(Some(faults.parse().map_err(|e: ChaosError| e.to_string())?));
            Ok(plugin)
        }
        Source::File(name) => {
            let path = locate(name);
            load_file(&path).map_err(|e| format!("{}: {e}", path.display()))
        }
    }
}

/// Test executables stand in cargo's `deps` directory, and so do the plugins of the same build.
fn locate(name: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("the test has a file");
    let dir = exe.parent().unwrap_or(Path::new("/"));
    let beside = dir.join(name);
    if beside.exists() { beside } else { dir.parent().unwrap_or(dir).join(name) }
}
