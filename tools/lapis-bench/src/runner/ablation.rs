//! `lapis-bench ablation`: the gain of each optimisation, with its lines of code.
//!
//! One build that can turn single optimisations off (`lapis_ablation`) runs with each of them on
//! and off alternately, so that nothing but the optimisation differs: not even where the compiler
//! has put the code.

mod trials;

use super::machine::Machine;
use super::network::Network;
use crate::exec::Line;
use crate::peers::{How, Party, Request, lapis_from_c_in, lapis_in, set_tasks};
use anyhow::{Context, Result, ensure};
use lapis_ablation::Optimization;
use lapis_bench::pin;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trials::{Figures, TRIALS, Trial};

/// A start of a program that measures.
const LIMIT: Duration = Duration::from_secs(60);
/// Tasks of a job that outnumber the cores.
const CROWD: usize = 8;
/// What is less, in percent, counts as nothing.
const NOISE: f64 = 3.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A build with `--cfg lapis_ablation`
    #[arg(long)]
    build: PathBuf,
    /// Which optimisations (several with commas); all without it
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How often each figure is taken with and without
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Milliseconds for each figure
    #[arg(long, default_value_t = 60)]
    time_ms: u64,
    /// Where the report goes
    #[arg(long, default_value = "docs/bench/ablation.md")]
    out: PathBuf,
    /// Print the table only; write no file
    #[arg(long)]
    dry: bool,
}

/// One figure with and without an optimisation.
struct Row {
    trial: &'static Trial,
    figure: String,
    /// Median with it, in the figure's unit.
    with: f64,
    unit: &'static str,
    /// How many times as fast with it, by round.
    gain: Summary,
    /// Of those rounds, how many were faster with it.
    faster: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for name in &args.only {
        ensure!(Optimization::ALL.iter().any(|o| o.name() == name), "nothing is called `{name}`");
    }
    // What can't be counted is found before anything is measured.
    TRIALS.iter().try_for_each(|trial| lines(trial).map(drop))?;
    let wanted = |t: &&Trial| args.only.is_empty() || args.only.iter().any(|n| n == t.which.name());
    let mut rows = Vec::new();
    for trial in TRIALS.iter().filter(wanted) {
        eprintln!("bench: ablation: {}", trial.which.name());
        rows.extend(measure(trial, args)?);
    }
    let report = report(&rows, args)?;
    print!("{report}");
    if !args.dry {
        std::fs::write(&args.out, &report).with_context(|| args.out.display().to_string())?;
    }
    Ok(())
}

/// Takes a trial's figures alternately, with the optimisation and without.
fn measure(trial: &'static Trial, args: &Args) -> Result<Vec<Row>> {
    let mut samples: BTreeMap<String, (Record, [Vec<f64>; 2])> = BTreeMap::new();
    for round in 0..args.rounds.max(1) {
        for figures in trial.figures {
            for turn in 0..2 {
                let off = (round + turn) % 2;
                let name = if off == 1 { trial.which.name() } else { "" };
                for record in take(figures, name, args)? {
                    let key = name_of(figures, &record);
                    let value = record.value;
                    samples.entry(key).or_insert_with(|| (record, Default::default())).1[off].push(value);
                }
            }
        }
    }
    Ok(samples.into_iter().map(|(figure, (record, both))| row(trial, figure, &record, &both)).collect())
}

fn row(trial: &'static Trial, figure: String, record: &Record, [with, without]: &[Vec<f64>; 2]) -> Row {
    let more = record.unit.more_is_better();
    let gains: Vec<f64> = with.iter().zip(without).map(|(w, o)| if more { w / o } else { o / w }).collect();
    Row {
        trial,
        figure,
        with: Summary::of(with).median,
        unit: record.unit.text(),
        faster: gains.iter().filter(|gain| **gain > 1.0).count(),
        gain: Summary::of(&gains),
    }
}

/// Runs what measures some figures once.
fn take(figures: &Figures, off: &str, args: &Args) -> Result<Vec<Record>> {
    let budget = Duration::from_millis(args.time_ms);
    match *figures {
        Figures::Perf { transport, bench, sizes } => {
            measured(lapis_in(&args.build, "lapis", transport), off, bench, sizes, budget)
        }
        Figures::Interrupted { bench, sizes } => {
            let mut party = lapis_in(&args.build, "lapis", "shm");
            if let Ok(Party { how: How::Lapis(line), .. }) = &mut party {
                *line = std::mem::take(line).args(["--interrupts"]);
            }
            measured(party, off, bench, sizes, budget)
        }
        Figures::Crowded { bench, sizes } => {
            let mut party = lapis_in(&args.build, "lapis", "shm");
            if let Ok(Party { how: How::Lapis(line), .. }) = &mut party {
                set_tasks(line, CROWD);
            }
            measured(party, off, bench, sizes, budget)
        }
        Figures::Wire { bench, sizes } => {
            let network = Network::make(1)?.of_build(&args.build)?;
            let _daemons = network.daemons()?;
            let (sizes, time) = (listed(sizes), args.time_ms.to_string());
            let line = network.perf_over("hps", 1, &[bench, "--sizes", &sizes, "--time-ms", &time]);
            Ok(Record::read_all(&line.var("ABLATE", off).output(LIMIT)?))
        }
        Figures::FromC { transport, bench, sizes } => {
            measured(lapis_from_c_in(&args.build, "lapis-c", transport), off, bench, sizes, budget)
        }
        Figures::Layout { shape } => {
            let micros = (args.time_ms * 2).to_string();
            let line = Line::new([args.build.join("lapis-dgsp")]).var("ABLATE", off);
            let line = line.args(["time", "--json", "--rounds", "5", "--micros", &micros, "--shapes", shape]);
            let mut records = Record::read_all(&line.on_core(pin::pair().1).output(LIMIT)?);
            records.retain(|record| record.peer == "lapis");
            Ok(records)
        }
    }
}

