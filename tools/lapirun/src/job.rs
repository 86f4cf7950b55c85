//! What to run.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapis_core::bootstrap::variables as names;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::hosts::Host;

/// The default command that runs a program on another machine.
pub(crate) const SSH: &str = "ssh -x -o BatchMode=yes {host}";

/// Where tasks may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Binding {
    /// Each task on a core of its own, in order.
    Core,
    /// Each task on the cores that share its last cache, neighbours together.
    Cache,
    /// Each task on the cores of its memory's node, neighbours together.
    Numa,
    /// Wherever the system puts them.
    None,
}

impl Binding {
    /// What LAPIS_BIND says, of which an empty value is none.
    pub(crate) fn of_environment() -> Result<Self, Fault> {
        let text = std::env::var_os("LAPIS_BIND").unwrap_or_default();
        let text = text.to_string_lossy();
        Self::from_word(text.trim()).ok_or_else(|| Fault::Environment {
            setting: format!("LAPIS_BIND={text}"),
            takes: "core, cache, numa or none",
        })
    }

    /// What a word means; the empty one is none.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "" | "none" => Some(Self::None),
            "core" => Some(Self::Core),
            "cache" => Some(Self::Cache),
            "numa" => Some(Self::Numa),
            _ => None,
        }
    }

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Cache => "cache",
            Self::Numa => "numa",
            Self::None => "none",
        }
    }
}

/// One program of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// As the user wrote it.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// How many tasks run it.
    pub tasks: u32,
}

/// Who reads the launcher's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// Nobody.
    None,
    /// This task.
    Task(u32),
    /// Each task, all of it.
    All,
}

impl Input {
    /// Whether a task reads it.
    pub(crate) fn is_read_by(self, task: u32) -> bool {
        match self {
            Self::None => false,
            Self::Task(reader) => task == reader,
            Self::All => true,
        }
    }
}

/// What becomes of the tasks' standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// It is passed on as it comes.
    Unordered,
    /// All of task 0, then all of task 1, and so on, when the job has ended.
    Ordered,
    /// That of one task is passed on, the others' is dropped.
    Only(u32),
}

/// A job to run.
#[derive(Debug, Clone)]
pub struct JobSpec {
    /// The command that the user called, for messages.
    pub command: &'static str,
    /// Number of tasks.
    pub tasks: u32,
    /// Its programs: the first tasks run the first, and so on.
    pub parts: Vec<Part>,
    /// Variables for the tasks, beside the launcher's own environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where tasks may run.
    pub binding: Binding,
    /// Whether lines of output carry the task's number.
    pub tag_output: bool,
    /// Who reads the launcher's standard input.
    pub input: Input,
    /// What becomes of the tasks' standard output.
    pub output: Output,
    /// File that gets what a task writes, instead of the launcher; `%t` stands for the task's
    /// number.
    pub files: Option<String>,
    /// Folder of the tasks; the launcher's own if absent.
    pub folder: Option<PathBuf>,
    /// Says what would be started, and starts nothing.
    pub dry_run: bool,
    /// Gets the machine of each task, a line each.
    pub save_hosts: Option<PathBuf>,
    /// SIGUSR1 asks what the tasks do, instead of going to them.
    pub roll_call: bool,
    /// Looks every so often what the tasks do, and shows it when one has waited for so long.
    pub watch: Option<Duration>,
    /// Longest life of the job.
    pub timeout: Option<Duration>,
    /// Time between SIGTERM and SIGKILL when the job is ended.
    pub grace: Duration,
    /// How many times tasks that fail are restarted, altogether.
    pub restarts: u32,
    /// Whether the other tasks go on when one fails.
    pub keep_going: bool,
    /// Whether to say what is started.
    pub verbose: bool,
    /// Machines to run on; empty for this one.
    pub hosts: Vec<Host>,
    /// Whether neighbouring tasks go to different machines, in turn.
    pub by_node: bool,
    /// The command that runs something on a machine, with `{host}` for its name.
    pub remote: String,
    /// How many machines each machine starts at most, in a tree.
    pub fan_out: u32,
    /// Name or number under which the other machines reach this one.
    pub address: Option<String>,
}

impl JobSpec {
    /// A job of one program on this machine, with nothing special about it. `command`: what the
    /// user called, for messages.
    pub fn here(command: &'static str, tasks: u32, program: OsString, args: Vec<OsString>) -> Self {
        Self {
            command,
            tasks,
            parts: vec![Part { program, args, tasks }],
            env: Vec::new(),
            binding: Binding::None,
            tag_output: false,
            input: Input::None,
            output: Output::Unordered,
            files: None,
            folder: None,
            dry_run: false,
            save_hosts: None,
            roll_call: false,
            watch: None,
            timeout: None,
            grace: Duration::from_secs(2),
            restarts: 0,
            keep_going: false,
            verbose: false,
            hosts: Vec::new(),
            by_node: false,
            remote: SSH.to_owned(),
            fan_out: crate::tree::FAN_OUT,
            address: None,
        }
    }

