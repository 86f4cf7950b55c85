//! For how long nothing has come for an operation: one that waits, one that no call waits for, or
//! one that asks.

use crate::board::Reach;
use std::time::{Duration, Instant};

/// How far an operation has come: its number, its steps, messages that are open, and its rounds.
pub(crate) type Stand = (u32, usize, u32, u32, Option<(Reach, usize, usize)>);

/// The same, and the bytes that are here of messages whose rest is still to come.
pub(crate) type Progress = (Stand, u64);

/// Looks that are further apart than this part of TIMEOUT say nothing of the time between them:
/// the others may have waited for this task.
const APART: u32 = 4;

/// Others are asked each time that this part of TIMEOUT has passed, and have half as long to answer
/// at least.
const ASK_AFTER: u32 = 4;

/// Looks that are closer together than this part of TIMEOUT find nothing new.
const BETWEEN: u32 = 64;

/// For how long nothing has come for an operation that asks.
const AFTER: Duration = Duration::from_millis(100);

/// What a silence calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Wait,
    /// Those that are waited for are to be asked how far they are.
    Ask,
    Over,
}

/// What was found at the last look.
#[derive(Clone, Copy)]
struct Seen {
    progress: Progress,
    /// When it was found for the first time.
    changed: Instant,
    /// Since when nobody of whom this task knows has come any further, as far as somebody has
    /// looked.
    since: Instant,
    looked: Instant,
}

/// The time in which nothing has come, and what others say of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Silence {
    seen: Option<Seen>,
    /// When others were asked.
    asked: Option<Instant>,
    /// Who is asked and has not answered.
    suspect: Option<u32>,
    /// How many more may be asked, one after the other.
    more: usize,
    /// Others are about to be asked.
    pub(super) asks: bool,
}

impl Silence {
    /// Whether it is time for a look.
    pub(super) fn is_due(&self, limit: Duration, now: Instant) -> bool {
        self.seen.is_none_or(|seen| now - seen.looked >= limit / BETWEEN)
    }

    /// What to do `now`, if others have `limit`. `waits`: a call does nothing but look.
    pub(super) fn look(&mut self, limit: Duration, waits: bool, progress: Progress, now: Instant) -> Look {
        let silent = match &mut self.seen {
            Some(seen) if seen.progress == progress && (waits || now - seen.looked <= limit / APART) => {
                seen.looked = now;
                now - seen.since
            }
            before => {
                let same = before.filter(|seen| seen.progress == progress);
                let changed = same.map_or(now, |seen| seen.changed);
                let seen = Seen { progress, changed, since: now, looked: now };
                *self = Self { seen: Some(seen), ..Self::default() };
                Duration::ZERO
            }
        };
        let asked = self.asked.map(|asked| now - asked);
        if silent >= limit && asked.is_some_and(|asked| asked >= limit / ASK_AFTER / 2) {
            return Look::Over;
        }
        if silent >= limit / ASK_AFTER && asked.is_none_or(|asked| asked >= limit / ASK_AFTER) {
            self.asked = Some(now);
            return Look::Ask;
        }
        Look::Wait
    }

    /// A member is asked, and then up to so many others, one after the other.
    pub(super) fn begin_asking(&mut self, task: u32, more: usize) {
        (self.suspect, self.more) = (Some(task), more);
    }

    /// A member says for how long nothing has come there, and for whom it waits. True if that one
    /// is to be asked next.
    pub(super) fn answered(&mut self, from: u32, age: Duration, next: Option<u32>, now: Instant) -> bool {
        if self.suspect != Some(from) {
            return false;
        }
        if let (Some(seen), Some(then)) = (&mut self.seen, now.checked_sub(age)) {
            seen.since = seen.since.max(then);
        }
        self.suspect = next.filter(|_| self.more > 0);
        self.more = self.more.saturating_sub(1);
        self.suspect.is_some()
    }

