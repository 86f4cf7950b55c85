//! The asker's side.

use crate::order::{Order, What};
use crate::session::{Session, Trouble};
use gm::Target;
use serde::Serialize;
use std::time::{Duration, Instant};

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Lengths are those of full size classes, up to this one in bytes, and 0.
    pub longest: u64,
    /// For about so long each figure is measured.
    pub each: Duration,
}

/// What was measured of a length.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// Bytes of a message.
    pub length: u64,
    /// Microseconds from one port to the other: half a round trip.
    pub latency_us: f64,
    /// Millions of bytes a second, one way, with many messages under way.
    pub bandwidth_mbs: f64,
    /// Messages a second of these.
    pub messages_per_second: f64,
}

/// Messages before it is known how many there shall be.
const FEW: u64 = 20;

fn lengths(longest: u64) -> impl Iterator<Item = u64> {
    std::iter::once(0)
        .chain((4..32).map(|size| (1u64 << size) - 8))
        .take_while(move |length| *length <= longest)
}

/// Measures each length with the answerer at `to`, and hands each figure to `tell`.
///
/// # Errors
/// There is no answerer, or it has gone.
pub fn measure(
    session: &mut Session,
    to: Target,
    plan: &Plan,
    mut tell: impl FnMut(Figure),
) -> Result<(), Trouble> {
    session.expect_word()?;
    for length in lengths(plan.longest) {
        let mut best = |what| -> Result<f64, Trouble> {
            let first = run(session, to, Order { what, length, count: FEW })?;
            let per_message = first.as_secs_f64() / FEW as f64;
            let count = (plan.each.as_secs_f64() / per_message.max(1e-9)).clamp(FEW as f64, 1e6) as u64;
            Ok(run(session, to, Order { what, length, count })?.as_secs_f64() / count as f64)
        };
        let (round_trip, each) = (best(What::Latency)?, best(What::Bandwidth)?);
        tell(Figure {
            length,
            latency_us: round_trip / 2.0 * 1e6,
            bandwidth_mbs: length as f64 / each / 1e6,
            messages_per_second: 1.0 / each,
        });
    }
    // The word that this was all.
    session.say(to, Vec::new())?;
    while session.pending > 0 {
        session.step(true)?;
    }
    Ok(())
}

/// Has an order done; answers how long the messages took.
fn run(session: &mut Session, to: Target, order: Order) -> Result<Duration, Trouble> {
    session.expect_messages(order.length)?;
    session.say(to, order.encode())?;
    word(session)?;
    let begun = Instant::now();
    match order.what {
        What::Latency => {
            for done in 1..=order.count {
                session.send(to, order.length)?;
                session.until(done)?;
            }
        }
        What::Bandwidth => {
            for _ in 0..order.count {
                session.send(to, order.length)?;
            }
            word(session)?;
        }
    }
    Ok(begun.elapsed())
}

/// Waits for the answerer's word.
fn word(session: &mut Session) -> Result<(), Trouble> {
    while session.words.is_empty() {
        session.step(true)?;
    }
    session.words.remove(0);
    session.expect_word()
}

#[cfg(test)]
mod tests {
    use super::lengths;

    #[test]
    fn lengths_are_those_that_fill_their_size_classes() {
        assert_eq!(lengths(120).collect::<Vec<_>>(), [0, 8, 24, 56, 120]);
        assert_eq!(lengths(0).collect::<Vec<_>>(), [0]);
    }
}
