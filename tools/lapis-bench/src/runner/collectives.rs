//! `lapis-bench collectives`: Lapis and every MPI found, in jobs of several sizes over shared
//! memory.
//!
//! In each round every party takes every figure once, in turns; medians of the rounds are shown.
//! Two tasks have a core each; more are left to the kernel, as a user would leave them.

use super::machine::Machine;
use super::report::{absent_list, put};
use crate::peers::{self, Absent, Party, Wish};
use anyhow::{Result, bail};
use lapis_bench::record::Record;
use lapis_bench::size;
use lapis_bench::stats::Summary;
use lapis_bench::table::{Table, figure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What can be measured.
const BENCHES: [&str; 4] = ["barrier", "bcast", "allreduce", "alltoall"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tasks of the jobs (several with commas)
    #[arg(long, value_delimiter = ',', default_value = "2,4,8,16")]
    tasks: Vec<usize>,
    /// Which operations (several with commas); all without it
    #[arg(long, value_delimiter = ',', value_parser = BENCHES)]
    only: Vec<String>,
    /// Sizes, like 8,4K,64K-1M
    #[arg(long, default_value = "8,1K,64K,1M")]
    sizes: String,
    /// How often each figure is taken; the medians are printed
    #[arg(long)]
    rounds: Option<usize>,
    /// One short round: indicative only
    #[arg(long)]
    quick: bool,
    /// No MPI, even if there is one
    #[arg(long)]
    no_peers: bool,
    /// Where the report goes
    #[arg(long, default_value = "docs/bench")]
    out: PathBuf,
    /// Print the tables only; write no files
    #[arg(long)]
    dry: bool,
}

/// One figure of everybody.
struct Row {
    tasks: usize,
    bench: String,
    size: u64,
    /// By party: what the rounds gave, in nanoseconds.
    samples: Vec<(String, Vec<f64>)>,
}

impl Row {
    fn median(&self, party: &str) -> Option<f64> {
        let (_, samples) = self.samples.iter().find(|(name, _)| name == party)?;
        (!samples.is_empty()).then(|| Summary::of(samples).median)
    }
}

/// Everything that the report says.
struct Outcome {
    rounds: usize,
    quick: bool,
    rows: Vec<Row>,
    absent: Vec<Absent>,
    machine: Machine,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(tasks) = args.tasks.iter().find(|tasks| **tasks < 2) {
        bail!("--tasks {tasks}: collectives take two tasks at least");
    }
    let rounds = args.rounds.unwrap_or(if args.quick { 1 } else { 5 }).max(1);
    let budget = Duration::from_millis(if args.quick { 20 } else { 100 });
    let sizes = size::parse_list(&args.sizes)?;
    let benches: Vec<&str> =
        BENCHES.into_iter().filter(|b| args.only.is_empty() || args.only.iter().any(|o| o == b)).collect();
    let mut outcome =
        Outcome { rounds, quick: args.quick, rows: Vec::new(), absent: Vec::new(), machine: Machine::here() };
    for tasks in args.tasks.iter().copied() {
        let parties = parties(tasks, args.no_peers, &mut outcome.absent);
        for round in 1..=rounds {
            eprintln!("bench: collectives: {tasks} tasks, round {round} of {rounds}");
            for bench in &benches {
                for party in &parties {
                    match party.measure(&Wish { bench, sizes: &sizes, budget }) {
                        Ok(records) => outcome.add(tasks, &records),
                        Err(error) => {
                            let name = format!("{}, {bench} of {tasks} tasks", party.label());
                            outcome.absent.push(Absent { name, why: format!("{error:#}") });
                        }
                    }
                }
            }
        }
    }
    if outcome.rows.is_empty() {
        bail!("nobody gave a figure: {}", absent_list(&outcome.absent));
    }
    print!("{}", page(&outcome, Table::plain));
    if args.dry { Ok(()) } else { write(&outcome, &args.out) }
}

fn parties(tasks: usize, alone: bool, absent: &mut Vec<Absent>) -> Vec<Party> {
    let mut parties = Vec::new();
    match peers::lapis_of(tasks) {
        Ok(party) => parties.push(party),
        Err(missing) => absent.push(missing),
    }
    if !alone {
        let (found, missing) = peers::mpis_of(tasks);
        parties.extend(found);
        let known = |one: &Absent| absent.iter().any(|a| a.name == one.name);
        let new: Vec<_> = missing.into_iter().filter(|one| !known(one)).collect();
        absent.extend(new);
    }
    parties
}

impl Outcome {
    fn add(&mut self, tasks: usize, records: &[Record]) {
        for record in records {
            let same = |row: &Row| (row.tasks, &row.bench, row.size) == (tasks, &record.bench, record.size);
            let at = self.rows.iter().position(same).unwrap_or_else(|| {
                let (bench, size) = (record.bench.clone(), record.size);
                self.rows.push(Row { tasks, bench, size, samples: Vec::new() });
                self.rows.len() - 1
            });
            let samples = &mut self.rows[at].samples;
            match samples.iter_mut().find(|(name, _)| *name == record.peer) {
                Some((_, values)) => values.push(record.value),
                None => samples.push((record.peer.clone(), vec![record.value])),
            }
        }
    }

    /// Everybody, Lapis first.
    fn parties(&self) -> Vec<&str> {
        let mut parties = Vec::new();
        for (name, _) in self.rows.iter().flat_map(|row| &row.samples) {
            if !parties.contains(&name.as_str()) {
                parties.push(name.as_str());
            }
        }
        parties.sort_by_key(|name| *name != "lapis");
        parties
    }
}

/// Times of everybody, and how many times faster Lapis is than the fastest of the others.
fn table(rows: &[&Row], parties: &[&str]) -> Table {
    let heading = ["operation", "bytes"].into_iter().chain(parties.iter().copied());
    let mut table = Table::new(heading.chain(["best other / lapis"]));
    for row in rows {
        let times: Vec<Option<f64>> = parties.iter().map(|party| row.median(party)).collect();
        let others = parties.iter().zip(&times).filter(|(party, _)| **party != "lapis");
        let best = others.filter_map(|(_, time)| *time).reduce(f64::min);
        let ratio = best.zip(row.median("lapis")).map(|(best, ours)| best / ours);
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        let first = [row.bench.clone(), row.size.to_string()];
        table.row(first.into_iter().chain(times.into_iter().map(cell)).chain([cell(ratio)]));
    }
    table
}

fn page(outcome: &Outcome, form: fn(&Table) -> String) -> String {
    let parties = outcome.parties();
    let mut counts: Vec<usize> = outcome.rows.iter().map(|row| row.tasks).collect();
    counts.dedup();
    let mut text = String::new();
    for tasks in counts {
        let rows: Vec<&Row> = outcome.rows.iter().filter(|row| row.tasks == tasks).collect();
        text += &format!("\n## {tasks} tasks (ns)\n\n{}", form(&table(&rows, &parties)));
    }
    text + &absent_list(&outcome.absent)
}

fn write(outcome: &Outcome, folder: &Path) -> Result<()> {
    let m = &outcome.machine;
    let quick = if outcome.quick { " A quick run: indicative only." } else { "" };
    let heading = format!(
        "# {} collectives over shared memory\n\n{}, {} cores, {} GiB, Linux {}, {}, tree {}.\n\n\
         Medians of {} rounds, in each of which everybody takes every figure once.{quick} The last \
         column is the time of the fastest of the others divided by that of Lapis.\n",
        m.date, m.processor, m.cores, m.memory_gib, m.kernel, m.compiler, m.revision, outcome.rounds
    );
    let stem = format!("{}-collectives", m.date);
    let rows = outcome.rows.iter().map(|row| {
        let samples: Value = row.samples.iter().map(|(name, values)| (name.clone(), json!(values))).collect();
        json!({ "tasks": row.tasks, "bench": row.bench, "size": row.size, "unit": "ns", "samples": samples })
    });
    let document = Value::Array(rows.collect());
    put(folder, &format!("{stem}.json"), &(serde_json::to_string_pretty(&document)? + "\n"))?;
    put(folder, &format!("{stem}.md"), &(heading + &page(outcome, Table::markdown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_of_the_others_is_held_against_lapis() {
        let samples = [("b", vec![300.0]), ("lapis", vec![90.0, 100.0, 5000.0]), ("a", vec![200.0])];
        let samples = samples.map(|(name, values)| (name.to_owned(), values)).into();
        let row = Row { tasks: 4, bench: "bcast".into(), size: 8, samples };
        let outcome =
            Outcome { rounds: 3, quick: true, rows: vec![row], absent: Vec::new(), machine: Machine::here() };
        assert_eq!(outcome.parties()[0], "lapis");
        let text = page(&outcome, Table::plain);
        let line = text.lines().find(|line| line.starts_with("bcast")).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells, ["bcast", "8", "100", "300", "200", "2.00"], "{text}");
    }
}
