//! Posting commands with Send and Receive Contexts.

use crate::board::{Content, places};
use crate::contexts::{Assignment, Slot};
use crate::error::{Error, Result, of_core};
use crate::groups::joining::keeper;
use crate::matching::Bytes;
use crate::memory::Memory;
use crate::names::Name;
use crate::node::Node;
use crate::outbox::{self, Letter, Outbox};
use crate::segments::gathered;
use crate::state::State;
use crate::tree::{self, Handed, Receiver};
use crate::wire::{JOIN, OFFER, WHOLE, WHOLE_MAX, header, send_words};
use lapis_core::context::Held;
use lapis_core::message::Short;
use std::sync::Arc;

/// Where the data of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In pages: the command is a long one.
    Pages,
    /// In the context's registers, or in the pool and short.
    Short,
}

impl Slot {
    /// Checks that the context's data suits a command.
    #[inline(always)]
    fn suits(&self, form: Form) -> Result {
        let short = self.len <= crate::abi::SHORT_MAX;
        match form {
            Form::Pages if self.in_registers && self.len > 0 => Err(Error::Kind),
            Form::Short if !self.in_registers && !short => Err(Error::Kind),
            _ => Ok(()),
        }
    }

    /// Sends what is in one piece, in one packet, where nothing is in the way of that. False:
    /// nothing has happened.
    #[inline(always)]
    fn goes_at_once(&self, held: Held<'_>, task: u32, number: u32) -> bool {
        // SAFETY: the program has lent the memory to the command, which ends with this.
        let Some(data) = (unsafe { self.piece() }) else { return false };
        let words = header([number, self.tag as u32]);
        held.try_send_short(&Short::to_table(task, WHOLE, words.as_flattened(), data))
    }
}

impl State {
    /// Shows a context's data to all other members of a group, if they are several and all on this
    /// host: one write, and nothing else to do. False: nothing has happened.
    fn show_to_group(&mut self, at: usize, group: i32, me: u32, out: &mut Outbox) -> Result<bool> {
        let Self { groups, board, sends, matching, gone, .. } = self;
        let near = groups.get(group)?.near;
        let Some(writer) = board.as_mut().filter(|_| near.count_ones() > 1) else { return Ok(false) };
        let boards = Arc::clone(writer.boards());
        if !gone.is_empty() && places(near).any(|place| gone.contains(&boards.task(place))) {
            return Err(Error::Peer);
        }
        let slot = sends.get(at)?;
        let number = |place| (place, matching.number_to(boards.task(place)));
        let content = Content::Message { root: me, tag: slot.tag };
        let Some(asleep) = writer.show(content, places(near).map(number), slot.segments()) else {
            return Ok(false);
        };
        out.extend(asleep.map(|to| Letter::Look { to }));
        sends.pass(at);
        Ok(true)
    }

    /// The data of a send in one piece.
    fn copied(&mut self, at: usize) -> Result<Bytes> {
        Ok(Bytes { all: Arc::new(gathered(self.sends.get(at)?.segments())), from: 0 })
    }
}

impl Node {
    /// Assigns a Send Context, with what `data` says. Whether there is such a receiver is told to
    /// who sends.
    #[inline(always)]
    pub(crate) fn set_send(
        &self,
        wanted: Assignment,
        data: impl FnOnce(&mut Memory, &mut Slot) -> Result,
    ) -> Result<usize> {
        let State { sends, memory, .. } = &mut *self.briefly();
        sends.assign(&wanted, |slot| data(memory, slot))
    }

    /// Assigns a Receive Context, with memory that `buffer` lends.
    #[inline(always)]
    pub(crate) fn set_receive(
        &self,
        from: Name,
        mut wanted: Assignment,
        buffer: impl FnOnce(&mut Memory, &mut Slot) -> Result,
    ) -> Result<usize> {
        (wanted.peer, wanted.task) = (from, Some(self.names.task(from)?));
        let State { receives, memory, .. } = &mut *self.briefly();
        receives.assign(&wanted, |slot| buffer(memory, slot))
    }

    /// Sends to the context's receiver.
    #[inline(always)]
    pub(crate) fn send(&self, at: usize, form: Form) -> Result {
        let mut state = self.briefly();
        let (State { sends, matching, gone, .. }, held) = state.with_lock();
        let slot = sends.ready(at)?;
        slot.suits(form)?;
        let task = slot.task.ok_or(Error::Process)?;
        if gone.contains(&task) {
            return Err(Error::Peer);
        }
        let number = matching.next_to(task);
        if slot.len <= WHOLE_MAX && slot.goes_at_once(held, task, *number) {
            *number = number.wrapping_add(1);
            sends.pass(at);
            return Ok(());
        }
        drop(state);
        self.send_later(at)
    }

