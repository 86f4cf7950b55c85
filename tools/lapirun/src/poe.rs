//! The command line of `poe`: the common options of IBM's Parallel Operating Environment, translated.
//!
//! As with the original, options may stand anywhere after the program and are taken out of its arguments; each has a variable
//! MP_… that the option overrides. What Lapis cannot do is refused by name, never ignored.

use std::collections::HashMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use lapis_core::bootstrap::MAX_TASKS;

use crate::cli::finish;
use crate::job::{Binding, JobSpec};
use crate::output::tell;

const USAGE: &str = "\
Usage: poe PROGRAM [ARGS] [OPTIONS]

Starts a parallel program. Options may stand among the arguments; each overrides its variable.
  -procs N                   MP_PROCS          number of tasks (1)
                             LAPIS_BIND        core: each task on a core of its own
  -labelio yes|no            MP_LABELIO        begin each line of output with the task's number (no)
  -infolevel 0..6, -ilevel   MP_INFOLEVEL      2 and more say what is started (0)
  -msg_api API               MP_MSG_API        lapi, lapi,mpi, mpi,lapi, mpi_lapi or mpi (lapi)
  -shared_memory yes|no      MP_SHARED_MEMORY  sets LAPI_USE_SHM (yes)
  -euilib ip|us              MP_EUILIB         handed to the tasks
  -euidevice DEVICE          MP_EUIDEVICE      handed to the tasks
  -stdinmode 0|none          MP_STDINMODE      who reads the standard input: task 0 or nobody (0)
  --                                           all that follows belongs to the program

Every other word belongs to the program. lapirun has further options: see lapirun --help.";

/// Options that are translated, their variables, and other spellings.
const KNOWN: &[(&str, &str)] = &[
    ("-procs", "MP_PROCS"),
    ("-labelio", "MP_LABELIO"),
    ("-infolevel", "MP_INFOLEVEL"),
    ("-ilevel", "MP_INFOLEVEL"),
    ("-msg_api", "MP_MSG_API"),
    ("-shared_memory", "MP_SHARED_MEMORY"),
    ("-euilib", "MP_EUILIB"),
    ("-euidevice", "MP_EUIDEVICE"),
    ("-stdinmode", "MP_STDINMODE"),
];

/// Options of the original that this one cannot honour, with what to do instead.
const REFUSED: &[(&str, &str, &str)] = &[
    ("-hostfile", "MP_HOSTFILE", "poe runs on this machine only; use lapirun --hostfile"),
    ("-hfile", "MP_HOSTFILE", "poe runs on this machine only; use lapirun --hostfile"),
    ("-nodes", "MP_NODES", "poe runs on this machine only; give -procs, or use lapirun -H"),
    ("-tasks_per_node", "MP_TASKS_PER_NODE", "poe runs on this machine only; give -procs, or use lapirun -H"),
    ("-rmpool", "MP_RMPOOL", "there is no resource manager"),
    ("-resd", "MP_RESD", "there is no resource manager"),
    ("-cmdfile", "MP_CMDFILE", "all tasks run one program"),
    ("-newjob", "MP_NEWJOB", "a job has one step"),
    ("-llfile", "MP_LLFILE", "there is no LoadLeveler"),
];

/// Why a command line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoeError {
    /// The program is missing.
    #[error("the program is missing: poe PROGRAM [ARGS] [OPTIONS], see poe --help")]
    NoProgram,
    /// An option before the program that is not one of poe's.
    #[error("unknown option {0:?} before the program; see poe --help")]
    Unknown(String),
    /// An option without its value.
    #[error("option {0} needs a value")]
    NoValue(String),
    /// A value out of range.
    #[error("{origin} {value:?}: {expected} is expected")]
    BadValue {
        /// Option or variable.
        origin: String,
        /// The value found.
        value: String,
        /// What is accepted.
        expected: String,
    },
    /// An option of IBM's poe that cannot be honoured.
    #[error("{origin} is not supported: {instead}")]
    Refused {
        /// Option or variable.
        origin: String,
        /// Why, and what to do.
        instead: &'static str,
    },
}

/// Entry of the `poe` command.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some("-h" | "-help" | "--help") = words.first().and_then(|w| w.to_str()) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match translate(words, &|name| std::env::var(name).ok()) {
        Ok(spec) => finish("poe", crate::run(&spec)),
        Err(error) => {
            tell("poe", &error.to_string());
            ExitCode::from(2)
        }
    }
}

