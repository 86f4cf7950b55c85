//! Runs operations of teams with active messages. One engine belongs to each context; everything in
//! it is used under the context's lock.
//!
//! * `wire`: the header of each message;
//! * `op`: an operation ready to run;
//! * `unbuffered`: its messages, if they carry data of layouts;
//! * `run`: running its steps;
//! * `memory`: its rounds through memory, and waiting for those;
//! * `search`: finding the members of the host, and their boards;
//! * `early`: messages that came before their operation waited for them;
//! * `questions`: asking those of whom nothing comes, for the sake of checks;
//! * `silence`: how long nothing has come for operations;
//! * `stand`: asking others how far they are, before they are given up;
//! * `wait`: waiting for its end, and the effect of a lost member;
//! * `arrivals`: finding the operation that a message belongs to;
//! * here: the engine of a context, and the teams that it knows.
//!
//! Who takes the steps of an operation in progress is its [`Care`]:
//!
//! | care | set by | effect |
//! |---|---|---|
//! | `Program` | its begin, and a test | the program is to wait for it or test it; `look_after` turns it to `Arrivals` when its thread waits for something else |
//! | `Wait` | a call that waits for it | that call takes the steps of all operations, and `look_after` leaves them to it |
//! | `Arrivals` | its begin, if it tells somebody of its end; `let_go`; a test with a waker; `look_after` | it is *unattended*: whatever arrives lets it go on (`go_on_later`, or `go_on_soon` on another thread), its board is armed, and it notices lost and silent members itself |
//!
//! `attention` says that something has come since all operations went on last. `looking` keeps
//! `look_after` from beginning again within itself.
//!
//! Short data is sent at once. Long data waits until its receiver is ready, so that no unexpected
//! long data ever arrives. So does all data of some of the operations in which members may only
//! send: they can't be far ahead of their receivers. Messages that arrive early are stored with the
//! team, in vectors of which some are reused.

#![allow(
    clippy::needless_borrow,
    reason = "rustc wants references to what raw pointers point to in plain sight"
)]

mod arrivals;
mod early;
mod memory;
mod op;
mod questions;
mod run;
mod search;
mod silence;
mod stand;
mod unbuffered;
mod wait;
mod wire;

pub(crate) use memory::{AWAKE, AWAKE_WHEN_CROWDED, DOZE, LOOKS};
pub(crate) use op::{Care, Op};
pub(crate) use search::{Found, Here, begin as discover_memory};

use crate::board::Board;
use crate::error::{Cause, Result};
use early::{Early, Letter};
use lapis_core::context::SERVICE;
use lapis_core::{CompletionHandler, Context, Delivery, Run};
use lapis_schedules::group::Group;
use questions::{Memories, Started};
use search::Memory;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use wire::Kind;

/// Data up to this length is sent in one packet with its header.
const PACKED: usize = 512;

/// Data beyond this length waits for its receiver.
pub(crate) const EAGER: usize = 8 << 10;

/// Buffers of early messages that a team keeps for the next ones.
const SPARE: usize = 64;

/// The context's [lock](Context::lock), held until this is dropped.
pub struct Held<'a>(&'a Context);

