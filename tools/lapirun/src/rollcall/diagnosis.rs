//! Diagnosis of what one task is doing, from observations.

use super::report::{Report, Seen, Waits};

/// A task that tries to change a variable so often in vain is waiting for it: a lock, mostly.
const SPINS: u64 = 20;

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Diagnosis {
    /// It has ended, and how.
    Gone(String),
    /// Nothing is known: its process can't be looked at.
    Unknown,
    Stopped,
    /// It has no context: it has not come to LAPI_Init yet, or is past LAPI_Term.
    NoContext,
    /// A handler of the program's keeps the library from going on, for so long.
    InHandler(u64),
    /// It waits.
    Waits(Vec<Waits>),
    /// It has something to send for which there is no room: to whom, for how long.
    NoRoom(u32, u64),
    /// It tries to change a variable: whose, where, how often between two looks.
    Spins(u32, u64, u64),
    /// It polls, and messages come or go.
    Works,
    /// It polls, and nothing comes.
    Polls,
    /// It is in no call of the library.
    Outside,
}

impl Diagnosis {
    pub(crate) fn of(report: &Report) -> (Self, Option<&Seen>) {
        let stands = |diagnosis| (diagnosis, report.contexts.first());
        match report.state {
            'Z' | 'X' => return stands(Self::Unknown),
            'T' | 't' => return stands(Self::Stopped),
            _ => {}
        }
        // What hangs is more than what works.
        let all = report.contexts.iter().map(|seen| (Self::in_context(seen), Some(seen)));
        all.min_by_key(|(diagnosis, _)| diagnosis.rank()).unwrap_or((Self::NoContext, None))
    }

    fn in_context(seen: &Seen) -> Self {
        let moved = seen.moved != [0, 0];
        if let Some((peer, address, times)) = seen.swap.filter(|(_, _, times)| *times >= SPINS) {
            return Self::Spins(peer, address, times);
        }
        if let Some((peer, ms)) = seen.room {
            return Self::NoRoom(peer, ms);
        }
        if let Some(ms) = seen.stuck_ms {
            return Self::InHandler(ms);
        }
        if !seen.waits.is_empty() {
            return Self::Waits(seen.waits.clone());
        }
        match (seen.polling > 0 || seen.fresh && !seen.interrupts, moved) {
            (_, true) => Self::Works,
            (true, false) => Self::Polls,
            (false, false) => Self::Outside,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Gone(_) | Self::Unknown | Self::Stopped => 0,
            Self::InHandler(_) => 1,
            Self::NoRoom(..) | Self::Spins(..) => 2,
            Self::Waits(_) => 3,
            Self::Polls => 4,
            Self::Outside | Self::NoContext => 5,
            Self::Works => 6,
        }
    }

    /// How long it has been so, as far as that is known.
    pub(crate) fn ms(&self) -> Option<u64> {
        match self {
            Self::InHandler(ms) | Self::NoRoom(_, ms) => Some(*ms),
            Self::Waits(waits) => waits.iter().map(|wait| wait.ms).max(),
            _ => None,
        }
    }

    /// Whether it goes on by itself, or might.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Self::Works | Self::Outside | Self::NoContext | Self::Stopped | Self::InHandler(_))
    }

    /// The tasks that alone can let it go on.
    pub(crate) fn needs(&self, seen: Option<&Seen>) -> Vec<u32> {
        let mut needs = match (self, seen) {
            (Self::NoRoom(peer, _) | Self::Spins(peer, _, _), _) => vec![*peer],
            (Self::Waits(waits), Some(seen)) => {
                waits.iter().flat_map(|wait| wait_needs(wait, seen)).collect()
            }
            _ => Vec::new(),
        };
        needs.sort_unstable();
        needs.dedup();
        needs
    }
}

fn wait_needs(wait: &Waits, seen: &Seen) -> Vec<u32> {
    match (wait.peer, wait.kind.as_str()) {
        (Some(peer), _) => vec![peer],
        (None, "fence" | "end") => seen.owing.clone(),
        // An operation that is open may be what the counter or condition waits for.
        (None, _) => seen.opened.iter().map(|(peer, _)| *peer).collect(),
    }
}

/// Milliseconds, as people read them.
pub(crate) fn time(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..120_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => format!("{} min", ms / 60_000),
    }
}
