//! The round that a member is in: room for its data, putting and publishing it, and taking the data
//! of others. The layers above wait for what is missing.

use super::rounds::{Plan, Readers, Round, Spot, Take, needed as needed_for};
use super::{AREA, Board, Data};
use crate::Signature;
use crate::combine::Fold;
use crate::error::{CollectiveError, Result};
use crate::lines::Line;
use lapis_ablation::{Optimization, without};
use lapis_core::sync::{Ordering, fence, membarrier, prefetch};

const CACHE_LINE: usize = 64;

/// Rounds between the one that is read and the one whose line is prefetched.
const AHEAD: u64 = 4;

/// The least number of bytes that do not fit beside the flag in one cache line.
const FLAGS_LINE_DATA: usize = CACHE_LINE - size_of::<Line>() + 1;

impl Board {
    /// Begins the next round, which is round `r` of a plan. In the first one the member publishes
    /// the list of lengths, if the call has one.
    #[inline(always)]
    pub(crate) fn begin_round(&mut self, plan: &Plan<'_>, r: usize) {
        self.round += 1;
        self.meetings += u64::from(plan.meets());
        if plan.is_wide() {
            self.wide = self.round;
        }
        if self.readers != plan.readers() {
            (self.readers, self.since) = (plan.readers(), self.round);
        }
        if r == 0 && plan.has_lengths() {
            self.tell_lengths(plan);
        }
    }

    /// The member that must end an earlier round before the present one has room for its data.
    #[inline(always)]
    pub(crate) fn lacks_room(&mut self, spot: Spot) -> Option<usize> {
        if self.least >= self.needed(spot) { None } else { self.look_for_room(spot) }
    }

    fn look_for_room(&mut self, spot: Spot) -> Option<usize> {
        let needed = self.needed(spot);
        if needed_for(self.round, self.places.line_count, 0) > self.since {
            // The rounds that used the line and the area last had the readers of this one, and all
            // members have ended what came before.
            match self.readers {
                Readers::All => {}
                Readers::One(reader) => return (!self.has_begun(reader, needed)).then_some(reader),
                Readers::Nobody => return None,
            }
        }
        self.begun[self.me] = self.round;
        for member in 0..self.begun.len() {
            if !self.has_begun(member, needed) {
                return Some(member);
            }
        }
        self.least = self.begun.iter().copied().min().unwrap_or(self.round);
        None
    }

    /// Whether a member has begun a round; looks at its board only if that is not known.
    fn has_begun(&mut self, member: usize, round: u64) -> bool {
        if self.begun[member] < round {
            self.begun[member] = self.begun(member).get();
        }
        self.begun[member] >= round
    }

    /// Whether a member has ended the round that [`lacks_room`](Self::lacks_room) waits for.
    #[inline]
    pub(crate) fn has_room(&self, member: usize, spot: Spot) -> bool {
        self.begun(member).get() >= self.needed(spot)
    }

    /// The round that all must have begun before the present one reuses a place of this kind.
    #[inline(always)]
    fn needed(&self, spot: Spot) -> u64 {
        let wide = if matches!(spot, Spot::Area(_)) { self.wide } else { 0 };
        needed_for(self.round, self.places(spot), wide)
    }