    /// Sends what is too long for one packet, or finds something in its way.
    #[inline(never)]
    fn send_later(&self, at: usize) -> Result {
        let mut state = self.lock();
        let slot = state.sends.ready(at)?;
        let (tag, len, task) = (slot.tag, slot.len, slot.task.ok_or(Error::Process)?);
        if state.gone.contains(&task) {
            // Since it was looked for: nobody would end the command.
            return Err(Error::Peer);
        }
        let number = state.matching.number_to(task);
        if len > WHOLE_MAX {
            let key = state.sends.post(at, Some(task))?;
            drop(state);
            let sent = send_words(&self.context, task, OFFER, [number, tag as u32, key.0]);
            if let Err(error) = sent {
                self.lock().sends.end_key(key, Err(error));
            }
            self.serve(task);
            return Ok(());
        }
        state.sends.post(at, None)?;
        // What the context itself holds stays there: nobody assigns it again before its end.
        let segments = std::mem::take(state.sends.get(at)?.segments());
        drop(state);
        let words = header([number, tag as u32]);
        let send = |data: &[u8]| self.context.send(task, WHOLE, words.as_flattened(), data).map_err(of_core);
        let sent = match &segments[..] {
            [] => send(&[]),
            // SAFETY: the program has lent the memory to the command, and this returns when it is
            // no longer needed.
            [one] => send(unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(one.address), one.len)
            }),
            several => send(&gathered(several)),
        };
        self.lock().sends.end(at, sent.map(|()| 0));
        self.serve(task);
        Ok(())
    }

    /// Takes what this process has sent to itself. Nothing else does while the program computes: no
    /// other process wakes the thread that serves arrivals, and a doorbell is to ring without a
    /// call.
    #[inline(always)]
    fn serve(&self, task: u32) {
        if task == self.context.task() {
            self.serve_itself();
        }
    }

    #[inline(never)]
    fn serve_itself(&self) {
        while self.context.progress().is_ok_and(|polled| polled.events > 0) {}
    }

    /// Waits for a message from the context's sender.
    #[inline(always)]
    pub(crate) fn receive(&self, at: usize) -> Result {
        let mut state = self.briefly();
        let State { receives, matching, .. } = &mut *state;
        let slot = receives.ready(at)?;
        let (tag, task) = (slot.tag, slot.task.ok_or(Error::Process)?);
        let waits = matching.waits(at, task, tag);
        if waits {
            receives.begin(at, Some(task));
        }
        drop(state);
        if !waits {
            self.receive_at_once(at)?;
        }
        self.serve(task);
        Ok(())
    }

    /// Takes a message that is there, or finds that none will come.
    #[inline(never)]
    fn receive_at_once(&self, at: usize) -> Result {
        let mut state = self.lock();
        let slot = state.receives.ready(at)?;
        let (tag, task) = (slot.tag, slot.task.ok_or(Error::Process)?);
        state.receives.begin(at, Some(task));
        let clear = match state.matching.post(at, task, tag) {
            Ok(None) => None,
            Ok(Some(arrival)) => state.meet_one(task, at, arrival),
            Err(()) => {
                state.receives.end(at, Err(Error::Peer));
                None
            }
        };
        drop(state);
        outbox::send(&self.context, &clear.into_iter().collect());
        Ok(())
    }

    /// Sends to all other members of a group.
    pub(crate) fn broadcast(&self, at: usize, group: i32, form: Form) -> Result {
        let me = self.context.task();
        let mut state = self.lock();
        state.sends.ready(at)?.suits(form)?;
        let mut out = Outbox::new();
        if state.show_to_group(at, group, me, &mut out)? {
            drop(state);
            outbox::send(&self.context, &out);
            return Ok(());
        }
        let members = state.groups.get(group)?.members.iter().filter(|task| *task != me).collect();
        drop(state);
        self.send_to_all(at, members, form)
    }

    /// Sends to the processes of a list.
    pub(crate) fn multicast(&self, at: usize, list: &[Name], form: Form) -> Result {
        let tasks: Vec<u32> = list.iter().map(|name| self.names.task(*name)).collect::<Result<_>>()?;
        let mut once = tasks.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() != tasks.len() {
            return Err(Error::Count);
        }
        self.send_to_all(at, tasks, form)
    }

    fn send_to_all(&self, at: usize, tasks: Vec<u32>, form: Form) -> Result {
        let mut state = self.lock();
        state.sends.ready(at)?.suits(form)?;
        if tasks.iter().any(|task| state.gone.contains(task)) {
            return Err(Error::Peer);
        }
        let me = self.context.task();
        let to_itself = tasks.contains(&me);
        let (tag, number) = (state.sends.ready(at)?.tag, |task| (task, 0));
        let mut receivers: Vec<Receiver> = tasks.into_iter().map(number).collect();
        for (task, number) in &mut receivers {
            *number = state.matching.number_to(*task);
        }
        let mut out = Outbox::new();
        let state_now = &mut *state;
        if let (Some(writer), slot) = (&mut state_now.board, state_now.sends.get(at)?) {
            tree::show(writer, me, tag, &mut receivers, slot.segments(), &mut out);
        }
        let data = if receivers.is_empty() { Bytes::default() } else { state.copied(at)? };
        state.sends.post(at, None)?;
        state.hand_on(Handed { root: me, tag, data, up: None }, &receivers, &mut out);
        drop(state);
        let sent = outbox::send_all(&self.context, &out);
        self.lock().sends.end(at, sent.map(|()| 0));
        if to_itself {
            self.serve(me);
        }
        Ok(())
    }

    /// Joins a group that is made by this.
    pub(crate) fn join_group(&self, at: usize, group: i32, size: i32) -> Result {
        let tasks = self.context.tasks();
        let mut state = self.lock();
        state.sends.ready(at)?;
        state.groups.may_join(group, size, tasks)?;
        let task = keeper(group, tasks, |task| state.gone.contains(&task));
        let key = state.sends.post(at, None)?;
        state.groups.joins(group, size, key, task);
        drop(state);
        if let Err(error) = send_words(&self.context, task, JOIN, [group as u32, size as u32]) {
            self.lock().join_fails(group, task, error);
        }
        self.serve(task);
        Ok(())
    }

    /// Waits for all members of a group to do the same.
    pub(crate) fn barrier(&self, at: usize, group: i32, size: i32) -> Result {
        let mut out = Outbox::new();
        let mut state = self.lock();
        let on_boards = state.may_enter(group, size)?;
        state.sends.post(at, None)?;
        state.sends.get(at)?.on_boards = on_boards;
        state.enter_barrier(group, at, &mut out);
        drop(state);
        outbox::send(&self.context, &out);
        Ok(())
    }
}
