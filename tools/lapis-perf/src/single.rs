//! Figures that a median of batches hides: single round trips one by one, the longest pause of a
//! stream, and what a stream carries in all. They show what losses and failing links cost.

use crate::bench;
use crate::plan::{Figure, Kind};
use crate::session::{ACK, DATA, Session};
use anyhow::Result;
use lapis_bench::record::{Record, Unit};
use lapis_bench::stats::Summary;
use std::time::{Duration, Instant};

/// Round trips before the clock starts.
const WARM_UP: u64 = 200;
/// Messages of a stream that may be unacknowledged by the receiver's program.
const WINDOW: u64 = 64;
/// Messages that one acknowledgement stands for.
const EACH: u64 = 16;

/// Measures in step with the other tasks; `None`: this figure is one of batches.
pub(crate) fn measure(session: &Session, figure: &Figure, budget: Duration) -> Option<Result<Record>> {
    match figure.bench.kind {
        Kind::RoundTrip { permille } => Some(round_trips(session, figure, budget, permille)),
        Kind::Pause => Some(longest_pause(session, figure, budget)),
        Kind::Goodput => Some(goodput(session, figure, budget)),
        _ => None,
    }
}

/// A percentile of single round trips; least and greatest are those of all.
fn round_trips(session: &Session, figure: &Figure, budget: Duration, permille: u64) -> Result<Record> {
    let mut times = Vec::with_capacity(1 << 20);
    let mut start = Instant::now();
    for round in 0u64.. {
        if round == WARM_UP {
            (times, start) = (Vec::with_capacity(times.capacity()), Instant::now());
        }
        // Asking the other task costs as much as a round trip: now and then only.
        let more = start.elapsed() < budget || round <= WARM_UP;
        if round.is_multiple_of(512) && session.agree(u64::from(more))? == 0 {
            break;
        }
        times.push(one_round_trip(session, figure.size)?.as_nanos() as f64);
    }
    times.sort_by(f64::total_cmp);
    let at = |permille: u64| {
        let place = (times.len().saturating_sub(1) as u64 * permille).div_ceil(1000);
        times.get(place as usize).copied().unwrap_or(0.0)
    };
    let summary = Summary { min: at(0), median: at(permille), max: at(1000), samples: times.len() };
    let mut record = Record::latency(figure.bench.name, figure.size, summary);
    record.note = Some(format!("percentile {}.{} of single round trips", permille / 10, permille % 10));
    Ok(record)
}

fn one_round_trip(session: &Session, size: u64) -> Result<Duration> {
    let start = Instant::now();
    if session.plays() {
        let (context, inbox) = (&session.context, &session.inbox);
        let (data, round) = (session.buffer.bytes(size), session.expected_messages() + 1);
        if session.leads() {
            context.send(session.other(), DATA, &[], data)?;
        }
        context.wait_until(|| inbox.received() >= round)?;
        if !session.leads() {
            context.send(session.other(), DATA, &[], data)?;
        }
        session.expect_messages(1);
    }
    Ok(start.elapsed())
}

/// Task 0 sends without pause; task 1 says how long it waited at most for the next message.
fn longest_pause(session: &Session, figure: &Figure, budget: Duration) -> Result<Record> {
    session.agree(0)?;
    let (context, inbox) = (&session.context, &session.inbox);
    let (before, from) = (inbox.acknowledged(), session.expected_messages());
    let (mut pause, mut seen) = (Duration::ZERO, 0);
    let mut sent = 0;
    if session.leads() {
        sent = send_for(session, session.buffer.bytes(figure.size), budget)?;
    } else if session.plays() {
        // A message without data says that there are no more, though it may overtake some.
        let (mut last, empty) = (Instant::now(), inbox.empty());
        while inbox.empty() == empty {
            context.wait_until(|| inbox.received() > from + seen)?;
            // The first message comes when the sender is ready.
            if seen > 0 {
                pause = pause.max(last.elapsed());
            }
            last = Instant::now();
            seen = acknowledge(session, seen, inbox.received() - from)?;
        }
    }
    sent = session.agree(sent)?;
    if session.leads() {
        context.wait_until(|| (inbox.acknowledged() - before) * EACH >= sent)?;
    } else if session.plays() {
        context.wait_until(|| inbox.received() >= from + sent)?;
        acknowledge(session, seen, sent)?;
        session.expect_messages(sent);
    }
    let us = session.gather(pause.as_nanos() as u64)?.into_iter().max().unwrap_or(0) as f64 / 1e3;
    let summary = Summary { min: us, median: us, max: us, samples: 1 };
    let mut record = Record::latency(figure.bench.name, figure.size, summary);
    record.unit = Unit::Microseconds;
    record.note = Some(format!("the longest in {} ms", budget.as_millis()));
    Ok(record)
}

/// Task 0 puts without pause; all of the time counts.
fn goodput(session: &Session, figure: &Figure, budget: Duration) -> Result<Record> {
    let mut puts = bench::prepare(session, figure)?;
    session.agree(0)?;
    // First touches are slow.
    puts(EACH)?;
    let (start, mut count) = (Instant::now(), 0);
    while count == 0 || session.leads() && start.elapsed() < budget {
        puts(EACH)?;
        count += EACH;
    }
    let each = start.elapsed().as_nanos() as f64 / count as f64;
    session.agree(0)?;
    let mut record = Record::bandwidth(figure.bench.name, figure.size, Summary::of(&[each]));
    record.note = Some(format!("{count} puts, a fence for {EACH} of them"));
    Ok(match figure.memory {
        Some(memory) => record.in_memory(memory.name()),
        None => record,
    })
}

/// Sends until the time is over; returns how many messages these were, the empty last one included.
fn send_for(session: &Session, data: &[u8], budget: Duration) -> Result<u64> {
    let (context, inbox) = (&session.context, &session.inbox);
    let (start, before, mut sent) = (Instant::now(), inbox.acknowledged(), 0);
    loop {
        context.wait_until(|| (inbox.acknowledged() - before) * EACH + WINDOW > sent)?;
        sent += 1;
        let ended = start.elapsed() >= budget && sent.is_multiple_of(EACH);
        context.send(session.other(), DATA, &[], if ended { &[] } else { data })?;
        if ended {
            return Ok(sent);
        }
    }
}

/// Acknowledges what came since `before` messages had; returns `now`.
fn acknowledge(session: &Session, before: u64, now: u64) -> Result<u64> {
    for _ in before / EACH..now / EACH {
        session.context.send(session.other(), ACK, &[], &[])?;
    }
    Ok(now)
}
