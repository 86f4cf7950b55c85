//! What a case is run on.

use lapis_core::transport::abi::TransportOps;

/// Where the transport comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A table linked into the test.
    Linked(fn() -> &'static TransportOps),
    /// A plugin's file: a path, or a name that is looked for beside the test's executable, where
    /// cargo puts it.
    File(&'static str),
    /// A linked table with faults, written as in `LAPIS_CHAOS`. For cases of traffic: those about
    /// exact answers see the faults' answers.
    Chaotic(fn() -> &'static TransportOps, &'static str),
}

/// How the tasks of a case live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One task, its own peer.
    Alone,
    /// Several tasks, each a thread with its own instance.
    Threads,
    /// Several tasks, each a process.
    Processes,
}

/// Variables that a transport is configured by, instead of those of the process. `{task}` in a
/// value stands for the task's number.
pub type Options = &'static [(&'static str, &'static str)];

/// Those of the process count.
pub const NO_OPTIONS: Options = &[];
