//! What a measurement gave, what limits follow from it, and whether it was disturbed.
//!
//! Each figure is the best of its time, so a busy machine lengthens none but those that never had a
//! quiet moment. Those it lengthens a lot, and limits that were drawn from them would slow jobs for
//! as long as they are kept. So everything is measured twice, in two passes, and counts if the
//! threads had their cores and nearly all figures of both passes are about the same. The first sees
//! neighbours who want the cores, those of other virtual machines too; the second sees neighbours
//! who want caches and memory, and figures that so short a time can't settle.

use crate::{Copies, LEAST_PAST};
use std::fmt;
use std::time::Duration;

/// Another way must save so many percent, or the usual one stays.
const WORTH: u64 = 5;

/// The part of its time, in percent, for which a thread may be without its core.
const MOST_AWAY: u32 = 10;

/// A figure is unsteady if one pass has so many percent more than the other one.
const UNSTEADY: u64 = 50;

/// The part of the figures, in percent, that may be unsteady: the better one is mostly right.
const MOST_UNSTEADY: usize = 10;

/// What messages of a length took, in nanoseconds each; 0 where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Bytes of a message.
    pub bytes: usize,
    /// In a stream, by ordinary stores.
    pub cached: u64,
    /// In a stream, past the caches.
    pub past: u64,
    /// Alone, in the ring.
    pub alone: u64,
    /// By cross-memory attach.
    pub attach: u64,
}

/// The figures of one pass between two cores, or the better ones of two passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Nanoseconds of a cache line's way from one core to the other.
    pub line: u32,
    /// Nanoseconds of the shortest read of a line that the other one has written.
    pub read: u32,
    /// By length.
    pub rows: Vec<Row>,
}

impl Figures {
    /// The limits with what these say.
    pub fn refine(&self, known: Copies) -> Copies {
        let past = self.past().map(|bytes| (bytes as u32).max(LEAST_PAST));
        let attach = self.attach().map_or(known.attach, |bytes| bytes as u64);
        match self.read >= known.far {
            true => Copies { far_past: past, attach, ..known },
            false => Copies { near_past: past, attach, ..known },
        }
    }

    /// From how many bytes on messages had better go past the caches.
    fn past(&self) -> Option<usize> {
        self.smallest(|row| row.past > 0 && row.cached > 0 && row.past * (100 + WORTH) < row.cached * 100)
    }

    /// From how many bytes on the kernel's copy takes less time than a message.
    fn attach(&self) -> Option<usize> {
        self.smallest(|row| row.attach > 0 && row.attach < row.alone)
    }

    /// The smallest length from which on all are better.
    fn smallest(&self, better: impl Fn(&Row) -> bool) -> Option<usize> {
        self.rows.iter().rev().take_while(|row| better(row)).last().map(|row| row.bytes)
    }

    fn are_complete(&self) -> bool {
        let measured = |row: &Row| row.cached > 0 && row.past > 0 && row.alone > 0;
        self.read > 0 && !self.rows.is_empty() && self.rows.iter().all(measured)
    }

    /// How many figures are unsteady, and of how many.
    fn unsteady(&self, other: &Self) -> (usize, usize) {
        let figures = |row: &Row| [row.cached, row.past, row.alone, row.attach];
        let pairs = self.rows.iter().zip(&other.rows);
        let pairs = pairs.flat_map(|(one, two)| figures(one).into_iter().zip(figures(two)));
        let differ = |(one, two): &(u64, u64)| one.max(two) * 100 > one.min(two) * (100 + UNSTEADY);
        let all: Vec<bool> = pairs.map(|pair| differ(&pair)).collect();
        (all.iter().filter(|differs| **differs).count(), all.len())
    }

    fn better_of(&self, other: &Self) -> Self {
        let row = |(one, two): (&Row, &Row)| Row {
            bytes: one.bytes,
            cached: one.cached.min(two.cached),
            past: one.past.min(two.past),
            alone: one.alone.min(two.alone),
            attach: one.attach.min(two.attach),
        };
        Self {
            line: self.line.min(other.line),
            read: self.read.min(other.read),
            rows: self.rows.iter().zip(&other.rows).map(row).collect(),
        }
    }
}

/// What was measured between two cores.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The two, as the system numbers them.
    pub cores: [usize; 2],
    /// All of it, twice.
    pub passes: [Figures; 2],
    /// How long the thread that fared worse was without its core.
    pub away: Duration,
    /// How long either thread was at it.
    pub took: Duration,
}

impl Trial {
    /// The better figures of the two passes.
    pub fn figures(&self) -> Figures {
        self.passes[0].better_of(&self.passes[1])
    }

    /// Why the figures don't count.
    fn disturbance(&self, known: &Copies) -> Option<Disturbance> {
        let (cores, [first, second]) = (self.cores, &self.passes);
        let (unsteady, of) = first.unsteady(second);
        let far = [first, second].map(|pass| pass.read >= known.far);
        if is_away(self.away, self.took) {
            Some(Disturbance::Away { cores, away: self.away, took: self.took })
        } else if !first.are_complete() || !second.are_complete() {
            Some(Disturbance::Incomplete { cores })
        } else if far[0] != far[1] {
            Some(Disturbance::Moved { cores, reads: [first.read, second.read] })
        } else if unsteady * 100 > of * MOST_UNSTEADY {
            Some(Disturbance::Unsteady { cores, unsteady, of })
        } else {
            None
        }
    }
}

/// Whether a thread was without its core for so long that what it measured does not count.
pub(crate) fn is_away(away: Duration, took: Duration) -> bool {
    away * 100 > took * MOST_AWAY
}

