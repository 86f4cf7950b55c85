//! For how long nothing has come for an operation: one that no call waits for, or one that asks.

use crate::board::Reach;
use std::time::{Duration, Instant};

/// How far an operation has come: its number, its steps, messages that are open, and its rounds.
pub(crate) type Stand = (u32, usize, u32, u32, Option<(Reach, usize, usize)>);

/// Looks that are further apart than this part of TIMEOUT say nothing of the time between them:
/// the others may have waited for this task.
const APART: u32 = 4;

/// For how long nothing has come for an operation that asks.
const AFTER: Duration = Duration::from_millis(100);

/// The time in which nothing has come, as far as somebody has looked.
#[derive(Clone, Copy, Default)]
pub(crate) struct Silence(Option<(Stand, Instant, Instant)>);

impl Silence {
    /// Whether it has lasted that long `now`.
    pub(crate) fn has_lasted(&mut self, limit: Duration, stand: Stand, now: Instant) -> bool {
        let since = match self.0 {
            Some((before, since, last)) if before == stand && now - last <= limit / APART => since,
            _ => now,
        };
        self.0 = Some((stand, since, now));
        now - since >= limit
    }
}

/// Since when an operation has waited where it stands; `None` once it has asked.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asking(Option<(Stand, Option<Instant>)>);

impl Asking {
    /// Whether it is time to ask.
    pub(super) fn is_due(&mut self, stand: Stand, now: Instant) -> bool {
        match self.0 {
            Some((before, since)) if before == stand => since.is_some_and(|since| now - since >= AFTER),
            _ => {
                self.0 = Some((stand, Some(now)));
                false
            }
        }
    }

    pub(super) fn has_asked(&mut self, stand: Stand) {
        self.0 = Some((stand, None));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn silence_lasts_while_nothing_comes_and_somebody_looks() {
        let (limit, start) = (Duration::from_secs(8), Instant::now());
        let stand = |number| (number, 0, 1, 0, None);
        let mut silence = Silence::default();
        let mut at =
            |number, seconds| silence.has_lasted(limit, stand(number), start + Duration::from_secs(seconds));
        assert!((0..8).all(|second| !at(1, second)) && at(1, 8));
        // Something has come.
        assert!((9..17).all(|second| !at(2, second)) && at(2, 17));
        // Nobody has looked meanwhile.
        assert!(!at(2, 100) && !at(2, 102) && !at(2, 107) && !at(2, 108));
    }

    #[test]
    fn who_has_waited_asks_once_until_something_comes() {
        let (mut asking, start) = (Asking::default(), Instant::now());
        let stand = |next| (7, next, 1, 0, None);
        let mut at = |next, ms| {
            let due = asking.is_due(stand(next), start + Duration::from_millis(ms));
            if due {
                asking.has_asked(stand(next));
            }
            due
        };
        assert!(!at(1, 0) && !at(1, 99) && at(1, 101) && !at(1, 500));
        assert!(!at(2, 501) && !at(2, 600) && at(2, 700) && !at(2, 5000));
    }
}