    /// The place in `parts` of what a task runs.
    pub(crate) fn part_of(&self, task: u32) -> usize {
        let mut end = 0;
        let ends = |part: &Part| {
            end += part.tasks;
            task < end
        };
        self.parts.iter().position(ends).unwrap_or(self.parts.len().saturating_sub(1))
    }
}

/// Variables that the launcher sets for each task.
const OWN: &[&str] = &[
    names::KVS,
    names::JOB_ID,
    names::JOB_SECRET,
    names::TASK,
    names::TASKS,
    names::RESTARTS,
    names::MP_CHILD,
    names::MP_PROCS,
    names::MP_PARTITION,
    names::MP_COMMON_TASKS,
];

/// Reads one `-x VAR`, `-x VAR=VALUE` or `-x PATTERN*`, which may stand for many variables.
pub(crate) fn variables(text: &str) -> Result<Vec<(OsString, OsString)>, Fault> {
    if text.contains('=') || !text.contains('*') {
        return variable(text).map(|one| vec![one]);
    }
    let meant = |name: &str| matches(text, name) && !OWN.contains(&name);
    Ok(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(meant)).collect())
}

/// Whether a name is one of a pattern's, in which each `*` stands for any characters or none.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    ends.into_iter().any(|at| matches(rest, &name[at..]))
}

fn variable(text: &str) -> Result<(OsString, OsString), Fault> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(OsString::from(value))),
        None => (text, std::env::var_os(text)),
    };
    let fault = |reason| Fault::Variable { name: name.to_owned(), reason };
    if name.is_empty() {
        return Err(fault("the name is missing"));
    }
    if OWN.contains(&name) {
        return Err(fault("the launcher sets this variable for each task"));
    }
    let value = value.ok_or_else(|| fault("is not set here: write -x VAR=VALUE, or set it first"))?;
    Ok((name.into(), value))
}

/// The file that `program` names, searched as a shell does.
pub(crate) fn resolve(program: &OsString) -> Result<PathBuf, Fault> {
    let shown = program.to_string_lossy().into_owned();
    if shown.is_empty() {
        return Err(Fault::NotFound { program: shown, searched: false });
    }
    if shown.contains('/') {
        let path = PathBuf::from(program);
        return match check(&path) {
            Ok(()) => Ok(path),
            Err(None) => Err(Fault::NotFound { program: shown, searched: false }),
            Err(Some(reason)) => Err(Fault::NotExecutable { path, reason }),
        };
    }
    let mut refused = None;
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        let path = folder.join(program);
        match check(&path) {
            Ok(()) => return Ok(path),
            Err(Some(reason)) => {
                refused.get_or_insert((path, reason));
            }
            Err(None) => {}
        }
    }
    match refused {
        Some((path, reason)) => Err(Fault::NotExecutable { path, reason }),
        None => Err(Fault::NotFound { program: shown, searched: true }),
    }
}

/// `Err(None)`: no such file.
fn check(path: &Path) -> Result<(), Option<String>> {
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(None);
        }
        Err(e) => return Err(Some(e.to_string())),
    };
    if meta.is_dir() {
        return Err(Some("it is a directory".into()));
    }
    // Root may run what anybody may run; for others the kernel has the last word at exec.
    if meta.permissions().mode() & 0o111 == 0 {
        return Err(Some("it is not executable (chmod +x)".into()));
    }
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).map_err(|e| Some(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_variables_have_stars_anywhere() {
        for name in ["OMP_", "OMP_NUM_THREADS"] {
            assert!(matches("OMP_*", name) && matches("*", name) && matches("O*_*", name), "{name}");
        }
        assert!(!matches("OMP_*", "XOMP_A") && !matches("*_X", "OMP_Y") && matches("*MP_*S", "OMP_THREADS"));
    }

    #[test]
    fn a_pattern_never_hands_on_what_the_launcher_sets() {
        let found = variables("*").unwrap();
        assert!(found.iter().any(|(name, _)| name == "PATH"));
        assert!(found.iter().all(|(name, _)| !OWN.iter().any(|own| name == own)));
        assert!(variables("NO_SUCH_VARIABLE_*").unwrap().is_empty());
        assert!(variables("NO_SUCH_VARIABLE").is_err());
    }
}
