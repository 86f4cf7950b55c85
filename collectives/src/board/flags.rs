//! The flags by which members publish their progress.
//!
//! Every word has one writer. A member that has put its data of round k stores k in that round's
//! line, and then in `begun`. A member that has seen k in the line may read the data. One that has
//! seen k in `begun` knows that this member no longer reads anything of rounds before k.

use lapis_core::sync::{AtomicU64, Ordering};

/// The round that a member has begun last.
#[repr(C)]
pub(crate) struct Begun(AtomicU64);

impl Begun {
    /// The member has ended all rounds before `round`.
    #[inline(always)]
    pub(crate) fn set(&self, round: u64) {
        // SYNC: pairs with the Acquire load in `get`: what the member has read, it has read before.
        self.0.store(round, Ordering::Release);
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        // SYNC: pairs with the Release store in `set`: what follows overwrites what the member has
        // read.
        self.0.load(Ordering::Acquire)
    }
}

/// The words at which members of a large team meet, in the memory of one of them: the only ones
/// with more than one writer. No member arrives at a meeting before the previous one was opened.
#[repr(C)]
pub(crate) struct Meeting {
    /// Arrivals at all meetings together.
    come: AtomicU64,
    _apart: [u64; 15],
    /// The round of the last meeting that was opened.
    open: AtomicU64,
}

impl Meeting {
    /// Counts the caller's arrival; its data is in place. True if it is the last one of `many`, the
    /// number of arrivals at all meetings up to this one: then it may read the data of the others.
    #[inline(always)]
    pub(crate) fn come(&self, many: u64) -> bool {
        // SYNC: each coming follows those before it, so that the last one's reads follow what all
        // have put.
        self.come.fetch_add(1, Ordering::AcqRel) + 1 == many
    }

    /// Opens the meeting: all go on, and may read the data of all.
    #[inline(always)]
    pub(crate) fn open(&self, round: u64) {
        // SYNC: pairs with the Acquire load in `is_open`: what all have put comes first, and what
        // the last one has made of it.
        self.open.store(round, Ordering::Release);
    }

