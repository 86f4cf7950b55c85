//! Why a collective failed.

use crate::element::{Operator, Type};
use crate::signature::Signature;
use lapis_core::Error;
use lapis_core::error::LapiCode;
use lapis_schedules::group::GroupError;

/// Why a collective failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// Communication failed, most often because a member died.
    #[error(transparent)]
    Lapis(#[from] Error),
    /// The group is not valid for a team.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// Members' calls don't match.
    #[error(
        "task {from} calls {theirs} while this task calls {mine}: all members make the same calls in the same order"
    )]
    Mismatch {
        /// The other member's task.
        from: u32,
        /// Its call.
        theirs: Signature,
        /// This member's call.
        mine: Signature,
    },
    /// Members name different roots.
    #[error(
        "task {from} calls {call} with root {theirs} and this task with root {mine}: all members name the same root"
    )]
    Roots {
        /// The other member's task.
        from: u32,
        /// The operation.
        call: &'static str,
        /// The rank that the other member names.
        theirs: usize,
        /// The rank that this one names.
        mine: usize,
    },
    /// A member sent data of another size.
    #[error(
        "task {from} sent {got} bytes where {expected} belong: do all members make the same call with equal lengths?"
    )]
    Length {
        /// Its task.
        from: u32,
        /// Bytes that arrived.
        got: usize,
        /// Bytes that this task's call implies.
        expected: usize,
    },
    /// Members' lists of lengths by rank differ.
    #[error(
        "task {from} calls {call} with {theirs} bytes for rank {rank} and this task with {mine}: all members give the same list of lengths"
    )]
    Lengths {
        /// The other member's task.
        from: u32,
        /// The operation.
        call: &'static str,
        /// The first rank for which they differ.
        rank: usize,
        /// Bytes in the other member's list.
        theirs: u64,
        /// Bytes in this one's.
        mine: u64,
    },
    /// Members' calls are the same, but a message of one is not in the other.
    #[error(
        "task {from} and this task do not agree about the messages between them in {call}: all members give \
         the same receivers of a multicast, and both ends of an edge name it; LAPIS_COLLECTIVES is the same at all"
    )]
    Unmatched {
        /// The other member's task.
        from: u32,
        /// The operation.
        call: &'static str,
    },
    /// A member was purged or restarted since the team was created, so that messages of the team
    /// may be lost.
    #[error(
        "the team is over: task {task}, a member, was purged or restarted; without a restart another team can be made"
    )]
    Over {
        /// The member.
        task: u32,
    },
    /// A member died, or terminated its context.
    #[error("the team is over: task {task}, a member, can't be reached any more")]
    Gone {
        /// The member.
        task: u32,
    },
    /// Another member found calls that don't match.
    #[error("the team is over: task {task}, a member, found calls that don't match")]
    Broken {
        /// The member that found it.
        task: u32,
    },
    /// A member has not called in time, or nothing has come from it.
    #[error(
        "nothing has come from task {task}, a member, for {call} within {seconds} s (TIMEOUT): has it called?"
    )]
    Silent {
        /// The member that did not answer when it was asked how far it is; if all have answered,
        /// the one that was waited for.
        task: u32,
        /// The operation.
        call: &'static str,
        /// How long.
        seconds: u64,
    },
    /// The input of another member can't be read.
    #[error(
        "{bytes} bytes at {address:#x} of task {from} can't be read: is the whole of its input ordinary memory? \
         LAPIS_SHM_COPY=double has data copied twice instead"
    )]
    Unreadable {
        /// The member's task.
        from: u32,
        /// The address there.
        address: u64,
        /// Bytes.
        bytes: usize,
    },
    /// The root is no member.
    #[error("root {root} of a team of {members} members")]
    Root {
        /// The root.
        root: usize,
        /// Members.
        members: usize,
    },
    /// The lengths are invalid.
    #[error("{call} of {count} elements of {size} bytes at {members} members is more than an address space")]
    Overflow {
        /// The operation.
        call: &'static str,
        /// Elements.
        count: usize,
        /// Bytes of each.
        size: usize,
        /// Members.
        members: usize,
    },
    /// The operator is not defined on this type.
    #[error("operator {operator:?} on elements of type {element:?}")]
    Operator {
        /// The operator; `None`: the call needs one.
        operator: Option<Operator>,
        /// The type.
        element: Type,
    },
    /// A buffer is too short.
    #[error("{call} needs {needed} elements of {what}, and was given {given}")]
    Buffer {
        /// The operation.
        call: &'static str,
        /// Which buffer.
        what: &'static str,
        /// Elements that it needs.
        needed: usize,
        /// Elements that it has.
        given: usize,
    },
    /// Lists by rank have as many entries as there are members.
    #[error("{given} counts or places for {members} members")]
    Parts {
        /// Entries.
        given: usize,
        /// Members.
        members: usize,
    },
    /// The two lengths of a member's part for itself differ.
    #[error(
        "{call}: the caller's part for itself has {given} elements where it is given and {got} where it is got"
    )]
    OwnPart {
        /// The operation.
        call: &'static str,
        /// Elements in the input.
        given: usize,
        /// Elements in the output.
        got: usize,
    },
    /// An edge leads to no member.
    #[error("an edge to rank {rank} of a team of {members} members")]
    Edge {
        /// The rank.
        rank: usize,
        /// Members.
        members: usize,
    },
    /// The variable `LAPIS_COLLECTIVES` can't be parsed.
    #[error("LAPIS_COLLECTIVES: {why}")]
    Variable {
        /// The reason.
        why: String,
    },
    /// A persistent operation was started while in progress.
    #[error("the operation has been started already")]
    Busy,
}

