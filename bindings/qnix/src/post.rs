//! The commands that calls post, in terms of Send and Receive Contexts.

use crate::abi::{doorbell, state_of};
use crate::board::{Content, places};
use crate::contexts::{Assignment, Data, Slot};
use crate::error::{Error, Result, of_core};
use crate::groups::keeper;
use crate::matching::Bytes;
use crate::memory::{Memory, Segments};
use crate::names::Name;
use crate::node::{Node, State};
use crate::outbox::{self, Letter, Outbox};
use crate::protocol::{JOIN, OFFER, WHOLE, WHOLE_MAX, gathered, header, send_words};
use crate::tree::{self, Receiver};
use lapis_core::Context;
use lapis_core::context::Access;
use lapis_core::message::Short;
use lapis_core::sync::spin_loop;
use std::sync::Arc;

/// Looks at one word alone between two at all of them, and how often those are.
const LOOKS: u32 = 64;
const ROUNDS_OF_LOOKS: u32 = 24;

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
    #[inline]
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
    #[inline]
    fn goes_at_once(&self, context: &Context, task: u32, number: u32) -> bool {
        let data = match &self.segments {
            _ if self.in_registers => self.registers.as_slice(),
            Segments::None => &[],
            // SAFETY: the program has lent the memory to the command, which ends with this.
            Segments::One(one) => unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(one.address), one.len)
            },
            Segments::Several(_) => return false,
        };
        let words = header([number, self.tag as u32]);
        context.try_send_short(&Short::to_table(task, WHOLE, words.as_flattened(), data))
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
        let Some(asleep) = writer.show(content, places(near).map(number), &slot.segments) else {
            return Ok(false);
        };
        out.extend(asleep.map(|to| Letter::Look { to }));
        sends.pass(at);
        Ok(true)
    }

    /// Whether a context has a command to wait for, and whether its end may be found on a board.
    #[inline]
    fn may_poll(&mut self, at: usize, sending: bool) -> Result<bool> {
        if sending {
            self.sends.may_poll(at)?;
            return Ok(self.sends.get(at)?.on_boards);
        }
        self.receives.may_poll(at)?;
        let sender = self.receives.get(at)?.waits_for;
        Ok(sender.is_some_and(|task| self.matching.may_come_by_board(task)))
    }

    /// A thread begins to wait, for what may stand on a board or not. It looks afterwards.
    ///
    /// As long as several wait, none begins to look once one of them has gone to sleep: what is
    /// asked for by message wakes all.
    #[inline]
    pub(crate) fn begins_to_wait(&mut self, by_board: bool) {
        self.waits += 1;
        if let (true, 1, Some(writer)) = (by_board, self.waits, &self.board)
            && !writer.boards().is_watching()
        {
            writer.boards().begin_watching();
        }
    }

    /// It ends. Says whether it has to look once more: a process whose doorbells ring without calls
    /// is asked to look from now on. One that polls goes on with its next call.
    #[inline]
    pub(crate) fn ends_to_wait(&mut self, interrupts: bool) -> bool {
        self.waits -= 1;
        interrupts && self.rests()
    }

    /// Nobody waits for now: this process has to be asked to look. Says whether it has to look once
    /// more.
    pub(crate) fn rests(&mut self) -> bool {
        self.waits == 0 && self.stops_watching()
    }

    /// A thread is about to sleep, and has to be asked to look from now on. Says whether somebody
    /// who waits had better look first.
    pub(crate) fn sleeps(&mut self) -> bool {
        self.stops_watching();
        let boards = self.board.as_ref().map(|writer| writer.boards());
        if self.waits > 0
            && let Some(boards) = boards.filter(|boards| boards.has_news())
        {
            // Who waits finds that out by itself, and takes it.
            boards.begin_watching();
            return true;
        }
        self.waits > 0 && self.words_have_news()
    }

    /// Whether this process has looked without being asked to.
    fn stops_watching(&mut self) -> bool {
        let boards = self.board.as_ref().map(|writer| writer.boards());
        let watching = boards.filter(|boards| boards.is_watching());
        watching.inspect(|boards| boards.end_watching()).is_some()
    }

    /// A message has asked this process to look, or who was about to send one may be gone.
    pub(crate) fn answer(&self) {
        self.board.iter().for_each(|writer| writer.boards().answer());
    }

    /// The data of a send in one piece.
    fn copied(&mut self, at: usize) -> Result<Bytes> {
        Ok(Bytes { all: Arc::new(gathered(&self.sends.get(at)?.segments)), from: 0 })
    }
}

