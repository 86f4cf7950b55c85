//! How long to rest before the first poll for an answer.
//!
//! A poll fetches the cache line of the answer from the task that is about to write it, which must
//! then fetch it back: polling too early delays the answer by up to its own time. Polling late
//! costs the delay. The right moment depends on the processor, on the distance of the cores, which
//! changes, and on the work of the tasks between messages. So it is measured.
//!
//! No task can measure it alone. If one task rests longer than the other, it answers late, so the
//! other one polls too early, whatever it tries. Both must change their rests at the same time.
//! That needs no agreement: two tasks that answer each other through the mailbox line count the
//! same messages there. At the same messages both try the same rests, and both then use the one
//! with which messages were fastest.
//!
//! ```text
//! number of the message in the mailbox line, modulo CYCLE:
//!
//! 0            BEGIN                                          END                      CYCLE
//! | the chosen | RESTS[0] | RESTS[1] | ...       | RESTS[..] | one is chosen anew ...  |
//!              a trial: BLOCKS blocks of BLOCK messages
//! ```
//!
//! Each task decides for itself whether its trials were whole, and by its own clock which rest was
//! best. A task that has missed the end of a block gives its trials up and returns to its chosen
//! rest. The other one then measures beside what that task goes on with, so its choice suits both;
//! likewise beside a task that never tries, because it answers several others by turns. Only if the
//! last blocks of the trials are missed do the two choose apart, and one looks too early. No
//! message is lost by that, or waits for the other task: rests end by themselves. It costs time
//! until the next trials, a cycle later. An agreement would cost more: an exchange of times or of
//! votes, of which each task would have to know, too, that the other one has counted it.
//!
//! Trials go from long to short: tasks that have once begun to poll too early delay each other, and
//! continue to do so with a rest that would have been long enough.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The rests that are tried, in steps of [`AnswerRest::rest`]. The longest is a way to and fro
/// between distant cores; near the shortest ways of today's processors they are closest together.
const RESTS: [u16; 17] = [420, 300, 220, 170, 140, 120, 105, 95, 87, 80, 75, 70, 62, 52, 40, 25, 10];
/// The rest until the first trials: a bit too long between near cores, too short between others.
const FIRST: u16 = 95;

/// Messages, in both directions, that are measured together.
const BLOCK: u64 = 16;
/// Blocks of a trial. The first one does not count: the tasks change their rests one after the
/// other. The median of the others does, for interrupts disturb some.
const BLOCKS: usize = 8;
/// Messages before the trials, so that what tasks exchange at their start does not count.
const BEGIN: u64 = 1024;
const END: u64 = BEGIN + (RESTS.len() * BLOCKS) as u64 * BLOCK;
/// Up to here the rest is half as long again as the chosen one, so that no task looks too early
/// from the last trials on.
const SETTLED: u64 = END + BLOCK;
/// Messages from trials to trials: some milliseconds if they go one after the other. Trials are a
/// thirtieth of them.
const CYCLE: u64 = 64 << 10;
/// A shorter rest with which messages take longer by one part of so many is as good.
const AS_GOOD: u32 = 32;

/// How long to rest before the first look for an answer.
#[derive(Debug)]
pub(crate) struct AnswerRest {
    /// The present rest, in steps.
    steps: u16,
    /// The rest outside of trials.
    chosen: u16,
    /// The message with which the present stretch has begun, and how many it lasts for.
    begin: u64,
    lasts: u64,
    /// When it has begun, if it is a block of a trial.
    since: Option<Instant>,
    /// How long the blocks of this trial took.
    blocks: [Duration; BLOCKS],
    /// The median block with each rest; `Duration::MAX`: none was measured.
    times: [Duration; RESTS.len()],
}

impl Default for AnswerRest {
    fn default() -> Self {
        Self {
            steps: FIRST,
            chosen: FIRST,
            begin: 0,
            lasts: BEGIN,
            since: None,
            blocks: [Duration::ZERO; BLOCKS],
            times: [Duration::MAX; RESTS.len()],
        }
    }
}

