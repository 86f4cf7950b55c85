//! Waiting for a member: first by looking at its flag alone, then with the context's wait, which
//! lets messages come and others have the core; a wait that lasts sleeps.
//!
//! Nobody is told when a flag changes. Who sleeps sets a bit first, and whoever shows something
//! afterwards sends a message that wakes. The bit may be missed by who shows at the same moment:
//! neither side pays for a fence on each round. So sleeps are short.

use super::run::Work;
use crate::engine::Members;
use crate::error::{CollectiveError, Result};
use lapis_core::sync::{Ordering, fence, spin_loop};
use std::time::{Duration, Instant};

/// Looks at the flag alone, which take a few microseconds. Where cores are wanted, one.
const LOOKS: u32 = 1500;

/// Those among them that follow each other at once: what comes soon is seen soon.
const EAGER_LOOKS: u32 = 64;

/// How long a wait goes on looking and making progress before it dozes. Where cores are wanted,
/// each look gives the core away, and all others may have it first.
const AWAKE: Duration = Duration::from_micros(200);
const AWAKE_WHEN_CROWDED: Duration = Duration::from_millis(2);

/// The longest sleep without looking.
const DOZE: Duration = Duration::from_millis(5);

impl Work<'_> {
    /// Waits until `there` says so, which depends on `member`.
    ///
    /// # Safety
    /// The lock is held.
    #[inline]
    pub(super) unsafe fn wait_for(&self, member: usize, mut there: impl FnMut() -> bool) -> Result<()> {
        let looks = if self.context.is_crowded() { 1 } else { LOOKS };
        for look in 0..looks {
            if there() {
                return Ok(());
            }
            if look >= EAGER_LOOKS {
                spin_loop();
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.wait_long(member, &mut there) }
    }

    /// # Safety
    /// The lock is held.
    #[cold]
    #[inline(never)]
    unsafe fn wait_long(&self, member: usize, there: &mut dyn FnMut() -> bool) -> Result<()> {
        let since = Instant::now();
        let crowded = self.context.is_crowded();
        let awake = if crowded { AWAKE_WHEN_CROWDED } else { AWAKE };
        loop {
            // Somebody shows less often than this member looks: it lets others have lock and core.
            while since.elapsed() < awake {
                // SAFETY: the lock is held.
                if there() || unsafe { self.is_disturbed() } {
                    break;
                }
                self.context.progress()?;
            }
            let mut waited = Ok(true);
            if since.elapsed() >= awake {
                self.set_dozing(true);
                // SAFETY: the caller's promise; waits ask with the lock held.
                let ready = || unsafe { there() || self.is_disturbed() };
                waited = self.context.wait_quietly(ready, Some(Instant::now() + DOZE));
                self.set_dozing(false);
            }
            // SAFETY: the lock is held; nothing refers to the engine's state.
            let hopeless = unsafe { self.is_hopeless(member, since) };
            // What is there counts, whatever became of its sender.
            if there() {
                return Ok(());
            }
            waited?;
            hopeless?;
            // SAFETY: the lock is held; nothing refers to the engine's state.
            unsafe { self.engine.advance_if_needed(self.context) };
        }
    }

    /// Whether there is something else to do than to wait, or no reason to wait any more.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn is_disturbed(&self) -> bool {
        // SAFETY: the team lives; references end where they stand.
        unsafe { (*self.members.as_ptr()).over.is_some() || self.engine.wants_attention() }
    }

    /// Why what is waited for will not come, as far as is known.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn is_hopeless(&self, member: usize, since: Instant) -> Result<()> {
        let members: *mut Members = self.members.as_ptr();
        // SAFETY: the team lives; references end where they stand.
        unsafe {
            self.engine.note_beginnings(self.context);
            if let Some(cause) = (*members).over {
                return Err(cause.error());
            }
        }
        if let Some(found) = self.find_mismatch() {
            return Err(found);
        }
        let (task, limit) = (self.task(member), self.context.timeout());
        self.context.reachable(task).map_err(|e| crate::engine::lost(task, e))?;
        if !*self.context.config().notimeout.get() && since.elapsed() >= limit {
            return Err(CollectiveError::Silent { task, call: self.call.name(), seconds: limit.as_secs() });
        }
        Ok(())
    }

    /// Some member's call in this round that is none like this one.
    fn find_mismatch(&self) -> Option<CollectiveError> {
        // SAFETY: the board is this operation's and lives; nothing below waits.
        let board = unsafe { &*self.board };
        (0..board.bases.len()).filter(|member| *member != board.me).find_map(|member| {
            let theirs = board.line(member, board.round).shown(board.round)?;
            (theirs != self.signature.0).then(|| self.mismatch(member, theirs))
        })
    }

    pub(super) fn task(&self, member: usize) -> u32 {
        // SAFETY: the team lives; its group never changes.
        unsafe { (*self.members.as_ptr()).group.task(member).unwrap_or(u32::MAX) }
    }

    fn set_dozing(&self, on: bool) {
        // SAFETY: the board is this operation's and lives.
        let board = unsafe { &*self.board };
        let Some(word) = board.dozing().nth(board.me / 64) else { return };
        let bit = 1 << (board.me % 64);
        if on {
            word.fetch_or(bit, Ordering::Relaxed);
            // SYNC: pairs with nothing in `wake_dozing`, which has no fence: it makes the bit seen
            // before the next look, most of the time.
            fence(Ordering::SeqCst);
        } else {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Wakes members that doze.
    ///
    /// # Safety
    /// The lock is held.
    #[inline(always)]
    pub(super) unsafe fn wake_dozing(&self) {
        // SAFETY: the board is this operation's and lives.
        let board = unsafe { &*self.board };
        if board.dozing().any(|word| word.load(Ordering::Relaxed) != 0) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // SAFETY: the board is this operation's and lives; only its shared memory and its fixed
        // fields are used.
        let board = unsafe { &*self.board };
        for (at, word) in board.dozing().enumerate() {
            let mut bits = word.swap(0, Ordering::Relaxed);
            while bits != 0 {
                let member = at * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if member != board.me && member < board.bases.len() {
                    // SAFETY: the team lives.
                    unsafe { self.engine.nudge(self.context, self.members, self.task(member)) };
                }
            }
        }
    }
}
