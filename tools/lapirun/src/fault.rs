//! Why a job did not start.

use lapis_core::bootstrap::BootstrapError;
use std::io;
use std::path::PathBuf;

/// Why a job did not start. Every text is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No such program.
    #[error("program {program:?} not found{place}", place = if *searched { " in PATH" } else { "" })]
    NotFound {
        /// As the user wrote it.
        program: String,
        /// Whether PATH was searched.
        searched: bool,
    },
    /// The file is there and cannot be run.
    #[error("cannot run {path:?}: {reason}")]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The job's own windows can't be made.
    #[error("{text}")]
    Windows {
        /// Why, and what to do.
        text: String,
    },
    /// The descriptor limit is too low.
    #[error(
        "{tasks} tasks need {need} open files in the launcher and the limit is {limit}: raise it (ulimit -n) or start fewer tasks"
    )]
    Descriptors {
        /// Tasks wanted.
        tasks: u32,
        /// Descriptors needed.
        need: u64,
        /// Hard limit.
        limit: u64,
    },
    /// A variable of the tasks that is the launcher's to set, or that is not set.
    #[error("-x {name}: {reason}")]
    Variable {
        /// The variable.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A variable that the launcher reads has a bad value.
    #[error("{setting}: {takes} is expected")]
    Environment {
        /// The variable with its value.
        setting: String,
        /// What it takes.
        takes: &'static str,
    },
    /// A process could not be made.
    #[error("cannot start task {task}: {source}; the tasks before it were ended")]
    Spawn {
        /// The task.
        task: u32,
        /// The system's reason.
        source: io::Error,
    },
    /// The store could not be set up.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Options that do not go together.
    #[error("{0}")]
    Usage(String),
    /// A file that cannot be written.
    #[error("cannot write {path:?}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Hosts that cannot be used.
    #[error("hosts {text:?}: {reason}")]
    Hosts {
        /// As the user wrote it.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// The tasks' folder can't be entered, here or on another machine.
    #[error("cannot change to the folder {path:?}: {source}")]
    Folder {
        /// The folder.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A text that is to go to another machine is not UTF-8.
    #[error("{text:?} is not UTF-8 and cannot be sent to another machine")]
    NotText {
        /// The text, as far as it can be shown.
        text: String,
    },
    /// The system refused something else.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl Fault {
    /// The launcher's exit code, as shells have it for commands they cannot run.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::Variable { .. } | Self::Environment { .. } | Self::Hosts { .. } | Self::Usage(_) => 2,
            _ => 1,
        }
    }
}
