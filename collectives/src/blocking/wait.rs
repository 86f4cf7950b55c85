//! Waiting for a member: first by polling its flag alone, then with the context's wait, which
//! handles messages and yields the core; a long wait sleeps.

use super::work::{Step, Team, Whom, Work};
use crate::board::{is_any_dozing, wake_dozing};
use crate::engine::{AWAKE, AWAKE_WHEN_CROWDED, DOZE, LOOKS, Members};
use crate::error::{CollectiveError, Result, lost};
use lapis_core::sync::spin_loop;
use std::time::Instant;

/// If tasks outnumber cores: polls of the flag alone, with a yield after each.
const TURNS: u32 = 2;

/// The first polls follow each other without a pause, so that early data is seen early.
const EAGER_LOOKS: u32 = 64;

impl Work<'_> {
    /// Waits until `there` returns true, which depends on the members that are waited for.
    ///
    /// # Safety
    /// The lock is held.
    #[inline]
    pub(super) unsafe fn wait_for(&self, whom: Whom, mut there: impl FnMut() -> bool) -> Step {
        if self.at.context.is_crowded() {
            for _ in 0..TURNS {
                if there() {
                    return Ok(());
                }
                self.at.context.give_core_away();
            }
        } else {
            for look in 0..LOOKS {
                if there() {
                    return Ok(());
                }
                if look >= EAGER_LOOKS {
                    spin_loop();
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.wait_long(whom, &mut there) }.map_err(Box::new)
    }

    /// # Safety
    /// The lock is held.
    #[cold]
    #[inline(never)]
    unsafe fn wait_long(&self, whom: Whom, there: &mut dyn FnMut() -> bool) -> Result<()> {
        let Team { engine, members, .. } = self.at;
        // SAFETY: the caller's promise; this call is under way.
        unsafe {
            engine.begin_silence(members);
            let waited = self.wait_awake_or_not(whom, there);
            engine.begin_silence(members);
            waited
        }
    }

    /// # Safety
    /// The lock is held.
    unsafe fn wait_awake_or_not(&self, whom: Whom, there: &mut dyn FnMut() -> bool) -> Result<()> {
        let since = Instant::now();
        let crowded = self.at.context.is_crowded();
        let awake = if crowded { AWAKE_WHEN_CROWDED } else { AWAKE };
        loop {
            // Polling more often than members publish is useless: yields lock and core.
            while since.elapsed() < awake {
                // SAFETY: the lock is held.
                if there() || unsafe { self.is_disturbed() } {
                    break;
                }
                self.at.context.progress()?;
            }
            let mut waited = Ok(true);
            if since.elapsed() >= awake {
                // SAFETY: the board is this operation's and lives.
                unsafe { (*self.board).set_dozing(true) };
                // SAFETY: the caller's promise; waits ask with the lock held.
                let ready = || unsafe { there() || self.is_disturbed() };
                waited = self.at.context.wait_quietly(ready, Some(Instant::now() + DOZE));
                // SAFETY: the board is this operation's and lives.
                unsafe { (*self.board).set_dozing(false) };
            }
            if there() {
                return Ok(());
            }
            // SAFETY: the lock is held; nothing refers to the engine's state.
            let hopeless = unsafe { self.is_hopeless(whom) };
            // Data that has arrived meanwhile counts, even if its sender is lost.
            if there() {
                return Ok(());
            }
            waited?;
            hopeless?;
            // SAFETY: the lock is held; nothing refers to the engine's state.
            unsafe { self.at.engine.advance_if_possible(self.at.context) };
        }
    }

    /// Whether there is other work, or no reason to wait any more.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn is_disturbed(&self) -> bool {
        // SAFETY: the team lives; references end where they stand.
        unsafe { (*self.at.members.as_ptr()).over.is_some() || self.at.engine.can_go_on() }
    }

    /// The reason why the wait can't succeed, if one is known.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn is_hopeless(&self, whom: Whom) -> Result<()> {
        let members: *mut Members = self.at.members.as_ptr();
        // SAFETY: team and board live; references end where they stand.
        unsafe {
            self.at.engine.note_beginnings(self.at.context);
            // A member that finds a mismatch notifies the others; each reads the calls itself.
            if let Some(found) = (&*self.board).other_call(self.signature) {
                return Err(found);
            }
            if let Some(cause) = (*members).over {
                return Err(cause.error());
            }
            if let Some(found) = self.at.engine.other_call(self.at.members, self.number, self.signature) {
                return Err(found);
            }
        }
        // SAFETY: the board is this operation's and lives; its tasks never change.
        let board = unsafe { &*self.board };
        let reach = |member: usize| {
            let task = board.task(member);
            self.at.context.reachable(task).map_err(|e| lost(task, e))
        };
        let first = match whom {
            Whom::Member(member) => Some(member),
            Whom::All => board.absent().next(),
        };
        match whom {
            Whom::Member(member) => reach(member)?,
            Whom::All => board.absent().try_for_each(reach)?,
        }
        // No member is absent any more if all have arrived meanwhile.
        let Some(first) = first else { return Ok(()) };
        let absent = match whom {
            Whom::Member(_) => 1,
            Whom::All => board.absent().count(),
        };
        let (at, call) = (&self.at, (self.number, self.signature));
        // SAFETY: the lock is held; nothing refers to the engine's state or the team.
        let silent =
            unsafe { at.engine.silent_in_memory(at.context, at.members, call, (board.task(first), absent)) };
        if let Some(task) = silent {
            let seconds = at.context.timeout().as_secs();
            return Err(CollectiveError::Silent { task, call: self.signature.name(), seconds });
        }
        Ok(())
    }

    /// Wakes members that sleep.
    ///
    /// # Safety
    /// The lock is held.
    #[inline(always)]
    pub(super) unsafe fn wake_dozing(&self) {
        // SAFETY: the caller's promise; the board lives.
        unsafe {
            if is_any_dozing(self.board) {
                self.wake_them();
            }
        }
    }

    /// # Safety
    /// The lock is held.
    #[cold]
    unsafe fn wake_them(&self) {
        let at = &self.at;
        // SAFETY: the lock is held; nothing refers to the engine's state.
        let wake = |task| unsafe { at.engine.nudge(at.context, at.members, task) };
        // SAFETY: the caller's promise; the board lives.
        unsafe { wake_dozing(self.board, &wake) };
    }
}
