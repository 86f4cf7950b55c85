//! Whether a task has polled not long ago, where a key that is refused costs the connection.
//!
//! A peer says that a key is not valid any more. Whoever has not polled since has not read that,
//! and would use the key. So a put or get of a task that has been away is answered `Again`: core
//! polls, and tries again what may still be done by key.

use lapis_core::clock::Clock;
use lapis_core::reliable::Nanos;

/// So long after the last poll the next put or get waits for another one.
const AWAY: Nanos = 100_000_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Touch {
    clock: Clock,
    polled: Nanos,
}

impl Touch {
    pub(crate) fn new() -> Self {
        Self { clock: Clock::new(), polled: 0 }
    }

    /// All that was there has been looked at.
    #[inline]
    pub(crate) fn polled(&mut self) {
        self.polled = self.clock.now();
    }

    /// Whether that was long ago.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost_at(self.clock.now())
    }

    #[inline]
    fn is_lost_at(&self, now: Nanos) -> bool {
        now.saturating_sub(self.polled) > AWAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_away_for_longer_is_lost_until_the_next_poll() {
        let mut touch = Touch::new();
        touch.polled();
        assert!(!touch.is_lost_at(touch.polled + AWAY));
        let now = touch.polled + AWAY + 1;
        assert!(touch.is_lost_at(now));
        touch.polled = now;
        assert!(!touch.is_lost_at(now));
    }
}