    /// Writes the data of the present round, and behind it the words for the others.
    ///
    /// # Safety
    /// There is room; the data is what the plan says, and nobody else's.
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, work: &Round, spot: Spot, data: &mut (impl Data + ?Sized)) {
        let area = self.data(self.me, self.round, spot);
        // SAFETY: the caller's promise.
        unsafe {
            match spot {
                Spot::Area(bytes) if bytes >= self.long => data.put_long(&work.puts, area, self.past()),
                Spot::Wide => {
                    // Others time the read of this word, which members that meet do not publish
                    // otherwise.
                    self.begun(self.me).set(self.round);
                    data.put_long(&work.puts, area, self.past_of_crowd());
                }
                _ => data.put(&work.puts, area),
            }
        }
        if !work.tells.is_empty() {
            let words = self.words(self.me);
            // SAFETY: the caller's promise; a plan has one word for each member and one more, for
            // which the area reserves room.
            unsafe { std::ptr::copy_nonoverlapping(work.tells.as_ptr(), words, work.tells.len()) };
        }
    }

    /// Publishes the data of the present round.
    #[inline(always)]
    pub(crate) fn show(&self, signature: Signature) {
        self.lines(self.me).line(self.round).show(self.round, signature.0);
        self.begun(self.me).set(self.round);
    }

    /// Orders the publication before the check for members that sleep.
    #[inline(always)]
    pub(crate) fn order_showing(&self) {
        membarrier::light(self.fences);
    }

    /// A member's call, if it has published the present round.
    #[inline(always)]
    pub(crate) fn shown(&self, member: usize) -> Option<u64> {
        self.lines(member).line(self.round).shown(self.round)
    }

    /// The caller polls for a member's data: prefetches what lies beyond the flag's own cache line,
    /// so that it arrives together with the flag.
    #[inline(always)]
    pub(crate) fn expect(&self, member: usize, spot: Spot) {
        if let Spot::Line(FLAGS_LINE_DATA..) = spot
            && !without(Optimization::ReadPrefetch)
        {
            prefetch::before_reading(self.line_at(member, self.round).wrapping_add(CACHE_LINE));
        }
    }

    /// The caller had to wait for data.
    pub(crate) fn is_in_step(&mut self) {
        self.behind = 0;
    }

    /// If others have been ahead of the caller for some rounds, prefetches their lines of a later
    /// one.
    #[inline(never)]
    pub(crate) fn look_ahead(&mut self, takes: &[Take], spot: Spot) {
        self.behind += 1;
        if self.behind <= AHEAD || without(Optimization::ReadPrefetch) {
            return;
        }
        for take in takes {
            let line = self.line_at(take.member, self.round + AHEAD);
            prefetch::before_reading(line);
            if let Spot::Line(FLAGS_LINE_DATA..) = spot {
                prefetch::before_reading(line.wrapping_add(CACHE_LINE));
            }
        }
    }

    /// A member's call, if it has published the round or arrived at its meeting, and is not about
    /// to write a later call to the same place: it writes the call before the round.
    pub(super) fn called(&self, member: usize, round: u64) -> Option<u64> {
        let found = self.lines(member).line(round).shown(round).or_else(|| self.came_with(member, round));
        // SYNC: if the call is a later one, what the member had stored and seen before it wrote it
        // is seen here, too.
        fence(Ordering::Acquire);
        let next = round + self.places.line_count as u64;
        let is_past = self.begun(member).get() + 1 >= next || self.is_over(round);
        found.filter(|_| !is_past)
    }

    /// Takes data of the present round from a member. `heard` becomes the most rounds that a member
    /// needs.
    ///
    /// # Safety
    /// The data has been published; the buffers are what the plan says, and used by nobody else.
    #[inline(always)]
    pub(crate) unsafe fn take(
        &self,
        take: &Take,
        spot: Spot,
        data: &mut (impl Data + ?Sized),
        fold: &Fold,
        heard: &mut usize,
    ) -> Result<()> {
        if let Some(expected) = take.told {
            // SAFETY: the caller's promise; in such a plan the others write words.
            *heard = unsafe { self.hear(take.member, expected) }?.max(*heard);
        }
        if take.into.len == 0 {
            return Ok(());
        }
        for one in take.each() {
            let area = self.data(one.member, self.round, spot);
            // SAFETY: the caller's promise.
            unsafe {
                match one.past {
                    true => data.take_past(&one, area, fold),
                    false => data.take(&one, area, fold),
                }
            }?;
        }
        Ok(())
    }

    /// Ends the present round. `all_have_begun`: all members have published it.
    #[inline(always)]
    pub(crate) fn end_round(&mut self, all_have_begun: bool) {
        if all_have_begun {
            self.least = self.round;
        }
        self.lines(self.me).prefetch_with_data(self.round + 1);
    }

    /// A member's words of unequal parts in the present round, behind its data.
    fn words(&self, member: usize) -> *mut u64 {
        let at = Plan::told_at(AREA, self.bases.len());
        self.data(member, self.round, Spot::Area(AREA)).wrapping_add(at).cast()
    }

    /// The number of rounds that a member needs. Checks that it has `expected` bytes for this one.
    ///
    /// # Safety
    /// The member has published the present round, with its words.
    unsafe fn hear(&self, member: usize, expected: u64) -> Result<usize> {
        // SAFETY: the caller's promise; all members place their words alike.
        let (bytes, rounds) = unsafe {
            let words = self.words(member);
            (*words.add(self.me), *words.add(self.bases.len()))
        };
        if bytes == expected {
            return Ok(rounds as usize);
        }
        Err(CollectiveError::Length {
            from: self.task(member),
            got: bytes as usize,
            expected: expected as usize,
        })
    }
}

/// Members whose calls differ.
impl Board {
    /// Checks that a member makes the same call as the caller.
    #[inline(always)]
    pub(crate) fn same(&self, member: usize, theirs: u64, mine: Signature) -> Result<()> {
        if theirs == mine.0 { Ok(()) } else { Err(self.mismatch(member, theirs, mine)) }
    }

    /// An error that names a member with another call in the present round.
    pub(crate) fn other_call(&self, mine: Signature) -> Option<CollectiveError> {
        self.other_call_in(self.round, mine)
    }

    /// The same for the first round of a plan that has not begun.
    pub(crate) fn other_call_before(&self, plan: &Plan<'_>, mine: Signature) -> Option<CollectiveError> {
        self.tell_lengths(plan);
        self.other_call_in(self.round + 1, mine)
    }

    fn other_call_in(&self, round: u64, mine: Signature) -> Option<CollectiveError> {
        (0..self.bases.len()).filter(|member| *member != self.me).find_map(|member| {
            let theirs = self.called(member, round)?;
            self.same(member, theirs, mine).err()
        })
    }

    #[cold]
    fn mismatch(&self, member: usize, theirs: u64, mine: Signature) -> CollectiveError {
        let (from, theirs) = (self.task(member), Signature(theirs));
        if !theirs.differs_in_lengths(mine) {
            return CollectiveError::mismatch(from, theirs, mine);
        }
        let [of_them, of_me] = [member, self.me].map(|member| self.lengths(member));
        // They belong to these calls if both members have published them.
        let told = theirs.is_of(of_them.iter().copied()) && mine.is_of(of_me.iter().copied());
        match of_them.iter().zip(&of_me).enumerate().find(|(_, (theirs, mine))| theirs != mine) {
            Some((rank, (theirs, of_me))) if told => {
                CollectiveError::Lengths { from, call: mine.name(), rank, theirs: *theirs, mine: *of_me }
            }
            _ => CollectiveError::mismatch(from, theirs, mine),
        }
    }

    /// Publishes the list of lengths. Others read it if a member's call differs from theirs; a call
    /// that checks all members does not go on then.
    #[inline(never)]
    fn tell_lengths(&self, plan: &Plan<'_>) {
        for (word, len) in self.length_words(self.me).iter().zip(plan.lengths()) {
            word.store(len, Ordering::Relaxed);
        }
    }

    /// The list of lengths that a member has published.
    fn lengths(&self, member: usize) -> Vec<u64> {
        self.length_words(member).iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }
}
