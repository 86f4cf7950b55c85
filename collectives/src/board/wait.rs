//! Waiting for a member: first by looking at its flag alone, then with the context's wait, which
//! lets messages come and others have the core; a wait that lasts sleeps.
//!
//! Nobody is told when a flag changes. Who sleeps sets a bit first, and whoever shows something
//! afterwards sends a message that wakes. The bit may be missed by who shows at the same moment,
//! for which a barrier would be needed ([`membarrier`](lapis_core::sync::membarrier)): these sleeps
//! are short instead.

use super::Board;
use super::run::Work;
use crate::engine::{Engine, Members};
use crate::error::{CollectiveError, Result};
use lapis_core::Context;
use lapis_core::sync::{Ordering, spin_loop};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// Where cores are wanted, looks at the flag alone, each of which gives the core away.
const TURNS: u32 = 2;

/// Looks at the flag alone, which take a few microseconds.
pub(crate) const LOOKS: u32 = 1500;

/// Those among them that follow each other at once: what comes soon is seen soon.
const EAGER_LOOKS: u32 = 64;

/// How long a wait goes on looking and making progress before it dozes. Where cores are wanted,
/// each look gives the core away, and all others may have it first.
pub(crate) const AWAKE: Duration = Duration::from_micros(200);
pub(crate) const AWAKE_WHEN_CROWDED: Duration = Duration::from_millis(2);

/// The longest sleep without looking.
pub(crate) const DOZE: Duration = Duration::from_millis(5);

/// Who is waited for.
#[derive(Clone, Copy)]
pub(super) enum Whom {
    Member(usize),
    /// All who have not come to the meeting.
    All,
}

impl Work<'_> {
    /// Waits until `there` says so, which depends on those who are waited for.
    ///
    /// # Safety
    /// The lock is held.
    #[inline]
    pub(super) unsafe fn wait_for(&self, whom: Whom, mut there: impl FnMut() -> bool) -> Result<()> {
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
        unsafe { self.wait_long(whom, &mut there) }
    }

    /// # Safety
    /// The lock is held.
    #[cold]
    #[inline(never)]
    unsafe fn wait_long(&self, whom: Whom, there: &mut dyn FnMut() -> bool) -> Result<()> {
        let since = Instant::now();
        let crowded = self.at.context.is_crowded();
        let awake = if crowded { AWAKE_WHEN_CROWDED } else { AWAKE };
        loop {
            // Somebody shows less often than this member looks: it lets others have lock and core.
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
            let hopeless = unsafe { self.is_hopeless(whom, since) };
            // What came in the meantime counts, whatever became of its sender.
            if there() {
                return Ok(());
            }
            waited?;
            hopeless?;
            // SAFETY: the lock is held; nothing refers to the engine's state.
            unsafe { self.at.engine.advance_if_possible(self.at.context) };
        }
    }

    /// Whether there is something else to do than to wait, or no reason to wait any more.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn is_disturbed(&self) -> bool {
        // SAFETY: the team lives; references end where they stand.
        unsafe { (*self.at.members.as_ptr()).over.is_some() || self.at.engine.can_go_on() }
    }

    /// Why what is waited for will not come, as far as is known.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn is_hopeless(&self, whom: Whom, since: Instant) -> Result<()> {
        let members: *mut Members = self.at.members.as_ptr();
        // SAFETY: the team lives; references end where they stand.
        unsafe {
            self.at.engine.note_beginnings(self.at.context);
            if let Some(cause) = (*members).over {
                return Err(cause.error());
            }
            if let Some((from, theirs)) =
                self.at.engine.other_call(self.at.members, self.number, self.signature)
            {
                return Err(CollectiveError::Mismatch { from, theirs, mine: self.signature });
            }
        }
        // SAFETY: the board is this operation's and lives; the reference ends here.
        let found = unsafe { (*self.board).other_call((*self.board).round, self.signature.0) };
        if let Some((member, theirs)) = found {
            return Err(self.mismatch(member, theirs));
        }
        // SAFETY: the board is this operation's and lives; its tasks never change.
        let board = unsafe { &*self.board };
        let reach = |member: usize| {
            let task = board.task(member);
            self.at.context.reachable(task).map_err(|e| crate::engine::lost(task, e))
        };
        let first = match whom {
            Whom::Member(member) => Some(member),
            Whom::All => board.absent().next(),
        };
        match whom {
            Whom::Member(member) => reach(member)?,
            Whom::All => board.absent().try_for_each(reach)?,
        }
        // Nobody is absent any more if all have come meanwhile.
        let Some(first) = first else { return Ok(()) };
        let (task, limit) = (board.task(first), self.at.context.timeout());
        if !*self.at.context.config().notimeout.get() && since.elapsed() >= limit {
            return Err(CollectiveError::Silent { task, call: self.call.name(), seconds: limit.as_secs() });
        }
        Ok(())
    }

    /// Wakes members that doze.
    ///
    /// # Safety
    /// The lock is held.
    #[inline(always)]
    pub(super) unsafe fn wake_dozing(&self) {
        // SAFETY: the caller's promise; the board lives.
        unsafe { wake_dozing(self.at.context, self.at.engine, self.at.members, self.board) };
    }
}

/// Wakes members that doze.
///
/// # Safety
/// The lock is held; team and board live.
#[inline(always)]
pub(super) unsafe fn wake_dozing(
    context: &Context,
    engine: &Engine,
    team: NonNull<Members>,
    board: *const Board,
) {
    // SAFETY: the caller's promise; the reference ends before anything is sent.
    if unsafe { (*board).dozing().any(|word| word.load(Ordering::Relaxed) != 0) } {
        // SAFETY: the caller's promise.
        unsafe { wake(context, engine, team, board) };
    }
}

/// # Safety
/// As for [`wake_dozing`].
#[cold]
unsafe fn wake(context: &Context, engine: &Engine, team: NonNull<Members>, board: *const Board) {
    // SAFETY: the caller's promise; only shared memory and fixed fields of the board are used.
    let (words, me, n) = unsafe { ((*board).dozing().len(), (*board).me, (*board).tasks().len()) };
    for at in 0..words {
        // Its own wish stands.
        let own = if me / 64 == at { 1 << (me % 64) } else { 0 };
        // SAFETY: the caller's promise; the words are shared memory made for this.
        let set =
            unsafe { (*board).dozing().nth(at).map_or(0, |word| word.fetch_and(own, Ordering::Relaxed)) };
        let mut others = set & !own;
        while others != 0 {
            let member = at * 64 + others.trailing_zeros() as usize;
            others &= others - 1;
            if member < n {
                // SAFETY: the caller's promise.
                unsafe { engine.nudge(context, team, (*board).task(member)) };
            }
        }
    }
}
