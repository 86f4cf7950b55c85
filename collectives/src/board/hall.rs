//! Where members of a large team meet: beside the board of the first one.
//!
//! ```text
//! | meeting | who has come: a line of each member | two rows: a share of each member, and a result |
//! ```
//!
//! Members that meet publish nothing on their own boards, and read no others: if there are more of
//! them than cores, every page that is touched costs a TLB miss after each task switch. So the rows
//! lie back to back, and short ones on one page.
//!
//! All words and bytes except those of the meeting have one writer at a time. No member arrives at
//! a meeting before the previous one was opened. So a member that writes into a row knows that all
//! have ended the meeting that used it last, two meetings ago.

use super::flags::Meeting;
use super::rounds::{MEET_MEMBERS, Plan, Round, Spot, Take, share};
use super::{Board, Data, LINE, PAGE};
use crate::Signature;
use crate::combine::Fold;
use crate::error::Result;
use crate::lines::Line;

/// Offsets within the hall of a team, from the start of the first member's board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hall {
    at: usize,
    come: usize,
    /// Distance of the two rows.
    rows: usize,
    /// Bytes of the hall; 0 for teams that don't meet.
    pub(super) len: usize,
}

impl Hall {
    /// Behind a board of so many bytes, which end at the end of a page.
    pub(super) fn of(n: usize, at: usize) -> Self {
        let come = at + size_of::<Meeting>().next_multiple_of(LINE);
        let row = (n + 1) * share(n);
        let rows = (come + n * size_of::<Line>() + row).next_multiple_of(PAGE) + PAGE / 2;
        let len = if n < MEET_MEMBERS { 0 } else { (rows + row).next_multiple_of(PAGE) - at };
        Self { at, come, rows, len }
    }

    /// Nothing overlaps, behind a board of so many bytes.
    #[cfg(all(test, not(loom), not(miri)))]
    pub(super) fn fits(&self, n: usize, board: usize) -> bool {
        let row = ((n + 1) * share(n)).next_multiple_of(64);
        self.at >= board
            && self.at + size_of::<Meeting>() <= self.come
            && self.come + n * size_of::<Line>() + row <= self.rows
            && (self.len == 0 || self.rows + row <= self.at + self.len)
    }
}

impl Board {
    fn meeting(&self) -> &Meeting {
        // SAFETY: members that meet have a hall, which is mapped as long as the context is open,
        // and holds zeroes or what members store.
        unsafe { &*self.bases[0].wrapping_add(self.places.hall.at).cast() }
    }

    /// The line that a member writes when it arrives.
    fn entry(&self, member: usize) -> &Line {
        let entries = self.bases[0].wrapping_add(self.places.hall.come).cast::<Line>();
        // SAFETY: members that meet have a hall, which stays mapped, with one for each member.
        unsafe { &*entries.add(member) }
    }

    /// The row of the present meeting, with so many bytes of each member.
    #[inline(always)]
    pub(super) fn row(&self, share: usize) -> *mut u8 {
        let middle = self.bases[0].wrapping_add(self.places.hall.rows);
        if self.meetings.is_multiple_of(2) {
            return middle;
        }
        let len = (self.bases.len() + 1) * share;
        middle.wrapping_sub(len.next_multiple_of(64))
    }

    /// Arrives at the meeting of the present round. True for the last member, which
    /// [ends](Self::end_meeting) it.
    #[inline(always)]
    pub(crate) fn come(&self, signature: Signature) -> bool {
        self.entry(self.me).show(self.round, signature.0);
        self.meeting().come(self.meetings * self.bases.len() as u64)
    }

    /// Whether the meeting of the present round is open.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.meeting().is_open(self.round)
    }

    /// Whether the last meeting that was opened is that of a round.
    pub(super) fn is_over(&self, round: u64) -> bool {
        self.places.hall.len > 0 && self.meeting().is_open(round)
    }

    /// Opens the meeting.
    #[inline(always)]
    fn open(&self) {
        self.meeting().open(self.round);
    }

    /// The call with which a member arrived at the meeting of a round.
    pub(super) fn came_with(&self, member: usize, round: u64) -> Option<u64> {
        if self.places.hall.len > 0 { self.entry(member).shown(round) } else { None }
    }

    /// The members that have not arrived. If none is missing, any other member may be the one that
    /// opens the meeting.
    pub(crate) fn absent(&self) -> impl Iterator<Item = usize> {
        let others = || (0..self.bases.len()).filter(|member| *member != self.me);
        let round = self.round;
        let come = move |member: usize| self.entry(member).shown(round).is_some();
        let all_have = others().all(come);
        others().filter(move |member| all_have || !come(*member))
    }

    /// Ends the meeting of round `r` of a plan, as the last member to arrive: checks that all make
    /// the same call, computes the common result, and opens the meeting.
    ///
    /// # Safety
    /// All have arrived, the caller last; the data is what the plan says, and used by nobody else.
    pub(crate) unsafe fn end_meeting(
        &self,
        (plan, r): (&Plan<'_>, usize),
        work: &mut Round,
        data: &mut (impl Data + ?Sized),
        fold: &Fold,
        signature: Signature,
    ) -> Result<()> {
        for member in 0..self.bases.len() {
            if let Some(theirs) = self.came_with(member, self.round) {
                self.same(member, theirs, signature)?;
            }
        }
        if plan.last(r, work) {
            let spot = Spot::Row(plan.width() * plan.element());
            for take in work.takes.drain(..).flat_map(Take::each) {
                // SAFETY: all have put what they have; nobody writes there before the meeting is
                // open.
                unsafe { data.take(&take, self.data(take.member, self.round, spot), fold) }?;
            }
            // SAFETY: a row has room for a share behind those of all, which nobody reads before the
            // meeting is open.
            unsafe { data.put(&work.puts, self.data(self.bases.len(), self.round, spot)) };
        }
        self.open();
        Ok(())
    }
}
