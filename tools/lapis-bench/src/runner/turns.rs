//! Comparisons in which every party takes every figure once in each round, alternately; medians of
//! the rounds are shown.

use super::machine::Machine;
use super::report::{absent_list, put};
use crate::peers::{Absent, Party, Request};
use anyhow::{Result, bail};
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use lapis_bench::table::{Table, figure};
use serde_json::{Value, json};
use std::path::Path;

/// What the machine allows, with no library in between: its figures stand among those of the
/// parties, but it is none.
const FLOOR: &str = "floor";

/// One figure of everybody.
struct Row {
    /// Tasks of the job.
    tasks: usize,
    /// What else is to be known of the job.
    beside: String,
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

/// Jobs of one kind, and what is measured in them.
pub(super) struct Jobs<'a> {
    pub(super) tasks: usize,
    /// What else is to be known of the jobs, in a few words; empty if nothing is.
    pub(super) beside: &'a str,
    pub(super) parties: &'a [Party],
}

/// Everything that the report says.
pub(super) struct Outcome {
    /// Of the files, behind the kind of processor, and of the page.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) rounds: usize,
    pub(super) quick: bool,
    rows: Vec<Row>,
    pub(super) absent: Vec<Absent>,
    machine: Machine,
}

impl Outcome {
    pub(super) fn new(name: &'static str, title: &'static str, rounds: usize, quick: bool) -> Self {
        Self { name, title, rounds, quick, rows: Vec::new(), absent: Vec::new(), machine: Machine::here() }
    }

    /// One round: everybody is asked for every figure.
    pub(super) fn ask(&mut self, jobs: &Jobs<'_>, requests: &[Request<'_>]) {
        for request in requests {
            for party in jobs.parties {
                match party.measure(request) {
                    Ok(records) => self.add(jobs, &records),
                    Err(error) => {
                        let name = format!("{}, {} of {}", party.label(), request.bench, jobs_in_words(jobs));
                        self.absent.push(Absent { name, why: format!("{error:#}") });
                    }
                }
            }
        }
    }

    /// Takes the floor of jobs: a figure of its own, which every figure of Lapis is divided by.
    pub(super) fn hold_against(&mut self, tasks: usize, floor: Result<Record>) {
        let jobs = Jobs { tasks, beside: "", parties: &[] };
        match floor {
            Ok(record) => self.add(&jobs, &[record]),
            Err(error) => self.absent.push(Absent {
                name: format!("{FLOOR} of {}", jobs_in_words(&jobs)),
                why: format!("{error:#}"),
            }),
        }
    }

    /// Those who can't take part, each once.
    pub(super) fn are_absent(&mut self, missing: Vec<Absent>) {
        let new: Vec<_> =
            missing.into_iter().filter(|one| self.absent.iter().all(|a| a.name != one.name)).collect();
        self.absent.extend(new);
    }

    /// Prints the tables; writes the report unless there is no `folder`.
    pub(super) fn report(&self, folder: Option<&Path>) -> Result<()> {
        if self.rows.is_empty() {
            bail!("nobody gave a figure: {}", absent_list(&self.absent));
        }
        print!("{}", page(self, Table::plain));
        folder.map_or(Ok(()), |folder| write(self, folder))
    }

    fn add(&mut self, jobs: &Jobs<'_>, records: &[Record]) {
        let (tasks, beside) = (jobs.tasks, jobs.beside);
        for record in records {
            let same = |row: &Row| {
                (row.tasks, row.beside.as_str(), &row.bench, row.size)
                    == (tasks, beside, &record.bench, record.size)
            };
            let at = self.rows.iter().position(same).unwrap_or_else(|| {
                let (bench, size, beside) = (record.bench.clone(), record.size, beside.to_owned());
                self.rows.push(Row { tasks, beside, bench, size, samples: Vec::new() });
                self.rows.len() - 1
            });
            let samples = &mut self.rows[at].samples;
            match samples.iter_mut().find(|(name, _)| *name == record.peer) {
                Some((_, values)) => values.push(record.value),
                None => samples.push((record.peer.clone(), vec![record.value])),
            }
        }
    }

    /// Everybody, Lapis first, the floor last.
    fn parties(&self) -> Vec<&str> {
        let mut parties = Vec::new();
        for (name, _) in self.rows.iter().flat_map(|row| &row.samples) {
            if !parties.contains(&name.as_str()) {
                parties.push(name.as_str());
            }
        }
        parties.sort_by_key(|name| [*name != "lapis", *name == FLOOR]);
        parties
    }
}

fn jobs_in_words(jobs: &Jobs<'_>) -> String {
    in_words(jobs.tasks, jobs.beside)
}

fn in_words(tasks: usize, beside: &str) -> String {
    let comma = if beside.is_empty() { "" } else { ", " };
    format!("{tasks} tasks{comma}{beside}")
}

