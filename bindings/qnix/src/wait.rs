//! Waiting for the end of commands, and polling the boards meanwhile.

use crate::abi::{doorbell, state_of};
use crate::board::Boards;
use crate::error::{Error, Result, of_core};
use crate::node::Node;
use crate::outbox::{self, Outbox};
use crate::state::{Looks, State};
use lapis_core::context::Access;
use lapis_core::sync::AtomicI32;

/// Looks for what a barrier waits for while no other thread may have the lock, and how often those
/// are made, before everything is polled.
const LOOKS: u32 = 256;
const ROUNDS_OF_LOOKS: u32 = 6;

impl State {
    /// Whether a context has a command to wait for, and whether its end may be found on a board.
    #[inline(always)]
    fn may_poll<const SENDING: bool>(&mut self, at: usize) -> Result<bool> {
        if SENDING {
            return Ok(self.sends.may_poll(at)?.on_boards);
        }
        let sender = self.receives.may_poll(at)?.waits_for;
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
    /// should look first.
    pub(crate) fn sleeps(&mut self) -> Option<Looks> {
        let watched = self.stops_watching();
        let boards = self.board.as_ref().map(|writer| writer.boards())?;
        if self.waits == 0 {
            // The thread waits in another call, such as for room. Nobody has been asked to look at
            // what was shown until just now.
            let news = watched && (boards.has_news() || self.words_have_news());
            return news.then_some(Looks::Somebody);
        }
        if boards.has_news() {
            // Who waits finds that out by itself, and takes it.
            boards.begin_watching();
            return Some(Looks::WhoWaits);
        }
        self.words_have_news().then_some(Looks::WhoWaits)
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
}

impl Node {
    /// Waits for a command's end. Gives the bytes received, or 0.
    #[inline(always)]
    pub(crate) fn poll<const SENDING: bool>(&self, at: usize) -> Result<usize> {
        let bell = self.shared.hps.bells::<SENDING>().get(at).ok_or(Error::Context)?;
        // If not this thread, another one that waits for the same command takes its end.
        let rings = || state_of(bell) != doorbell::BUSY;
        let mut state = self.lock();
        if state_of(bell) != doorbell::DONE {
            let by_board = state.may_poll::<SENDING>(at)?;
            state.begins_to_wait(by_board);
            if SENDING && by_board {
                state = self.poll_first(state, bell);
            }
            let mut waited = Ok(());
            if !(SENDING && rings()) {
                waited = self.wait(&mut state, by_board, rings);
            }
            self.ends_to_wait(&mut state);
            waited?;
        }
        if SENDING { state.sends.collect(at) } else { state.receives.collect(at) }
    }

    /// Looks at the words of others alone, for a few microseconds: what a barrier waits for is on
    /// its way as a rule, and polling everything takes longer than a line from another core. Other
    /// threads have the lock now and then.
    #[inline(always)]
    fn poll_first<'a>(&'a self, mut state: Access<'a, State>, bell: &AtomicI32) -> Access<'a, State> {
        if self.context.is_crowded() {
            return state;
        }
        for _ in 0..ROUNDS_OF_LOOKS {
            if state.looks_for_words(LOOKS) {
                let mut out = Outbox::new();
                if state.look_at_words(&mut out) {
                    state = self.told(state, &out);
                }
                if state_of(bell) == doorbell::DONE {
                    return state;
                }
            }
            drop(state);
            state = self.lock();
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
    #[inline(always)]
    pub(crate) fn ends_to_wait(&self, state: &mut Access<'_, State>) {
        if state.ends_to_wait(self.context.arrivals_interrupt()) {
            state.lent(|context| self.shared.look(context));
        }
    }

    /// Waits until `done`, which has just said no, and looks at boards meanwhile: each time if what
    /// is waited for may stand there, else now and then, for the doorbells of other messages.
    /// [`State::begins_to_wait`] has come before; [`ends_to_wait`](Self::ends_to_wait) follows.
    #[inline(always)]
    pub(crate) fn wait(
        &self,
        state: &mut Access<'_, State>,
        by_board: bool,
        mut done: impl FnMut() -> bool,
    ) -> Result {
        loop {
            let mut news = false;
            let waited = state.wait_until(|| {
                done() || {
                    news = self.has_news(by_board);
                    news
                }
            });
            if waited.is_err() || !news {
                return waited.map_err(of_core);
            }
            state.lent(|context| self.shared.look(context));
            if state.lent(|_| done()) {
                return Ok(());
            }
        }
    }

    /// Whether boards show something, if this process is to find that out by itself.
    #[inline(always)]
    fn has_news(&self, by_board: bool) -> bool {
        let Some(boards) = &self.boards else { return false };
        let due = by_board | (boards.awaited() > 0) | boards.is_look_due();
        due && self.find_news(boards)
    }

    #[inline(never)]
    fn find_news(&self, boards: &Boards) -> bool {
        boards.is_watching() && boards.has_news() || boards.awaited() > 0 && self.lock().words_have_news()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Hps;
    use crate::board::tests::{host, show};
    use std::sync::{Arc, Weak};

    /// The first of two tasks of a host, which looks without being asked to, and the second one's
    /// board.
    fn looking() -> (State, crate::board::Writer) {
        let mut state = State::new(&Arc::new(Hps::new([1, 0], 2, 4096)), Weak::new());
        let [(_, mine), (_, others)] = <[_; 2]>::try_from(host(2)).ok().expect("two tasks");
        mine.boards().begin_watching();
        state.board = Some(mine);
        (state, others)
    }

    #[test]
    fn whoever_sleeps_outside_of_waits_leaves_nothing_unseen_that_nobody_was_asked_to_look_at() {
        let (mut state, mut others) = looking();
        assert_eq!(show(&mut others, 1, &[0], b"news"), Some(vec![]), "it looks by itself");
        assert_eq!(state.sleeps(), Some(Looks::Somebody));
        // From now on it is asked.
        assert_eq!(state.sleeps(), None);
        assert_eq!(show(&mut others, 2, &[0], b"more"), Some(vec![state_task(&state)]));
    }

    #[test]
    fn whoever_sleeps_while_it_waits_takes_what_is_there() {
        let (mut state, mut others) = looking();
        state.waits = 1;
        assert_eq!(state.sleeps(), None, "nothing is there");
        assert!(show(&mut others, 1, &[0], b"news").is_some());
        assert_eq!(state.sleeps(), Some(Looks::WhoWaits));
    }

    fn state_task(state: &State) -> u32 {
        state.board.as_ref().expect("it has one").boards().task(0)
    }
}
