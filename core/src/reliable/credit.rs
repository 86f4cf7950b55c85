//! Sharing out this task's receive buffer among the peers that send to it.

use super::config::{MS, Nanos};

/// How long a peer counts as sending.
const INTERVAL: Nanos = 5 * MS;
/// How long after an overflow the credits double again.
const RECOVERY: Nanos = 100 * MS;
/// The most often that credits are halved.
const MAX_HALVINGS: u32 = 5;

/// Every peer may have `buffer * 3 / 4 / senders` bytes on their way, less after overflows.
#[derive(Debug)]
pub(super) struct Credits {
    buffer: u64,
    interval: u64,
    senders_now: u64,
    senders_before: u64,
    halvings: u32,
    halved_at: Nanos,
}

impl Credits {
    pub(super) fn new(buffer: u32) -> Self {
        Self {
            buffer: buffer.into(),
            interval: 0,
            senders_now: 0,
            senders_before: 0,
            halvings: 0,
            halved_at: 0,
        }
    }

    pub(super) fn set_buffer(&mut self, buffer: u32) {
        self.buffer = buffer.into();
    }

    /// A peer sent data; `active_in` is where its last interval is kept.
    #[inline]
    pub(super) fn heard(&mut self, now: Nanos, active_in: &mut u64) {
        // The first interval is 1, so that 0 means never.
        let interval = now / INTERVAL + 1;
        if *active_in == interval {
            return;
        }
        *active_in = interval;
        if self.interval != interval {
            self.senders_before = if self.interval + 1 == interval { self.senders_now } else { 0 };
            self.senders_now = 0;
            self.interval = interval;
        }
        self.senders_now += 1;
    }

    /// The receive buffer was too small for what came.
    pub(super) fn overflowed(&mut self, now: Nanos) {
        self.halvings = (self.halvings + 1).min(MAX_HALVINGS);
        self.halved_at = now;
    }

    /// What each peer is offered.
    #[inline]
    pub(super) fn offer(&mut self, now: Nanos) -> u32 {
        if self.halvings > 0 && now.saturating_sub(self.halved_at) > RECOVERY {
            self.halvings -= 1;
            self.halved_at = now;
        }
        let senders = self.senders_now.max(self.senders_before).max(1);
        u32::try_from((self.buffer * 3 / 4 / senders) >> self.halvings).unwrap_or(u32::MAX)
    }
}
