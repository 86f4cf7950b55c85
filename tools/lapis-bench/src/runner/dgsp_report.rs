//! The tables of `lapis-bench dgsp`, and what they say of the bars.

use super::machine::Machine;
use super::report::{absent_list, put};
use crate::peers::Absent;
use anyhow::Result;
use lapis_bench::dots::Dots;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use lapis_bench::table::{Table, figure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A hand-written loop may be this many times faster than we are.
const HAND: f64 = 0.95;
/// Share of memcpy's speed that is wanted for long blocks.
const MEMCPY: f64 = 0.85;
/// Long blocks, in bytes.
const LONG: u64 = 256;
/// How many times faster than a peer we want to be in the geometric mean.
const MEAN: f64 = 1.5;

/// Everything that the report says.
pub(super) struct Outcome {
    pub(super) rounds: usize,
    pub(super) micros: u64,
    pub(super) quick: bool,
    pub(super) rows: Vec<Row>,
    pub(super) absent: Vec<Absent>,
    /// Figures of passes in all, and how many of these have no round in which nothing else ran on
    /// the core.
    pub(super) turns: (usize, usize),
    pub(super) machine: Machine,
}

/// One shape moved one way.
pub(super) struct Row {
    pub(super) shape: String,
    /// `dgsp_pack`, `dgsp_unpack`, `dgsp_copy`.
    pub(super) bench: String,
    pub(super) blocks: u64,
    /// Ours first, then the others by name.
    pub(super) figures: Vec<Figure>,
}

/// One engine's time for it.
pub(super) struct Figure {
    pub(super) record: Record,
    /// The engine's time divided by ours, in the same pass: above 1, we are faster. Over the
    /// passes.
    pub(super) ratio: Summary,
}

impl Row {
    pub(super) fn figure(&self, who: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| who_of(&f.record) == who)
    }
}

/// Floors are told apart by what they are.
pub(super) fn who_of(record: &Record) -> &str {
    if record.peer == "floor" { &record.bench } else { &record.peer }
}

/// For the terminal.
pub(super) fn plain(outcome: &Outcome) -> String {
    let tables = benches(outcome).into_iter().map(|(name, rows)| {
        format!("\n{name} (ns; the others' times divided by ours)\n{}", table(&rows).plain())
    });
    tables.collect::<String>() + "\n" + &verdicts(&outcome.rows) + &turns_line(outcome)
}

/// Writes page, JSON and plots.
pub(super) fn write(outcome: &Outcome, folder: &Path) -> Result<()> {
    let stem = outcome.machine.stem("dgsp");
    let mut page = heading(outcome);
    for (name, rows) in benches(outcome) {
        page.push_str(&format!("\n## {name}\n\n{}", table(&rows).markdown()));
        if let Some(svg) = dots(name, &rows).svg() {
            let file = format!("{stem}-{}.svg", name.trim_start_matches("dgsp_"));
            put(folder, &file, &svg)?;
            page.push_str(&format!("\n![{name} against the others]({file})\n"));
        }
    }
    page.push_str(&absent_list(&outcome.absent));
    put(folder, &format!("{stem}.json"), &(serde_json::to_string_pretty(&document(outcome))? + "\n"))?;
    put(folder, &format!("{stem}.md"), &page)
}

fn heading(outcome: &Outcome) -> String {
    let m = &outcome.machine;
    let quick = if outcome.quick { " A quick run: indicative only." } else { "" };
    format!(
        "# {} data gather/scatter programs\n\n{}\n\n\
         {} passes, in each of which all programs start anew and then take turns on one core, {} µs at least a figure.{quick} \
         Memory is on huge pages and warm. Times are medians of the passes, in ns; the other columns are the others' times \
         divided by ours in the same pass (above 1: Lapis is faster), and their median. `memcpy` moves the same bytes from one contiguous \
         place to another; for long blocks 0.85 is wanted of it. A copy goes from one memory to another of the same \
         layout; by hand, through a packed buffer.\n\n{}\n{}",
        m.date,
        m.line(),
        outcome.rounds,
        outcome.micros,
        verdicts(&outcome.rows),
        turns_line(outcome),
    )
}

