//! Detects whether another thread shares our core at this moment.
//!
//! The cores of a virtual machine are often halves of real cores. While a neighbour runs on the
//! other half, both share caches, store queues and arithmetic units, for seconds or minutes. This
//! slows some engines more than others (a loop over rows more than memcpy), so a figure then tells
//! as much about the neighbour as about the engine.
//!
//! Independent additions run at several per cycle on a core of our own, and at about half that rate
//! on a shared one. A chain of dependent additions runs at one per cycle on both. The ratio of the
//! two needs no clock rate and no performance counter.

use lapis_bench::stats;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds of additions of each kind: a microsecond or so.
const ROUNDS: usize = 1000;
/// Looks at a time: a neighbour that waits for its memory most of the time leaves most of them
/// alone.
const LOOKS: usize = 8;
/// So much more than the least ratio seen says that the core is shared.
const SHARED: f64 = 1.06;
/// How often, and how far apart, a new process looks for the least ratio.
const FIRST: (usize, Duration) = (100, Duration::from_micros(300));

/// What we know of our core.
pub(crate) struct Core {
    /// The ratio on a core of our own.
    least: f64,
}

impl Core {
    pub(crate) fn new() -> Self {
        let mut core = Self { least: f64::INFINITY };
        for _ in 0..FIRST.0 {
            core.shared();
            std::thread::sleep(FIRST.1);
        }
        core
    }

    /// Whether another thread runs on the core at this moment.
    pub(crate) fn shared(&mut self) -> bool {
        let ratios: Vec<f64> = (0..LOOKS).map(|_| ratio()).collect();
        self.judge(&ratios)
    }

    /// An interrupt in a chain makes a ratio that no core comes down to again, one among the others
    /// a ratio of a shared core: so the median tells what is possible, and all but one of the
    /// ratios must come near it.
    fn judge(&mut self, ratios: &[f64]) -> bool {
        self.least = self.least.min(stats::median(ratios));
        ratios.iter().filter(|&&ratio| ratio > self.least * SHARED).count() > 1
    }
}

/// How often this process had to give way to others: who runs in between leaves the caches full of
/// his own.
pub(crate) fn preemptions() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

/// Time of additions that don't wait for each other, divided by that of a quarter as many that do.
fn ratio() -> f64 {
    let start = Instant::now();
    wide();
    let between = start.elapsed();
    chain();
    let chain = start.elapsed() - between;
    between.as_secs_f64() / chain.as_secs_f64().max(1e-9)
}

#[cfg(target_arch = "x86_64")]
fn wide() {
    let (mut a, mut b, mut c, mut d) = (1_u64, 2_u64, 3_u64, 4_u64);
    for _ in 0..ROUNDS {
        // SAFETY: additions in registers.
        unsafe {
            std::arch::asm!(
                "add {a}, 5", "add {b}, 5", "add {c}, 5", "add {d}, 5",
                "add {a}, 5", "add {b}, 5", "add {c}, 5", "add {d}, 5",
                "add {a}, 5", "add {b}, 5", "add {c}, 5", "add {d}, 5",
                "add {a}, 5", "add {b}, 5", "add {c}, 5", "add {d}, 5",
                a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
                options(nomem, nostack)
            );
        }
    }
    black_box((a, b, c, d));
}

#[cfg(target_arch = "x86_64")]
fn chain() {
    let mut a = 1_u64;
    for _ in 0..ROUNDS {
        // SAFETY: additions in a register.
        unsafe {
            std::arch::asm!(
                "add {a}, 5", "add {a}, 5", "add {a}, 5", "add {a}, 5",
                a = inout(reg) a,
                options(nomem, nostack)
            );
        }
    }
    black_box(a);
}

/// Elsewhere nothing is known, and every core counts as our own: both take as long.
#[cfg(not(target_arch = "x86_64"))]
use chain as wide;

#[cfg(not(target_arch = "x86_64"))]
fn chain() {
    black_box(ROUNDS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_shared_when_independent_additions_slow_down() {
        let mut core = Core { least: f64::INFINITY };
        assert!(!core.judge(&[1.07, 1.07, 1.06, 1.08]));
        assert!(core.judge(&[1.07, 1.5, 1.9, 1.07]));
        // One look may have met an interrupt, in either half.
        assert!(!core.judge(&[1.07, 1.07, 9.0, 1.07]));
        assert!(!core.judge(&[1.07, 0.01, 1.07, 1.07]));
        assert!(!core.judge(&[1.07, 1.07, 1.07, 1.07]), "the interrupt has spoiled the scale");
    }

    #[test]
    fn a_neighbour_that_is_there_from_the_start_is_found_out_once_it_pauses() {
        let mut core = Core { least: f64::INFINITY };
        assert!(!core.judge(&[1.6, 1.6, 1.6]));
        assert!(!core.judge(&[1.07, 1.07, 1.07]));
        assert!(core.judge(&[1.6, 1.6, 1.6]));
    }
}
