//! What happens to datagrams between the tasks.

use super::Random;
use crate::reliable::Nanos;

/// What a pipe does to datagrams; rates in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Dropped.
    pub loss: u32,
    /// Delivered twice.
    pub duplicate: u32,
    /// Delayed by up to `reorder_by` more than the others.
    pub reorder: u32,
    /// See `reorder`.
    pub reorder_by: Nanos,
    /// One to three bits changed.
    pub corrupt: u32,
    /// Propagation delay.
    pub delay: Nanos,
    /// Random addition to the delay, the same order kept.
    pub jitter: Nanos,
    /// Bytes per second; 0 is infinite.
    pub bandwidth: u64,
    /// Bytes that may wait for the bandwidth.
    pub queue: u64,
    /// The largest datagram that passes.
    pub mtu: usize,
    /// Nothing passes.
    pub cut: bool,
}

impl Default for Fault {
    /// A perfect 10 Gbit/s link with 10 us of delay.
    fn default() -> Self {
        Self {
            loss: 0,
            duplicate: 0,
            reorder: 0,
            reorder_by: 0,
            corrupt: 0,
            delay: 10_000,
            jitter: 0,
            bandwidth: 1_250_000_000,
            queue: 1 << 20,
            mtu: 65_507,
            cut: false,
        }
    }
}

/// One direction of a link, shared by all who send through it.
#[derive(Debug, Clone)]
pub struct Pipe {
    /// What it does.
    pub fault: Fault,
    free_at: Nanos,
    last_arrival: Nanos,
    /// Datagrams that found the queue full.
    pub overflows: u64,
    /// Bytes that got through.
    pub carried: u64,
}

impl Pipe {
    /// An idle pipe.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self { fault, free_at: 0, last_arrival: 0, overflows: 0, carried: 0 }
    }

    /// When a datagram sent now arrives, if it does, and when again; and whether it is damaged.
    pub(super) fn pass(&mut self, now: Nanos, len: usize, random: &mut Random) -> [Option<Passage>; 2] {
        let fault = self.fault;
        if fault.cut || len > fault.mtu || random.chance(fault.loss) {
            return [None; 2];
        }
        let mut at = now;
        if fault.bandwidth > 0 {
            let start = self.free_at.max(now);
            let waiting = (start - now) as u128 * fault.bandwidth as u128 / 1_000_000_000;
            if waiting > fault.queue.into() {
                self.overflows += 1;
                return [None; 2];
            }
            // Ethernet, IP and UDP headers take their time too.
            at = start + (len as u64 + 66) * 1_000_000_000 / fault.bandwidth;
            self.free_at = at;
        }
        at += fault.delay + if fault.jitter > 0 { random.below(fault.jitter) } else { 0 };
        self.carried += len as u64;
        if random.chance(fault.reorder) {
            at += random.below(fault.reorder_by.max(1));
        } else {
            at = at.max(self.last_arrival);
            self.last_arrival = at;
        }
        let mut passage = |at| Some(Passage { at, corrupt: random.chance(fault.corrupt) });
        let first = passage(at);
        let second = if fault.duplicate > 0 { passage(at + fault.delay) } else { None };
        [first, second.filter(|_| random.chance(fault.duplicate))]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    pub(super) at: Nanos,
    pub(super) corrupt: bool,
}
