//! `cargo xtask bench schedules`: what the schedules of collectives cost on paper, from 2 tasks to
//! a million, as a table and plots in docs/bench.

use crate::workspace;
use anyhow::{Context, Result};
use lapis_collectives::Call;
use lapis_collectives::cost::{Cost, Network, Scripts};
use lapis_collectives::schedule::{Script, Step};
use lapis_collectives::select::{self, Overrides, Shape};
use std::fmt::Write;

/// The networks. Those of Lapis are fitted to docs/bench: the time of a message of 8 bytes, of a
/// stream of them, and of 1 MiB. The third one stands for adapters of the InfiniBand class.
const NETWORKS: [Network; 3] = [
    Network { name: "shm", latency: 30.0, overhead: 15.0, gap: 23.0, byte: 0.044, work: 0.05 },
    Network { name: "udp", latency: 1_300.0, overhead: 1_000.0, gap: 60.0, byte: 0.54, work: 0.05 },
    Network { name: "adapter", latency: 700.0, overhead: 100.0, gap: 10.0, byte: 0.04, work: 0.05 },
];

/// Numbers of tasks.
const TASKS: [usize; 7] = [2, 16, 128, 1024, 16_384, 131_072, 1_000_000];

/// Elements have as many bytes.
const SIZE: usize = 8;

/// With more tasks, nothing is run whose data reaches everybody.
const MOST_OF_ALL_DATA: usize = 4096;

/// More messages than all members send in an operation that is run.
const MOST_MESSAGES: usize = 24_000_000;

struct Operation {
    name: &'static str,
    bytes: usize,
    call: fn(usize) -> Call<'static>,
}

const OPERATIONS: [Operation; 10] = [
    Operation { name: "barrier", bytes: 0, call: |_| Call::Barrier },
    Operation { name: "broadcast", bytes: 8, call: |count| Call::Broadcast { root: 0, count } },
    Operation { name: "broadcast", bytes: 1 << 20, call: |count| Call::Broadcast { root: 0, count } },
    Operation { name: "reduce", bytes: 8, call: |count| Call::Reduce { root: 0, count } },
    Operation { name: "allreduce", bytes: 8, call: |count| Call::AllReduce { count } },
    Operation { name: "allreduce", bytes: 1 << 20, call: |count| Call::AllReduce { count } },
    Operation { name: "scan", bytes: 8, call: |count| Call::Scan { count } },
    Operation { name: "gather", bytes: 8, call: |count| Call::Gather { root: 0, count } },
    Operation { name: "allgather", bytes: 8, call: |count| Call::AllGather { count } },
    Operation { name: "alltoall", bytes: 8, call: |count| Call::AllToAll { count } },
];