/// Sizes as the tool takes them.
fn listed(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn measured(
    party: Result<Party, crate::peers::Absent>,
    off: &str,
    bench: &str,
    sizes: &[u64],
    budget: Duration,
) -> Result<Vec<Record>> {
    let mut party = party.map_err(|absent| anyhow::anyhow!("{}: {}", absent.name, absent.why))?;
    if let How::Lapis(line) | How::Program(line) = &mut party.how {
        *line = std::mem::take(line).var("ABLATE", off);
    }
    party.measure(&Request { bench, sizes, budget })
}

fn name_of(figures: &Figures, record: &Record) -> String {
    let memory = record.memory.as_deref().map(|m| format!(" ({m} memory)")).unwrap_or_default();
    let size = lapis_bench::size::show(record.size);
    match figures {
        Figures::Perf { transport, .. } => format!("{transport} {}, {size}{memory}", record.bench),
        Figures::Wire { .. } => format!("hps over veth {}, {size}", record.bench),
        Figures::Crowded { .. } => format!("shm {}, {size}, {CROWD} tasks", record.bench),
        Figures::Interrupted { .. } => format!("shm {}, {size}, interrupt mode", record.bench),
        Figures::FromC { transport, .. } => format!("{transport} {}, {size}, from C", record.bench),
        Figures::Layout { shape } => format!("{} of {shape}", record.bench),
    }
}

fn report(rows: &[Row], args: &Args) -> Result<String> {
    let machine = Machine::here();
    let mut text = format!(
        "# What each optimisation buys\n\n\
         Written by `cargo xtask bench ablation`. {}, {} cores, Linux {}, {},\n{}.\n\n\
         One build runs with an optimisation and without it, {} times in turns. *With* is the median \
         with all of\nthem on. *Gain* is how many times as fast it is with this one, by round: median, \
         least, greatest, and\nin how many rounds it was faster at all. *Lines* are those of the \
         functions and files that would go\nwith it, without comments. It pays where the median is \
         beyond {NOISE} % and three of four rounds agree.\n\n\
         | optimisation | lines | figure | with | gain | least | greatest | faster | pays |\n\
         |---|---:|---|---:|---:|---:|---:|---:|---|\n",
        machine.processor, machine.cores, machine.kernel, machine.compiler, machine.date, args.rounds,
    );
    for row in rows {
        let Summary { min, median, max, samples } = row.gain;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.4} {} | {median:.2} | {min:.2} | {max:.2} | {} of {samples} | {} |",
            row.trial.which.name(),
            lines(row.trial)?,
            row.figure,
            row.with,
            row.unit,
            row.faster,
            if pays(row) { "yes" } else { "" },
        );
    }
    Ok(text)
}

fn pays(row: &Row) -> bool {
    row.gain.median > 1.0 + NOISE / 100.0 && 4 * row.faster >= 3 * row.gain.samples
}

/// Lines of code, without comments, of what would go with an optimisation.
fn lines(trial: &Trial) -> Result<usize> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let count = |(file, item): &(&str, &str)| {
        let text = std::fs::read_to_string(root.join(file)).with_context(|| (*file).to_owned())?;
        lines_of(&text, item).with_context(|| format!("{file} has no `{item}` any more"))
    };
    trial.code.iter().map(count).sum()
}

/// Lines of an item, from the line that contains `item` to the end of its block; of the file before
/// its tests if that is empty.
fn lines_of(text: &str, item: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.contains(item) && !is_comment(line))?;
    let is_end = |line: &str| {
        let indent = |l: &str| l.len() - l.trim_start().len();
        indent(line) == indent(lines[first]) && ["}", ");", "};"].contains(&line.trim())
    };
    let end = if item.is_empty() {
        lines.iter().position(|line| line.contains("#[cfg(") && line.contains("test")).unwrap_or(lines.len())
    } else if lines[first].trim_end().ends_with(';') {
        first + 1
    } else {
        first + 1 + lines[first..].iter().position(|line| is_end(line))?
    };
    let code = |line: &&&str| !line.trim().is_empty() && !is_comment(line);
    Some(lines[if item.is_empty() { 0 } else { first }..end].iter().filter(code).count())
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_optimisation_has_a_trial_and_the_code_that_it_names_is_there() {
        for which in Optimization::ALL {
            let trial = TRIALS.iter().find(|trial| trial.which == *which);
            let trial = trial.unwrap_or_else(|| panic!("{which:?} has no trial"));
            assert!(!trial.figures.is_empty(), "{which:?}");
            assert!(lines(trial).unwrap() > 0, "{which:?}");
        }
    }

    #[test]
    fn lines_of_an_item_are_counted_without_comments() {
        let text = "const A: u32 = 1;\n/// fn b\nfn b(\n) {\n    // no\n    c();\n\n}\nfn d() {\n}\n#[cfg(test)]\nmod x;\n";
        assert_eq!(lines_of(text, "const A"), Some(1));
        assert_eq!(lines_of(text, "fn b"), Some(4));
        assert_eq!(lines_of(text, ""), Some(7));
        assert_eq!(lines_of(text, "fn e"), None);
    }
}
