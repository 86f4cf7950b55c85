//! Messages to be sent once the state is no longer locked.

use crate::contexts::Key;
use crate::error::{Error, Result};
use crate::tree::handing::Handing;
use crate::wire::{BROKEN, CLEAR, CONFIRM, ENTERED, FORMED, JOIN, LOOK, NOTICE, send_words};
use lapis_core::Context;

/// A message to another process's library.
pub(crate) enum Letter {
    /// A command of the receiver's that sends may go on: this process's command waits for it.
    Clear { to: u32, send: u32, receive: Key },
    /// This process is in a round of a group's barrier.
    Notice { to: u32, group: i32, round: usize },
    /// This process has entered a group's next barrier.
    Entered { to: u32, group: i32 },
    /// A group's barrier of this number can't end any more, nor can those after it.
    Broken { to: u32, group: i32, barrier: u64 },
    /// There is something on this process's board.
    Look { to: u32 },
    /// A request to join a group of this size, for its keeper.
    Join { to: u32, group: i32, size: i32 },
    /// A request to join a group has failed.
    Refusal { to: u32, group: i32, error: Error },
    /// A message for several processes.
    HandOn(Handing),
    /// All to whom this process was to hand a message on have it.
    Confirm { to: u32, number: u32 },
}

pub(crate) type Outbox = Vec<Letter>;

/// Sends letters. Whoever is gone needs none: what its end means is told elsewhere.
pub(crate) fn send(context: &Context, letters: &Outbox) {
    let _ = send_all(context, letters);
}

/// The same. Gives the first error; the other letters are sent all the same.
pub(crate) fn send_all(context: &Context, letters: &Outbox) -> Result {
    let mut outcome = Ok(());
    for letter in letters {
        outcome = outcome.and(letter.send(context));
    }
    outcome
}

impl Letter {
    fn send(&self, context: &Context) -> Result {
        match *self {
            Self::Clear { to, send, receive } => send_words(context, to, CLEAR, [send, receive.0]),
            Self::Notice { to, group, round } => {
                send_words(context, to, NOTICE, [group as u32, round as u32])
            }
            Self::Entered { to, group } => send_words(context, to, ENTERED, [group as u32]),
            Self::Broken { to, group, barrier } => {
                send_words(context, to, BROKEN, [group as u32, barrier as u32])
            }
            Self::Look { to } => send_words(context, to, LOOK, []),
            Self::Join { to, group, size } => send_words(context, to, JOIN, [group as u32, size as u32]),
            Self::Refusal { to, group, error } => {
                send_words(context, to, FORMED, [group as u32, error.number() as u32])
            }
            Self::HandOn(ref handing) => handing.send(context),
            Self::Confirm { to, number } => send_words(context, to, CONFIRM, [number]),
        }
    }
}
