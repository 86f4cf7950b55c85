//! Collectives of members on one host, through memory that all of them map.
//!
//! Each member of a team has a board in its own memory, which the others read: lines with flags and
//! short data, and areas for longer data. [`rounds`] defines what is put and taken in each round.
//! This module has the boards themselves and their flags.
//!
//! ```text
//! | begun | left: a byte of each member | dozing: a bit of each member | lengths | lines | areas |
//! ```
//!
//! A member writes to another's board for two purposes only: to say that it has left the team, and
//! to say that it sleeps (on the board of the first member). The first member of a large team has a
//! [hall] beside its board, where all meet and the short data of all lies side by side. In a team
//! over several hosts, the members of each host have boards for each other; "members" are those of
//! this host here.
//!
//! Boards know nothing of messages. The engine, which sends messages, is the layer above and takes
//! rounds step by step ([`Rounds`]). Blocking calls ([`blocking`](crate::blocking)) are the layer
//! above the engine and take all rounds at once. What both do in a round is in `present`.

#![allow(
    clippy::needless_borrow,
    reason = "rustc wants references to what raw pointers point to in plain sight"
)]

mod buffers;
mod dozing;
mod flags;
mod hall;
mod prepared;
mod present;
mod rounds;
mod shown;
mod steps;
mod stores;

pub(crate) use buffers::{Buffers, Data, Layouts};
pub(crate) use dozing::{is_any_dozing, wake_dozing};
pub(crate) use prepared::{Kept, Prepared, keeps};
#[cfg(all(test, not(loom)))]
pub(crate) use rounds::model;
pub(crate) use rounds::{Order, Plan, Put, Round, Spot, Take};
pub(crate) use shown::{Shown, Word};
pub(crate) use steps::{Reach, Rounds, plan};

pub(crate) use crate::lines::AREA;
use crate::lines::{LINE, Line, Lines};
use flags::Begun;
use hall::Hall;
use lapis_copies::StorePolicy;
use lapis_core::Context;
use lapis_core::sync::{AtomicU8, AtomicU64, Ordering, membarrier};
use lapis_core::transport::RegionInfo;
use lapis_schedules::group::Group;
use rounds::Readers;
use stores::{store_policy, third_cache};

/// Bytes of data that a line has room for, behind its flag.
const INLINE: usize = LINE - size_of::<Line>();

const PAGE: usize = 4096;

/// Distance of two areas: the cache lines of short data in many areas must not all fall into a few
/// sets of the caches.
const AREA_STRIDE: usize = AREA + PAGE;

/// Offsets within the boards of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Places {
    dozing: usize,
    /// A word for each member: the lengths that all members give in a call with a list of them.
    lengths: usize,
    lines: usize,
    areas: usize,
    /// How many lines and areas there are.
    line_count: usize,
    area_count: usize,
    len: usize,
    /// Behind the first member's board.
    hall: Hall,
}

impl Places {
    fn of(n: usize) -> Self {
        let left = LINE;
        let dozing = left + n.next_multiple_of(LINE);
        let lengths = dozing + (n.div_ceil(64) * 8).next_multiple_of(LINE);
        let lines = lengths + (n * size_of::<u64>()).next_multiple_of(LINE);
        let line_count = rounds::lines(n);
        let areas = (lines + <Lines>::bytes(line_count)).next_multiple_of(PAGE);
        let area_count = rounds::areas(n);
        let len = areas + area_count * AREA_STRIDE;
        Self { dozing, lengths, lines, areas, line_count, area_count, len, hall: Hall::of(n, len) }
    }

    /// Bytes of a member's memory.
    fn len_of(&self, member: usize) -> usize {
        self.len + if member == 0 { self.hall.len } else { 0 }
    }
}

/// A member's board, and the addresses of the others' boards.
pub(crate) struct Board {
    memory: RegionInfo,
    places: Places,
    /// The members' tasks.
    tasks: Group,
    /// The first byte of each member's board, this member's own included.
    bases: Box<[*mut u8]>,
    /// Some process is not registered for `membarrier(2)`: a member that publishes needs a fence.
    fences: bool,
    /// The tasks of all members outnumber their cores.
    crowded: bool,
    /// All members can read each other's memory, too.
    reads: bool,
    /// All members compare roots.
    compares: bool,
    /// This member's bit among the sleepers stays set when it wakes: some operations in progress
    /// have no call that waits for them.
    armed: bool,
    me: usize,
    /// The round that was begun last.
    round: u64,
    /// Meetings up to that round.
    meetings: u64,
    /// The last wide round up to that round, or 0.
    wide: u64,
    /// The last round that each member is known to have begun.
    begun: Box<[u64]>,
    /// The least of these.
    least: u64,
    /// Who reads this member's board in the present round, and the first of the rounds since which
    /// it has been nobody else.
    readers: Readers,
    since: u64,
    /// Consecutive rounds in which this member did not have to wait for the data that it took.
    behind: u64,
    /// How data of `long` bytes and more is stored.
    store_policy: StorePolicy,
    long: usize,
    /// Bytes of the third-level cache.
    third_cache: usize,
    /// Memory that blocking calls reuse: a round, and scratch.
    spare: (Round, Vec<[u64; 8]>),
    /// The plans of earlier calls, each at the index that its key gives.
    kept: [Option<Box<Kept>>; prepared::KEPT],
}

