//! Taking one figure: batches that grow until the clock's own cost vanishes, then samples until the time is used up.

use crate::bench;
use crate::plan::{Figure, Kind};
use crate::session::Session;
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

/// Measures in step with the other tasks. Every task gets a record; task 0's is the one that counts.
pub(crate) fn measure(
    session: &Session,
    figure: &Figure,
    budget: Duration,
    pulse: &mut dyn FnMut(),
) -> Result<Record> {
    if let Some(record) = single::measure(session, figure, budget) {
        return record;
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
        if session.agree(u64::from(took >= wanted / 2 || count >= MAX_BATCH))? == 1 {
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
    let mut record = record(figure, Summary::of(&samples));
    record.note = bench::note(figure).map(str::to_owned);
    Ok(match figure.memory {
        Some(memory) => record.in_memory(memory.name()),
        None => record,
    })
}

fn record(figure: &Figure, ns: Summary) -> Record {
    let (name, size) = (figure.bench.name, figure.size);
    match figure.bench.unit {
        // There and back is what the clock saw.
        Unit::Nanoseconds if figure.bench.kind == Kind::AmLat => Record::latency(name, size, ns.scaled(0.5)),
        Unit::Nanoseconds => Record::latency(name, size, ns),
        Unit::Microseconds => {
            Record { unit: Unit::Microseconds, ..Record::latency(name, size, ns.scaled(1e-3)) }
        }
        Unit::Gigabytes => Record::bandwidth(name, size, ns),
        Unit::Millions => Record::rate(name, size, ns),
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
        assert_eq!(value("put_lat", 8), 200.0);
        assert_eq!(value("am_rate", 8), 5.0);
        assert_eq!(value("put_bw", 1000), 5.0);
        assert_eq!(value("init", 0), 0.2);
    }
}
