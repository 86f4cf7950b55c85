//! The command line.

use clap::{Parser, ValueEnum};
use lapis_bench::size;
use std::path::PathBuf;
use std::time::Duration;

const AFTER: &str = "\
Start it on two tasks, each on a core of its own:

    lapirun -n 2 --bind core lapis-perf am_lat put_bw --max-size 1MiB

Sizes are bytes, or numbers with K or M (powers of 1024), up to 64MiB. Without --sizes each bench has sizes of its own, within \
--min-size and --max-size. Tasks beyond the second take part in gfence, exchange and collectives, and wait otherwise.

`lapis-perf tune`, without lapirun, measures in a few seconds which copies are fastest between cores of this machine, \
and keeps it in the tuning file (LAPIS_TUNING), which jobs read. On a machine that is too busy for that it keeps nothing and \
says so. `lapirun -n N lapis-perf tune collectives` does so for \
the algorithms of collectives of N tasks on this machine.

`lapis-perf doctor`, without lapirun, tries what works on this machine: for each transport, or the one of --transport or \
LAPIS_TRANSPORT, whether it opens and on which devices, and between two tasks that it starts itself messages, puts, gets, \
atomics, order, registration, rails and sleeping. Each line ends with ok, or with what to do. The exit code is 1 if something \
failed.";

/// Measures latency, rate and bandwidth between two tasks of a job.
#[derive(Debug, Parser)]
#[command(name = "lapis-perf", version, after_help = AFTER, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to measure (--list shows the benches), `all`, `tune`, `tune collectives`, or `doctor`
    #[arg(value_name = "BENCH", required_unless_present = "list")]
    pub(crate) benches: Vec<String>,

    /// Show what can be measured
    #[arg(long)]
    pub(crate) list: bool,

    /// Sizes, as in 8,4K,64K-1M (a range doubles at each step)
    #[arg(long, value_name = "SIZES", value_parser = sizes, conflicts_with_all = ["min_size", "max_size"])]
    pub(crate) sizes: Option<Sizes>,

    /// Smallest of the default sizes
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) min_size: Option<u64>,

    /// Largest of the default sizes
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) max_size: Option<u64>,

    /// Milliseconds for each figure, without its warm-up
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub(crate) time_ms: u64,

    /// Transport to measure or examine, instead of LAPIS_TRANSPORT
    #[arg(long, value_name = "NAME")]
    pub(crate) transport: Option<String>,

    /// Kinds of target memory for puts, gets and atomics, separated by commas
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',', default_value = "lapis")]
    pub(crate) memory: Vec<Memory>,

    /// Interrupt mode instead of polling: arrivals are served by a thread
    #[arg(long)]
    pub(crate) interrupts: bool,

    /// JSON instead of tables: lines as docs/bench-format.md describes; of the doctor one document
    #[arg(long)]
    pub(crate) json: bool,

    /// Also draw the figures over the sizes into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

/// Kinds of memory at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Memory {
    /// Any memory, from malloc: reached by cross-memory attach or by messages
    Any,
    /// Memory that Lapis allocated: peers map it where they can
    Lapis,
}

impl Memory {
    /// Its name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "heap",
            Self::Lapis => "lapis",
        }
    }
}

/// A list of sizes (a type of its own, since clap takes a `Vec` for an option given several times).
#[derive(Clone, Debug)]
pub(crate) struct Sizes(pub(crate) Vec<u64>);

fn sizes(text: &str) -> Result<Sizes, size::Error> {
    size::parse_list(text).map(Sizes)
}

impl Cli {
    /// Time for each figure.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_millis(self.time_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_manual_says_what_the_help_says() {
        lapis_testing::manual(Cli::command());
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn nonsense_is_refused_with_what_is_wrong() {
        for (wrong, word) in [
            (vec!["am_lat", "--sizes", "ten"], "`ten` is not a size"),
            (vec!["am_lat", "--sizes", "64-8"], "runs backwards"),
            (vec!["am_lat", "--max-size", "65M"], "sizes go up to"),
            (vec!["am_lat", "--time-ms", "0"], "0 is not in 1..=600000"),
            (vec!["am_lat", "--memory", "gpu"], "[possible values: any, lapis]"),
            (vec!["am_lat", "--sizes", "8", "--max-size", "8"], "cannot be used with"),
            (vec![], "<BENCH>"),
        ] {
            let error = Cli::try_parse_from(["lapis-perf"].into_iter().chain(wrong.clone())).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong:?}");
            assert!(error.to_string().contains(word), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn the_runners_command_line_is_understood() {
        let line = ["lapis-perf", "put_bw", "--sizes", "8,4096,1048576", "--time-ms", "60", "--json"];
        let cli = Cli::try_parse_from(line).unwrap();
        assert_eq!(cli.sizes.unwrap().0, [8, 4096, 1 << 20]);
        assert_eq!((cli.json, cli.memory), (true, vec![Memory::Lapis]));
        let both = Cli::try_parse_from(["lapis-perf", "fadd", "--memory", "any,lapis"]).unwrap();
        assert_eq!(both.memory, [Memory::Any, Memory::Lapis]);
    }
}
