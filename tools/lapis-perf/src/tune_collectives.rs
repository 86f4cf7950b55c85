//! `lapirun -n N lapis-perf tune collectives`: measures which algorithm is fastest for N tasks of
//! this machine, by operation and bytes, and keeps it in the tuning file.
//!
//! The variable chooses algorithms when a team is made. So each round has a context of its own, in
//! which every operation has another one of its algorithms. An operation that has no more of them,
//! or none that suits so many members, waits for the next round.

use anyhow::{Context as _, Result, bail};
use lapis::Context;
use lapis::core::config::{Environment, TUNING, processor, update_tuning};
use lapis_collectives::schedule::levels::Hosts;
use lapis_collectives::select::{self, Algorithm, Overrides, Row, Shape};
use lapis_collectives::{Call, Operator, Team};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What is asked for behind `tune`.
pub(crate) const NAME: &str = "collectives";

const VARIABLE: &str = "LAPIS_COLLECTIVES";

/// Bytes of the call's count: of each member's data, or of each part.
const SIZES: [usize; 6] = [8, 256, 4 << 10, 32 << 10, 256 << 10, 2 << 20];

/// Bytes of an element.
const ELEMENT: usize = 8;

/// A member holds no more than this of all parts.
const MOST: usize = 32 << 20;

/// Each figure takes so long, about, in so many batches.
const BUDGET: Duration = Duration::from_millis(20);
const BATCHES: usize = 5;

/// So much faster another algorithm must be than the usual one to take its place, in percent:
/// less is noise.
const GAIN: u64 = 5;

/// A figure: nanoseconds of a call with so many bytes, by each algorithm that was tried.
struct Figure {
    operation: &'static str,
    bytes: usize,
    times: Vec<(Algorithm, u64)>,
}

/// Measures, shows, and has task 0 write the file.
pub(crate) fn run() -> Result<()> {
    let environment = Environment::of_process();
    let Some(path) = environment.tuning_path() else {
        bail!("there is no place for a tuning file: HOME is not set, or {TUNING} is none");
    };
    let mut figures = Vec::new();
    let (mut me, mut members) = (0, 0);
    let rounds = select::table().iter().map(|row| row.algorithms.len()).max().unwrap_or(0);
    for round in 0..rounds {
        let overrides: Vec<String> = select::table().iter().filter_map(|row| entry(row, round)).collect();
        let builder = lapis::builder().number(round as u32).set(VARIABLE, overrides.join(","));
        let context = builder.init()?;
        (me, members) = (context.task(), context.tasks() as usize);
        check(&context)?;
        measure_round(&context, round, &mut figures)?;
        context.gfence()?;
        context.terminate()?;
    }
    if me != 0 {
        return Ok(());
    }
    print!("{}", listing(&figures, members));
    let new = chosen(&figures, members);
    let about = format!(
        "Written by Lapis for {}. `lapis-perf tune` measures copies anew, `lapirun -n N lapis-perf tune collectives` the \
         algorithms for N tasks.",
        processor()
    );
    // As it is then: another number of tasks may have been measured meanwhile.
    let mut text = String::new();
    update_tuning(path, &about, |values| {
        text = merged(values.get(VARIABLE).map_or("", String::as_str), members, &new);
        values.insert(VARIABLE.to_owned(), text.clone());
    })
    .with_context(|| format!("{} can't be written", path.display()))?;
    println!(
        "\n{VARIABLE}={text}\nwritten to {}; `lapis-info --collectives` shows what it means",
        path.display()
    );
    Ok(())
}

fn check(context: &Context) -> Result<()> {
    if context.tasks() < 2 {
        bail!("it takes tasks to measure collectives: start it with `lapirun -n N lapis-perf tune {NAME}`");
    }
    let here = context.host_of(0);
    if (0..context.tasks()).any(|task| context.host_of(task) != here) {
        bail!("the tuning file counts for tasks of one host: start all of them on one");
    }
    Ok(())
}

fn entry(row: &Row, round: usize) -> Option<String> {
    Some(format!("{}={}", row.operation, row.algorithms.get(round)?.name()))
}

/// The algorithm that a call takes by these overrides.
fn taken(call: &Call<'_>, members: usize, overrides: &Overrides) -> Algorithm {
    let hosts = Hosts::of((0..members).map(|_| 0));
    let shape =
        Shape { me: 0, n: members, hosts: Some(&hosts), size: ELEMENT, reorder: true, reproducible: false };
    match select::through_memory(call, &shape, overrides) {
        Some(_) => Algorithm::Memory,
        None => select::choose(call, &shape, overrides),
    }
}