impl AnswerRest {
    /// Rests before a look for an answer.
    #[inline(always)]
    pub(crate) fn rest(&self) {
        Self::rest_for(self.steps);
    }

    /// Rests for so many steps. A step is a multiplication that waits for the one before, which
    /// takes about a nanosecond on each of today's processors: pauses take 10 to 50, and two may be
    /// too few where three are too many.
    ///
    /// Not inlined, so that `cargo xtask bench instructions` can leave it out: how long a task
    /// rests depends on time.
    #[inline(never)]
    pub(crate) fn rest_for(steps: u16) {
        let mut product = black_box(3_u64);
        for _ in 0..steps {
            product = product.wrapping_mul(product) | 1;
        }
        black_box(product);
    }

    /// The message of this number has come by the mailbox line. `now` is asked at the ends of
    /// stretches.
    #[inline(always)]
    pub(crate) fn answered(&mut self, number: u64, now: impl FnOnce() -> Instant) {
        if number.wrapping_sub(self.begin) >= self.lasts {
            self.next_stretch(number, now());
        }
    }

    #[cold]
    #[inline(never)]
    fn next_stretch(&mut self, number: u64, now: Instant) {
        // A task sees every other number. Numbers that jump are those of another line, or of
        // messages that came while this task looked elsewhere.
        let goes_on = number.wrapping_sub(self.begin) <= self.lasts + 1;
        if let Some(since) = self.since.take().filter(|_| goes_on) {
            self.measured((self.begin % CYCLE - BEGIN) / BLOCK, now.duration_since(since));
        }
        let position = number % CYCLE;
        (self.begin, self.steps) = (number, self.chosen);
        self.lasts = match position {
            ..BEGIN => BEGIN - position,
            BEGIN..END => {
                let (block, within) = ((position - BEGIN) / BLOCK, (position - BEGIN) % BLOCK);
                if block == 0 || goes_on {
                    self.steps = RESTS[block as usize / BLOCKS];
                    self.since = Some(now);
                    BLOCK - within
                } else {
                    END - position
                }
            }
            END..SETTLED => {
                self.choose();
                self.steps = self.chosen + self.chosen / 2;
                SETTLED - position
            }
            _ => CYCLE - position + BEGIN,
        };
    }

    /// This block of the trials has taken so long.
    fn measured(&mut self, block: u64, time: Duration) {
        let (trial, block) = (block as usize / BLOCKS, block as usize % BLOCKS);
        self.blocks[block] = time;
        if block == BLOCKS - 1 {
            self.blocks[1..].sort_unstable();
            self.times[trial] = self.blocks[BLOCKS / 2];
        }
    }