/// The result of collectives.
pub type Result<T, E = CollectiveError> = std::result::Result<T, E>;

impl CollectiveError {
    /// Members make different calls, as far as their signatures say.
    pub(crate) fn mismatch(from: u32, theirs: Signature, mine: Signature) -> Self {
        match theirs.other_root(mine) {
            Some((theirs, of_me)) => Self::Roots { from, call: mine.name(), theirs, mine: of_me },
            None => Self::Mismatch { from, theirs, mine },
        }
    }

    /// The same failure, met by what has been done for a call with this signature.
    pub(crate) fn for_call(self, mine: Signature) -> Self {
        match self {
            Self::Mismatch { from, theirs, .. } => Self::mismatch(from, theirs, mine),
            Self::Unmatched { from, .. } => Self::Unmatched { from, call: mine.name() },
            Self::Silent { task, seconds, .. } => Self::Silent { task, call: mine.name(), seconds },
            other => other,
        }
    }

    /// The error code of C programs.
    pub fn code(&self) -> LapiCode {
        match self {
            Self::Lapis(error) => error.code(),
            Self::Group(_) => LapiCode::OWN_GROUP,
            Self::Mismatch { .. }
            | Self::Roots { .. }
            | Self::Length { .. }
            | Self::Lengths { .. }
            | Self::Unmatched { .. } => LapiCode::OWN_MISMATCH,
            Self::Over { .. } | Self::Gone { .. } | Self::Broken { .. } => LapiCode::OWN_TEAM_OVER,
            Self::Silent { .. } => LapiCode::ERR_TIMEOUT,
            Self::Root { .. } | Self::Edge { .. } => LapiCode::OWN_ROOT,
            Self::Overflow { .. } | Self::Parts { .. } | Self::OwnPart { .. } => LapiCode::OWN_COUNT,
            Self::Operator { .. } => LapiCode::OWN_OP,
            Self::Buffer { .. } | Self::Unreadable { .. } => LapiCode::OWN_BUFFER,
            Self::Variable { .. } => LapiCode::ERR_SET_VAL,
            Self::Busy => LapiCode::OWN_BUSY,
        }
    }

    /// The member that it concerns, if any.
    pub fn member(&self) -> Option<u32> {
        match self {
            Self::Mismatch { from: task, .. }
            | Self::Roots { from: task, .. }
            | Self::Unmatched { from: task, .. }
            | Self::Length { from: task, .. }
            | Self::Lengths { from: task, .. }
            | Self::Over { task }
            | Self::Gone { task }
            | Self::Broken { task }
            | Self::Unreadable { from: task, .. }
            | Self::Silent { task, .. } => Some(*task),
            _ => None,
        }
    }

    /// As an error that belongs to no call, for the context's error handler.
    pub fn into_core(self) -> Error {
        tracing::debug!(target: "lapis::call", "a collective that nobody waits for: {self}");
        match self {
            Self::Lapis(error) => error,
            other => Error::Invalid { what: "a collective that nobody waits for", code: other.code() },
        }
    }

    /// The consequence for the team of task `me`, which has detected it.
    pub(crate) fn cause(&self, me: u32) -> Cause {
        match self {
            Self::Over { task } => Cause::Renewed(*task),
            Self::Gone { task } | Self::Silent { task, .. } => Cause::Gone(*task),
            Self::Broken { task } => Cause::Broken(*task),
            _ => Cause::Broken(me),
        }
    }
}

/// The consequence of a failed message to a member for its team.
pub(crate) fn lost(task: u32, error: Error) -> CollectiveError {
    match error {
        Error::TargetDown { .. } => Cause::Gone(task).error(),
        Error::Purged { .. } => Cause::Renewed(task).error(),
        other => other.into(),
    }
}

/// Why a team has ended, in a form that is stored and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Renewed(u32),
    Gone(u32),
    Broken(u32),
}

impl Cause {
    pub(crate) fn task(self) -> u32 {
        match self {
            Self::Renewed(task) | Self::Gone(task) | Self::Broken(task) => task,
        }
    }

    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Renewed(_) => 0,
            Self::Gone(_) => 1,
            Self::Broken(_) => 2,
        }
    }

    pub(crate) fn from_code(code: u32, task: u32) -> Self {
        match code {
            0 => Self::Renewed(task),
            1 => Self::Gone(task),
            _ => Self::Broken(task),
        }
    }

    pub(crate) fn error(self) -> CollectiveError {
        match self {
            Self::Renewed(task) => CollectiveError::Over { task },
            Self::Gone(task) => CollectiveError::Gone { task },
            Self::Broken(task) => CollectiveError::Broken { task },
        }
    }
}
