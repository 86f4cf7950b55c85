//! Active messages.

use super::{Batch, idle};
use crate::session::{ACK, Session};
use anyhow::Result;
use lapis::core::message::AmSend;
use lapis::{Counter, HandlerId, Notify, Source};

/// Up to this length a message is copied at once, so that sending never waits for the receiver.
const COPIED: u64 = 4096;

/// A message to a handler goes back and forth.
pub(super) fn ping_pong(session: &Session, handler: HandlerId, size: u64) -> Batch<'_> {
    if !session.plays() {
        return idle();
    }
    let (context, inbox, other) = (&session.context, &session.inbox, session.other());
    let data = session.buffer.bytes(size);
    let leads = session.leads();
    Box::new(move |count| {
        // What the other one sends may come before this side has begun, so the count goes on from
        // batch to batch.
        let from = session.expected_messages();
        for round in from + 1..=from + count {
            if leads {
                context.send(other, handler, &[], data)?;
            }
            context.wait_until(|| inbox.received() >= round)?;
            if !leads {
                context.send(other, handler, &[], data)?;
            }
        }
        session.expect_messages(count);
        Ok(())
    })
}

/// Task 0 sends to a handler of task 1, which counts and acknowledges each window.
pub(super) fn stream(session: &Session, handler: HandlerId, size: u64) -> Batch<'_> {
    let window = ((4 << 20) / size.max(1)).clamp(4, 512);
    // Leaked, so that it lives whatever fails.
    let reusable: &'static Counter = Box::leak(Box::new(Counter::new(0)));
    match session.context.task() {
        0 => Box::new(move |count| send_windows(session, (handler, size), window, count, reusable)),
        1 => Box::new(move |count| receive_windows(session, window, count)),
        _ => idle(),
    }
}

fn send_windows(
    session: &Session,
    (handler, size): (HandlerId, u64),
    window: u64,
    count: u64,
    reusable: &'static Counter,
) -> Result<()> {
    let (context, inbox, other) = (&session.context, &session.inbox, session.other());
    let data = session.buffer.bytes(size);
    let before = inbox.acknowledged();
    let windows = count.div_ceil(window);
    for number in 0..windows {
        // Two windows are under way at a time: one is being sent while the other is acknowledged.
        context.wait_until(|| inbox.acknowledged() + 2 > before + number)?;
        let messages = window.min(count - number * window);
        for _ in 0..messages {
            if size <= COPIED {
                context.send(other, handler, &[], data)?;
                continue;
            }
            let message = AmSend {
                target: other,
                handler: u64::from(handler.0),
                user_header: &[],
                source: Source::Contiguous(data.as_ptr(), size),
                target_counter: 0,
                origin: Notify::counter(reusable),
                completion: Notify::None,
            };
            // SAFETY: data and counter live until the process ends, and nothing writes to the data.
            unsafe { context.am_send(message)? };
        }
    }
    if size > COPIED {
        // Acknowledged messages were fetched, so this ends with the last window.
        context.wait_counter(reusable, i32::try_from(count)?)?;
    }
    Ok(context.wait_until(|| inbox.acknowledged() >= before + windows)?)
}

fn receive_windows(session: &Session, window: u64, count: u64) -> Result<()> {
    let (context, inbox) = (&session.context, &session.inbox);
    let from = session.expected_messages();
    let mut done = 0;
    while done < count {
        done += window.min(count - done);
        context.wait_until(|| inbox.received() >= from + done)?;
        context.send(session.other(), ACK, &[], &[])?;
    }
    session.expect_messages(count);
    Ok(())
}
