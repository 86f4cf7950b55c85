//! Which figures a command line asks for.

use crate::cli::{Cli, Memory};
use anyhow::{Result, bail};
use lapis_bench::record::Unit;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
const MAX: u64 = lapis_bench::size::MAX;

/// The operations of teams that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    ReduceScatter,
    Scan,
    Gather,
    Scatter,
    AllGather,
    AllToAll,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AmLat,
    AmRate,
    AmBw,
    AmCopyLat,
    AmCopyBw,
    PutLat,
    PutSeen,
    PutStream,
    GetLat,
    GetStream,
    FetchAdd,
    FetchAddStream,
    CompareSwap,
    Gfence,
    Exchange,
    Team(Collective),
    FirstInit,
    Init,
    Blocked,
    Footprint,
    RoundTrip { permille: u64 },
    Pause,
    Goodput,
}

/// A row of the table of benches.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: Unit,
    /// The usual sizes; one alone where the bench has a size of its own.
    sizes: &'static [u64],
    /// Whether it works on memory of the target, so that the kind matters.
    pub(crate) memory: bool,
}

const LATENCY: &[u64] = &[8, 64, 256, K, 4 * K, 16 * K, 64 * K, 256 * K, M, 4 * M];
const BANDWIDTH: &[u64] = &[K, 4 * K, 16 * K, 64 * K, 256 * K, M, 4 * M];
/// Of messages that one packet has room for, and longer: the latter are copied by the library.
const COPIED: &[u64] = &[K, 4 * K, 16 * K, 64 * K];
const RATE: &[u64] = &[8, 64];
const TAIL: &[u64] = &[8, K];
const COLLECTIVE: &[u64] = &[8, 64, K, 8 * K, 64 * K, M];
const PAUSE: &[u64] = &[8 * K, 64 * K];
const GOODPUT: &[u64] = &[64 * K, M];

const fn bench(
    name: &'static str,
    what: &'static str,
    kind: Kind,
    unit: Unit,
    sizes: &'static [u64],
    memory: bool,
) -> Bench {
    Bench { name, what, kind, unit, sizes, memory }
}

const fn collective(
    name: &'static str,
    what: &'static str,
    operation: Collective,
    sizes: &'static [u64],
) -> Bench {
    bench(name, what, Kind::Team(operation), Unit::Nanoseconds, sizes, false)
}

