//! The commands that calls post, in terms of Send and Receive Contexts.

use crate::abi::{doorbell, state_of};
use crate::contexts::Assignment;
use crate::error::{Error, Result, of_core};
use crate::groups::keeper;
use crate::matching::Bytes;
use crate::memory::Segment;
use crate::names::Name;
use crate::node::{Node, State};
use crate::outbox::{self, Outbox};
use crate::protocol::{JOIN, OFFER, WHOLE, WHOLE_MAX, gathered, header, send_words};
use crate::tree::{self, Receiver};
use lapis_core::sync::{AtomicI32, spin_loop};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Looks at boards between two looks at everything.
const LOOKS: u32 = 64;

/// How long a wait looks at boards by itself. Where cores are wanted, each look gives one away.
const AWAKE: Duration = Duration::from_micros(200);
const AWAKE_WHEN_CROWDED: Duration = Duration::from_millis(2);

/// Where the data of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In pages: the command is a long one.
    Pages,
    /// In the context's registers, or in the pool and short.
    Short,
}

impl State {
    /// Checks that a context's data suits a command.
    fn suits(&mut self, at: usize, form: Form) -> Result {
        let slot = self.sends.ready(at)?;
        let short = slot.len <= crate::abi::SHORT_MAX;
        match form {
            Form::Pages if slot.in_registers && slot.len > 0 => Err(Error::Kind),
            Form::Short if !slot.in_registers && !short => Err(Error::Kind),
            _ => Ok(()),
        }
    }

    /// The data of a send in one piece.
    fn copied(&mut self, at: usize) -> Result<Bytes> {
        let slot = self.sends.get(at)?;
        let all = if slot.in_registers { slot.registers.clone() } else { gathered(&slot.segments) };
        Ok(Bytes { all: Arc::new(all), from: 0 })
    }
}

impl Node {
    /// Assigns a Send Context.
    pub(crate) fn set_send(&self, wanted: Assignment<'_>) -> Result<usize> {
        self.shared.lock().sends.assign(wanted)
    }

    /// Assigns a Receive Context.
    pub(crate) fn set_receive(&self, wanted: Assignment<'_>) -> Result<usize> {
        self.shared.lock().receives.assign(wanted)
    }