/// The limits that trials come to.
///
/// # Errors
/// One of the trials was disturbed.
pub fn limits(trials: &[Trial], known: Copies) -> Result<Copies, Disturbance> {
    match trials.iter().find_map(|trial| trial.disturbance(&known)) {
        Some(disturbance) => Err(disturbance),
        None => Ok(trials.iter().fold(known, |known, trial| trial.figures().refine(known))),
    }
}

/// What disturbed a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// There was no memory for it, or no thread.
    Incomplete {
        /// The cores of the trial.
        cores: [usize; 2],
    },
    /// Somebody else ran on the cores.
    Away {
        /// The cores of the trial.
        cores: [usize; 2],
        /// For how long the thread that fared worse was without its core.
        away: Duration,
        /// The length of the trial.
        took: Duration,
    },
    /// The cores were near in one pass and far in the other: a virtual machine's may move.
    Moved {
        /// The cores of the trial.
        cores: [usize; 2],
        /// Nanoseconds of the shortest read of each pass.
        reads: [u32; 2],
    },
    /// Many figures differ from one pass to the other.
    Unsteady {
        /// The cores of the trial.
        cores: [usize; 2],
        /// How many do.
        unsteady: usize,
        /// Of how many.
        of: usize,
    },
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { cores: [one, two] } => {
                write!(f, "cores {one} and {two}: no memory or no thread to measure with")
            }
            Self::Away { cores: [one, two], away, took } => {
                let (away, took) = (away.as_secs_f64() * 1e3, took.as_secs_f64() * 1e3);
                write!(f, "cores {one} and {two}: others had one of them for {away:.1} of {took:.1} ms")
            }
            Self::Moved { cores: [one, two], reads: [first, second] } => {
                write!(f, "cores {one} and {two}: a read took {first} ns in one pass, {second} in the other")
            }
            Self::Unsteady { cores: [one, two], unsteady, of } => {
                write!(f, "cores {one} and {two}: {unsteady} of {of} figures differ between two passes")
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const KNOWN: Copies = Copies { far: 100, near_past: None, far_past: Some(1024), attach: 16 << 10 };

    type Plain = (usize, u64, u64, u64, u64);

    /// From 16 KiB on past the caches, and by attach.
    pub(crate) const ROWS: [Plain; 3] =
        [(1024, 100, 50, 90, 800), (4096, 300, 310, 900, 950), (16384, 900, 700, 5000, 2400)];

    fn figures(read: u32, rows: &[Plain]) -> Figures {
        let row = |&(bytes, cached, past, alone, attach)| Row { bytes, cached, past, alone, attach };
        Figures { line: 40, read, rows: rows.iter().map(row).collect() }
    }

    /// A trial of a hundred milliseconds, for some of which a thread was without its core.
    pub(crate) fn trial(read: u32, passes: [&[Plain]; 2], away_ms: u64) -> Trial {
        Trial {
            cores: [0, 1],
            passes: passes.map(|rows| figures(read, rows)),
            away: Duration::from_millis(away_ms),
            took: Duration::from_millis(100),
        }
    }

    #[test]
    fn a_way_is_taken_from_where_on_it_is_better_at_every_length() {
        let far = figures(150, &ROWS).refine(KNOWN);
        assert_eq!(far, Copies { far_past: Some(16384), attach: 16384, ..KNOWN });
        let near = figures(40, &ROWS).refine(KNOWN);
        assert_eq!(near, Copies { near_past: Some(16384), attach: 16384, ..KNOWN });
    }

    #[test]
    fn what_saves_next_to_nothing_is_not_taken_and_refusals_change_nothing() {
        let rows = [(1024, 100, 98, 90, 0), (4096, 300, 290, 900, 0)];
        assert_eq!(figures(40, &rows).refine(KNOWN), KNOWN);
    }

    #[test]
    fn quiet_passes_count_and_give_the_better_figures() {
        // One pass has one slow figure of twelve.
        let slow = [ROWS[0], (4096, 900, 310, 900, 950), ROWS[2]];
        let copies = limits(&[trial(40, [&ROWS, &slow], 9)], KNOWN);
        assert_eq!(copies, Ok(Copies { near_past: Some(16384), attach: 16384, ..KNOWN }));
    }

    #[test]
    fn threads_without_their_cores_make_figures_that_do_not_count() {
        let disturbed = limits(&[trial(40, [&ROWS, &ROWS], 0), trial(40, [&ROWS, &ROWS], 30)], KNOWN);
        let text = disturbed.unwrap_err().to_string();
        assert_eq!(text, "cores 0 and 1: others had one of them for 30.0 of 100.0 ms");
    }

    #[test]
    fn passes_that_differ_do_not_count() {
        // A neighbour slowed the stores through the caches down for a pass.
        let busy = ROWS.map(|(bytes, cached, past, alone, attach)| (bytes, cached * 2, past, alone, attach));
        let disturbed = limits(&[trial(40, [&ROWS, &busy], 0)], KNOWN).unwrap_err();
        assert_eq!(disturbed.to_string(), "cores 0 and 1: 3 of 12 figures differ between two passes");
        let mut moved = trial(40, [&ROWS, &ROWS], 0);
        moved.passes[1].read = 150;
        let disturbed = limits(&[moved], KNOWN).unwrap_err();
        assert_eq!(disturbed, Disturbance::Moved { cores: [0, 1], reads: [40, 150] });
    }

    #[test]
    fn what_was_not_measured_does_not_count() {
        let none = [(1024, 0, 0, 0, 0)];
        let disturbed = limits(&[trial(40, [&ROWS[..1], &none], 0)], KNOWN).unwrap_err();
        assert_eq!(disturbed, Disturbance::Incomplete { cores: [0, 1] });
    }
}
