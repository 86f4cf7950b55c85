//! Rests of the receiver of a stream whose looks cost the sender time.
//!
//! Over the shm provider of libfabric before 1.18 each look that finds something takes the lock
//! with which peers send to this task, and holds it until all that has come is copied. A sender
//! that waits for the lock reads its cache line over and over, which doubles the time of that copy:
//! the line holds a count that changes with each message. So the receiver rests until the sender
//! has used up its credit, if that does not take too long, and gives it new credit after the look.
//!
//! Over TCP each look takes the connection's lock, and the system answers some with a packet that
//! the sender has to handle amid its next message. A receiver that looks for one message after the
//! other slows its sender down with each of them.

use crate::queue::Read;
use lapis_ablation::{Optimization, without};
use std::time::{Duration, Instant};

/// From so many messages on to which nothing was sent back, they are a stream: more than the
/// answers that come at a time to somebody who asks again with each of them.
const STREAM: u32 = 16;

/// How long a rest lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// For each message that the look before has brought: where messages come slowly, a rest is
    /// short.
    pub(crate) each: Duration,
    /// At most.
    pub(crate) most: Duration,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct StreamRest {
    /// Where the receiver should rest at all.
    length: Option<Length>,
    /// Messages since something was sent.
    unanswered: u32,
    /// What has come since the last rest, if that was all that there was.
    caught_up_with: u32,
}

impl StreamRest {
    /// `length`: how long the receiver rests, where looks cost senders time.
    pub(crate) fn new(length: Option<Length>) -> Self {
        let length = length.filter(|_| !without(Optimization::StreamRests));
        Self { length, unanswered: 0, caught_up_with: 0 }
    }

    /// Something was sent: what comes next may answer it.
    #[inline]
    pub(crate) fn sent(&mut self) {
        self.unanswered = 0;
    }

    /// So many messages were handed on.
    #[inline]
    pub(crate) fn received(&mut self, messages: usize) {
        self.unanswered = self.unanswered.saturating_add(messages as u32);
    }

    /// A look at one of the queues has brought so much.
    #[inline]
    pub(crate) fn looked(&mut self, read: Read, found: usize) {
        match read {
            Read::All => self.caught_up_with += found as u32,
            Read::Some => self.caught_up_with = 0,
            Read::Nothing => {}
        }
    }

    /// How long to rest before the next look.
    #[inline]
    fn due(&mut self) -> Option<Duration> {
        let messages = std::mem::take(&mut self.caught_up_with);
        let length = self.length.filter(|_| messages > 0 && self.unanswered >= STREAM)?;
        Some((length.each * messages).min(length.most))
    }

    /// Rests before looks, if they are the first ones after the receiver has caught up.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if let Some(length) = self.due() {
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

    const EACH: Duration = Duration::from_nanos(3);

    fn rests() -> StreamRest {
        StreamRest::new(Some(Length { each: EACH, most: 4 * EACH }))
    }

    #[test]
    fn only_who_has_caught_up_with_a_stream_rests_and_once() {
        let mut rest = rests();
        rest.looked(Read::All, STREAM as usize - 1);
        rest.received(STREAM as usize - 1);
        assert_eq!(rest.due(), None, "answers may be awaited");
        rest.looked(Read::All, 1);
        rest.received(1);
        assert_eq!(rest.due(), Some(EACH));
        assert_eq!(rest.due(), None, "the next look is made at once");
        rest.looked(Read::Nothing, 0);
        assert_eq!(rest.due(), None, "nothing has come since");
        rest.looked(Read::Some, 16);
        rest.received(16);
        assert_eq!(rest.due(), None, "more is there, mostly");
        rest.looked(Read::All, 1);
        rest.received(1);
        rest.sent();
        rest.received(3);
        assert_eq!(rest.due(), None, "something was sent");
    }

    #[test]
    fn the_more_has_come_the_longer_is_the_rest_up_to_a_limit() {
        let mut rest = rests();
        rest.received(STREAM as usize);
        for (found, length) in [(1, EACH), (3, 3 * EACH), (5, 4 * EACH), (128, 4 * EACH)] {
            rest.looked(Read::All, found);
            assert_eq!(rest.due(), Some(length));
        }
    }

    #[test]
    fn nobody_rests_where_a_look_costs_nobody_time() {
        let mut rest = StreamRest::new(None);
        rest.looked(Read::All, 9);
        rest.received(STREAM as usize);
        assert_eq!(rest.due(), None);
    }
}