/// Times of everybody, how many times faster Lapis is than the fastest of the others, and how many
/// times slower than the floor, if there is one.
fn table(rows: &[&Row], parties: &[&str]) -> Table {
    let floor = rows.iter().find_map(|row| row.median(FLOOR));
    let parties: Vec<&str> =
        parties.iter().copied().filter(|party| floor.is_some() || *party != FLOOR).collect();
    let heading = ["operation", "bytes"].into_iter().chain(parties.iter().copied());
    let to_floor = floor.map(|_| "lapis / floor");
    let mut table = Table::new(heading.chain(["best other / lapis"]).chain(to_floor));
    for row in rows {
        let times: Vec<Option<f64>> = parties.iter().map(|party| row.median(party)).collect();
        let others = parties.iter().zip(&times).filter(|(party, _)| !["lapis", FLOOR].contains(*party));
        let best = others.filter_map(|(_, time)| *time).reduce(f64::min);
        let ours = row.median("lapis");
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        let first = [row.bench.clone(), row.size.to_string()];
        let faster = best.zip(ours).map(|(best, ours)| best / ours);
        let slower = floor.map(|floor| cell(ours.map(|ours| ours / floor)));
        table.row(first.into_iter().chain(times.into_iter().map(cell)).chain([cell(faster)]).chain(slower));
    }
    table
}

fn page(outcome: &Outcome, form: fn(&Table) -> String) -> String {
    let parties = outcome.parties();
    let mut kinds: Vec<(usize, &str)> =
        outcome.rows.iter().map(|row| (row.tasks, row.beside.as_str())).collect();
    kinds.dedup();
    let mut text = String::new();
    for kind in kinds {
        let rows: Vec<&Row> =
            outcome.rows.iter().filter(|row| (row.tasks, row.beside.as_str()) == kind).collect();
        text += &format!("\n## {} (ns)\n\n{}", in_words(kind.0, kind.1), form(&table(&rows, &parties)));
    }
    text + &absent_list(&outcome.absent)
}

fn write(outcome: &Outcome, folder: &Path) -> Result<()> {
    let m = &outcome.machine;
    let quick = if outcome.quick { " A quick run: indicative only." } else { "" };
    let heading = format!(
        "# {} {}\n\n{}\n\n\
         Medians of {} rounds, in each of which everybody takes every figure once.{quick} The last \
         columns are the time of the fastest of the others divided by that of Lapis, and the time of \
         Lapis divided by that of the floor, where there is one.\n",
        m.date,
        outcome.title,
        m.line(),
        outcome.rounds
    );
    let stem = m.stem(outcome.name);
    let rows = outcome.rows.iter().map(|row| {
        let samples: Value = row.samples.iter().map(|(name, values)| (name.clone(), json!(values))).collect();
        let (tasks, bench, size) = (row.tasks, &row.bench, row.size);
        json!({ "tasks": tasks, "beside": row.beside, "bench": bench, "size": size, "unit": "ns", "samples": samples })
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
        let row = Row { tasks: 4, beside: "one busy".into(), bench: "bcast".into(), size: 8, samples };
        let mut outcome = Outcome::new("x", "X", 3, true);
        outcome.rows.push(row);
        assert_eq!(outcome.parties()[0], "lapis");
        let text = page(&outcome, Table::plain);
        assert!(text.contains("## 4 tasks, one busy (ns)"), "{text}");
        let line = text.lines().find(|line| line.starts_with("bcast")).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells, ["bcast", "8", "100", "300", "200", "2.00"], "{text}");
    }

    #[test]
    fn lapis_is_held_against_the_floor_of_its_jobs_which_is_no_other_party() {
        let mut outcome = Outcome::new("x", "X", 1, true);
        let record =
            |bench: &str, ns: f64, peer: &str| Record::latency(bench, 0, Summary::of(&[ns])).of(peer, "shm");
        let jobs = |tasks: usize| Jobs { tasks, beside: "", parties: &[] };
        outcome.hold_against(8, Ok(record("hand_on", 100.0, "floor")));
        let records = [("lapis", 250.0), ("a", 500.0)].map(|(peer, ns)| record("barrier", ns, peer));
        outcome.add(&jobs(8), &records);
        outcome.add(&jobs(2), &records);
        let text = page(&outcome, Table::plain);
        let lines = |start: &str| -> Vec<Vec<&str>> {
            let found = text.lines().filter(|line| line.starts_with(start));
            found.map(|line| line.split_whitespace().collect()).collect()
        };
        let barriers = lines("barrier");
        assert_eq!(barriers[0], ["barrier", "0", "250", "500", "-", "2.00", "2.50"], "{text}");
        assert_eq!(barriers[1], ["barrier", "0", "250", "500", "2.00"], "jobs of two have none: {text}");
        assert_eq!(lines("hand_on"), [["hand_on", "0", "-", "-", "100", "-", "-"]], "{text}");
    }
}
