//! One message for many processes.
//!
//! The sender hands the message on to a few processes, each of which hands it on to its part of the
//! rest: a binomial tree over the list of receivers, which travels with the message. This is the
//! only file that knows how; the collectives' multicast can take its place.

use crate::error::Result;
use crate::matching::Bytes;
use crate::protocol::{TREE, send_owned, words_of};
use lapis_core::Context;

/// A receiver: its task, and the number of this message among those of the sender to it.
pub(crate) type Receiver = (u32, u32);

/// Bytes that a receiver takes in the list.
const ENTRY: usize = 8;

/// Sends `data` of task `root` on to the receivers.
///
/// A receiver that is gone is left out, and its part of the list goes to the next one.
pub(crate) fn spread(context: &Context, root: u32, tag: i32, receivers: &[Receiver], data: &Bytes) -> Result {
    let mut outcome = Ok(());
    let mut rest = receivers;
    while !rest.is_empty() {
        // The larger part goes first: its way is the longest.
        let (mine, part) = rest.split_at(rest.len() / 2);
        rest = mine;
        for first in 0..part.len() {
            let sent = hand_on(context, root, tag, &part[first..], data);
            if sent.is_ok() {
                break;
            }
            outcome = sent;
        }
    }
    outcome
}

/// Sends the message to the first of the list, which sends it on to the others.
fn hand_on(context: &Context, root: u32, tag: i32, list: &[Receiver], data: &Bytes) -> Result {
    let words = [tag as u32, root, list.len() as u32];
    let head = list.iter().flat_map(|(task, number)| [*task, *number]).flat_map(u32::to_le_bytes).collect();
    send_owned(context, list[0].0, TREE, &words, head, data.clone())
}

/// A message as it comes from `hand_on`.
pub(crate) struct Part {
    pub(crate) root: u32,
    pub(crate) tag: i32,
    /// This process's number of the message.
    pub(crate) number: u32,
    /// Whom it is to be handed on to.
    pub(crate) rest: Vec<Receiver>,
    pub(crate) data: Bytes,
}

/// Reads a message. `None`: it is malformed.
pub(crate) fn parse(user_header: &[u8], data: Vec<u8>) -> Option<Part> {
    let [tag, root, count] = words_of(user_header)?;
    let list = data.get(..(count as usize).checked_mul(ENTRY)?)?;
    let mut receivers = list.chunks_exact(ENTRY).filter_map(|entry| {
        let [task, number] = words_of(entry)?;
        Some((task, number))
    });
    let (_, number) = receivers.next()?;
    let rest = receivers.collect();
    let from = list.len();
    Some(Part { root, tag: tag as i32, number, rest, data: Bytes { all: std::sync::Arc::new(data), from } })
}
