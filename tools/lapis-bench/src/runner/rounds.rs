//! The rounds: in each, every bench asks every party in turn, so that a slow minute hits all alike.

use super::noise::Noise;
use super::plan::{Bench, on_one_host};
use crate::floor::{self, Ask, Floor};
use crate::peers::{Absent, Party, Request};
use anyhow::Result;
use lapis_bench::progress::Progress;
use lapis_bench::record::{Record, Unit};
use lapis_bench::stats::Summary;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A noisy sample is taken again this often.
const RETAKES: usize = 3;
/// After so many samples in a row that stayed noisy, retaking would only make the run longer.
const HOPELESS: usize = 4;

/// Who is no peer: floors, and Lapis from Rust, from C and through QNIX, as it is and as it was.
const OURS: [&str; 8] =
    ["floor", "lapis", "lapis-c", "lapis-shm", "base", "base-c", "lapis-qnix", "lapis-qnix-8"];

/// The medians of one figure over the rounds.
pub(crate) struct Figure {
    /// The bench it belongs to (a floor keeps its own name in `record`).
    pub(crate) bench: &'static str,
    pub(crate) what: &'static str,
    /// Value, min and max are those of the rounds' medians.
    pub(crate) record: Record,
    /// How many times slower than the floor of the same size.
    pub(crate) to_floor: Option<f64>,
    /// How many times slower than the best peer.
    pub(crate) to_peer: Option<f64>,
}

/// Bench, place of the party, party's label, record's name, size.
type Key = (usize, usize, String, String, u64);

/// Takes all figures.
pub(crate) fn take(
    plan: &[Bench],
    transport: &str,
    parties: &[Party],
    rounds: usize,
    budget: Duration,
    noise: &mut Noise,
    absent: &mut Vec<Absent>,
) -> Vec<Figure> {
    let mut samples: BTreeMap<Key, (Record, Vec<f64>)> = BTreeMap::new();
    let mut broken = BTreeSet::new();
    let mut progress = Progress::new(rounds * plan.len() * (parties.len() + 1));
    for round in 0..rounds {
        eprintln!("bench: round {} of {rounds}", round + 1);
        for (bench_index, bench) in plan.iter().enumerate() {
            let mut keep = |place: usize, records: Vec<Record>| {
                for record in records {
                    let memory = record.memory.as_deref().unwrap_or_default();
                    let label = format!("{} {} {memory}", record.peer, record.transport);
                    let key = (bench_index, place, label, record.bench.clone(), record.size);
                    let value = record.value;
                    samples.entry(key).or_insert_with(|| (record, Vec::new())).1.push(value);
                }
            };
            progress.begin(&format!("round {} of {rounds}: {}: floor", round + 1, bench.name));
            match quiet(noise, || floors(bench, transport, budget)) {
                Ok(records) => keep(0, records),
                Err(error) => note(absent, &mut broken, format!("floor of {}", bench.name), &error),
            }
            progress.step();
            for (index, party) in parties.iter().enumerate() {
                let label = party.label();
                progress.begin(&format!("round {} of {rounds}: {}: {label}", round + 1, bench.name));
                progress.step();
                let name = format!("{label}: {}", bench.name);
                // Who failed once on a bench fails again, and a watchdog's time is long.
                if broken.contains(&name) {
                    continue;
                }
                let request = Request { bench: bench.name, sizes: sizes_or_one(bench), budget };
                match quiet(noise, || party.measure(&request)) {
                    Ok(records) => keep(index + 1, records),
                    Err(error) => note(absent, &mut broken, name, &error),
                }
            }
        }
    }
    compared(plan, samples)
}

fn note(absent: &mut Vec<Absent>, broken: &mut BTreeSet<String>, name: String, error: &anyhow::Error) {
    if broken.insert(name.clone()) {
        eprintln!("\nbench: failed: {name}: {error:#}");
        absent.push(Absent { name, why: format!("{error:#}") });
    }
}

/// Benches with a size of their own are asked with 8 bytes, which they pass over.
fn sizes_or_one(bench: &Bench) -> &[u64] {
    if bench.sizes.is_empty() { &[8] } else { &bench.sizes }
}

/// Takes a sample between two probes, and takes it again while the machine is noisy and there is
/// hope that it ends.
pub(super) fn quiet(
    noise: &mut Noise,
    mut sample: impl FnMut() -> Result<Vec<Record>>,
) -> Result<Vec<Record>> {
    for retake in 0.. {
        let before = noise.before()?;
        let records = sample()?;
        let Some(trouble) = noise.after(&before)? else {
            noise.in_a_row = 0;
            return Ok(records);
        };
        if retake < RETAKES && noise.in_a_row < HOPELESS {
            noise.retaken += 1;
            continue;
        }
        noise.kept += 1;
        noise.in_a_row += 1;
        if noise.in_a_row == HOPELESS {
            eprintln!(
                "\nbench: this machine stays noisy ({trouble}): samples are kept as they are, the figures say little"
            );
        }
        return Ok(records);
    }
    Ok(Vec::new())
}

