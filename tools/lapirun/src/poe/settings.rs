//! The options of `poe`, and the variables that they override.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const USAGE: &str = "\
Usage: poe PROGRAM [ARGS] [OPTIONS]

Starts a parallel program. Options may stand among the arguments; each overrides its variable.
  -procs N                   MP_PROCS           number of tasks (1; with nodes, what they take)
  -nodes N                   MP_NODES           number of machines, of those in the host file
  -tasks_per_node N          MP_TASKS_PER_NODE  tasks on each machine
  -hostfile, -hfile FILE     MP_HOSTFILE        a machine in each line, for a task each; NULL for this machine
  -savehostfile FILE         MP_SAVEHOSTFILE    gets the machine of each task
  -pgmmodel spmd|mpmd        MP_PGMMODEL        one program for all tasks, or one for each (spmd)
  -cmdfile FILE              MP_CMDFILE         the commands of mpmd, one for each task in each line
  -labelio yes|no            MP_LABELIO         begin each line of output with the task's number (no)
  -stdoutmode MODE           MP_STDOUTMODE      unordered, ordered by tasks at the end, or a task's number (unordered)
  -stdinmode MODE            MP_STDINMODE       who reads the standard input: all, none, or a task's number (0)
  -infolevel 0..6, -ilevel   MP_INFOLEVEL       2 and more say what is started (0)
  -msg_api API               MP_MSG_API         lapi, lapi,mpi, mpi,lapi, mpi_lapi or mpi (lapi)
  -shared_memory yes|no      MP_SHARED_MEMORY   sets LAPI_USE_SHM (yes)
  -euilib ip|us              MP_EUILIB          handed to the tasks
  -euidevice DEVICE          MP_EUIDEVICE       handed to the tasks
  --                                            all that follows belongs to the program
                             LAPIS_BIND         core, cache or numa: where tasks may run
                             LAPIS_REMOTE       the command that runs something on a machine, with {host} for its name

Taken and without effect, which is said: -resd, -pulse, -rmpool, -retry, -retrycount, -wait, -adapter_use, -cpu_use, -euidevelop.
Every other word belongs to the program. lapirun has further options: see lapirun --help.";

/// Options that are translated, their variables, and other spellings.
const KNOWN: &[(&str, &str)] = &[
    ("-procs", "MP_PROCS"),
    ("-nodes", "MP_NODES"),
    ("-tasks_per_node", "MP_TASKS_PER_NODE"),
    ("-hostfile", "MP_HOSTFILE"),
    ("-hfile", "MP_HOSTFILE"),
    ("-savehostfile", "MP_SAVEHOSTFILE"),
    ("-pgmmodel", "MP_PGMMODEL"),
    ("-cmdfile", "MP_CMDFILE"),
    ("-labelio", "MP_LABELIO"),
    ("-stdoutmode", "MP_STDOUTMODE"),
    ("-stdinmode", "MP_STDINMODE"),
    ("-infolevel", "MP_INFOLEVEL"),
    ("-ilevel", "MP_INFOLEVEL"),
    ("-msg_api", "MP_MSG_API"),
    ("-shared_memory", "MP_SHARED_MEMORY"),
    ("-euilib", "MP_EUILIB"),
    ("-euidevice", "MP_EUIDEVICE"),
];

/// Options of the original that mean nothing where there is no resource manager and no switch.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("-resd", "MP_RESD"),
    ("-pulse", "MP_PULSE"),
    ("-rmpool", "MP_RMPOOL"),
    ("-retry", "MP_RETRY"),
    ("-retrycount", "MP_RETRYCOUNT"),
    ("-wait", "MP_WAIT_MODE"),
    ("-adapter_use", "MP_ADAPTER_USE"),
    ("-cpu_use", "MP_CPU_USE"),
    ("-euidevelop", "MP_EUIDEVELOP"),
];

