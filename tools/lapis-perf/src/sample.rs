//! Taking one figure: batches that grow until the clock's own cost vanishes, then samples until the
//! time is used up.

use crate::bench;
use crate::footprint;
use crate::plan::{Figure, Kind};
use crate::session::{DATA, Session};
use crate::single;
use anyhow::Result;
use lapis_bench::record::{Record, Unit};
use lapis_bench::stats::Summary;
use std::time::{Duration, Instant};

/// Fewest samples that make a median worth printing.
const MIN_SAMPLES: usize = 5;
/// Most samples: more say nothing new.
const MAX_SAMPLES: usize = 1000;
/// Most operations in a batch.
const MAX_BATCH: u64 = 1 << 24;
/// Shortest batch that the clock measures well.
const SHORTEST: Duration = Duration::from_micros(200);
/// A batch has so many operations, unless it takes so long: in a collective task 0 may begin after
/// the others and end before them, so that its time for a single one can be half of what it takes.
const MIN_BATCH: u64 = 16;
const LONGEST: Duration = Duration::from_millis(250);

/// Measures in step with the other tasks. Every task gets a record; task 0's is the one that
/// counts.
pub(crate) fn measure(
    session: &Session,
    figure: &Figure,
    budget: Duration,
    pulse: &mut dyn FnMut(),
) -> Result<Record> {
    if let Some(record) = single::measure(session, figure, budget) {
        return record;
    }
    match figure.bench.kind {
        Kind::FirstInit => return Ok(finished(figure, &[session.first_init.as_nanos() as f64])),
        Kind::Blocked => return Ok(finished(figure, &blocked(session, pulse)?)),
        Kind::Footprint => return Ok(finished(figure, &footprint::measure(session)?)),
        _ => {}
    }
    let mut batch = bench::prepare(session, figure)?;
    let mut timed = |count: u64| -> Result<Duration> {
        session.agree(0)?;
        let start = Instant::now();
        batch(count)?;
        Ok(start.elapsed())
    };
    let wanted = (budget / 40).max(SHORTEST);
    let mut count = 1;
    loop {
        // The better one of two: first touches are slow.
        let took = timed(count)?.min(timed(count)?);
        pulse();
        let is_enough = took >= wanted / 2 && (count >= MIN_BATCH || took >= LONGEST);
        if session.agree(u64::from(is_enough || count >= MAX_BATCH))? == 1 {
            break;
        }
        count *= 2;
    }
    let begin = Instant::now();
    let mut samples = Vec::new();
    loop {
        samples.push(timed(count)?.as_nanos() as f64 / count as f64);
        pulse();
        let more = samples.len() < MAX_SAMPLES && (samples.len() < MIN_SAMPLES || begin.elapsed() < budget);
        if session.agree(u64::from(more))? == 0 {
            break;
        }
    }
    Ok(finished(figure, &samples))
}

/// The record of a figure's samples.
fn finished(figure: &Figure, samples: &[f64]) -> Record {
    let mut record = record(figure, Summary::of(samples));
    record.note = bench::note(figure).map(str::to_owned);
    match figure.memory {
        Some(memory) => record.in_memory(memory.name()),
        None => record,
    }
}

/// Waits, several times, for a message that the other task sends after a long while; the
/// processor's time in percent of the clock's. Threads of the library count: the figure is the
/// whole process's.
fn blocked(session: &Session, pulse: &mut dyn FnMut()) -> Result<Vec<f64>> {
    let mut samples = Vec::new();
    for _ in 0..MIN_SAMPLES {
        session.agree(0)?;
        let (begin, busy) = (Instant::now(), processor_time());
        if session.leads() {
            let expected = session.expected_messages() + 1;
            session.context.wait_until(|| session.inbox.received() >= expected)?;
            session.expect_messages(1);
        } else if session.plays() {
            std::thread::sleep(Duration::from_millis(250));
            session.context.send(0, DATA, &[], &[])?;
        }
        let share = (processor_time() - busy).as_secs_f64() / begin.elapsed().as_secs_f64();
        samples.push(100.0 * share);
        pulse();
    }
    Ok(samples)
}

/// What all threads of this process have used so far.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn record(figure: &Figure, ns: Summary) -> Record {
    let (name, size) = (figure.bench.name, figure.size);
    match figure.bench.unit {
        // There and back is what the clock saw.
        Unit::Nanoseconds if matches!(figure.bench.kind, Kind::AmLat | Kind::AmCopyLat | Kind::PutSeen) => {
            Record::latency(name, size, ns.scaled(0.5))
        }
        Unit::Nanoseconds => Record::latency(name, size, ns),
        Unit::Microseconds => {
            Record { unit: Unit::Microseconds, ..Record::latency(name, size, ns.scaled(1e-3)) }
        }
        Unit::Gigabytes => Record::bandwidth(name, size, ns),
        Unit::Millions => Record::rate(name, size, ns),
        // No time: the samples are what the unit says.
        unit @ (Unit::Percent | Unit::Kibibytes) => Record { unit, ..Record::latency(name, size, ns) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::BENCHES;

    #[test]
    fn each_unit_comes_from_nanoseconds_per_operation() {
        let value = |name: &str, size| {
            let bench = BENCHES.iter().find(|b| b.name == name).unwrap();
            record(&Figure { bench, size, memory: None }, Summary::of(&[200.0])).value
        };
        assert_eq!(value("am_lat", 8), 100.0);
        assert_eq!(value("put_seen", 8), 100.0);
        assert_eq!(value("put_lat", 8), 200.0);
        assert_eq!(value("am_rate", 8), 5.0);
        assert_eq!(value("put_bw", 1000), 5.0);
        assert_eq!(value("init", 0), 0.2);
    }
}