/// A setting and where it came from, for messages.
struct Settings<'a> {
    options: HashMap<&'static str, (String, String)>,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Settings<'_> {
    fn get(&self, variable: &str) -> Option<(String, String)> {
        let from_environment = || {
            let value = (self.environment)(variable).filter(|v| !v.is_empty())?;
            Some((variable.to_owned(), value))
        };
        self.options.get(variable).cloned().or_else(from_environment)
    }

    /// One of a few words, compared without case.
    fn choice(&self, variable: &str, words: &[&'static str]) -> Result<Option<&'static str>, PoeError> {
        let Some((origin, value)) = self.get(variable) else {
            return Ok(None);
        };
        match words.iter().find(|word| word.eq_ignore_ascii_case(&value)) {
            Some(word) => Ok(Some(word)),
            None => Err(PoeError::BadValue { origin, value, expected: words.join(" or ") }),
        }
    }

    fn number(&self, variable: &str, low: u32, high: u32) -> Result<Option<u32>, PoeError> {
        let Some((origin, value)) = self.get(variable) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(n) if (low..=high).contains(&n) => Ok(Some(n)),
            _ => Err(PoeError::BadValue {
                origin,
                value,
                expected: format!("an integer from {low} to {high}"),
            }),
        }
    }
}

/// The job that a command line and an environment describe.
pub fn translate(
    words: Vec<OsString>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<JobSpec, PoeError> {
    let mut settings = Settings { options: HashMap::new(), environment };
    let mut rest: Vec<OsString> = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        if text == "--" {
            rest.extend(words.by_ref());
        } else if let Some((_, variable)) = KNOWN.iter().find(|(option, _)| *option == text) {
            let value = words.next().ok_or_else(|| PoeError::NoValue(text.clone()))?;
            settings.options.insert(variable, (text, value.to_string_lossy().into_owned()));
        } else if let Some((_, _, instead)) = REFUSED.iter().find(|(option, _, _)| *option == text) {
            return Err(PoeError::Refused { origin: text, instead });
        } else if rest.is_empty() && text.starts_with('-') {
            return Err(PoeError::Unknown(text));
        } else {
            rest.push(word);
        }
    }
    for (_, variable, instead) in REFUSED {
        // NULL is the original's way to say "none".
        if let Some(value) = environment(variable).filter(|v| !v.is_empty() && v != "NULL" && v != "no") {
            return Err(PoeError::Refused { origin: format!("{variable}={value}"), instead });
        }
    }
    if rest.is_empty() {
        return Err(PoeError::NoProgram);
    }

    let tasks = settings.number("MP_PROCS", 1, MAX_TASKS)?.unwrap_or(1);
    let tag_output = settings.choice("MP_LABELIO", &["yes", "no"])? == Some("yes");
    let level = settings.number("MP_INFOLEVEL", 0, 6)?.unwrap_or(0);
    let stdin = settings.choice("MP_STDINMODE", &["0", "none"])? != Some("none");
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: &str| env.push((name.into(), value.into()));
    if let Some(api) = settings.choice("MP_MSG_API", &["lapi", "lapi,mpi", "mpi,lapi", "mpi_lapi", "mpi"])? {
        set("MP_MSG_API", api);
    }
    if let Some(shared) = settings.choice("MP_SHARED_MEMORY", &["yes", "no"])? {
        set("LAPI_USE_SHM", shared);
    }
    if let Some(library) = settings.choice("MP_EUILIB", &["ip", "us"])? {
        set("MP_EUILIB", library);
    }
    if let Some((_, device)) = settings.get("MP_EUIDEVICE") {
        set("MP_EUIDEVICE", &device);
    }
    set("MP_INFOLEVEL", &level.to_string());

    let mut rest = rest.into_iter();
    Ok(JobSpec {
        command: "poe",
        tasks,
        program: rest.next().unwrap_or_default(),
        args: rest.collect(),
        env,
        binding: match settings.choice("LAPIS_BIND", &["core", "none"])? {
            Some("core") => Binding::Core,
            _ => Binding::None,
        },
        tag_output,
        stdin,
        timeout: None,
        grace: Duration::from_secs(2),
        restarts: 0,
        keep_going: false,
        verbose: level >= 2,
        hosts: Vec::new(),
        remote: String::new(),
        address: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, environment: &[(&str, &str)]) -> Result<JobSpec, PoeError> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let find = |name: &str| environment.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).to_owned());
        translate(words, &find)
    }

    #[test]
    fn options_are_taken_out_of_the_programs_arguments() {
        let spec =
            parse("prog -a -procs 4 b -labelio yes -infolevel 2 -shared_memory no -- -procs 9", &[]).unwrap();
        assert_eq!((spec.tasks, spec.tag_output, spec.verbose), (4, true, true));
        assert_eq!(spec.program, "prog");
        assert_eq!(spec.args, ["-a", "b", "-procs", "9"]);
        assert!(spec.env.contains(&("LAPI_USE_SHM".into(), "no".into())));
    }

    #[test]
    fn options_override_variables() {
        let environment = [("MP_PROCS", "3"), ("MP_LABELIO", "YES"), ("MP_HOSTFILE", "NULL")];
        let spec = parse("prog", &environment).unwrap();
        assert_eq!((spec.tasks, spec.tag_output), (3, true));
        let spec = parse("prog -procs 5 -labelio no", &environment).unwrap();
        assert_eq!((spec.tasks, spec.tag_output), (5, false));
        assert_eq!(parse("prog", &[]).unwrap().tasks, 1);
    }

    #[test]
    fn wrong_command_lines_are_named() {
        for (line, parts) in [
            ("", vec!["program is missing"]),
            ("-procs 4", vec!["program is missing"]),
            ("-frobnicate prog", vec!["-frobnicate", "--help"]),
            ("prog -procs", vec!["-procs", "value"]),
            ("prog -procs 0", vec!["-procs", "\"0\"", "1 to 16384"]),
            ("prog -procs many", vec!["-procs", "many"]),
            ("prog -labelio maybe", vec!["-labelio", "maybe", "yes or no"]),
            ("prog -hostfile hosts", vec!["-hostfile", "this machine"]),
            ("prog -msg_api smoke", vec!["-msg_api", "smoke", "mpi_lapi"]),
            ("prog -infolevel 7", vec!["-infolevel", "0 to 6"]),
        ] {
            let error = parse(line, &[]).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{line}: {part} missing in {error}");
            }
        }
        let error = parse("prog", &[("MP_HOSTFILE", "h.list")]).unwrap_err().to_string();
        assert!(error.contains("MP_HOSTFILE=h.list"), "{error}");
        let error = parse("prog", &[("MP_PROCS", "-2")]).unwrap_err().to_string();
        assert!(error.contains("MP_PROCS") && error.contains("-2"), "{error}");
    }
}