impl Node {
    /// Assigns a Send Context. Whether there is such a receiver is told to who sends.
    #[inline(always)]
    pub(crate) fn set_send(&self, mut wanted: Assignment, data: Data<'_>) -> Result<usize> {
        wanted.task = wanted.peer.and_then(|peer| self.names.task(peer).ok());
        self.lock().sends.assign(&wanted, data)
    }

    /// Assigns a Receive Context, with memory that `segments` finds.
    #[inline(always)]
    pub(crate) fn set_receive(
        &self,
        from: Name,
        mut wanted: Assignment,
        segments: impl FnOnce(&Memory) -> Result<Segments>,
    ) -> Result<usize> {
        (wanted.peer, wanted.task) = (Some(from), Some(self.names.task(from)?));
        let mut state = self.lock();
        let segments = segments(&state.memory)?;
        state.receives.assign(&wanted, Data::Lent(segments))
    }

    /// Sends to the context's receiver.
    #[inline]
    pub(crate) fn send(&self, at: usize, form: Form) -> Result {
        let mut state = self.lock();
        let now = &mut *state;
        let slot = now.sends.ready(at)?;
        slot.suits(form)?;
        let (tag, len, task) = (slot.tag, slot.len, slot.task.ok_or(Error::Process)?);
        if now.gone.contains(&task) {
            return Err(Error::Peer);
        }
        let sent = |number| slot.goes_at_once(&self.context, task, number);
        if len <= WHOLE_MAX && now.matching.number_if(task, sent) {
            now.sends.pass(at);
            return Ok(());
        }
        self.send_later(state, at, (task, tag), len)
    }

    /// Sends what is too long for one packet, or finds something in its way.
    #[inline(never)]
    fn send_later(
        &self,
        mut state: Access<'_, State>,
        at: usize,
        (task, tag): (u32, i32),
        len: usize,
    ) -> Result {
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
        // What the context itself holds stays there: nobody assigns it anew before its end.
        let segments = std::mem::take(&mut state.sends.get(at)?.segments);
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
    fn serve(&self, task: u32) {
        while task == self.context.task() && self.context.progress().is_ok_and(|polled| polled.events > 0) {}
    }

    /// Waits for a message from the context's sender.
    pub(crate) fn receive(&self, at: usize) -> Result {
        let mut state = self.lock();
        let slot = state.receives.ready(at)?;
        let (tag, task) = (slot.tag, slot.task.ok_or(Error::Process)?);
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
            tree::show(writer, me, tag, &mut receivers, &slot.segments, &mut out);
        }
        let rest = if receivers.is_empty() { Bytes::default() } else { state.copied(at)? };
        state.sends.post(at, None)?;
        let hosts = Arc::clone(&state.hosts);
        drop(state);
        outbox::send(&self.context, &out);
        let sent = tree::spread(&self.context, &hosts, (me, tag), &receivers, &rest);
        self.lock().sends.end(at, sent.map(|()| 0));
        if to_itself {
            self.serve(me);
        }
        Ok(())
    }

