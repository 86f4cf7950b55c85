//! Rests of the receiver of a stream whose looks cost the sender time.
//!
//! Over the shm provider each look that finds something takes the lock with which peers send to
//! this task, and holds it until all that has come is copied. Over TCP each takes the connection's
//! lock, and the system answers some with a packet that the sender has to handle amid its next
//! message. A receiver that looks for one message after the other slows its sender down with each
//! of them.

use lapis_ablation::{Optimization, without};
use std::time::{Duration, Instant};

/// From so many messages on to which nothing was sent back, they are a stream: more than the
/// answers that come at a time to somebody who asks again with each of them.
const STREAM: u32 = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct StreamRest {
    /// How long the receiver rests, where it should.
    length: Option<Duration>,
    /// Messages since something was sent.
    unanswered: u32,
    /// All of a stream that was there has been taken, and nothing has been looked for since.
    caught_up: bool,
}

impl StreamRest {
    /// `length`: how long the receiver rests, where looks cost senders time.
    pub(crate) fn new(length: Option<Duration>) -> Self {
        let length = length.filter(|_| !without(Optimization::StreamRests));
        Self { length, unanswered: 0, caught_up: false }
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
        self.caught_up = self.length.is_some() && self.unanswered >= STREAM && (1..most).contains(&messages);
    }

    /// Rests before a look, if it is the first one after the receiver has caught up.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if std::mem::take(&mut self.caught_up)
            && let Some(length) = self.length
        {
            let start = Instant::now();
            while start.elapsed() < length {
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
        let mut rest = StreamRest::new(Some(Duration::from_nanos(1)));
        rest.received(STREAM as usize - 1, STREAM as usize);
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
    fn nobody_rests_where_a_look_costs_nobody_time() {
        let mut rest = StreamRest::new(None);
        rest.received(9, 16);
        assert!(!rest.caught_up);
    }
}
