//! `lapis-perf doctor`: what works on this machine, by doing it, and what to do about the rest.
//!
//! Everything that a transport's code does runs in processes of its own, so that one that hangs or
//! crashes is a line of the report: `probe` opens a transport alone, `launch` starts two tasks over
//! it (`task`).

mod child;
mod finding;
mod machine;
mod probe;
mod task;

use crate::cli::Cli;
use anyhow::{Context as _, Result, bail};
use finding::{Finding, Report, Section};
use lapirun::JobSpec;
use lapis::core::config::{Config, Environment};
use lapis::core::transport::{Candidate, Reach, Registry, Request, Selection, Verdict, search_dirs};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// What is asked for in place of a bench.
pub(crate) const NAME: &str = "doctor";

/// Parts that the doctor runs in processes of their own. Each is followed by a transport's name.
const PROBE: &str = "probe";
const LAUNCH: &str = "launch";
const TASK: &str = "task";

/// The job's longest life: far more than it needs where everything works.
const JOB_TIMEOUT: Duration = Duration::from_secs(120);

/// Whether a command line asks for this.
pub(crate) fn is_meant(cli: &Cli) -> bool {
    cli.benches.first().is_some_and(|first| first == NAME)
}

/// Runs what the command line asks for.
pub(crate) fn run(cli: &Cli) -> ExitCode {
    let words: Vec<&str> = cli.benches.iter().skip(1).map(String::as_str).collect();
    let done = match words[..] {
        // It starts tasks of its own: once for a job is enough.
        [] if !crate::is_first_task() => Ok(0),
        [] => examine(cli),
        [PROBE, name] => probe::run(name).map(|()| 0),
        [LAUNCH, name] => launch(name),
        [TASK, name] => task::run(name).map(|()| 0),
        _ => {
            eprintln!("lapis-perf: doctor takes --transport and --json, and no other word");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("lapis-perf: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Looks at the machine and at each transport, and shows what it found.
fn examine(cli: &Cli) -> Result<u8> {
    let environment = Environment::of_process();
    let mut report = Report::new(cli.json);
    let mut section = Section::of_machine();
    section.push(machine::locked_memory());
    let config = match Config::from_env(&environment) {
        Ok((config, _)) => config,
        Err(error) => {
            section.push(Finding::failed("configuration", error.to_string()));
            report.show(section);
            return Ok(report.finish());
        }
    };
    report.show(section);
    let named = match (&cli.transport, config.selection()) {
        (Some(name), _) => vec![name.clone()],
        (None, Selection::Named(names)) => names,
        (None, _) => Vec::new(),
    };
    let mut registry = lapis::registry();
    let dirs = search_dirs(config.transport_path.get());
    let selection = if named.is_empty() { Selection::All } else { Selection::Named(named.clone()) };
    let request = Request { selection, dirs, ..Request::default() };
    let missing = registry.discover(&request).err();
    let mut found = false;
    for candidate in registry.candidates() {
        if let Some(section) = transport(&registry, candidate, &named, &environment) {
            report.show(section);
            found = true;
        }
    }
    let none = (!found).then(|| "there is no transport here; LAPIS_TRANSPORT_PATH names folders".to_owned());
    if let Some(why) = missing.map(|error| error.to_string()).or(none) {
        let mut section = Section::of("transports", String::new());
        section.push(Finding::failed("found", why));
        report.show(section);
    }
    Ok(report.finish())
}

/// What is to be said of something that may be a transport; nothing of one that nobody asked for.
fn transport(
    registry: &Registry,
    candidate: &Candidate,
    named: &[String],
    environment: &Environment,
) -> Option<Section> {
    let name = &candidate.name;
    let mut section = Section::of(name, candidate.origin.to_string());
    let plugin = match &candidate.verdict {
        Verdict::Accepted => registry.get(name).filter(|plugin| plugin.reach() != Reach::Itself)?,
        Verdict::Refused(why) => {
            let text = why.to_string();
            section.push(match named.contains(name) {
                true => Finding::failed("found", text),
                false => Finding::warning("found", text, "copy or build it again, or remove it"),
            });
            return Some(section);
        }
        Verdict::Shadowed | Verdict::NotNamed => return None,
    };
    section.push(Finding::ok("found", format!("version {}", plugin.version())));
    // Whoever sets a transport's variables wants it as much as who names it.
    let configured = plugin.variables().unwrap_or_default().iter().any(|v| environment.get(v.name).is_some());
    let wanted = configured || named.contains(name);
    let probed = child::run(&[NAME, PROBE, name], &[]);
    let opens = probed.iter().all(|finding| !finding.is_failure());
    section
        .extend(probed.into_iter().map(|finding| if wanted { finding } else { finding.at_most_warning() }));
    if opens {
        section.extend(child::run(&[NAME, LAUNCH, name], task::CHECKS));
    }
    Some(section)
}

/// Starts the two tasks, in a process that has one thread and loaded nothing.
fn launch(name: &str) -> Result<u8> {
    let own = std::env::current_exe().context("finding this program's file")?;
    let args = [NAME, TASK, name].map(OsString::from).to_vec();
    let job = JobSpec::here("lapis-perf doctor", 2, own.into_os_string(), args);
    match lapirun::run(&JobSpec { timeout: Some(JOB_TIMEOUT), ..job }) {
        Ok(code) => Ok(code),
        Err(fault) => bail!("the tasks can't be started: {fault}"),
    }
}