/// All of them.
pub(crate) const BENCHES: &[Bench] = {
    use Kind::*;
    use Unit::*;
    &[
        bench(
            "am_lat",
            "active message with its header handler run, one way",
            AmLat,
            Nanoseconds,
            LATENCY,
            false,
        ),
        bench(
            "am_rate",
            "stream of active messages until the last handler has run",
            AmRate,
            Millions,
            RATE,
            false,
        ),
        bench("am_bw", "stream of large active messages", AmBw, Gigabytes, BANDWIDTH, false),
        bench(
            "am_copy_lat",
            "active message until its data is in the receiver's memory, one way",
            AmCopyLat,
            Nanoseconds,
            COPIED,
            false,
        ),
        bench(
            "am_copy_bw",
            "stream of active messages whose data goes to the receiver's memory",
            AmCopyBw,
            Gigabytes,
            COPIED,
            false,
        ),
        bench(
            "rtt_p50",
            "single round trips of active messages, median",
            RoundTrip { permille: 500 },
            Nanoseconds,
            TAIL,
            false,
        ),
        bench(
            "rtt_p999",
            "single round trips of active messages, 99.9th percentile",
            RoundTrip { permille: 999 },
            Nanoseconds,
            TAIL,
            false,
        ),
        bench("am_pause", "longest pause in a stream of active messages", Pause, Microseconds, PAUSE, false),
        bench("put_lat", "put until the origin knows that it is done", PutLat, Nanoseconds, LATENCY, true),
        bench("put_seen", "put until the target sees it, one way", PutSeen, Nanoseconds, &[8], true),
        bench("put_rate", "stream of puts with a fence at its end", PutStream, Millions, RATE, true),
        bench(
            "put_bw",
            "stream of large puts with a fence at its end",
            PutStream,
            Gigabytes,
            BANDWIDTH,
            true,
        ),
        bench(
            "put_goodput",
            "stream of large puts over the whole time, pauses included",
            Goodput,
            Gigabytes,
            GOODPUT,
            true,
        ),
        bench("get_lat", "get until the data are here", GetLat, Nanoseconds, LATENCY, true),
        bench("get_bw", "stream of large gets", GetStream, Gigabytes, BANDWIDTH, true),
        bench("fadd", "fetch and add of 8 bytes with its answer", FetchAdd, Nanoseconds, &[8], true),
        bench("fadd_rate", "stream of fetch and add of 8 bytes", FetchAddStream, Millions, &[8], true),
        bench("cas", "compare and swap of 8 bytes with its answer", CompareSwap, Nanoseconds, &[8], true),
        bench("gfence", "global fence of all tasks", Gfence, Nanoseconds, &[0], false),
        bench(
            "exchange",
            "exchange of core's, a value of each task (LAPI_Address_init)",
            Exchange,
            Nanoseconds,
            &[8, 64],
            false,
        ),
        collective("barrier", "barrier of a team of all tasks", Collective::Barrier, &[0]),
        collective("bcast", "broadcast, every task the root in turn", Collective::Broadcast, COLLECTIVE),
        collective("reduce", "sum of doubles at the root, by turns", Collective::Reduce, COLLECTIVE),
        collective("allreduce", "sum of doubles, at all tasks", Collective::AllReduce, COLLECTIVE),
        collective(
            "reduce_scatter",
            "sums of doubles, a part of them at each task",
            Collective::ReduceScatter,
            COLLECTIVE,
        ),
        collective("scan", "sum of doubles of the tasks up to this one", Collective::Scan, COLLECTIVE),
        collective("gather", "so much of each task to the root, by turns", Collective::Gather, COLLECTIVE),
        collective(
            "scatter",
            "so much for each task from the root, by turns",
            Collective::Scatter,
            COLLECTIVE,
        ),
        collective("allgather", "so much of each task to all", Collective::AllGather, COLLECTIVE),
        collective("alltoall", "exchange of all tasks, so much for each", Collective::AllToAll, COLLECTIVE),
        bench(
            "init_first",
            "start and end of the first context: plugins loaded, tasks meet, connect and part",
            FirstInit,
            Microseconds,
            &[0],
            false,
        ),
        bench("init", "start and end of a context, without the launcher", Init, Microseconds, &[0], false),
        bench("blocked", "processor time of a wait that sleeps, of one core", Blocked, Percent, &[0], false),
        bench(
            "task_memory",
            "memory of its own of a task that has sent short messages and puts to all others",
            Footprint,
            Kibibytes,
            &[0],
            false,
        ),
    ]
};

/// One figure to take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) bench: &'static Bench,
    pub(crate) size: u64,
    pub(crate) memory: Option<Memory>,
}

/// All figures, in order.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) figures: Vec<Figure>,
}

impl Bench {
    /// Whether its sizes are fixed.
    pub(crate) fn has_one_size(&self) -> bool {
        self.sizes.len() == 1
    }

