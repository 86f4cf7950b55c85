//! Calls that poll: they check for arrivals without waiting. They poll the lanes first, which are
//! cheap and usually have the next message, then everything.

use super::progress::Polled;
use super::wait::Checked;
use super::{AdaptiveWait, Context, Locked};
use crate::buffers::Direction;
use crate::error::Result;
use crate::state::Inbound;
use crate::sync::{AtomicBool, Ordering};

/// Messages that a call handles that waits for one: of a stream, the next ones are there, too, and
/// a call costs as much as some of them.
const MESSAGES: u64 = 64;

/// Messages and puts whose sending, and messages and gets whose receiving has ended.
type Ended = (u64, u64);

impl Context {
    /// Looks once for arrivals and handles what is there: what has come in lanes or, if nothing
    /// has, whatever there is on any transport.
    ///
    /// A call that handles nothing has looked at everything. With messages in the lanes at each
    /// call, everything is looked at after some tens of them. Inside a handler that runs inline
    /// this does nothing: the packet being handled would be lost.
    ///
    /// Threads that wait for the context's lock have it meanwhile, even if the program holds it. A
    /// call that handles nothing lets others have the core if they want it.
    //= LAPI Guide, Lock sharing, Long critical sections
    #[doc(alias = "LAPI_Probe")]
    pub fn progress(&self) -> Result<Polled> {
        self.usable()?;
        let mut locked = self.locked();
        let before = locked.ended();
        let mut last = before;
        let mut looks = locked.links.inbound.looks_of_a_call();
        // As long as there is something to find.
        locked.watch(|now| {
            looks = if now == last { looks - 1 } else { 1 };
            last = now;
            looks == 0
        });
        let mut events = last.1.wrapping_sub(before.1) as usize;
        if events == 0 {
            events = locked.progress();
        }
        locked.rest_between_polls(events > 0);
        if self.interrupts() && !locked.count_poll() && locked.has_work() {
            locked.leave_work();
        }
        Ok(Polled { events })
    }

    /// Looks for arrivals until the sending or the receiving of a message has ended, at most
    /// `looks` times; the last look is one at everything. A put is sent, a get received. Of a stream
    /// some tens of messages are handled. Says whether a sending and whether a receiving has ended
    /// since the last call that said so; `None`: another thread holds the lock, and nothing has
    /// happened but that it may have the core.
    ///
    /// What ended in another call, such as a fence, counts, too: the call then returns at once. Who
    /// waits for a message by this call alone would otherwise miss one that came a moment earlier.
    ///
    /// Others have lock and core as in [`progress`](Self::progress). *LAPI Guide, LAPI_Msgpoll.*
    ///
    /// # Errors
    /// The context can't be used.
    #[doc(alias = "LAPI_Msgpoll")]
    pub fn poll_for_messages(&self, looks: u32) -> Result<Option<(bool, bool)>> {
        self.usable()?;
        let Some(mut locked) = self.try_locked() else {
            self.give_core_away();
            return Ok(None);
        };
        let ended = locked.poll(looks);
        locked.rest_between_polls(ended != (false, false));
        if self.interrupts() && locked.has_work() {
            locked.leave_work();
        }
        Ok(Some(ended))
    }
}

/// Whether a flag was raised; it is not any more.
fn take(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed) && flag.swap(false, Ordering::Relaxed)
}

impl Locked<'_> {
    /// At the end of a call that polls: those who want the lock or the core have it if nothing has
    /// come.
    #[inline(always)]
    fn rest_between_polls(&mut self, came: bool) {
        let state = &mut **self;
        if came {
            state.between_polls.reset();
            self.yield_lock();
        } else if state.dispatching == 0 {
            let mut wait = std::mem::replace(&mut state.between_polls, AdaptiveWait::new());
            // The program decides when it has waited long enough.
            wait.pause_after(self);
            self.between_polls = wait;
        }
    }

    fn poll(&mut self, looks: u32) -> (bool, bool) {
        let told = self.polled;
        let direct = self.shared().direct_ended.each_ref().map(take);
        if self.ended() == told && direct == [false; 2] {
            self.poll_on(looks);
        }
        self.polled = self.ended();
        let direct = |direction| direct[direction as usize];
        (self.polled.0 != told.0 || direct(Direction::Out), self.polled.1 != told.1 || direct(Direction::In))
    }

    /// Looks until something has ended, at most so many times.
    fn poll_on(&mut self, looks: u32) {
        let before = self.ended();
        let mut left = looks.max(1);
        let mut spins = left > 1;
        if spins {
            self.begin_polling();
        }
        loop {
            let mut last = before;
            self.watch(|now| {
                left = left.saturating_sub(1);
                let goes_on = Inbound::is_whole_turn(now.1.wrapping_sub(last.1))
                    && now.1.wrapping_sub(before.1) < MESSAGES;
                last = now;
                (now != before && !goes_on) || left <= 1
            });
            if self.ended() == before {
                if spins && left <= 1 {
                    // Nobody may look again for long.
                    self.end_polling();
                    spins = false;
                }
                self.progress();
                left = left.saturating_sub(1);
                self.yield_lock();
            }
            if self.ended() != before || left == 0 {
                if spins {
                    self.end_polling();
                }
                return;
            }
        }
    }

    /// Looks at the lanes alone, if that may do for a moment, until `enough` says so of the
    /// messages that have ended; it is asked as in [`watch_lanes`](Self::watch_lanes).
    #[inline(always)]
    fn watch(&mut self, mut enough: impl FnMut(Ended) -> bool) {
        let mut check = |locked: &mut Self| -> Checked<()> { Ok(enough(locked.ended()).then_some(())) };
        // There are no errors but those of `check`, which gives none.
        let _ = self.watch_lanes(&mut check, &mut AdaptiveWait::new());
    }

    #[inline(always)]
    fn ended(&self) -> Ended {
        (self.sending.ended, self.receiving.ended)
    }
}