fn measure_round(context: &Context, round: usize, figures: &mut Vec<Figure>) -> Result<()> {
    let (team, members) = (Team::world(context)?, context.tasks() as usize);
    for row in select::table() {
        let Some(text) = entry(row, round) else { continue };
        let overrides = Overrides::parse(&text).map_err(anyhow::Error::msg)?;
        for bytes in SIZES {
            let Some(mut trial) = Trial::of(row.operation, bytes, members) else { continue };
            let algorithm = trial.with_call(|call| taken(call, members, &overrides));
            if algorithm != row.algorithms[round] {
                // It does not suit this call.
                continue;
            }
            let time = (algorithm, time(context, &team, &mut trial)?);
            let is_this = |figure: &&mut Figure| figure.operation == row.operation && figure.bytes == bytes;
            match figures.iter_mut().find(is_this) {
                Some(figure) => figure.times.push(time),
                None => figures.push(Figure { operation: row.operation, bytes, times: vec![time] }),
            }
        }
    }
    Ok(())
}

/// A call to measure, with its data.
struct Trial {
    operation: &'static str,
    /// Elements of the call's count.
    count: usize,
    counts: Vec<usize>,
    given: Vec<f64>,
    got: Vec<f64>,
    calls: usize,
}

impl Trial {
    /// Nothing, if there is no such call, or the data would be too much.
    fn of(operation: &'static str, bytes: usize, members: usize) -> Option<Self> {
        let count = bytes / ELEMENT;
        // A barrier has one size, and the count of a reduce_scatter is that of all parts.
        let (given, got, counts) = match operation {
            "barrier" if bytes == SIZES[0] => (0, 0, Vec::new()),
            "broadcast" => (0, count, Vec::new()),
            "reduce" | "allreduce" => (count, count, Vec::new()),
            "reduce_scatter" if count >= members => {
                let part = count / members;
                (part * members, part, vec![part; members])
            }
            "allgather" => (count, count * members, Vec::new()),
            "alltoall" => (count * members, count * members, Vec::new()),
            _ => return None,
        };
        let fits = given.max(got) * ELEMENT <= MOST;
        fits.then(|| Self {
            operation,
            count,
            counts,
            given: vec![1.0; given],
            got: vec![1.0; got],
            calls: 0,
        })
    }

    fn with_call<R>(&self, f: impl FnOnce(&Call<'_>) -> R) -> R {
        let (root, count) = (0, self.count);
        f(&match self.operation {
            "barrier" => Call::Barrier,
            "broadcast" => Call::Broadcast { root, count },
            "reduce" => Call::Reduce { root, count },
            "allreduce" => Call::AllReduce { count },
            "reduce_scatter" => Call::ReduceScatter { counts: &self.counts },
            "allgather" => Call::AllGather { count },
            _ => Call::AllToAll { count },
        })
    }

    fn call(&mut self, team: &Team) -> Result<()> {
        self.calls += 1;
        // Roots take turns: one alone would run ahead of the others.
        let root = self.calls % team.len();
        let (given, got) = (&self.given, &mut self.got);
        match self.operation {
            "barrier" => team.barrier(),
            "broadcast" => team.broadcast(got, root),
            "reduce" => team.reduce(given, got, Operator::Max, root),
            "allreduce" => team.all_reduce_into(given, got, Operator::Max),
            "reduce_scatter" => team.reduce_scatter(given, got, &self.counts, Operator::Max),
            "allgather" => team.all_gather(given, got),
            _ => team.all_to_all(given, got, self.count),
        }?;
        Ok(())
    }
}

/// Nanoseconds of a call: the median of some batches, of which the slowest task's time counts.
fn time(context: &Context, team: &Team, trial: &mut Trial) -> Result<u64> {
    let mut batch = |calls: u64| -> Result<u64> {
        context.barrier()?;
        let begin = Instant::now();
        (0..calls).try_for_each(|_| trial.call(team))?;
        let took = begin.elapsed().as_nanos() as u64 / calls;
        // Everybody goes on with the same number.
        let all = context.all_gather(&took.to_le_bytes())?;
        Ok(all.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).max().unwrap_or(0))
    };
    batch(2)?;
    let first = batch(3)?.max(1);
    let calls = (BUDGET.as_nanos() as u64 / BATCHES as u64 / first).clamp(3, 2000);
    let mut times = (0..BATCHES).map(|_| batch(calls)).collect::<Result<Vec<u64>>>()?;
    times.sort_unstable();
    Ok(times[BATCHES / 2])
}