fn turns_line(outcome: &Outcome) -> String {
    let (all, disturbed) = outcome.turns;
    format!(
        "In {disturbed} of {all} figures of a pass every round was disturbed by something else on the core (a neighbour on its other half, \
         or another process); they count only in rows that have no others.\n"
    )
}

fn benches(outcome: &Outcome) -> Vec<(&str, Vec<&Row>)> {
    let mut benches: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in &outcome.rows {
        match benches.iter_mut().find(|(name, _)| *name == row.bench) {
            Some((_, rows)) => rows.push(row),
            None => benches.push((&row.bench, vec![row])),
        }
    }
    benches
}

/// Everybody but us who has figures in these rows.
fn others<'r>(rows: &[&'r Row]) -> Vec<&'r str> {
    let mut others: Vec<&str> = Vec::new();
    for f in rows.iter().flat_map(|r| &r.figures) {
        let who = who_of(&f.record);
        if who != "lapis" && !others.contains(&who) {
            others.push(who);
        }
    }
    others
}

fn dots(name: &str, rows: &[&Row]) -> Dots {
    let parties = others(rows);
    let ratios = |row: &Row| parties.iter().map(|who| Some(row.figure(who)?.ratio.median)).collect();
    Dots {
        title: name.to_owned(),
        unit: "time of the others / time of Lapis".to_owned(),
        parties: parties.iter().map(|&p| p.to_owned()).collect(),
        rows: rows.iter().map(|r| (r.shape.clone(), ratios(r))).collect(),
    }
}

fn table(rows: &[&Row]) -> Table {
    let others = others(rows);
    let heading = ["shape", "bytes", "block", "lapis", "min", "max"];
    let mut table = Table::new(heading.into_iter().chain(others.iter().copied()));
    for row in rows {
        let Some(ours) = row.figure("lapis").map(|f| &f.record) else { continue };
        let cells = [row.shape.clone(), ours.size.to_string(), mean_block(row).to_string()];
        let times = [ours.value, ours.min, ours.max].map(figure);
        let ratio =
            |who: &&str| row.figure(who).map_or_else(String::new, |f| format!("{:.2}", f.ratio.median));
        table.row(cells.into_iter().chain(times).chain(others.iter().map(ratio)));
    }
    table
}

fn mean_block(row: &Row) -> u64 {
    row.figures.first().map_or(0, |f| f.record.size) / row.blocks.max(1)
}

/// One line a bar: how many rows are over it, which are not.
fn verdicts(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|r| r.bench != "dgsp_copy").collect();
    let mut lines = bar("within 5 % of the hand loop", &rows, "hand", |r| r >= HAND);
    let long: Vec<&Row> = rows.iter().copied().filter(|r| mean_block(r) >= LONG).collect();
    lines += &bar("85 % of memcpy, blocks of 256 bytes and more", &long, "memcpy", |r| r >= MEMCPY);
    let mut peers: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for f in rows.iter().flat_map(|r| &r.figures) {
        let who = who_of(&f.record);
        if !["lapis", "hand", "memcpy"].contains(&who) {
            let sum = peers.entry(who).or_default();
            *sum = (sum.0 + f.ratio.median.ln(), sum.1 + 1);
        }
    }
    for (who, (logs, n)) in peers {
        lines += &bar(&format!("ahead of {who}"), &rows, who, |r| r > 1.0);
        let mean = (logs / f64::from(n)).exp();
        let verdict = if mean >= MEAN { "reached" } else { "MISSED" };
        lines +=
            &format!("- {who}: {mean:.2} times as fast in the geometric mean, {MEAN} wanted: {verdict}\n");
    }
    lines
}

