//! `lapis-bench dgsp`: `lapis-dgsp time` with every MPI found, several times over.
//!
//! Each pass starts all programs again, so that the pages that one of them happened to get don't
//! decide. Within a pass the engines take turns on one core, and a round in which something else
//! runs on that core is repeated. Probes of the other core, and of the way between the two cores,
//! are not needed here.

use super::dgsp_report::{self as report, Figure, Outcome, Row, who_of};
use super::machine::Machine;
use crate::exec::Line;
use crate::peers;
use anyhow::{Context, Result, bail};
use lapis_bench::pin;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// A pass takes seconds, and waits for some more; a peer that hangs must not.
const LIMIT: Duration = Duration::from_secs(300);
/// Rounds of a pass.
const ROUNDS: &str = "9";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often all programs are started; the medians are printed
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these shapes (several with commas)
    #[arg(long, value_delimiter = ',')]
    shapes: Vec<String>,
    /// Three short rounds: indicative only
    #[arg(long)]
    quick: bool,
    /// No MPI, even if there is one
    #[arg(long)]
    no_peers: bool,
    /// Where the report goes
    #[arg(long, default_value = "docs/bench")]
    out: PathBuf,
    /// Print the table only; write no files
    #[arg(long)]
    dry: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (found, absent) = if args.no_peers { (Vec::new(), Vec::new()) } else { peers::packers() };
    absent.iter().for_each(|a| eprintln!("bench: absent: {}: {}", a.name, a.why));
    if found.is_empty() && !args.no_peers {
        eprintln!("bench: no MPI is installed: `cargo xtask setup --peers` brings some");
    }
    let rounds = args.rounds.unwrap_or(if args.quick { 3 } else { 11 }).max(1);
    let micros = if args.quick { 60 } else { 200 };
    let line = line(args, &found, micros)?;
    let mut passes = Vec::new();
    for pass in 1..=rounds {
        eprintln!("bench: dgsp: pass {pass} of {rounds}");
        passes.push(Record::read_all(&line.output(LIMIT)?));
    }
    let ours = || passes.iter().flatten().filter(|r| r.peer == "lapis");
    let turns = (ours().count(), ours().filter(|r| r.disturbed.is_some_and(|n| n > 0)).count());
    let outcome = Outcome {
        rounds,
        micros,
        quick: args.quick,
        rows: rows(&passes),
        absent,
        turns,
        machine: Machine::here(),
    };
    if outcome.rows.is_empty() {
        bail!("lapis-dgsp printed no record");
    }
    println!("{}", report::plain(&outcome));
    if !args.dry {
        report::write(&outcome, &args.out)?;
    }
    Ok(())
}

fn line(args: &Args, found: &[(String, PathBuf)], micros: u64) -> Result<Line> {
    let exe = std::env::current_exe().context("no path of our own")?;
    let tool = exe.with_file_name("lapis-dgsp");
    if !tool.is_file() {
        bail!("{} is not there: `cargo xtask bench dgsp` builds it", tool.display());
    }
    let micros = micros.to_string();
    let mut line = Line::new([&tool]).args(["time", "--json", "--rounds", ROUNDS, "--micros", &micros]);
    if !args.shapes.is_empty() {
        line = line.args(["--shapes", &args.shapes.join(",")]);
    }
    for (name, program) in found {
        line = line.args(["--peer", &format!("{name}={}", program.display())]);
    }
    // The engines take turns.
    Ok(line.on_core(pin::pair().1))
}