    /// Joins a group that is made by this.
    pub(crate) fn join_group(&self, at: usize, group: i32, size: i32) -> Result {
        let tasks = self.context.tasks();
        let task = keeper(group, tasks);
        let mut state = self.lock();
        state.sends.ready(at)?;
        state.groups.may_join(group, size, tasks)?;
        if state.gone.contains(&task) {
            return Err(Error::Peer);
        }
        let key = state.sends.post(at, None)?;
        state.groups.joins(group, key);
        drop(state);
        if let Err(error) = send_words(&self.context, task, JOIN, [group as u32, size as u32]) {
            self.lock().sends.end_key(key, Err(error));
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

    /// Waits for a command's end. Gives the bytes received, or 0.
    #[inline]
    pub(crate) fn poll(&self, at: usize, sending: bool) -> Result<usize> {
        let bells = if sending { &self.shared.hps.send_doorbell } else { &self.shared.hps.receive_doorbell };
        let bell = bells.get(at).ok_or(Error::Context)?;
        let rings = || state_of(bell) == doorbell::DONE;
        let mut state = self.lock();
        if !rings() {
            let by_board = state.may_poll(at, sending)?;
            state.begins_to_wait(by_board);
            if sending && by_board {
                state = self.look_soon(state, rings);
            }
            let mut outcome = Ok(());
            if !rings() {
                outcome = self.wait(&mut state, rings);
            }
            state = self.ends_to_wait(state);
            outcome?;
        }
        let outcome = if sending { state.sends.collect(at) } else { state.receives.collect(at) };
        outcome.map(|bytes| bytes as usize)
    }

    /// Looks at the word of another process alone, for a few microseconds: what a barrier waits for
    /// is on its way as a rule, and a look at everything takes longer than a line from another
    /// core. Other threads have the lock meanwhile.
    #[inline]
    fn look_soon<'a>(&'a self, mut state: Access<'a, State>, rings: impl Fn() -> bool) -> Access<'a, State> {
        let Some(boards) = self.boards.as_deref().filter(|_| !self.context.is_crowded()) else {
            return state;
        };
        for round in 0..ROUNDS_OF_LOOKS {
            let Some(awaited) = state.awaited() else { return state };
            drop(state);
            for _ in 0..LOOKS {
                if boards.has_come(&awaited) {
                    break;
                }
                if round > 0 {
                    spin_loop();
                }
            }
            state = self.lock();
            let mut out = Outbox::new();
            if state.look_at_words(&mut out) {
                state = self.told(state, &out);
            }
            if rings() {
                return state;
            }
        }
        state
    }

    /// Sends what a look has brought up, and lets other threads of this process know of it, for
    /// which it may be and which sleep.
    #[inline]
    fn told<'a>(&'a self, state: Access<'a, State>, out: &Outbox) -> Access<'a, State> {
        self.context.wake();
        if out.is_empty() {
            return state;
        }
        drop(state);
        outbox::send(&self.context, out);
        self.lock()
    }

    /// A wait ends. Looks once more if this process has to be asked to look from now on.
    #[inline]
    pub(crate) fn ends_to_wait<'a>(&'a self, mut state: Access<'a, State>) -> Access<'a, State> {
        if !state.ends_to_wait(self.context.arrivals_interrupt()) {
            return state;
        }
        drop(state);
        self.shared.look(&self.context);
        self.lock()
    }

    /// Waits until `done`, and looks at boards meanwhile. [`State::begins_to_wait`] has come
    /// before; [`ends_to_wait`](Self::ends_to_wait) follows.
    #[inline]
    pub(crate) fn wait(&self, state: &mut Access<'_, State>, mut done: impl FnMut() -> bool) -> Result {
        loop {
            let waited = state.wait_until(|| done() || self.has_news());
            if waited.is_err() || state.lent(|_| done()) {
                return waited.map_err(of_core);
            }
            state.lent(|context| self.shared.look(context));
        }
    }

    /// Whether boards show something, if this process is to find that out by itself.
    #[inline]
    fn has_news(&self) -> bool {
        let Some(boards) = &self.boards else { return false };
        boards.is_watching() && boards.has_news() || boards.awaited() > 0 && self.lock().words_have_news()
    }

    /// Locked memory, tokens, the pool.
    pub(crate) fn with_memory<T>(&self, f: impl FnOnce(&mut Memory) -> T) -> T {
        f(&mut self.lock().memory)
    }
}
