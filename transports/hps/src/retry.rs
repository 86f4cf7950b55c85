//! When a daemon that has not answered is asked again.
//!
//! A daemon may be busy for seconds, or stopped, and the task that asks it stands still meanwhile.
//! So it is asked seldom, and listened to for a part of the time only: both grow with each question
//! that it leaves unanswered, so that a slow one can answer in the end. A window that it refuses
//! for the present is shown to it again at the same pace.

use std::time::{Duration, Instant};

/// Before the first repetition, and before each later one at most.
const FIRST: Duration = Duration::from_millis(100);
const LAST: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    /// The pause after the last question, and when it ends. None: nothing is to be asked again.
    waits: Option<(Duration, Instant)>,
}

impl Retry {
    /// Something is to be asked again.
    pub(crate) fn is_pending(&self) -> bool {
        self.waits.is_some()
    }

    /// It is time to.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.waits.is_some_and(|(_, end)| end <= now)
    }

    /// The pause that is being made.
    pub(crate) fn current(&self) -> Option<Duration> {
        self.waits.map(|(pause, _)| pause)
    }

    /// For so long the next answer is waited for.
    pub(crate) fn patience(&self) -> Duration {
        self.pause() / 5
    }

    /// Notes whether all questions have been answered by now.
    pub(crate) fn note(&mut self, answered: bool, now: Instant) {
        let pause = self.pause();
        self.waits = (!answered).then(|| (pause, now + pause));
    }

    /// The pause after the next question, if that is left unanswered.
    fn pause(&self) -> Duration {
        self.waits.map_or(FIRST, |(last, _)| (2 * last).min(LAST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_daemon_is_asked_ever_more_seldom_and_listened_to_for_a_part_of_the_time() {
        let (mut retry, mut now) = (Retry::default(), Instant::now());
        assert!(!retry.is_pending() && !retry.is_due(now));
        let mut last = Duration::ZERO;
        for _ in 0..12 {
            let patience = retry.patience();
            now += patience;
            retry.note(false, now);
            let (pause, end) = retry.waits.expect("it is to be asked again");
            assert!(pause >= last && pause <= LAST && 5 * patience <= pause, "{pause:?} after {last:?}");
            assert!(!retry.is_due(now) && retry.is_due(end));
            (last, now) = (pause, end);
        }
        assert_eq!((last, retry.patience()), (LAST, LAST / 5));
        retry.note(true, now);
        assert!(!retry.is_pending());
        assert_eq!(retry.patience(), FIRST / 5);
    }
}