/// Sums the passes up, in the order in which the tool printed.
fn rows(passes: &[Vec<Record>]) -> Vec<Row> {
    type Key = (String, String);
    /// A record, the passes' values, and their ratios to ours.
    type Samples = (Record, Vec<f64>, Vec<f64>);
    let mut order: Vec<Key> = Vec::new();
    let mut samples: BTreeMap<Key, BTreeMap<String, Samples>> = BTreeMap::new();
    // Passes in which something else ran on the core count only for rows that have no others.
    let quiet: BTreeSet<Key> = passes
        .iter()
        .flatten()
        .filter(|r| r.peer == "lapis" && r.disturbed == Some(0))
        .map(|r| (r.shape.clone().unwrap_or_default(), r.bench.clone()))
        .collect();
    for pass in passes {
        let mut now: BTreeMap<Key, Vec<&Record>> = BTreeMap::new();
        let mut bench = String::new();
        // memcpy's record says nothing of the direction; it stands behind ours, which does.
        for record in pass {
            if record.peer != "floor" {
                bench.clone_from(&record.bench);
            }
            let key = (record.shape.clone().unwrap_or_default(), bench.clone());
            now.entry(key).or_default().push(record);
        }
        for record in pass.iter().filter(|r| r.peer == "lapis") {
            let key = (record.shape.clone().unwrap_or_default(), record.bench.clone());
            if quiet.contains(&key) && record.disturbed != Some(0) {
                continue;
            }
            if !samples.contains_key(&key) {
                order.push(key.clone());
            }
            let all = samples.entry(key.clone()).or_default();
            for other in now.get(&key).into_iter().flatten() {
                let entry = all.entry(who_of(other).to_owned());
                let (_, values, ratios) = entry.or_insert_with(|| ((*other).clone(), Vec::new(), Vec::new()));
                values.push(other.value);
                ratios.push(other.value / record.value);
            }
        }
    }
    let row = |key: Key| {
        let mut figures: Vec<Figure> = Vec::new();
        for (who, (mut record, values, ratios)) in samples.remove(&key).unwrap_or_default() {
            let Summary { min, median, max, samples } = Summary::of(&values);
            (record.value, record.min, record.max, record.samples) = (median, min, max, samples);
            record.disturbed = None;
            let at = if who == "lapis" { 0 } else { figures.len() };
            figures.insert(at, Figure { record, ratio: Summary::of(&ratios) });
        }
        let blocks = figures.first().and_then(|f| f.record.blocks).unwrap_or(1);
        Row { shape: key.0, bench: key.1, blocks, figures }
    };
    order.into_iter().map(row).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn record(bench: &str, peer: &str, shape: &str, value: f64) -> Record {
        let time = Summary { min: value, median: value, max: value, samples: 5 };
        Record::latency(bench, 4096, time).of(peer, "memory").shaped(shape, 4)
    }

    pub(crate) fn some_rows() -> Vec<Row> {
        let pass = |f: f64| {
            vec![
                record("dgsp_pack", "hand", "column", 20.0 * f),
                record("dgsp_pack", "lapis", "column", 10.0 * f),
                record("memcpy", "floor", "column", 5.0 * f),
                record("dgsp_pack", "mpich", "column", 30.0 * f),
                record("dgsp_unpack", "hand", "column", 9.0 * f),
                record("dgsp_unpack", "lapis", "column", 10.0 * f),
                record("memcpy", "floor", "column", 9.5 * f),
                record("dgsp_unpack", "mpich", "column", 8.0 * f),
                record("dgsp_copy", "lapis", "column", 12.0 * f),
                record("memcpy", "floor", "column", 6.0 * f),
            ]
        };
        rows(&[pass(1.0), pass(2.0), pass(1.5)])
    }

    #[test]
    fn disturbed_passes_count_only_for_rows_without_others() {
        let pass =
            |value, disturbed| vec![record("dgsp_pack", "lapis", "column", value).disturbed(disturbed)];
        let median = |passes: &[_]| {
            let rows = rows(passes);
            assert_eq!(rows.len(), 1);
            rows[0].figures[0].record.value
        };
        assert_eq!(median(&[pass(9.0, 5), pass(2.0, 0), pass(8.0, 1)]), 2.0);
        assert_eq!(median(&[pass(9.0, 5), pass(8.0, 1)]), 8.5);
    }

    #[test]
    fn passes_are_summed_up_by_shape_direction_and_engine() {
        let rows = some_rows();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].shape.as_str(), rows[0].bench.as_str()), ("column", "dgsp_pack"));
        let ours = &rows[0].figures[0];
        assert_eq!((ours.record.peer.as_str(), ours.record.value, ours.record.samples), ("lapis", 15.0, 3));
        assert_eq!(rows[0].figure("memcpy").map(|f| f.ratio.median), Some(0.5));
        assert_eq!(rows[1].figure("memcpy").map(|f| f.ratio.median), Some(0.95));
        assert_eq!(rows[2].figure("memcpy").map(|f| f.ratio.median), Some(0.5));
        assert_eq!(rows[1].figure("mpich").map(|f| f.ratio.median), Some(0.8));
    }
}