/// The fastest one, or the usual one where that is hardly slower.
fn best(figure: &Figure) -> Option<Algorithm> {
    let (fastest, least) = figure.times.iter().min_by_key(|(_, time)| *time)?;
    let usual = figure.times.iter().find(|(algorithm, _)| *algorithm == Algorithm::Memory);
    let close = usual.is_some_and(|(_, time)| time * 100 <= least * (100 + GAIN));
    Some(if close { Algorithm::Memory } else { *fastest })
}

/// What the variable is to say of so many members: limits lie between the sizes that were measured.
fn chosen(figures: &[Figure], members: usize) -> Vec<String> {
    let mut overrides = Vec::new();
    for row in select::table() {
        let of_row: Vec<&Figure> = figures.iter().filter(|f| f.operation == row.operation).collect();
        let mut runs: Vec<(Algorithm, usize, usize)> = Vec::new();
        for figure in of_row {
            let Some(algorithm) = best(figure) else { continue };
            match runs.last_mut().filter(|run| run.0 == algorithm) {
                Some(run) => run.2 = figure.bytes,
                None => runs.push((algorithm, figure.bytes, figure.bytes)),
            }
        }
        let between = |low: usize, high: usize| low.saturating_mul(high).isqrt();
        for (at, (algorithm, first, last)) in runs.iter().enumerate() {
            let low = if at == 0 { String::new() } else { (between(runs[at - 1].2, *first) + 1).to_string() };
            let high = runs.get(at + 1).map_or_else(String::new, |next| between(*last, next.1).to_string());
            let range =
                if low.is_empty() && high.is_empty() { String::new() } else { format!(":{low}-{high}") };
            overrides.push(format!("{}{range}@{members}={}", row.operation, algorithm.name()));
        }
    }
    overrides
}

/// What was known of other numbers of members, and the new.
fn merged(known: &str, members: usize, new: &[String]) -> String {
    let old = |entry: &&str| !entry.is_empty() && !entry.contains(&format!("@{members}="));
    let kept = known.split(',').map(str::trim).filter(old).map(str::to_owned);
    kept.chain(new.iter().cloned()).collect::<Vec<_>>().join(",")
}

fn listing(figures: &[Figure], members: usize) -> String {
    let mut out =
        format!("Processor {}, {members} tasks; microseconds of a call, the fastest first\n\n", processor());
    for figure in figures {
        let mut times = figure.times.clone();
        times.sort_by_key(|(_, time)| *time);
        let _ = write!(out, "{:>15} {:>9} B ", figure.operation, figure.bytes);
        for (algorithm, time) in times {
            let _ = write!(out, "  {} {:.2}", algorithm.name(), time as f64 / 1e3);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(operation: &'static str, bytes: usize, times: &[(Algorithm, u64)]) -> Figure {
        Figure { operation, bytes, times: times.to_vec() }
    }

    #[test]
    fn limits_lie_between_sizes_and_what_is_hardly_faster_is_not_taken() {
        use Algorithm::{Doubling, Memory, Ring};
        let figures = [
            figure("allreduce", 8, &[(Memory, 100), (Doubling, 96)]),
            figure("allreduce", 512, &[(Memory, 100), (Doubling, 90)]),
            figure("allreduce", 32768, &[(Memory, 100), (Doubling, 90), (Ring, 80)]),
            figure("allreduce", 1 << 20, &[(Memory, 100), (Ring, 80)]),
            figure("barrier", 8, &[(Memory, 5), (Algorithm::Dissemination, 50)]),
        ];
        let overrides = chosen(&figures, 4);
        assert_eq!(
            overrides,
            [
                "barrier@4=memory",
                "allreduce:-64@4=memory",
                "allreduce:65-4096@4=doubling",
                "allreduce:4097-@4=ring"
            ]
        );
        // The library understands it, and takes what was fastest.
        let understood = Overrides::parse(&merged("barrier@2=memory,barrier@4=dissemination", 4, &overrides));
        let understood = understood.expect("a value of the variable");
        let of = |bytes: usize| taken(&Call::AllReduce { count: bytes / 8 }, 4, &understood);
        assert_eq!((of(8), of(512), of(4096), of(4104)), (Memory, Doubling, Doubling, Ring));
        assert_eq!(taken(&Call::Barrier, 4, &understood), Memory, "the former value of 4 members has gone");
        assert!(merged("barrier@2=memory", 4, &overrides).starts_with("barrier@2=memory,"));
    }
}