fn bar(what: &str, rows: &[&Row], who: &str, reached: impl Fn(f64) -> bool) -> String {
    let mut ratios: Vec<(&Row, Summary)> =
        rows.iter().filter_map(|r| Some((*r, r.figure(who)?.ratio))).collect();
    ratios.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let show = |(row, ratio): &(&Row, Summary)| {
        let Summary { min, median, max, .. } = ratio;
        let direction = row.bench.trim_start_matches("dgsp_");
        format!("{} {direction} {median:.2} ({min:.2} to {max:.2})", row.shape)
    };
    let missed: Vec<String> = ratios.iter().filter(|r| !reached(r.1.median)).map(show).collect();
    let over = ratios.len() - missed.len();
    let rest = match (&missed[..], ratios.first()) {
        ([], Some(nearest)) => format!("; nearest: {}", show(nearest)),
        ([], None) => String::new(),
        _ => format!("; MISSED: {}", missed.join(", ")),
    };
    format!("- {what}: {over} of {}{rest}\n", ratios.len())
}

fn document(outcome: &Outcome) -> Value {
    let records = outcome.rows.iter().flat_map(|row| {
        // As in the other reports, ratios of a record say how many times slower it is than the
        // floor and the best peer.
        let value = |who: &str| row.figure(who).map(|f| f.record.value);
        let peers = row.figures.iter().filter(|f| !["lapis", "floor"].contains(&f.record.peer.as_str()));
        let best = peers.map(|f| f.record.value).reduce(f64::min);
        row.figures.iter().map(move |f| {
            let own = f.record.value;
            let mut json = serde_json::to_value(&f.record).unwrap_or(Value::Null);
            json["of"] = json!(row.bench);
            let is_floor = f.record.peer == "floor";
            json["to_floor"] = json!(value("memcpy").filter(|_| !is_floor).map(|m| own / m));
            json["to_best_peer"] = json!(best.filter(|_| !is_floor).map(|b| own / b));
            json["to_lapis"] = json!(f.ratio.median);
            json["to_lapis_range"] = json!([f.ratio.min, f.ratio.max]);
            json
        })
    });
    json!({
        "transport": "memory",
        "machine": outcome.machine,
        "rounds": outcome.rounds,
        "milliseconds": outcome.micros as f64 / 1e3,
        "quick": outcome.quick,
        "turns": outcome.turns.0,
        "kept_noisy": outcome.turns.1,
        "records": records.collect::<Vec<_>>(),
        "absent": outcome.absent.iter().map(|a| json!({"name": a.name, "why": a.why})).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::dgsp::tests::some_rows;
    use super::*;

    #[test]
    fn bars_name_what_missed_them() {
        let text = verdicts(&some_rows());
        assert!(text.contains("hand loop: 1 of 2; MISSED: column unpack 0.90 (0.90 to 0.90)\n"), "{text}");
        assert!(
            text.contains("memcpy, blocks of 256 bytes and more: 1 of 2; MISSED: column pack 0.50"),
            "{text}"
        );
        let near = verdicts(&some_rows()[..1]);
        assert!(near.contains("hand loop: 1 of 1; nearest: column pack 2.00 (2.00 to 2.00)\n"), "{near}");
        assert!(text.contains("ahead of mpich: 1 of 2; MISSED: column unpack 0.80"), "{text}");
        assert!(
            text.contains("mpich: 1.55 times as fast in the geometric mean, 1.5 wanted: reached"),
            "{text}"
        );
    }

    #[test]
    fn a_table_has_a_column_for_each_engine() {
        let rows = some_rows();
        let text = table(&[&rows[0]]).plain();
        let last = text.lines().last().unwrap_or_default();
        assert_eq!(
            last.split_whitespace().collect::<Vec<_>>(),
            ["column", "4096", "1024", "15.0", "10.0", "20.0", "2.00", "0.50", "3.00"]
        );
    }
}