    /// Sends to the context's receiver.
    pub(crate) fn send(&self, at: usize, form: Form) -> Result {
        let mut state = self.shared.lock();
        state.suits(at, form)?;
        let slot = state.sends.ready(at)?;
        let (tag, len) = (slot.tag, slot.len);
        let task = self.names.task(slot.peer.ok_or(Error::Process)?)?;
        if state.gone.contains(&task) {
            return Err(Error::Peer);
        }
        let number = state.matching.number_to(task);
        if len > WHOLE_MAX {
            let key = state.sends.post(at, Some(task))?;
            drop(state);
            let sent = send_words(&self.context, task, OFFER, [number, tag as u32, key.0]);
            if let Err(error) = sent {
                self.shared.lock().sends.end_key(key, Err(error));
            }
            self.serve(task);
            return Ok(());
        }
        state.sends.post(at, None)?;
        let slot = state.sends.get(at)?;
        let registers = std::mem::take(&mut slot.registers);
        let (in_registers, segments) = (slot.in_registers, std::mem::take(&mut slot.segments));
        drop(state);
        let words = header([number, tag as u32]);
        let send = |data: &[u8]| self.context.send(task, WHOLE, words.as_flattened(), data).map_err(of_core);
        let sent = match &segments[..] {
            _ if in_registers => send(&registers),
            [] => send(&[]),
            // SAFETY: the program has lent the memory to the command, and this returns when it is
            // no longer needed.
            [one] => send(unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(one.address), one.len)
            }),
            several => send(&gathered(several)),
        };
        let mut state = self.shared.lock();
        if let Ok(slot) = state.sends.get(at) {
            slot.registers = registers;
        }
        state.sends.end(at, sent.map(|()| 0));
        drop(state);
        self.serve(task);
        Ok(())
    }

    /// Takes what this process has sent to itself. Nothing else does while the program computes: no
    /// other process wakes the thread that serves arrivals, and a doorbell is to ring without a
    /// call.
    fn serve(&self, task: u32) {
        while task == self.context.task() && self.context.progress().is_ok_and(|polled| polled.events > 0) {}
    }

    /// Waits for a message from the context's sender.
    pub(crate) fn receive(&self, at: usize) -> Result {
        let mut state = self.shared.lock();
        let slot = state.receives.ready(at)?;
        let tag = slot.tag;
        let task = self.names.task(slot.peer.ok_or(Error::Process)?)?;
        state.receives.post(at, Some(task))?;
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
        self.serve(task);
        Ok(())
    }

    /// Sends to all other members of a group.
    pub(crate) fn broadcast(&self, at: usize, group: i32, form: Form) -> Result {
        let me = self.context.task();
        let state = self.shared.lock();
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
        let mut state = self.shared.lock();
        state.suits(at, form)?;
        if tasks.iter().any(|task| state.gone.contains(task)) {
            return Err(Error::Peer);
        }
        let me = self.context.task();
        let (tag, number) = (state.sends.ready(at)?.tag, |task| (task, 0));
        let mut receivers: Vec<Receiver> = tasks.into_iter().map(number).collect();
        for (task, number) in &mut receivers {
            *number = state.matching.number_to(*task);
        }
        let mut out = Outbox::new();
        let state_now = &mut *state;
        if let (Some(writer), slot) = (&mut state_now.board, state_now.sends.get(at)?) {
            let registers = segment_of(slot.registers.as_slice());
            let data = if slot.in_registers { &[registers][..] } else { &slot.segments };
            tree::show(writer, me, tag, &mut receivers, data, &mut out);
        }
        let rest = if receivers.is_empty() { Bytes::default() } else { state.copied(at)? };
        state.sends.post(at, None)?;
        let hosts = Arc::clone(&state.hosts);
        drop(state);
        outbox::send(&self.context, &out);
        let sent = tree::spread(&self.context, &hosts, (me, tag), &receivers, &rest);
        self.shared.lock().sends.end(at, sent.map(|()| 0));
        self.serve(me);
        Ok(())
    }

    /// Joins a group that is made by this.
    pub(crate) fn join_group(&self, at: usize, group: i32, size: i32) -> Result {
        let tasks = self.context.tasks();
        let task = keeper(group, tasks);
        let mut state = self.shared.lock();
        state.sends.ready(at)?;
        state.groups.may_join(group, size, tasks)?;
        if state.gone.contains(&task) {
            return Err(Error::Peer);
        }
        let key = state.sends.post(at, None)?;
        state.groups.joins(group, key);
        drop(state);
        if let Err(error) = send_words(&self.context, task, JOIN, [group as u32, size as u32]) {
            self.shared.lock().sends.end_key(key, Err(error));
        }
        self.serve(task);
        Ok(())
    }

    /// Waits for all members of a group to do the same.
    pub(crate) fn barrier(&self, at: usize, group: i32, size: i32) -> Result {
        let mut out = Outbox::new();
        let mut state = self.shared.lock();
        let on_boards = state.may_enter(group, size)?;
        state.sends.post(at, None)?;
        state.sends.get(at)?.on_boards = on_boards;
        state.enter_barrier(group, at, &mut out);
        drop(state);
        outbox::send(&self.context, &out);
        Ok(())
    }

    /// Waits for a command's end. Gives the bytes received, or 0.
    pub(crate) fn poll(&self, at: usize, sending: bool) -> Result<usize> {
        let bells = if sending { &self.shared.hps.send_doorbell } else { &self.shared.hps.receive_doorbell };
        let bell = bells.get(at).ok_or(Error::Context)?;
        if state_of(bell) != doorbell::DONE {
            if self.may_poll(at, sending)? {
                self.watch(bell);
            }
            self.context.wait_until(|| state_of(bell) == doorbell::DONE).map_err(of_core)?;
        }
        let mut state = self.shared.lock();
        let outcome = if sending { state.sends.collect(at) } else { state.receives.collect(at) };
        outcome.map(|bytes| bytes as usize)
    }

    /// Whether a context has a command to wait for, and whether its end may be found on a board.
    fn may_poll(&self, at: usize, sending: bool) -> Result<bool> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        if sending {
            state.sends.may_poll(at)?;
            return Ok(state.sends.get(at)?.on_boards);
        }
        state.receives.may_poll(at)?;
        let sender = state.receives.get(at)?.waits_for;
        Ok(sender.is_some_and(|task| state.matching.may_come_by_board(task)))
    }

    /// Looks at boards, and at all else now and then, until a doorbell rings or that has taken so
    /// long that others had better wake this process.
    fn watch(&self, bell: &AtomicI32) {
        let Some(boards) = &self.boards else { return };
        let rings = || state_of(bell) == doorbell::DONE;
        let crowded = self.context.is_crowded();
        let (looks, limit) = if crowded { (1, AWAKE_WHEN_CROWDED) } else { (LOOKS, AWAKE) };
        boards.begin_watching();
        let since = Instant::now();
        'watching: loop {
            for _ in 0..looks {
                if boards.has_news() {
                    self.shared.look(&self.context);
                }
                if rings() {
                    break 'watching;
                }
                spin_loop();
            }
            if self.context.progress().is_err() || since.elapsed() >= limit {
                break;
            }
        }
        boards.end_watching();
        if boards.has_news() {
            self.shared.look(&self.context);
        }
    }

    /// Locked memory, tokens, the pool.
    pub(crate) fn with_memory<T>(&self, f: impl FnOnce(&mut crate::memory::Memory) -> T) -> T {
        f(&mut self.shared.lock().memory)
    }
}

/// A segment of a slice.
pub(crate) fn segment_of(bytes: *const [u8]) -> Segment {
    Segment { address: bytes.cast::<u8>().expose_provenance(), len: bytes.len() }
}