impl<'a> Held<'a> {
    /// Takes the lock. It is recursive: handlers, which have it, may do so, too.
    pub fn new(context: &'a Context) -> Self {
        context.lock();
        Self(context)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// A team as the engine knows it.
pub(crate) struct Members {
    pub(crate) id: u64,
    pub(crate) group: Group,
    /// Number of the next operation.
    next: u32,
    early: Early,
    spare: Vec<Vec<u8>>,
    pub(crate) over: Option<Cause>,
    /// The others have been notified that it is over.
    told: bool,
    /// The last operations, to answer questions.
    memories: Memories,
    /// Which of its calls were operations.
    started: Started,
    /// Its use of shared memory.
    pub(crate) memory: Memory,
}

/// The engine of a context.
pub(crate) struct Engine(UnsafeCell<Inner>);

// SAFETY: what is inside is used under the lock of the context that it belongs to.
unsafe impl Send for Engine {}
// SAFETY: what is inside is used under the lock of the context that it belongs to.
unsafe impl Sync for Engine {}

struct Inner {
    /// By identifier, which serves as the hash: at its index or behind it. The length is a power of
    /// two; never full.
    teams: Vec<Option<NonNull<Members>>>,
    count: usize,
    /// The number of teams that were created of each group.
    made: Vec<(u64, u64)>,
    /// Messages for teams that this task has not created yet.
    strays: Vec<Letter>,
    /// Operations in progress, and their teams.
    active: Vec<(NonNull<Op>, NonNull<Members>)>,
    /// Something has come that may let an operation go on.
    attention: bool,
    /// An operation is about to ask others how far they are.
    asks: bool,
    /// The operations that no call waits for are being looked after.
    looking: bool,
    /// The number of operations in the queues of teams, because they use memory.
    in_memory: usize,
    /// Boards of released teams, which others may still read.
    left: Vec<Board>,
    /// How often everything had started again with anybody, and with whom.
    beginnings: u32,
    by_task: Box<[u32]>,
}

impl Engine {
    /// The engine of a context.
    pub(crate) fn of(context: &Context) -> Result<Arc<Self>> {
        let made = context.extension(|| {
            let by_task = (0..context.tasks()).map(|task| context.beginnings_with(task)).collect();
            let inner = Inner {
                teams: vec![None; 16],
                count: 0,
                made: Vec::new(),
                strays: Vec::new(),
                active: Vec::new(),
                attention: false,
                asks: false,
                looking: false,
                in_memory: 0,
                left: Vec::new(),
                beginnings: context.beginnings(),
                by_task,
            };
            let engine = Arc::new(Self(UnsafeCell::new(inner)));
            let arrivals = Arc::downgrade(&engine);
            context.set_service(move |context, message| match arrivals.upgrade() {
                // SAFETY: handlers run under the context's lock.
                Some(engine) => unsafe { engine.arrived(context, message) },
                None => Delivery::bury(),
            })?;
            let losses = Arc::downgrade(&engine);
            context.watch_peers(move |context, _| {
                // SAFETY: it is called under the context's lock.
                if losses.upgrade().is_some_and(|engine| unsafe { engine.any_unattended() }) {
                    go_on_soon(context);
                }
            });
            let rest = Arc::downgrade(&engine);
            context.look_after(move |context| {
                if let Some(engine) = rest.upgrade() {
                    // SAFETY: it is called under the context's lock.
                    unsafe { engine.look_after(context) };
                }
            });
            Ok(engine)
        });
        Ok(made?)
    }

    /// # Safety
    /// The lock is held, and the reference ends before anything is sent or called.
    #[allow(clippy::mut_from_ref, reason = "the lock makes the reference unique; the contract is above")]
    unsafe fn inner(&self) -> &mut Inner {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.get() }
    }

    /// Registers a team. Members create teams of one group in the same order, so its number among
    /// them identifies it.
    ///
    /// # Safety
    /// The lock is held. The result is given back with [`forget`](Self::forget).
    pub(crate) unsafe fn register(&self, group: Group) -> NonNull<Members> {
        // SAFETY: the lock is held, and nothing below calls out.
        let inner = unsafe { self.inner() };
        let fingerprint = group.fingerprint();
        let at = inner.made.iter().position(|(known, _)| *known == fingerprint).unwrap_or_else(|| {
            inner.made.push((fingerprint, 0));
            inner.made.len() - 1
        });
        inner.made[at].1 += 1;
        let id = id(fingerprint, inner.made[at].1);
        let (early, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut inner.strays).into_iter().partition(|letter| letter.header.team == id);
        inner.strays = rest;
        let mut members = Members {
            id,
            group,
            next: 0,
            early: Early::default(),
            spare: Vec::new(),
            over: None,
            told: false,
            memories: Memories::default(),
            started: Started::default(),
            memory: Memory::default(),
        };
        for letter in early {
            if letter.header.kind == Kind::Over {
                members.over = Some(Cause::from_code(letter.header.number, letter.header.tag));
            } else {
                members.early.insert(letter);
            }
        }
        let members = NonNull::from(Box::leak(Box::new(members)));
        if inner.count * 2 >= inner.teams.len() {
            let old = std::mem::take(&mut inner.teams);
            inner.teams = vec![None; old.len() * 2];
            // SAFETY: registered teams live.
            old.into_iter().flatten().for_each(|team| unsafe { inner.insert(team) });
        }
        // SAFETY: just made.
        unsafe { inner.insert(members) };
        inner.count += 1;
        members
    }

    /// Ends what [`register`](Self::register) began.
    ///
    /// # Safety
    /// The lock is held; none of the team's operations except the search for memory is in progress;
    /// `members` is not used again.
    pub(crate) unsafe fn forget(&self, members: NonNull<Members>) {
        // SAFETY: the lock is held, and nothing below calls out.
        let inner = unsafe { self.inner() };
        let all = std::mem::take(&mut inner.teams);
        inner.teams = vec![None; all.len()];
        for team in all.into_iter().flatten().filter(|team| *team != members) {
            // SAFETY: registered teams live.
            unsafe { inner.insert(team) };
        }
        inner.count -= 1;
        inner.active.retain(|(_, team)| *team != members);
        // SAFETY: it came from a box, and the caller promises that this is the end.
        let members = unsafe { Box::from_raw(members.as_ptr()) };
        if let Found::Looking(_) = members.memory.found {
            // The team was over before it ended. Data for it may still arrive, and another thread,
            // or a call further out on this one, may be taking its steps: all of it stays.
            std::mem::forget(members);
        }
    }

    /// Keeps the board of a released team until all members have left it, and frees boards that all
    /// have left. A member that was purged or fell silent may still write to its board.
    ///
    /// # Safety
    /// The lock is held, and the context can be used.
    pub(crate) unsafe fn bury_board(&self, context: &Context, board: Board) {
        // SAFETY: the lock is held, and nothing below calls out.
        let left = &mut unsafe { self.inner() }.left;
        left.push(board);
        left.retain(|board| {
            let over = board.is_left(|member| !context.has_left(board.task(member)));
            if over {
                // SAFETY: it came from this context, and nobody reads it any more.
                unsafe { context.free_raw(board.region()) };
            }
            !over
        });
    }

    /// Something has come that may let an operation go on.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn attend(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.inner() }.attention = true;
    }

