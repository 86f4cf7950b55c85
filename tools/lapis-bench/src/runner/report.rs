//! The table on the terminal; the page, the JSON and the plots under docs/bench/.

use super::noise::Noise;
use super::rounds::Figure;
use super::{Outcome, bars};
use crate::peers::Absent;
use anyhow::{Context, Result};
use lapis_bench::plot::{Plot, Series};
use lapis_bench::size;
use lapis_bench::table::{Table, figure};
use serde_json::{Value, json};
use std::path::Path;

/// Lines that one plot can hold and still be read.
const MAX_SERIES: usize = 10;

/// For the terminal.
pub(crate) fn plain(outcome: &Outcome) -> String {
    let sections = benches(outcome).into_iter().map(|(name, figures)| {
        format!(
            "\n{name} ({}): {}\n{}",
            figures[0].record.unit.text(),
            figures[0].what,
            table(&figures).plain()
        )
    });
    let bars = match &outcome.bars[..] {
        [] => String::new(),
        bars => format!("\nbars\n{}", bars::table(bars).plain()),
    };
    sections.collect::<String>() + &bars + &closing(outcome)
}

/// Writes page, JSON and plots.
pub(crate) fn write(outcome: &Outcome, folder: &Path) -> Result<()> {
    let stem = outcome.machine.stem(&outcome.transport);
    let put = |name: &str, text: &str| put(folder, name, text);
    let mut page = heading(outcome);
    for (name, figures) in benches(outcome) {
        let what = figures[0].what;
        page.push_str(&format!("\n## {name} ({})\n\n{what}\n\n", figures[0].record.unit.text()));
        page.push_str(&table(&figures).markdown());
        if let Some(svg) = plot(name, &figures).and_then(|p| p.svg()) {
            let file = format!("{stem}-{name}.svg");
            put(&file, &svg)?;
            page.push_str(&format!("\n![{name} over message size]({file})\n"));
        }
    }
    if !outcome.bars.is_empty() {
        page.push_str(&format!("\n## Bars\n\n{}", bars::table(&outcome.bars).markdown()));
    }
    page.push_str(&absences(outcome));
    put(&format!("{stem}.json"), &(serde_json::to_string_pretty(&document(outcome))? + "\n"))?;
    put(&format!("{stem}.md"), &page)
}

/// Writes one file of a report.
pub(super) fn put(folder: &Path, name: &str, text: &str) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("bench: wrote {}", path.display());
    Ok(())
}