fn floors(bench: &Bench, transport: &str, budget: Duration) -> Result<Vec<Record>> {
    let ask = Ask { sizes: sizes_or_one(bench).to_vec(), budget };
    let mut records = Vec::new();
    let fits = |floor: &&Floor| floor.transport == "shm" || !on_one_host(transport);
    for name in bench.floors {
        let floor = floor::ALL.iter().find(|floor| floor.name == *name && fits(floor));
        if let Some(floor) = floor {
            records.extend((floor.run)(&ask)?);
        }
    }
    records.retain(|r| bench.floor_records.contains(&r.bench.as_str()));
    Ok(records)
}

fn compared(plan: &[Bench], samples: BTreeMap<Key, (Record, Vec<f64>)>) -> Vec<Figure> {
    let mut figures: Vec<(usize, Figure)> = Vec::new();
    for ((bench_index, ..), (mut record, values)) in samples {
        let Summary { min, median, max, samples } = Summary::of(&values);
        (record.value, record.min, record.max, record.samples) = (median, min, max, samples);
        let bench = &plan[bench_index];
        let figure = Figure { bench: bench.name, what: bench.what, record, to_floor: None, to_peer: None };
        figures.push((bench_index, figure));
    }
    let all: Vec<(usize, Record)> = figures.iter().map(|(b, f)| (*b, f.record.clone())).collect();
    for (bench_index, figure) in &mut figures {
        let (own, unit) = (&figure.record, figure.record.unit);
        if own.peer == "floor" {
            continue;
        }
        let same_bench = || all.iter().filter(|(b, r)| b == bench_index && r.unit == unit).map(|(_, r)| r);
        figure.to_floor =
            floor_of(&plan[*bench_index], own, same_bench()).map(|f| slower(own.value, f.value, unit));
        let peers = same_bench().filter(|r| !OURS.contains(&r.peer.as_str()) && r.size == own.size);
        let best = peers.map(|r| r.value).reduce(if unit.more_is_better() { f64::max } else { f64::min });
        figure.to_peer = best.map(|best| slower(own.value, best, unit));
    }
    figures.into_iter().map(|(_, figure)| figure).collect()
}

/// The floor of a figure: in the plan's order the first of the same size; a floor with one size
/// serves up to 64 bytes.
fn floor_of<'a>(
    bench: &Bench,
    own: &Record,
    all: impl Iterator<Item = &'a Record> + Clone,
) -> Option<&'a Record> {
    let named = |name: &&str| {
        let name = *name;
        let records = || all.clone().filter(move |r| r.peer == "floor" && r.bench == name);
        let same = records().find(|r| r.size == own.size);
        same.or_else(|| records().next().filter(|r| records().count() == 1 && r.size.max(own.size) <= 64))
    };
    // What is not Lapis' own memory is reached by cross-memory attach.
    let anywhere = own.memory.as_deref() == Some("heap");
    bench.floor_records.iter().filter(|name| !anywhere || name.starts_with("cma_")).find_map(named)
}

fn slower(value: f64, than: f64, unit: Unit) -> f64 {
    if unit.more_is_better() { than / value } else { value / than }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::plan;

    fn record(bench: &str, peer: &str, size: u64, value: f64, unit: Unit) -> (Key, (Record, Vec<f64>)) {
        let summary = Summary::of(&[value]);
        let mut record = Record::latency(bench, size, summary).of(peer, "shm");
        record.unit = unit;
        let place = usize::from(peer != "floor");
        ((0, place, format!("{peer} shm"), bench.into(), size), (record, vec![value]))
    }

    #[test]
    fn ratios_say_how_many_times_slower() {
        let plan = plan::plan("shm", true);
        let ns = Unit::Nanoseconds;
        let samples = BTreeMap::from([
            record("line_lat", "floor", 8, 50.0, ns),
            record("mailbox_lat", "floor", 1024, 170.0, ns),
            record("am_lat", "lapis", 8, 75.0, ns),
            record("am_lat", "lapis", 1024, 340.0, ns),
            record("am_lat", "ucx", 8, 100.0, ns),
            record("am_lat", "mpi", 8, 150.0, ns),
        ]);
        let figures = compared(&plan, samples);
        let of = |peer: &str, size: u64| {
            let figure = figures.iter().find(|f| f.record.peer == peer && f.record.size == size).unwrap();
            (figure.to_floor, figure.to_peer)
        };
        assert_eq!(of("lapis", 8), (Some(1.5), Some(0.75)));
        assert_eq!(of("lapis", 1024), (Some(2.0), None));
        assert_eq!(of("mpi", 8), (Some(3.0), Some(1.5)));
        assert_eq!(of("floor", 8), (None, None));
    }

    #[test]
    fn more_is_better_turns_ratios_round() {
        assert_eq!(slower(5.0, 10.0, Unit::Gigabytes), 2.0);
        assert_eq!(slower(5.0, 10.0, Unit::Nanoseconds), 0.5);
    }
}