    /// Whether something has arrived while an operation is in progress without a call that waits.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn unattended(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.inner().attention && self.any_unattended() }
    }

    /// Whether an operation is in progress without a call that waits.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn any_unattended(&self) -> bool {
        // SAFETY: the caller's promise; active operations live.
        unsafe { self.inner().active.iter().any(|(op, _)| (*op.as_ptr()).is_unattended()) }
    }

    /// A call waits for something else, or has made progress for a while: operations that were the
    /// program's to wait for go on with arrivals until it does.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn look_after(&self, context: &Context) {
        // SAFETY: the caller's promise; active operations live; references end before anything is
        // sent.
        unsafe {
            let inner = self.inner();
            let is_waited = |op: &NonNull<Op>| (*op.as_ptr()).care == Care::Wait;
            // A call that waits for one of them takes the others along.
            if inner.looking || inner.active.iter().any(|(op, _)| is_waited(op)) {
                return;
            }
            inner.active.iter().for_each(|(op, _)| (*op.as_ptr()).care = Care::Arrivals);
            if inner.active.is_empty() || !context.is_usable() {
                return;
            }
            inner.looking = true;
            self.advance_all(context);
            self.ask_late(context);
            self.inner().looking = false;
        }
    }

    /// The result of the header handler: operations without a call that waits go on when it has
    /// returned.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn go_on_later(self: &Arc<Self>) -> Delivery {
        // SAFETY: the caller's promise.
        if unsafe { !self.unattended() } {
            return Delivery::bury();
        }
        let engine = Arc::clone(self);
        // SAFETY: inline completion handlers run under the lock.
        let go_on = Box::new(move |context: &Context| unsafe { engine.advance_all(context) });
        Delivery { completion: Some(CompletionHandler::Closure(go_on)), run: Run::Inline, ..Delivery::bury() }
    }
}

/// Lets operations without a call that waits go on, on a handler thread, where they may send.
fn go_on_soon(context: &Context) {
    context.run_on_handler_thread(CompletionHandler::Closure(Box::new(|context| {
        let Ok(engine) = Engine::of(context) else { return };
        let _held = Held::new(context);
        // SAFETY: the lock is held.
        unsafe {
            engine.note_beginnings(context);
            engine.advance_all(context);
        }
    })));
}

/// A factor that spreads numbers, and the one that brings them back.
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;
const BACK: u64 = {
    // Newton's iteration doubles the right bits; an odd number is its own inverse in three.
    let (mut inverse, mut step) = (SPREAD, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(SPREAD.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
};

/// The identifier of a group's team with this number.
fn id(fingerprint: u64, number: u64) -> u64 {
    (fingerprint ^ number.wrapping_mul(SPREAD)).rotate_left(23) ^ fingerprint
}

/// The number of a group's team with this identifier.
fn number(fingerprint: u64, id: u64) -> u64 {
    ((id ^ fingerprint).rotate_right(23) ^ fingerprint).wrapping_mul(BACK)
}

impl Inner {
    /// Whether a team with this identifier was made, and freed if it is not registered any more.
    fn was_made(&self, id: u64) -> bool {
        self.made.iter().any(|(fingerprint, count)| (1..=*count).contains(&number(*fingerprint, id)))
    }

    /// # Safety
    /// `team` lives.
    unsafe fn insert(&mut self, team: NonNull<Members>) {
        let mask = self.teams.len() - 1;
        // SAFETY: the caller's promise.
        let mut at = unsafe { team.as_ref() }.id as usize & mask;
        while self.teams[at].is_some() {
            at = (at + 1) & mask;
        }
        self.teams[at] = Some(team);
    }

    fn find(&self, id: u64) -> Option<NonNull<Members>> {
        let mask = self.teams.len() - 1;
        let mut at = id as usize & mask;
        loop {
            let team = self.teams[at]?;
            // SAFETY: registered teams live.
            if unsafe { team.as_ref() }.id == id {
                return Some(team);
            }
            at = (at + 1) & mask;
        }
    }
}

/// Where messages of collectives go.
const HANDLER: u64 = SERVICE.0 as u64;

#[cfg(all(test, not(loom), not(miri)))]
mod tests;