fn benches(outcome: &Outcome) -> Vec<(&'static str, Vec<&Figure>)> {
    let mut benches: Vec<(&'static str, Vec<&Figure>)> = Vec::new();
    for figure in &outcome.figures {
        match benches.iter_mut().find(|(name, _)| *name == figure.bench) {
            Some((_, figures)) => figures.push(figure),
            None => benches.push((figure.bench, vec![figure])),
        }
    }
    benches
}

/// Who a figure belongs to: floors by what they are, since a bench may have several.
fn who(figure: &Figure) -> String {
    let record = &figure.record;
    match record.peer.as_str() {
        "floor" => format!("floor: {}", record.bench),
        "lapis" => {
            format!("Lapis {}", [&record.transport, record.memory.as_deref().unwrap_or("")].join(" ").trim())
        }
        "lapis-shm" => "Lapis shm (for comparison)".to_owned(),
        "lapis-c" => format!("Lapis {} from C", record.transport),
        peer => format!("{peer} {}", record.transport),
    }
}

fn table(figures: &[&Figure]) -> Table {
    let mut sorted = figures.to_vec();
    // Parties keep their order within a size: floor, Lapis, peers.
    sorted.sort_by_key(|f| f.record.size);
    let mut table = Table::new(["who", "size", "median", "min", "max", "x floor", "x best peer"]);
    let ratio = |r: Option<f64>| r.map_or_else(String::new, |r| format!("{r:.2}"));
    for f in sorted {
        let Figure { record, to_floor, to_peer, .. } = f;
        let figures = [record.value, record.min, record.max].map(figure);
        let cells = [who(f), size::show(record.size)].into_iter().chain(figures);
        table.row(cells.chain([ratio(*to_floor), ratio(*to_peer)]));
    }
    table
}

fn plot(name: &str, figures: &[&Figure]) -> Option<Plot> {
    let mut series: Vec<Series> = Vec::new();
    for f in figures {
        let point = (f.record.size, f.record.value);
        match series.iter_mut().find(|s| s.name == who(f)) {
            Some(line) => line.points.push(point),
            None => series.push(Series { name: who(f), points: vec![point] }),
        }
    }
    // A floor that has one size is a point worth showing, a bench with one size is no plot.
    if series.iter().all(|s| s.points.len() < 3) {
        return None;
    }
    series.retain(|s| !s.name.contains("-perftest"));
    // Lapis first: it is drawn on top.
    series.sort_by_key(|s| (!s.name.starts_with("Lapis"), !s.name.starts_with("floor")));
    series.truncate(MAX_SERIES);
    let unit = figures[0].record.unit.text();
    Some(Plot { title: format!("{name}: {}", figures[0].what), unit: unit.into(), series })
}

fn heading(outcome: &Outcome) -> String {
    let m = &outcome.machine;
    let quick = if outcome.quick { " A quick run: indicative only." } else { "" };
    format!(
        "# {} over {}\n\n\
         {}\n\n\
         Two processes pinned to a core each, polling; {} rounds in which all parties take turns, {} ms a figure.{quick} \
         The columns are the median of the rounds' medians and their range; the last two say how many times slower a \
         figure is than the floor of the same size and than the best peer (below 1: faster). Differences under 15 % \
         are ties. Figures of different machines can't be compared; ratios can.\n\n{}",
        m.date,
        outcome.transport,
        m.line(),
        outcome.rounds,
        outcome.budget.as_millis(),
        closing(outcome),
    )
}

fn closing(outcome: &Outcome) -> String {
    noise_line(&outcome.noise)
}

/// What the noise did.
pub(super) fn noise_line(n: &Noise) -> String {
    format!(
        "Cache-line probe: {:.0} ns one way (median of {}); {} noisy samples taken again, {} kept although noisy.\n",
        n.median(),
        n.probes.len(),
        n.retaken,
        n.kept
    )
}

fn absences(outcome: &Outcome) -> String {
    absent_list(&outcome.absent)
}

/// Who could not be measured.
pub(super) fn absent_list(absent: &[Absent]) -> String {
    if absent.is_empty() {
        return String::new();
    }
    let lines: String = absent.iter().map(|a| format!("- {}: {}\n", a.name, a.why)).collect();
    format!("\n## Absent or failed\n\n{lines}")
}

fn document(outcome: &Outcome) -> Value {
    let records = outcome.figures.iter().map(|f| {
        let mut value = serde_json::to_value(&f.record).unwrap_or(Value::Null);
        value["of"] = json!(f.bench);
        value["to_floor"] = json!(f.to_floor);
        value["to_best_peer"] = json!(f.to_peer);
        value
    });
    json!({
        "transport": outcome.transport,
        "machine": outcome.machine,
        "rounds": outcome.rounds,
        "milliseconds": outcome.budget.as_millis() as u64,
        "quick": outcome.quick,
        "probe_ns": outcome.noise.median(),
        "retaken": outcome.noise.retaken,
        "kept_noisy": outcome.noise.kept,
        "records": records.collect::<Vec<_>>(),
        "bars": outcome.bars.iter().map(|b| json!({"what": b.what, "wanted": b.wanted, "value": b.value, "met": b.met})).collect::<Vec<_>>(),
        "absent": outcome.absent.iter().map(|a| json!({"name": a.name, "why": a.why})).collect::<Vec<_>>(),
    })
}