/// Options of the original that this one cannot honour, with what to do instead.
const REFUSED: &[(&str, &str, &str)] =
    &[("-newjob", "MP_NEWJOB", "a job has one step"), ("-llfile", "MP_LLFILE", "there is no LoadLeveler")];

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
    /// Options or variables that do not go together, or a file that cannot be used.
    #[error("{0}")]
    Usage(String),
    /// An option of IBM's poe that cannot be honoured.
    #[error("{origin} is not supported: {instead}")]
    Refused {
        /// Option or variable.
        origin: String,
        /// Why, and what to do.
        instead: &'static str,
    },
}

/// A setting and where it came from, for messages.
pub(super) struct Settings<'a> {
    options: HashMap<&'static str, (String, String)>,
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
}

/// A command line, taken apart.
pub(super) struct Taken<'a> {
    pub(super) settings: Settings<'a>,
    /// The program and its arguments.
    pub(super) rest: Vec<OsString>,
    /// What has no effect.
    pub(super) idle: Vec<String>,
}

impl<'a> Settings<'a> {
    /// Takes options out of the words. What has no effect here is named, what can't be honoured is
    /// an error.
    pub(super) fn take(
        words: Vec<OsString>,
        environment: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Taken<'a>, PoeError> {
        let mut settings = Self { options: HashMap::new(), environment };
        let mut idle = Vec::new();
        let mut rest: Vec<OsString> = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            let mut value = || {
                let value = words.next().ok_or_else(|| PoeError::NoValue(text.clone()))?;
                Ok(value.to_string_lossy().into_owned())
            };
            if text == "--" {
                rest.extend(words.by_ref());
            } else if let Some((_, variable)) = KNOWN.iter().find(|(option, _)| *option == text) {
                let value = value()?;
                settings.options.insert(variable, (text, value));
            } else if WITHOUT_EFFECT.iter().any(|(option, _)| *option == text) {
                idle.push(format!("{text} {}", value()?));
            } else if let Some((_, _, instead)) = REFUSED.iter().find(|(option, _, _)| *option == text) {
                return Err(PoeError::Refused { origin: text, instead });
            } else if rest.is_empty() && text.starts_with('-') {
                return Err(PoeError::Unknown(text));
            } else {
                rest.push(word);
            }
        }
        // NULL is the original's way to say "none".
        let set =
            |variable: &str| environment(variable).filter(|v| !v.is_empty() && v != "NULL" && v != "no");
        for (_, variable, instead) in REFUSED {
            if let Some(value) = set(variable) {
                return Err(PoeError::Refused { origin: format!("{variable}={value}"), instead });
            }
        }
        idle.extend(WITHOUT_EFFECT.iter().filter_map(|(_, name)| Some(format!("{name}={}", set(name)?))));
        Ok(Taken { settings, rest, idle })
    }

    /// The value for a variable, and the option or variable that it comes from.
    pub(super) fn get(&self, variable: &str) -> Option<(String, String)> {
        let from_environment = || {
            let value = (self.environment)(variable).filter(|v| !v.is_empty())?;
            Some((variable.to_owned(), value))
        };
        self.options.get(variable).cloned().or_else(from_environment)
    }

    /// A file; NULL is the original's way to say "none".
    pub(super) fn file(&self, variable: &str) -> Option<PathBuf> {
        self.get(variable).filter(|(_, value)| value != "NULL").map(|(_, value)| PathBuf::from(value))
    }

    /// One of a few words, compared without case.
    pub(super) fn choice(
        &self,
        variable: &str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, PoeError> {
        let Some((origin, value)) = self.get(variable) else {
            return Ok(None);
        };
        match words.iter().find(|word| word.eq_ignore_ascii_case(&value)) {
            Some(word) => Ok(Some(word)),
            None => Err(PoeError::BadValue { origin, value, expected: words.join(" or ") }),
        }
    }

    pub(super) fn number(&self, variable: &str, low: u32, high: u32) -> Result<Option<u32>, PoeError> {
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
