//! How long a port that is closed goes on with what is under way, as long as that leads somewhere.
//!
//! Half a second is plenty where cores are free. On a busy machine it may pass before what got lost
//! could be sent again, and a peer that then finds the port closed takes for lost what it has not
//! been told of.

use std::time::{Duration, Instant};

/// How long, by the time that the port had the core.
const LINGER: Duration = Duration::from_millis(500);

/// What a look at what is under way counts for at most. One that took longer was kept from the
/// core.
const LOOK: Duration = Duration::from_millis(1);

/// But no longer than this.
const LONGEST: Duration = Duration::from_secs(10);

/// See the module.
pub(crate) struct Linger {
    left: Duration,
    looked: Instant,
    end: Instant,
}

impl Linger {
    pub(crate) fn new(now: Instant) -> Self {
        Self { left: LINGER, looked: now, end: now + LONGEST }
    }

    /// Whether there is time for one more look.
    pub(crate) fn goes_on(&mut self, now: Instant) -> bool {
        self.left = self.left.saturating_sub((now - self.looked).min(LOOK));
        self.looked = now;
        now < self.end && !self.left.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_had_the_core_for_does_not_count() {
        let mut now = Instant::now();
        let mut looks = |every| {
            let mut linger = Linger::new(now);
            let over = |_: &u32| {
                now += every;
                !linger.goes_on(now)
            };
            (1..).find(over).expect("it ends")
        };
        assert_eq!(looks(LOOK / 2), 1000);
        assert_eq!(looks(LOOK), 500);
        assert_eq!(looks(LOOK * 15), 500);
        assert_eq!(looks(LOOK * 50), 200, "the longest time is over");
    }
}
