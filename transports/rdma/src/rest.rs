//! Rests of the receiver of a stream over the shm provider.
//!
//! Each look at that provider's queue that finds something takes the lock with which peers send to
//! this task, and holds it until all that has come is copied. A receiver that looks for one message
//! after the other keeps its senders waiting with each of them.

use lapis_ablation::{Optimization, without};
use std::time::{Duration, Instant};

/// From so many messages on to which nothing was sent back, they are a stream.
const STREAM: u32 = 4;

/// How long the receiver rests: a sender writes a dozen messages meanwhile.
const REST: Duration = Duration::from_nanos(1500);

/// See the module.
#[derive(Debug)]
pub(crate) struct StreamRest {
    /// Whether a look keeps senders waiting.
    useful: bool,
    /// Messages since something was sent.
    unanswered: u32,
    /// All of a stream that was there has been taken, and nothing has been looked for since.
    caught_up: bool,
}

impl StreamRest {
    /// `useful`: whether a look keeps senders waiting.
    pub(crate) fn new(useful: bool) -> Self {
        let useful = useful && !without(Optimization::StreamRests);
        Self { useful, unanswered: 0, caught_up: false }
    }

    /// Something was sent: what comes next may answer it.
    #[inline]
    pub(crate) fn sent(&mut self) {
        self.unanswered = 0;
    }

    /// A look has brought so many messages, of at most so many.
    #[inline]
    pub(crate) fn received(&mut self, messages: usize, most: usize) {
        self.unanswered = self.unanswered.saturating_add(messages as u32);
        self.caught_up = self.useful && self.unanswered >= STREAM && (1..most).contains(&messages);
    }

    /// Rests before a look, if it is the first one after the receiver has caught up.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if std::mem::take(&mut self.caught_up) {
            let start = Instant::now();
            while start.elapsed() < REST {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_caught_up_with_a_stream_rests_and_once() {
        let mut rest = StreamRest::new(true);
        rest.received(3, 16);
        assert!(!rest.caught_up, "answers may be awaited");
        rest.received(1, 16);
        assert!(rest.caught_up);
        rest.rest();
        assert!(!rest.caught_up, "the next look is made at once");
        rest.received(0, 16);
        assert!(!rest.caught_up, "nothing has come since");
        rest.received(16, 16);
        assert!(!rest.caught_up, "more is there, mostly");
        rest.received(1, 16);
        rest.sent();
        rest.received(3, 16);
        assert!(!rest.caught_up, "something was sent");
    }

    #[test]
    fn nobody_rests_where_a_look_keeps_nobody_waiting() {
        let mut rest = StreamRest::new(false);
        rest.received(9, 16);
        assert!(!rest.caught_up);
    }
}