    fn sizes(&self, cli: &Cli) -> Vec<u64> {
        if self.has_one_size() {
            return self.sizes.to_vec();
        }
        // Nothing can't be transferred at a rate of bytes; an empty message ends the stream whose
        // pauses are sought.
        let least = u64::from(self.unit == Unit::Gigabytes || self.kind == Kind::Pause);
        if let Some(sizes) = &cli.sizes {
            return sizes.0.iter().copied().filter(|&s| s >= least).collect();
        }
        let (min, max) = (cli.min_size.unwrap_or(0), cli.max_size.unwrap_or(MAX));
        let mut sizes: Vec<u64> = self.sizes.iter().copied().filter(|&s| s >= min && s <= max).collect();
        // A bound that was given is measured itself, and beyond the usual sizes they go on by
        // powers of four.
        sizes.extend(cli.min_size.iter().chain(&cli.max_size).copied());
        let last = self.sizes[self.sizes.len() - 1];
        if cli.max_size.is_some() {
            sizes.extend([16 * M, MAX].into_iter().filter(|&s| s > last && s >= min && s <= max));
        }
        sizes.retain(|&s| s >= least && s >= min && s <= max);
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

impl Plan {
    /// What the command line asks for.
    pub(crate) fn of(cli: &Cli) -> Result<Self> {
        if let (Some(min), Some(max)) = (cli.min_size, cli.max_size)
            && min > max
        {
            bail!("--min-size {min} is above --max-size {max}: no size lies between them");
        }
        if cli.benches.iter().any(|b| b == crate::tune::NAME) {
            bail!("`tune` stands alone, or with `collectives` behind it: no other bench beside it");
        }
        let all = cli.benches.iter().any(|b| b == "all");
        if let Some(unknown) =
            cli.benches.iter().find(|b| *b != "all" && BENCHES.iter().all(|k| k.name != **b))
        {
            bail!("no bench is called `{unknown}`: there are {}, and all", names());
        }
        let mut figures = Vec::new();
        for bench in BENCHES.iter().filter(|k| all || cli.benches.iter().any(|b| b == k.name)) {
            let kinds: Vec<_> = match bench.memory {
                true => cli.memory.iter().copied().map(Some).collect(),
                false => vec![None],
            };
            for memory in kinds {
                figures.extend(bench.sizes(cli).into_iter().map(|size| Figure { bench, size, memory }));
            }
        }
        if figures.is_empty() && !cli.list {
            bail!("nothing is left to measure: a bandwidth has no size of 0 bytes");
        }
        let several = |f: &Figure| figures.iter().any(|g| g.bench.name == f.bench.name && g.size != f.size);
        if cli.plot.is_some() && !figures.iter().any(several) {
            bail!("nothing to draw with --plot: no bench here has several sizes");
        }
        Ok(Self { figures })
    }

    /// Bytes of the largest message or transfer.
    pub(crate) fn largest(&self) -> u64 {
        self.figures.iter().map(|f| f.size).max().unwrap_or(0)
    }
}

/// The table of benches, for people.
pub(crate) fn listing() -> String {
    BENCHES.iter().map(|b| format!("{:<14} {:<5} {}\n", b.name, b.unit.text(), b.what)).collect()
}

fn names() -> String {
    BENCHES.iter().map(|b| b.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn plan(words: &[&str]) -> Result<Plan> {
        Plan::of(&Cli::try_parse_from(["lapis-perf"].iter().chain(words)).unwrap())
    }

    fn sizes(words: &[&str]) -> Vec<u64> {
        plan(words).unwrap().figures.iter().map(|f| f.size).collect()
    }

    #[test]
    fn given_sizes_are_taken_as_they_are() {
        assert_eq!(sizes(&["am_lat", "--sizes", "0,8,3000"]), [0, 8, 3000]);
        assert_eq!(sizes(&["am_bw", "--sizes", "0,8"]), [8]);
        assert_eq!(sizes(&["fadd", "--sizes", "1K"]), [8]);
    }

    #[test]
    fn bounds_cut_the_usual_sizes_and_are_measured_themselves() {
        assert_eq!(sizes(&["am_lat", "--max-size", "300"]), [8, 64, 256, 300]);
        assert_eq!(sizes(&["am_lat", "--min-size", "0", "--max-size", "64"]), [0, 8, 64]);
        assert_eq!(
            sizes(&["am_bw", "--min-size", "2M", "--max-size", "64M"]),
            [2 * M, 4 * M, 16 * M, 64 * M]
        );
        assert!(plan(&["am_lat", "--min-size", "2", "--max-size", "1"]).is_err());
    }

    #[test]
    fn kinds_of_memory_multiply_what_they_concern() {
        let plan = plan(&["fadd", "gfence", "--memory", "any,lapis"]).unwrap();
        let kinds: Vec<_> = plan.figures.iter().map(|f| (f.bench.name, f.memory)).collect();
        assert_eq!(kinds, [("fadd", Some(Memory::Any)), ("fadd", Some(Memory::Lapis)), ("gfence", None)]);
    }

    #[test]
    fn unknown_benches_are_refused_with_the_known_ones() {
        let error = plan(&["tune", "collective"]).unwrap_err().to_string();
        assert!(error.contains("`tune` stands alone"), "{error}");
        let error = plan(&["am_lag"]).unwrap_err().to_string();
        assert!(error.contains("`am_lag`") && error.contains("am_lat, am_rate"), "{error}");
        assert!(plan(&["am_bw", "--sizes", "0"]).is_err());
        assert!(plan(&["am_bw", "fadd", "--sizes", "8", "--plot", "x.svg"]).is_err());
        assert!(plan(&["am_bw", "fadd", "--sizes", "8,9", "--plot", "x.svg"]).is_ok());
    }

    #[test]
    fn all_means_every_bench_once() {
        let plan = plan(&["all", "am_lat", "--sizes", "8"]).unwrap();
        let mut names: Vec<_> = plan.figures.iter().map(|f| f.bench.name).collect();
        names.dedup();
        assert_eq!(names.len(), BENCHES.len());
    }
}
