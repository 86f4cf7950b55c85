//! A call that blocks and takes its rounds itself: what it is, and who runs it.

use crate::Signature;
use crate::board::Board;
use crate::engine::{Engine, Members};
use crate::error::CollectiveError;
use lapis_core::Context;
use std::ptr::NonNull;

/// A team as rounds need it.
#[derive(Clone, Copy)]
pub(crate) struct Team<'a> {
    pub(crate) context: &'a Context,
    pub(crate) engine: &'a Engine,
    pub(crate) members: NonNull<Members>,
}

/// An operation and who runs it. The context's lock is held; waits let go of it.
pub(crate) struct Work<'a> {
    pub(crate) at: Team<'a>,
    /// Nobody else uses it while the operation runs.
    pub(crate) board: *mut Board,
    /// The operation's number in the team.
    pub(crate) number: u32,
    pub(crate) signature: Signature,
}

/// How a step ends: errors are boxed, so that what is almost always said travels in a register.
pub(crate) type Step<T = ()> = Result<T, Box<CollectiveError>>;

/// Who is waited for.
#[derive(Clone, Copy)]
pub(super) enum Whom {
    Member(usize),
    /// All who have not come to the meeting.
    All,
}