impl Board {
    /// Memory for the board of member `me` of a team of `n`; `None` if there is no room.
    pub(crate) fn memory(context: &Context, me: usize, n: usize) -> Option<RegionInfo> {
        context.alloc_raw(Places::of(n).len_of(me)).ok()
    }

    /// The board of member `me` of `tasks`, from the addresses of all; `None` if one is not mapped
    /// here.
    pub(crate) fn new(
        context: &Context,
        memory: RegionInfo,
        me: usize,
        tasks: Group,
        addresses: impl Fn(usize) -> u64,
    ) -> Option<Self> {
        let n = tasks.len();
        let (places, store_policy) = (Places::of(n), store_policy(context));
        let mut bases = Vec::with_capacity(n);
        for (member, task) in tasks.iter().enumerate() {
            let address = addresses(member);
            bases.push(if member == me {
                memory.addr as usize as *mut u8
            } else {
                let len = places.len_of(member) as u64;
                context.direct(task, address, len).filter(|_| address != 0)?
            });
        }
        if bases.iter().any(|base| !base.addr().is_multiple_of(64)) {
            return None;
        }
        Some(Self {
            memory,
            places,
            tasks,
            bases: bases.into(),
            fences: true,
            crowded: false,
            reads: false,
            compares: false,
            armed: false,
            me,
            round: 0,
            meetings: 0,
            wide: 0,
            begun: vec![0; n].into(),
            least: 0,
            readers: Readers::All,
            since: 0,
            behind: 0,
            long: store_policy.least() as usize,
            store_policy,
            third_cache: third_cache(),
            spare: Default::default(),
            kept: Default::default(),
        })
    }

    /// All members are registered for `membarrier(2)`.
    pub(crate) fn spare_fences(&mut self) {
        self.fences = false;
    }

    /// Tasks outnumber cores, as all members know. `reads`: all can read the inputs of others.
    pub(crate) fn spare_turns(&mut self, reads: bool) {
        (self.crowded, self.reads) = (true, reads);
    }

    /// All members compare roots, as all know.
    pub(crate) fn compare_roots(&mut self) {
        self.compares = true;
    }