/// A row of the table: costs by number of tasks, with the algorithm; `None`: not run.
type Costs = Vec<Option<(Cost, &'static str)>>;

pub(super) fn run(quick: bool) -> Result<()> {
    let most = if quick { 4 } else { TASKS.len() };
    let tasks = &TASKS[..most];
    let folder = workspace::root().join("docs/bench");
    let costs: Vec<(String, Vec<Costs>)> =
        OPERATIONS.iter().map(|of| (title(of), costs(of, tasks))).collect();
    let mut page = String::from(INTRODUCTION);
    for (at, network) in NETWORKS.iter().enumerate() {
        write!(
            page,
            "\n## {}\n\nL {} ns, o {} ns, g {} ns, G {} ns/B, work {} ns/B.\n\n",
            network.name, network.latency, network.overhead, network.gap, network.byte, network.work
        )?;
        let curves: Vec<(&str, &Costs)> =
            costs.iter().map(|(name, costs)| (name.as_str(), &costs[at])).collect();
        table(&mut page, tasks, &curves, &|cost, way| format!("{} {way}", short(cost.time / 1000.0)))?;
        let plot = format!("schedules-{}.svg", network.name);
        if !quick {
            std::fs::write(folder.join(&plot), draw(tasks, &curves)).context("writing the plot")?;
        }
        write!(page, "\n![time over tasks]({plot})\n")?;
    }
    page.push_str("\n## Messages and memory of a member\n\n");
    let curves: Vec<(&str, &Costs)> = costs.iter().map(|(name, costs)| (name.as_str(), &costs[0])).collect();
    table(&mut page, tasks, &curves, &|cost, _| format!("{} in {} B", cost.sends, cost.memory(SIZE)))?;
    if quick {
        print!("{page}");
        return Ok(());
    }
    let path = folder.join("schedules.md");
    std::fs::write(&path, page).with_context(|| format!("writing {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// A row for each operation, a column for each number of tasks.
fn table(
    page: &mut String,
    tasks: &[usize],
    curves: &[(&str, &Costs)],
    cell: &dyn Fn(&Cost, &str) -> String,
) -> Result<()> {
    page.push_str("| operation |");
    tasks.iter().try_for_each(|n| write!(page, " {n} |"))?;
    page.push_str("\n|---|");
    tasks.iter().for_each(|_| page.push_str("---:|"));
    page.push('\n');
    for (name, costs) in curves {
        write!(page, "| {name} |")?;
        for cost in costs.iter() {
            let text = cost.as_ref().map_or("-".into(), |(cost, way)| cell(cost, way));
            write!(page, " {text} |")?;
        }
        page.push('\n');
    }
    Ok(())
}

const INTRODUCTION: &str = "\
# Collectives on paper

Written by `cargo xtask bench schedules`: nothing here was measured. The steps of all members run in
virtual time by the LogGP model (`lapis_collectives::cost`): a message costs both processors `o`,
arrives `L` later, and `G` for each byte; a member sends one every `g`. Folding and copying cost
`work` for each byte. All begin at once, nobody disturbs anybody, and networks have no topology and
don't get crowded: real machines are slower, and differences between schedules are what to read.

Times are in microseconds, until the last member has ended, with the algorithm that is chosen where
no memory is shared. A dash: more messages, or more data in all, than are run here. Messages and
memory (steps and scratch) are those of the member that has the most.
";

fn title(operation: &Operation) -> String {
    match operation.bytes {
        0 => operation.name.into(),
        bytes if bytes < 1 << 20 => format!("{} of {bytes} B", operation.name),
        bytes => format!("{} of {} MiB", operation.name, bytes >> 20),
    }
}

/// By network, then by number of tasks.
fn costs(operation: &Operation, tasks: &[usize]) -> Vec<Costs> {
    let call = (operation.call)(operation.bytes / SIZE);
    let all_data = matches!(call, Call::AllGather { .. } | Call::AllToAll { .. });
    let mut by_network: Vec<Costs> = NETWORKS.iter().map(|_| Vec::new()).collect();
    for n in tasks.iter().copied() {
        let shape = |me| Shape { me, n, hosts: None, size: SIZE, reorder: true, reproducible: false };
        let way = select::choose(&call, &shape(0), &Overrides::default());
        let script = |me: usize| select::script(&call, &shape(me), way);
        let sends = |script: &Script| script.steps.iter().filter(|s| matches!(s, Step::Send { .. })).count();
        let small =
            (!all_data || n <= MOST_OF_ALL_DATA) && sends(&script(n / 2)).saturating_mul(n) <= MOST_MESSAGES;
        let scripts = small.then(|| Scripts::of(n, SIZE, &|me, out| *out = script(me))).flatten();
        for (network, costs) in NETWORKS.iter().zip(&mut by_network) {
            let cost = scripts.as_ref().and_then(|scripts| scripts.cost(network));
            costs.push(cost.map(|cost| (cost, way.name())));
        }
    }
    by_network
}

/// Three digits.
fn short(number: f64) -> String {
    let digits = (2 - number.max(1e-9).log10().floor() as i32).clamp(0, 3) as usize;
    format!("{number:.digits$}")
}

const COLOURS: [&str; 10] = [
    "#1b6ca8", "#d1495b", "#edae49", "#2e8b57", "#6a4c93", "#8d5524", "#00798c", "#e07a5f", "#555555",
    "#9a031e",
];

/// Time over tasks, both logarithmic.
fn draw(tasks: &[usize], curves: &[(&str, &Costs)]) -> String {
    let (width, height, left, bottom) = (760.0, 420.0, 70.0, 40.0);
    let times = || curves.iter().flat_map(|(_, costs)| costs.iter().flatten()).map(|(cost, _)| cost.time);
    let low = times().fold(f64::MAX, f64::min).max(1.0).log10().floor();
    let high = times().fold(1.0, f64::max).log10().ceil();
    let last = (tasks[tasks.len() - 1] as f64).log10();
    let x = |n: f64| left + (width - left - 200.0) * n.log10() / last;
    let y = |time: f64| {
        let share = (time.max(1.0).log10() - low) / (high - low);
        height - bottom - (height - bottom - 20.0) * share
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut line = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    for power in low as i32..=high as i32 {
        let at = y(10f64.powi(power));
        line(format!(
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>",
            width - 200.0
        ));
        let text = short(10f64.powi(power) / 1000.0);
        line(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text} µs</text>",
            left - 6.0,
            at + 4.0
        ));
    }
    for n in tasks {
        let at = x(*n as f64);
        line(format!("<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{n}</text>", height - 20.0));
    }
    line(format!("<text x=\"{left}\" y=\"{:.1}\">tasks</text>", height - 5.0));
    for (at, (name, costs)) in curves.iter().enumerate() {
        let points = tasks.iter().zip(costs.iter()).filter_map(|(n, cost)| {
            cost.as_ref().map(|(cost, _)| format!("{:.1},{:.1}", x(*n as f64), y(cost.time)))
        });
        let (points, colour) = (points.collect::<Vec<_>>().join(" "), COLOURS[at % COLOURS.len()]);
        line(format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        ));
        let place = 30.0 + 16.0 * at as f64;
        line(format!("<text x=\"{:.1}\" y=\"{place:.1}\" fill=\"{colour}\">{name}</text>", width - 190.0));
    }
    svg.push_str("</svg>\n");
    svg
}