    /// Whether the meeting of `round`, at which the caller has arrived, is open.
    #[inline(always)]
    pub(crate) fn is_open(&self, round: u64) -> bool {
        // SYNC: pairs with the Release store in `open`.
        self.open.load(Ordering::Acquire) == round
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::lines::Line;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Member {
        lines: [(Line, UnsafeCell<u64>); 2],
        begun: Begun,
    }

    impl Member {
        fn new() -> Self {
            let line = || (Line::new(), UnsafeCell::new(0));
            Self { lines: [line(), line()], begun: Begun(AtomicU64::new(0)) }
        }
    }

    fn wait(mut ready: impl FnMut() -> bool) {
        while !ready() {
            thread::yield_now();
        }
    }

    /// Rounds as the executor makes them, with two areas: everybody puts; those who `take` read
    /// what the others have put.
    fn rounds(members: &[Member], me: usize, rounds: u64, takes: impl Fn(usize, u64) -> bool) {
        let slots = 2;
        for round in 1..=rounds {
            let others = || (0..members.len()).filter(|other| *other != me);
            for other in others() {
                wait(|| members[other].begun.get() + slots > round);
            }
            let (line, data) = &members[me].lines[(round % slots) as usize];
            // SAFETY: that nobody reads now is what the model checks.
            data.with_mut(|data| unsafe { *data = round * 10 + me as u64 });
            line.show(round, round * 7);
            members[me].begun.set(round);
            for other in others().filter(|_| takes(me, round)) {
                let (line, data) = &members[other].lines[(round % slots) as usize];
                let mut signature = None;
                wait(|| {
                    signature = line.shown(round);
                    signature.is_some()
                });
                assert_eq!(signature, Some(round * 7));
                // SAFETY: the flag shows the round, so the data of it has been written and is not
                // written again before this member goes on.
                data.with(|data| assert_eq!(unsafe { *data }, round * 10 + other as u64));
            }
        }
    }

    /// Rounds in which each takes from the one before it, and then puts for the next one.
    fn chain(members: &[Member], me: usize, rounds: u64) {
        let slots = 2;
        for round in 1..=rounds {
            let at = (round % slots) as usize;
            let mut sum = round;
            if me > 0 {
                let (line, data) = &members[me - 1].lines[at];
                wait(|| line.shown(round).is_some());
                // SAFETY: the flag shows the round, so the data of it has been written and is not
                // written again before this member goes on.
                sum += data.with(|data| unsafe { *data });
                assert_eq!(sum, round * (me as u64 + 1));
            }
            if me + 1 < members.len() {
                wait(|| members[me + 1].begun.get() + slots > round);
            }
            let (line, data) = &members[me].lines[at];
            // SAFETY: that nobody reads now is what the model checks.
            data.with_mut(|data| unsafe { *data = sum });
            line.show(round, round);
            members[me].begun.set(round);
        }
    }

    #[test]
    fn loom_a_chain_passes_on_what_the_one_before_has_made() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let members: Arc<Vec<Member>> = Arc::new((0..2).map(|_| Member::new()).collect());
            let others = Arc::clone(&members);
            let thread = thread::spawn(move || chain(&others, 1, 4));
            chain(&members, 0, 4);
            thread.join().unwrap();
        });
    }

    fn explore(n: usize, last: u64, takes: fn(usize, u64) -> bool) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let members: Arc<Vec<Member>> = Arc::new((0..n).map(|_| Member::new()).collect());
            let threads: Vec<_> = (1..n)
                .map(|me| {
                    let members = Arc::clone(&members);
                    thread::spawn(move || rounds(&members, me, last, takes))
                })
                .collect();
            rounds(&members, 0, last, takes);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    /// Meetings with two rows in turns: everybody puts, the last one folds, all take.
    #[test]
    fn loom_the_last_to_come_reads_what_all_have_put_and_all_read_what_it_made() {
        type Row = [UnsafeCell<u64>; 3];
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let row = || -> Row { std::array::from_fn(|_| UnsafeCell::new(0)) };
            let meeting = Meeting { come: AtomicU64::new(0), _apart: [0; 15], open: AtomicU64::new(0) };
            let shared = Arc::new((meeting, [row(), row()]));
            let member = |shared: &(Meeting, [Row; 2]), me: usize| {
                for round in 1..=3 {
                    let row = &shared.1[(round % 2) as usize];
                    // SAFETY: that nobody reads now, nor others write, is what the model checks.
                    row[me].with_mut(|mine| unsafe { *mine = round * 10 + me as u64 });
                    if shared.0.come(2 * round) {
                        // SAFETY: all have come, and nobody goes on before it is opened.
                        let sum = (0..2).map(|at| row[at].with(|put| unsafe { *put })).sum();
                        // SAFETY: the same.
                        row[2].with_mut(|made| unsafe { *made = sum });
                        shared.0.open(round);
                    }
                    wait(|| shared.0.is_open(round));
                    // SAFETY: it is open, so nobody writes here before this member has come to the
                    // next meeting but one.
                    row[2].with(|made| assert_eq!(unsafe { *made }, round * 20 + 1));
                }
            };
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || member(&other, 1));
            member(&shared, 0);
            thread.join().unwrap();
        });
    }

    #[test]
    fn loom_everybody_reads_whole_data_of_everybody() {
        explore(2, 4, |_, _| true);
    }

    #[test]
    fn loom_a_root_that_runs_ahead_overwrites_nothing_that_is_read() {
        explore(2, 4, |me, _| me == 1);
    }

    #[test]
    fn loom_roots_that_change_overwrite_nothing_that_is_read() {
        explore(2, 4, |me, round| me as u64 == round % 2);
    }
}
