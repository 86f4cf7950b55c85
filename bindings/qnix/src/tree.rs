//! Multicasting one message to many processes.
//!
//! Receivers of the sender's own host read the message on its board (`board`). To the others the
//! sender hands it on: to a few processes, each of which hands it on to its part of the rest, a
//! binomial tree over their hosts. Each receiver puts it on its board for the others of its host.
//! The list of receivers travels with the message, each with the number of the message among those
//! of the sender to it, so that every receiver takes messages in the order in which they were sent,
//! whatever way they came.
//!
//! The multicast of the crate `collectives` is a call that all members make. Here receivers call
//! nothing: they may post a Receive Context much later, or have posted one for any message with the
//! tag.

use crate::board::{Content, Writer};
use crate::matching::Bytes;
use crate::outbox::{self, Letter, Outbox};
use crate::segments::Segment;
use crate::state::{Shared, State};
use crate::wire::words_of;
use forwards::Forward;
use handing::UNCONFIRMED;
use lapis_core::Context;
use std::ffi::c_void;
use std::sync::Arc;

pub(crate) mod forwards;
pub(crate) mod handing;

pub(crate) use handing::{Handed, Handing, Receiver, Up};

/// Bytes that a receiver takes in the list.
const ENTRY: usize = 8;

/// Shows a message to those receivers that read this process's board, if they are several: one
/// write for all of them. The others stay in the list.
pub(crate) fn show(
    writer: &mut Writer,
    root: u32,
    tag: i32,
    receivers: &mut Vec<Receiver>,
    data: &[Segment],
    out: &mut Outbox,
) {
    let boards = Arc::clone(writer.boards());
    let near = receivers.iter().filter_map(|(task, number)| Some((boards.place_of_other(*task)?, *number)));
    if near.clone().nth(1).is_none() {
        return;
    }
    let shown = writer.show(Content::Message { root, tag }, near, data).map(|asleep| {
        out.extend(asleep.map(|to| Letter::Look { to }));
    });
    if shown.is_some() {
        receivers.retain(|(task, _)| boards.place_of_other(*task).is_none());
    }
}

impl State {
    /// Hands a message on to the receivers.
    ///
    /// Those of one host stand together in the list and are handed to one of them, which shows them
    /// to the others. A receiver that is gone is left out, and its part of the list goes to the
    /// next one.
    pub(crate) fn hand_on(&mut self, message: Handed, receivers: &[Receiver], out: &mut Outbox) {
        let Self { forwards, shared, gone, hosts, me, .. } = self;
        let host_of = |task: u32| hosts.get(task as usize).copied().unwrap_or(task);
        let living: Vec<Receiver> =
            receivers.iter().filter(|(task, _)| !gone.contains(task)).copied().collect();
        let hosts = by_host(&living, host_of(*me), host_of);
        let mut rest = &hosts[..];
        while !rest.is_empty() {
            // The larger part goes first: its way is the longest.
            let (mine, part) = rest.split_at(rest.len() / 2);
            rest = mine;
            let list: Vec<Receiver> = part.concat();
            let confirmed = forwards.begin(&message, &list);
            let Handed { root, tag, ref data, .. } = message;
            let (data, shared) = (data.clone(), shared.as_ptr().expose_provenance());
            out.push(Letter::HandOn(Handing { list, root, tag, data, confirmed, ended, shared }));
        }
        out.extend(forwards::confirmation(message.up));
    }

    /// A receiver confirms that it and all behind it have a message.
    pub(crate) fn confirmed(&mut self, number: u32, out: &mut Outbox) {
        out.extend(self.forwards.arrived(number));
    }

    /// A task is gone: what it was to hand on goes to those behind it by another way.
    pub(crate) fn forwarder_gone(&mut self, task: u32, out: &mut Outbox) {
        for Forward { behind, message, .. } in self.forwards.of_gone(task) {
            self.hand_on(message, &behind, out);
        }
    }
}

/// A message to a receiver with nobody behind it is there, or can't get there.
///
/// # Safety
/// `shared` is the address of what the handlers of the context have.
unsafe fn ended(context: &Context, _: u32, shared: usize, number: *mut c_void, _: bool) {
    // SAFETY: the caller's promise; the context keeps its handlers.
    let shared = unsafe { &*std::ptr::with_exposed_provenance::<Shared>(shared) };
    let letter = shared.lock(context).forwards.arrived(number.addr() as u32);
    outbox::send(context, &letter.into_iter().collect());
}

/// Receivers by their hosts. Those of this one are left to themselves: whoever hands messages on to
/// them has no board for them.
fn by_host(receivers: &[Receiver], here: u32, host_of: impl Fn(u32) -> u32) -> Vec<Vec<Receiver>> {
    let mut hosts: Vec<(u32, Vec<Receiver>)> = Vec::new();
    for receiver in receivers {
        let host = host_of(receiver.0);
        match hosts.iter_mut().find(|(known, _)| *known == host && host != here) {
            Some((_, list)) => list.push(*receiver),
            None => hosts.push((host, vec![*receiver])),
        }
    }
    hosts.into_iter().map(|(_, list)| list).collect()
}

/// A message as it comes from whoever hands it on.
pub(crate) struct Part {
    pub(crate) root: u32,
    pub(crate) tag: i32,
    /// This process's number of the message.
    pub(crate) number: u32,
    /// Whom it is to be handed on to.
    pub(crate) rest: Vec<Receiver>,
    /// What is named to confirm that they have it, if somebody wants to know.
    pub(crate) confirm: Option<u32>,
    pub(crate) data: Bytes,
}

/// Reads a message. `None`: it is malformed.
pub(crate) fn parse(user_header: &[u8], data: Vec<u8>) -> Option<Part> {
    let [tag, root, count, confirm] = words_of(user_header)?;
    let list = data.get(..(count as usize).checked_mul(ENTRY)?)?;
    let mut receivers = list.chunks_exact(ENTRY).filter_map(|entry| {
        let [task, number] = words_of(entry)?;
        Some((task, number))
    });
    let (_, number) = receivers.next()?;
    let rest = receivers.collect();
    let from = list.len();
    let confirm = Some(confirm).filter(|number| *number != UNCONFIRMED);
    Some(Part { root, tag: tag as i32, number, rest, confirm, data: Bytes { all: Arc::new(data), from } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_of_one_host_stand_together_and_those_of_this_one_alone() {
        let list = [(0, 9), (4, 1), (1, 2), (5, 3), (8, 4), (2, 5)];
        let hosts = by_host(&list, 0, |task| task / 4);
        let (near, far) = (vec![vec![(0, 9)], vec![(1, 2)], vec![(2, 5)]], [(4, 1), (5, 3)]);
        assert_eq!(hosts.iter().filter(|host| host.len() == 1 && host[0].0 < 4).count(), near.len());
        assert!(hosts.contains(&far.to_vec()) && hosts.contains(&vec![(8, 4)]), "{hosts:?}");
        assert_eq!(hosts.concat().len(), list.len());
    }
}