    /// A plan, in which members compare roots if those of this board do.
    pub(crate) fn compared<'a>(&self, plan: Plan<'a>) -> Plan<'a> {
        if self.compares { plan.comparing() } else { plan }
    }

    /// A plan as the members of this board make it.
    #[inline]
    pub(crate) fn plan<'a>(&self, plan: Plan<'a>) -> Plan<'a> {
        let plan = self.compared(plan);
        let plan = if self.reads { plan.showing() } else { plan };
        if self.crowded {
            plan.widened(self.places.area_count / 2 * AREA_STRIDE, self.third_cache)
        } else {
            plan
        }
    }

    /// The task of a member.
    pub(crate) fn task(&self, member: usize) -> u32 {
        self.tasks.task(member).unwrap_or(u32::MAX)
    }

    /// The members' tasks.
    pub(crate) fn tasks(&self) -> &Group {
        &self.tasks
    }

    fn begun(&self, member: usize) -> &Begun {
        // SAFETY: boards begin with it, are mapped as long as the context is open, and hold zeroes
        // or what their owners store.
        unsafe { &*self.bases[member].cast() }
    }

    #[inline(always)]
    fn lines(&self, member: usize) -> Lines {
        // SAFETY: within the board, as for `begun`; behind the flags lies data.
        unsafe { <Lines>::at(self.bases[member].wrapping_add(self.places.lines), self.places.line_count) }
    }

    #[inline(always)]
    fn line_at(&self, member: usize, round: u64) -> *mut u8 {
        self.lines(member).address(round)
    }

    /// Where a member's data of a round is. Behind the last member's share of a row is the result
    /// that was computed for all.
    #[inline(always)]
    fn data(&self, member: usize, round: u64, spot: Spot) -> *mut u8 {
        match spot {
            Spot::Line(_) => self.line_at(member, round).wrapping_add(size_of::<Line>()),
            Spot::Row(share) => self.row(share).wrapping_add(member * share),
            Spot::Area(_) => self.area(member, rounds::area(round, self.places.area_count)),
            Spot::Wide => self.area(member, round as usize % 2 * (self.places.area_count / 2)),
        }
    }

    #[inline(always)]
    fn area(&self, member: usize, area: usize) -> *mut u8 {
        self.bases[member].wrapping_add(self.places.areas + area * AREA_STRIDE)
    }

    /// Words on a member's board for the lengths of parts, by rank.
    fn length_words(&self, member: usize) -> &[AtomicU64] {
        let first = self.bases[member].wrapping_add(self.places.lengths).cast::<AtomicU64>();
        // SAFETY: within the board, as for `begun`, a word for each member.
        unsafe { std::slice::from_raw_parts(first, self.bases.len()) }
    }

    /// How many places of this kind a member uses in rotation.
    #[inline(always)]
    fn places(&self, spot: Spot) -> usize {
        spot.places(self.places.area_count, self.places.line_count)
    }

    /// Scratch of so many bytes for a blocking call.
    pub(crate) fn scratch(&mut self, bytes: usize) -> *mut u8 {
        let scratch = &mut self.spare.1;
        scratch.resize(bytes.div_ceil(size_of::<[u64; 8]>()).max(scratch.len()), [0; 8]);
        scratch.as_mut_ptr().cast()
    }

    /// The round that a blocking call writes its steps into, and gives back at its end.
    pub(crate) fn lend_round(&mut self) -> Round {
        std::mem::take(&mut self.spare.0)
    }

    pub(crate) fn give_back(&mut self, round: Round) {
        self.spare.0 = round;
    }

    /// The caller's rank among the members.
    pub(crate) fn me(&self) -> usize {
        self.me
    }

    /// Whether the member at `rank` has left, on the board of `member`.
    fn left(&self, member: usize, rank: usize) -> &AtomicU8 {
        // SAFETY: within the board, as for `begun`.
        unsafe { &*self.bases[member].wrapping_add(LINE + rank).cast() }
    }

    /// Who sleeps, a bit for each rank.
    fn dozing(&self) -> impl ExactSizeIterator<Item = &AtomicU64> {
        let first = self.bases[0].wrapping_add(self.places.dozing).cast::<AtomicU64>();
        // SAFETY: within the board, as for `begun`.
        (0..self.bases.len().div_ceil(64)).map(move |word| unsafe { &*first.add(word) })
    }

    /// Sets or clears the request to be woken when something is published.
    pub(crate) fn set_dozing(&self, on: bool) {
        let Some(word) = self.dozing().nth(self.me / 64) else { return };
        let bit = 1 << (self.me % 64);
        if on {
            word.fetch_or(bit, Ordering::Relaxed);
        } else if !self.armed {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Makes sure that this member is woken by whatever is published from now on, without another
    /// poll. What was published before may not have been seen yet.
    pub(crate) fn arm(&mut self) {
        let bit = 1 << (self.me % 64);
        let is_set =
            self.dozing().nth(self.me / 64).is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0);
        if !(self.armed && is_set) {
            self.armed = true;
            self.set_dozing(true);
            membarrier::heavy();
        }
    }

    /// All operations in progress have a call that waits for them.
    pub(crate) fn disarm(&mut self) {
        if std::mem::replace(&mut self.armed, false) {
            self.set_dozing(false);
        }
    }

    /// Tells the others that this member no longer reads their boards.
    pub(crate) fn leave(&self) {
        for member in (0..self.bases.len()).filter(|member| *member != self.me) {
            // SYNC: pairs with the Acquire load in `is_left`: all reads are over.
            self.left(member, self.me).store(1, Ordering::Release);
        }
    }

    /// Whether all other members that are `alive` have left.
    pub(crate) fn is_left(&self, alive: impl Fn(usize) -> bool) -> bool {
        (0..self.bases.len()).all(|member| {
            // SYNC: pairs with the Release store in `leave`.
            member == self.me || self.left(self.me, member).load(Ordering::Acquire) != 0 || !alive(member)
        })
    }

    /// The memory, to be freed.
    pub(crate) fn region(&self) -> RegionInfo {
        self.memory
    }
}

#[cfg(all(test, not(loom), not(miri)))]
pub(crate) mod tests;
