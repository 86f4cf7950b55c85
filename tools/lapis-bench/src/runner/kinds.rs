//! `lapis-bench bars`: which bars the newest reports meet, each of another kind of processor.

use super::bars::{self, Bar, Figure};
use super::report::put;
use anyhow::{Context, Result};
use lapis_bench::record::Record;
use lapis_bench::table::{Table, figure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The page that shows them.
const PAGE: &str = "bars.md";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of the reports, in which the page is written
    #[arg(long, default_value = "docs/bench")]
    out: PathBuf,
}

/// What this reads of a report.
#[derive(Deserialize)]
struct Report {
    transport: String,
    machine: Machine,
    records: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Machine {
    kind: String,
    date: String,
    processor: String,
}

#[derive(Deserialize)]
struct Recorded {
    #[serde(flatten)]
    record: Record,
    of: String,
    to_best_peer: Option<f64>,
}

impl Report {
    /// The bars of today, by the figures of then.
    fn bars(&self) -> Vec<Bar> {
        let figures = self.records.iter().map(|one| Figure {
            bench: &one.of,
            record: &one.record,
            to_peer: one.to_best_peer,
        });
        bars::of(&self.transport, figures)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let reports = read(&args.out)?;
    for (transport, of_it) in by_transport(&reports) {
        println!("{transport}\n{}", table(&of_it).plain());
    }
    write(&args.out)
}

/// Writes the page again: a report has come.
pub(super) fn write(folder: &Path) -> Result<()> {
    put(folder, PAGE, &page(&read(folder)?))
}

/// The reports of a folder that have bars, by name.
fn read(folder: &Path) -> Result<Vec<Report>> {
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let report = |path: &PathBuf| {
        // Collectives and others have reports of other forms, without bars.
        serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
    };
    Ok(paths.iter().filter_map(report).collect())
}

fn by_transport(reports: &[Report]) -> BTreeMap<&str, Vec<&Report>> {
    let mut by: BTreeMap<&str, Vec<&Report>> = BTreeMap::new();
    reports.iter().for_each(|report| by.entry(&report.transport).or_default().push(report));
    by
}

fn page(reports: &[Report]) -> String {
    let mut page = "# Bars by kind of processor\n\n\
                    Written by `cargo xtask bench` and `cargo xtask bench bars`, from the newest report of each \
                    kind. A bar is met if each kind's report has it and meets it.\n"
        .to_owned();
    let machines: BTreeSet<(&str, &str)> =
        reports.iter().map(|report| (&*report.machine.kind, &*report.machine.processor)).collect();
    for (kind, processor) in machines {
        page.push_str(&format!("\n* `{kind}`: {processor}"));
    }
    for (transport, of_it) in by_transport(reports) {
        page.push_str(&format!("\n\n## {transport}\n\n{}", table(&of_it).markdown()));
        let links = of_it.iter().map(|report| {
            let Machine { kind, date, .. } = &report.machine;
            format!("[{kind}, {date}]({kind}-{transport}.md)")
        });
        page.push_str(&format!("\nReports: {}.", links.collect::<Vec<_>>().join("; ")));
    }
    page + "\n"
}

/// The bars of one transport, a column for each kind.
fn table(reports: &[&Report]) -> Table {
    let kinds = reports.iter().map(|report| &*report.machine.kind);
    let mut table = Table::new(["bar"].into_iter().chain(kinds).chain(["met"]));
    let bars: Vec<Vec<Bar>> = reports.iter().map(|report| report.bars()).collect();
    let mut names: Vec<&str> = Vec::new();
    for bar in bars.iter().flatten() {
        if !names.contains(&bar.what) {
            names.push(bar.what);
        }
    }
    for what in names {
        let found: Vec<Option<&Bar>> =
            bars.iter().map(|bars| bars.iter().find(|bar| bar.what == what)).collect();
        // What is wanted may depend on the machine.
        let cell = |bar: &Bar| format!("{}, {}", figure(bar.value), bar.wanted);
        let cells = found.iter().map(|bar| bar.map_or_else(|| "-".to_owned(), cell));
        let met = found.iter().all(|bar| bar.is_some_and(|bar| bar.met));
        let last = if met { "yes" } else { "no" };
        table.row([what.to_owned()].into_iter().chain(cells).chain([last.to_owned()]));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_bench::stats::Summary;

    fn report(kind: &str, figures: &[(&'static str, f64)]) -> Report {
        let machine =
            Machine { kind: kind.into(), date: "2026-01-02".into(), processor: kind.to_uppercase() };
        let recorded = |&(bench, value): &(&'static str, f64)| Recorded {
            record: Record::latency(bench, 8, Summary::of(&[value])).in_memory("lapis").of("lapis", "shm"),
            of: bench.into(),
            to_best_peer: None,
        };
        Report { transport: "shm".into(), machine, records: figures.iter().map(recorded).collect() }
    }

    #[test]
    fn a_bar_is_met_where_every_kind_meets_it() {
        let reports = [
            report("a", &[("put_lat", 7.0), ("fadd", 9.0)]),
            report("b", &[("put_lat", 8.0), ("fadd", 13.0)]),
        ];
        let text = table(&reports.iter().collect::<Vec<_>>()).markdown();
        let cells = |line: usize| -> Vec<String> {
            let line = text.lines().nth(line).expect("a row");
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        assert_eq!(cells(0), ["bar", "a", "b", "met"]);
        let put = [
            "8 B put into Lapis memory, at the origin, ns",
            "7.00, at most 8.00 ns",
            "8.00, at most 8.00 ns",
        ];
        assert_eq!(cells(2), [&put[..], &["yes"]].concat());
        assert_eq!(cells(3)[1..], ["9.00, at most 12.0 ns", "13.0, at most 12.0 ns", "no"]);
        let none = report("c", &[]);
        let text = table(&[&reports[0], &none]).markdown();
        assert!(text.lines().skip(2).all(|line| line.ends_with(" no |") && line.contains(" - |")), "{text}");
        let page = page(&reports);
        assert!(page.contains("* `b`: B") && page.contains("[a, 2026-01-02](a-shm.md)"), "{page}");
    }

    #[test]
    fn reports_of_other_forms_are_passed_over() {
        let folder = std::env::temp_dir().join(format!("lapis-bars-{}", std::process::id()));
        let json = r#"{"transport": "udp", "machine": {"kind": "k", "date": "d", "processor": "p"}, "records": [
            {"bench": "am_rate", "of": "am_rate", "peer": "lapis", "transport": "udp", "size": 8, "value": 3.0,
             "unit": "M/s", "min": 3.0, "max": 3.0, "samples": 1, "to_floor": null, "to_best_peer": 0.5}]}"#;
        put(&folder, "b.json", json).expect("it can be written");
        put(&folder, "a.json", "[]").expect("it can be written");
        write(&folder).expect("it can be written");
        let page = std::fs::read_to_string(folder.join(PAGE)).expect("it was written");
        let _ = std::fs::remove_dir_all(&folder);
        assert!(page.contains("[k, d](k-udp.md)") && page.contains("3.00, at least 2.00 M/s"), "{page}");
        assert!(read(&folder).is_err(), "it is gone");
    }
}
