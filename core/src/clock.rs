//! The packet engine's clock. Each packet reads it, so it must be cheap.
//!
//! On x86-64 it reads the processor's time-stamp counter, at a third of the cost of the system's
//! clock. Every millisecond it is compared with the system's clock, so that it is off by the drift
//! within a millisecond. If the counter jumps, because the thread has moved to a core whose counter
//! differs, the time is wrong once, by a millisecond at most.

use crate::reliable::Nanos;
use std::time::Instant;

/// A clock that costs little to look at. One thread at a time does so.
pub struct Clock {
    start: Instant,
    #[cfg(target_arch = "x86_64")]
    counter: counter::Counter,
}

impl Clock {
    /// Starts at 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            #[cfg(target_arch = "x86_64")]
            counter: counter::Counter::new(),
        }
    }

    /// Nanoseconds since the start.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Nanos {
        #[cfg(target_arch = "x86_64")]
        return self.counter.now(|| self.system());
        #[cfg(not(target_arch = "x86_64"))]
        self.system()
    }

    fn system(&self) -> Nanos {
        self.start.elapsed().as_nanos() as Nanos
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").field("start", &self.start).finish_non_exhaustive()
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use super::Nanos;
    use std::cell::Cell;

    /// For so long the counter is believed.
    const TRUSTED: Nanos = 1_000_000;

    /// For so long it is watched before it is believed at all.
    const WATCHED: Nanos = 10_000_000;

    /// Two readings so many ticks apart are of one moment.
    const CLOSE: u64 = 4096;

    #[inline]
    fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; where the system forbids it, it can't
        // be used for the system's own clock either.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    /// The processor's counter, and what it said at which time.
    pub(super) struct Counter {
        first: Cell<Option<(u64, Nanos)>>,
        last: Cell<(u64, Nanos)>,
        /// Nanoseconds for each tick, times 2^32; 0 while that is unknown.
        rate: Cell<u64>,
        /// Ticks for which it is believed.
        trusted: Cell<u64>,
    }

    impl Counter {
        pub(super) fn new() -> Self {
            Self {
                first: Cell::new(None),
                last: Cell::new((0, 0)),
                rate: Cell::new(0),
                trusted: Cell::new(0),
            }
        }

        #[inline]
        pub(super) fn now(&self, system: impl Fn() -> Nanos) -> Nanos {
            let ticks = read();
            let (then, time) = self.last.get();
            let passed = ticks.wrapping_sub(then);
            if passed < self.trusted.get() {
                return time + ((passed * self.rate.get()) >> 32);
            }
            self.ask(system)
        }

        #[cold]
        #[inline(never)]
        fn ask(&self, system: impl Fn() -> Nanos) -> Nanos {
            let (mut ticks, mut time) = (read(), system());
            // Both are to be of one moment: the thread may have been stopped in between.
            for _ in 0..4 {
                let again = read();
                if again.wrapping_sub(ticks) < CLOSE {
                    break;
                }
                (ticks, time) = (again, system());
            }
            // What was told may have been a little ahead.
            let (then, before) = self.last.get();
            let told = ticks.wrapping_sub(then).min(self.trusted.get());
            let time = time.max(before + ((told * self.rate.get()) >> 32));
            self.last.set((ticks, time));
            let (first, since) = self.first.get().unwrap_or((ticks, time));
            self.first.set(Some((first, since)));
            let (ticks, nanos) = (ticks.wrapping_sub(first), time - since);
            if nanos >= WATCHED {
                let rate = (u128::from(nanos) << 32) / u128::from(ticks.max(1));
                // A tick is between a tenth of a nanosecond and ten, or something is wrong.
                let sane = ((1 << 32) / 10..10 << 32).contains(&rate);
                self.rate.set(if sane { rate as u64 } else { 0 });
                self.trusted.set(if sane { (u128::from(TRUSTED) << 32).div_ceil(rate) as u64 } else { 0 });
            }
            time
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn time_goes_on_evenly_and_with_the_systems() {
        let clock = Clock::new();
        let (mut last, mut most) = (clock.now(), 0);
        while clock.system() < 60_000_000 {
            let (before, now, after) = (clock.system(), clock.now(), clock.system());
            assert!(now >= last, "{last} before {now}");
            last = now;
            // Between the two, give or take what the counter is off by.
            most = most.max(before.saturating_sub(now)).max(now.saturating_sub(after));
        }
        assert!(most < 100_000, "off by {most} ns");
        std::thread::sleep(Duration::from_millis(5));
        let (before, now) = (clock.system(), clock.now());
        assert!(now + 100_000 > before, "{now} after {before}");
    }
}
