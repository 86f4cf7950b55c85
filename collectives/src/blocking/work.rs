//! A call that blocks and takes its rounds itself: what it is, and who runs it.

use crate::board::Board;
use crate::combine::Fold;
use crate::engine::{Engine, Members};
use crate::{Call, Signature};
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
    pub(crate) call: &'a Call<'a>,
    /// The operation's number in the team.
    pub(crate) number: u32,
    pub(crate) signature: Signature,
    pub(crate) fold: &'a Fold,
    pub(crate) input: *const u8,
    pub(crate) output: *mut u8,
}

/// Who is waited for.
#[derive(Clone, Copy)]
pub(super) enum Whom {
    Member(usize),
    /// All who have not come to the meeting.
    All,
}