    /// For how long nothing has come here.
    pub(super) fn age(&mut self, progress: Progress, now: Instant) -> Duration {
        match &self.seen {
            Some(seen) if seen.progress == progress => now - seen.changed,
            _ => {
                let seen = Seen { progress, changed: now, since: now, looked: now };
                *self = Self { seen: Some(seen), ..Self::default() };
                Duration::ZERO
            }
        }
    }

    /// As far as the last look has found.
    pub(super) fn age_found(&self, now: Instant) -> Duration {
        self.seen.map_or(Duration::ZERO, |seen| now - seen.changed)
    }

    /// Who has been asked and has not answered.
    pub(super) fn suspect(&self) -> Option<u32> {
        self.suspect
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

    /// Looks at a silence each second; others have eight.
    struct Looks(Silence, Instant);

    impl Looks {
        fn at(&mut self, number: u32, second: u64) -> Look {
            let progress = ((number, 0, 1, 0, None), 0);
            self.0.look(Duration::from_secs(8), false, progress, self.1 + Duration::from_secs(second))
        }

        fn answered(&mut self, from: u32, age: u64, next: Option<u32>, second: u64) -> bool {
            let now = self.1 + Duration::from_secs(second);
            self.0.answered(from, Duration::from_secs(age), next, now)
        }
    }

    #[test]
    fn silence_lasts_while_nothing_comes_and_somebody_looks() {
        let mut looks = Looks(Silence::default(), Instant::now());
        let lasts = |looks: &mut Looks, number, from| {
            let before: Vec<_> = (from..from + 8).map(|second| looks.at(number, second)).collect();
            let asks: Vec<_> = before.iter().map(|look| *look == Look::Ask).collect();
            assert_eq!(asks, [false, false, true, false, true, false, true, false]);
            !before.contains(&Look::Over) && looks.at(number, from + 8) == Look::Over
        };
        assert!(lasts(&mut looks, 1, 0));
        // Something has come.
        assert!(lasts(&mut looks, 2, 9));
        // Nobody has looked meanwhile.
        for second in [100, 103, 108, 111] {
            assert_eq!(looks.at(2, second), Look::Wait);
        }
    }

    #[test]
    fn who_does_not_answer_is_the_suspect_and_who_has_come_further_breaks_the_silence() {
        let mut looks = Looks(Silence::default(), Instant::now());
        assert!((0..6).all(|second| looks.at(1, second) != Look::Over));
        looks.0.begin_asking(4, 3);
        assert!(!looks.answered(5, 0, Some(6), 6), "it was not asked");
        assert!(looks.answered(4, 9, Some(6), 6) && looks.0.suspect() == Some(6));
        assert!(!looks.answered(4, 0, None, 6), "it has answered");
        assert!(looks.at(1, 7) != Look::Over && looks.at(1, 8) == Look::Over);
        // It has come further at second 5.
        assert!(!looks.answered(6, 3, None, 8) && looks.0.suspect().is_none());
        assert!((8..13).all(|second| looks.at(1, second) != Look::Over) && looks.at(1, 13) == Look::Over);
    }

    #[test]
    fn no_more_are_asked_than_there_are() {
        let mut looks = Looks(Silence::default(), Instant::now());
        looks.at(1, 0);
        looks.0.begin_asking(4, 2);
        assert!(looks.answered(4, 1, Some(5), 1) && looks.answered(5, 1, Some(4), 1));
        assert!(!looks.answered(4, 1, Some(5), 1) && looks.0.suspect().is_none());
    }

    #[test]
    fn the_age_of_a_silence_is_that_of_its_own_progress() {
        let (mut silence, start) = (Silence::default(), Instant::now());
        let mut age = |bytes, second| {
            let at = start + Duration::from_secs(second);
            silence.age(((1, 0, 1, 0, None), bytes), at).as_secs()
        };
        assert_eq!([age(0, 3), age(0, 10), age(1, 12), age(1, 13)], [0, 7, 0, 1]);
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
