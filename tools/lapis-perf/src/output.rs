//! Output: tables that grow as figures arrive, lines of JSON, plots, progress.

use crate::cli::Cli;
use crate::plan::{Figure, Plan};
use crate::session::Session;
use anyhow::{Context, Result};
use lapis_bench::plot::{Plot, Series};
use lapis_bench::progress::Progress;
use lapis_bench::record::{Record, Unit};
use lapis_bench::{size, table};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Task 0's output; the others' is silent.
pub(crate) struct Output {
    speaks: bool,
    json: bool,
    /// How it is measured, for headings.
    how: String,
    transport: String,
    progress: Option<Progress>,
    now: String,
    heading: String,
    records: Vec<Record>,
}

/// Makes sure of a place for the drawing before anything is measured. All tasks do this, so that
/// all refuse alike.
pub(crate) fn reserve(plot: Option<&Path>) -> Result<()> {
    let Some(path) = plot else { return Ok(()) };
    std::fs::File::options().create(true).append(true).open(path).map(drop).with_context(|| refused(path))
}

impl Output {
    pub(crate) fn new(cli: &Cli, session: &Session, plan: &Plan) -> Self {
        let transport = session.context.transport_to(session.other()).unwrap_or("?").to_owned();
        let mode = if cli.interrupts { "interrupt mode" } else { "polling" };
        Self {
            speaks: session.leads(),
            json: cli.json,
            how: format!("{transport}, {mode}"),
            transport,
            progress: session.leads().then(|| Progress::new(plan.figures.len())),
            now: String::new(),
            heading: String::new(),
            records: Vec::new(),
        }
    }

    /// Says what comes now.
    pub(crate) fn begin(&mut self, figure: &Figure) {
        self.now = format!("{} {}", figure.bench.name, size::show(figure.size));
        self.pulse();
    }

    /// A sign of life, if the last one is long ago.
    pub(crate) fn pulse(&mut self) {
        if let Some(progress) = &mut self.progress {
            progress.begin(&self.now);
        }
    }

    /// Shows a figure.
    pub(crate) fn show(&mut self, figure: &Figure, record: Record) -> Result<()> {
        if !self.speaks {
            return Ok(());
        }
        if let Some(progress) = &mut self.progress {
            progress.step();
            progress.clear();
        }
        let record = record.of("lapis", &self.transport);
        let mut text = String::new();
        if self.json {
            let _ = writeln!(text, "{}", record.line());
        } else {
            let heading = heading(figure, &self.how);
            if heading != self.heading {
                let gap = if self.heading.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{gap}{heading}\n{}", columns(figure.bench.unit));
                self.heading = heading;
            }
            let _ = writeln!(text, "{}", row(&record));
        }
        // Each figure at once: long runs are watched, and `| head` ends them.
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to standard output")?;
        self.records.push(record);
        Ok(())
    }

    /// Draws the figures.
    pub(crate) fn finish(self, plot: Option<&Path>) -> Result<()> {
        let Some(path) = plot.filter(|_| self.speaks) else { return Ok(()) };
        // The plan has seen to it that there is something to draw.
        let svg = draw(&self.records, &self.how).context("no figure can be drawn")?;
        std::fs::write(path, svg).with_context(|| refused(path))
    }
}

fn refused(path: &Path) -> String {
    format!("cannot write the drawing to {}", path.display())
}

fn heading(figure: &Figure, how: &str) -> String {
    let memory = figure.memory.map_or(String::new(), |m| format!(", {} memory", m.name()));
    format!("{}: {} ({how}{memory})", figure.bench.name, figure.bench.what)
}

fn columns(unit: Unit) -> String {
    format!("{:>10}  {:>12}  {:>10}  {:>10}", "size", format!("median {}", unit.text()), "least", "greatest")
}

fn row(record: &Record) -> String {
    let size =
        if record.size == 0 && record.bench != "am_lat" { "-".into() } else { size::show(record.size) };
    let [value, min, max] = [record.value, record.min, record.max].map(table::figure);
    format!("{size:>10}  {value:>12}  {min:>10}  {max:>10}")
}

/// One drawing for each unit, below each other; `None` if no bench has several sizes.
fn draw(records: &[Record], how: &str) -> Option<String> {
    let mut drawings = Vec::new();
    for unit in [Unit::Nanoseconds, Unit::Gigabytes, Unit::Millions] {
        let mut series: Vec<Series> = Vec::new();
        for r in records.iter().filter(|r| r.unit == unit) {
            let name = match &r.memory {
                Some(memory) => format!("{}, {memory} memory", r.bench),
                None => r.bench.clone(),
            };
            match series.iter_mut().find(|s| s.name == name) {
                Some(line) => line.points.push((r.size, r.value)),
                None => series.push(Series { name, points: vec![(r.size, r.value)] }),
            }
        }
        series.retain(|s| s.points.len() > 1);
        let title = match unit {
            Unit::Gigabytes => "Bandwidth",
            Unit::Millions => "Operations a second",
            _ => "Time of one operation",
        };
        drawings.extend(Plot { title: format!("{title}: {how}"), unit: unit.text().into(), series }.svg());
    }
    stack(&drawings)
}

/// Puts drawings below each other.
fn stack(drawings: &[String]) -> Option<String> {
    let (width, height) = lapis_bench::plot::EXTENT;
    match drawings {
        [] => None,
        [one] => Some(one.clone()),
        several => {
            let total = height * several.len() as f64;
            let mut svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" height=\"{total}\">\n"
            );
            for (index, drawing) in several.iter().enumerate() {
                let place = format!("<svg y=\"{}\" ", height * index as f64);
                svg.push_str(&drawing.replacen("<svg ", &place, 1));
            }
            svg.push_str("</svg>\n");
            Some(svg)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_bench::stats::Summary;

    fn records() -> Vec<Record> {
        let sum = |ns: f64| Summary::of(&[ns]);
        vec![
            Record::latency("am_lat", 8, sum(60.0)),
            Record::latency("am_lat", 64, sum(80.0)),
            Record::latency("fadd", 8, sum(4.0)).in_memory("lapis"),
            Record::bandwidth("put_bw", 1024, sum(30.0)).in_memory("heap"),
            Record::bandwidth("put_bw", 4096, sum(90.0)).in_memory("heap"),
        ]
    }

    #[test]
    fn each_unit_gets_a_drawing_below_the_last() {
        let svg = draw(&records(), "shm, polling").unwrap();
        assert_eq!(svg.matches("<svg ").count(), 3);
        assert_eq!(svg.matches("</svg>").count(), 3);
        assert!(
            svg.contains("put_bw, heap memory")
                && svg.contains("<svg y=\"0\" ")
                && svg.contains("shm, polling")
        );
        assert!(!svg.contains("fadd"), "a single point is no line");
    }

    #[test]
    fn a_single_drawing_stands_alone_and_none_is_none() {
        assert_eq!(draw(&records()[..2], "x").unwrap().matches("<svg ").count(), 1);
        assert!(draw(&records()[2..3], "x").is_none());
    }

    #[test]
    fn rows_stand_below_their_heads() {
        let row = row(&records()[0]);
        assert_eq!(row, "       8 B          60.0        60.0        60.0");
        assert_eq!(row.len(), columns(Unit::Nanoseconds).len());
    }
}