    /// Takes the shortest rest that was as good as the best, if all were tried.
    fn choose(&mut self) {
        let times = std::mem::replace(&mut self.times, [Duration::MAX; RESTS.len()]);
        let least = times.iter().min().copied().unwrap_or_default();
        let good = |time: &Duration| *time <= least + least / AS_GOOD;
        if !times.contains(&Duration::MAX)
            && let Some(best) = times.iter().rposition(good)
        {
            self.chosen = RESTS[best];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tasks that answer each other by one mailbox line, from its message `number` on.
    struct Pair {
        number: u64,
        now: Instant,
        tasks: [AnswerRest; 2],
    }

    impl Pair {
        fn new() -> Self {
            Self { number: 0, now: Instant::now(), tasks: Default::default() }
        }

        /// So many messages, each of which takes `way` nanoseconds with these rests of its reader
        /// and its sender.
        fn exchange(&mut self, messages: u64, way: impl Fn(u64, u64) -> u64) {
            for _ in 0..messages {
                self.number += 1;
                let [reader, sender] = [self.number % 2, (self.number + 1) % 2].map(|task| task as usize);
                let rests = [reader, sender].map(|task| u64::from(self.tasks[task].steps));
                self.now += Duration::from_nanos(way(rests[0], rests[1]));
                self.tasks[reader].answered(self.number, || self.now);
            }
        }

        fn chosen(&self) -> [u16; 2] {
            self.tasks.each_ref().map(|task| task.chosen)
        }
    }

    /// An answer takes twice as long if it is looked for before it is there after `due` steps, or
    /// if one task rests for longer than the other.
    fn way(due: u64) -> impl Fn(u64, u64) -> u64 {
        move |own, other| if own < due || other > own { 2 * due.max(other) } else { own.max(due) }
    }

    #[test]
    fn both_tasks_find_the_shortest_rest_that_is_long_enough() {
        for (due, best) in [(400, 420), (72, 75), (30, 40), (1, 10)] {
            let mut pair = Pair::new();
            pair.exchange(SETTLED + 2, way(due));
            assert_eq!(pair.chosen(), [best; 2], "due after {due}");
            assert_eq!(pair.tasks[0].steps, best);
        }
    }

    #[test]
    fn a_change_of_distance_is_noticed_with_the_next_trials() {
        let mut pair = Pair::new();
        pair.exchange(SETTLED, way(30));
        pair.exchange(CYCLE, way(200));
        assert_eq!(pair.chosen(), [220; 2]);
    }

    #[test]
    fn interrupts_do_not_count() {
        let mut pair = Pair::new();
        let way = way(72);
        for message in 0..SETTLED + 2 {
            pair.exchange(1, |own, other| way(own, other) + if message % 101 == 0 { 5000 } else { 0 });
        }
        assert_eq!(pair.chosen(), [75; 2]);
    }

    #[test]
    fn where_the_rest_makes_no_difference_it_is_short() {
        let mut pair = Pair::new();
        pair.exchange(SETTLED, |_, _| 10_000);
        assert_eq!(pair.chosen(), [10; 2]);
    }

    #[test]
    fn tasks_that_disagree_agree_with_the_next_trials() {
        let mut pair = Pair::new();
        pair.exchange(END - 1, way(30));
        // Task 0 does not count the message that ends the last block: its trials are not whole.
        pair.number += 1;
        pair.exchange(SETTLED - pair.number + 2, way(30));
        assert_eq!(pair.chosen(), [FIRST, 40]);
        let (cycle, start) = (CYCLE / 2, pair.now);
        pair.exchange(cycle, way(30));
        let apart = pair.now - start;
        pair.exchange(CYCLE, way(30));
        assert_eq!(pair.chosen(), [40; 2]);
        let together = Duration::from_nanos(cycle * u64::from(FIRST));
        assert!(apart < 2 * together, "{apart:?} instead of {together:?} with the first rest");
    }

    #[test]
    fn who_measures_beside_a_task_that_has_given_up_agrees_with_it() {
        let mut pair = Pair::new();
        pair.exchange(BEGIN + 40 * BLOCK - 1, way(30));
        pair.number += 1;
        pair.exchange(SETTLED - pair.number + 2, way(30));
        assert_eq!(pair.chosen(), [FIRST; 2]);
    }

    #[test]
    fn beside_a_task_that_never_tries_the_other_one_finds_what_is_best_for_both() {
        for (due, best) in [(30, FIRST), (200, 220)] {
            let mut pair = Pair::new();
            for _ in 0..SETTLED + 2 {
                pair.exchange(1, way(due));
                // Another peer's line in between.
                pair.tasks[0].answered(7, || pair.now);
            }
            assert_eq!(pair.chosen(), [FIRST, best], "due after {due}");
        }
    }

    #[test]
    fn trials_that_are_not_whole_teach_nothing() {
        let mut pair = Pair::new();
        pair.exchange(BEGIN + 500, way(30));
        pair.number += 100;
        pair.exchange(2, way(30));
        assert_eq!(pair.tasks[0].steps, FIRST, "no trial goes on after a gap");
        pair.exchange(CYCLE - 700, way(30));
        assert_eq!(pair.chosen(), [FIRST; 2]);
        // Another line, whose numbers are any.
        pair.tasks[0].answered(7, || pair.now);
        pair.tasks[0].answered(u64::MAX, || pair.now);
        assert_eq!(pair.chosen(), [FIRST; 2]);
        pair.exchange(CYCLE + SETTLED, way(30));
        assert_eq!(pair.chosen(), [40; 2]);
    }
}
