//! `lapis-bench collectives`: Lapis and every MPI found, in jobs of several sizes over shared
//! memory.
//!
//! In each round every party takes every figure once, alternately; medians of the rounds are shown.
//! Two tasks have a core each, and a cache line that goes from one to the other is their floor.
//! More are left to the kernel, as a user would leave them. Where tasks outnumber the cores,
//! processes that only hand the cores on are the floor. What an allreduce of two tasks copies and
//! adds, and what an alltoall of many copies, is shown beside it.

use super::turns::{Jobs, Outcome};
use crate::floor;
use crate::peers::{self, Party, Request};
use anyhow::{Result, bail};
use lapis_bench::{pin, size};
use std::path::PathBuf;
use std::time::Duration;

/// What can be measured, and whether the size is that of each part, of which members have as many
/// as there are tasks.
const BENCHES: [(&str, bool); 10] = [
    ("barrier", false),
    ("bcast", false),
    ("reduce", false),
    ("allreduce", false),
    ("reduce_scatter", true),
    ("scan", false),
    ("gather", true),
    ("scatter", true),
    ("allgather", true),
    ("alltoall", true),
];

/// From so many bytes on an allreduce of two tasks has the floor of processes that copy and add.
const COPY_ADD: u64 = 4 << 10;

/// Most bytes of all parts of a member: jobs of many tasks leave out what is longer.
const MOST: u64 = 32 << 20;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tasks of the jobs (several with commas)
    #[arg(long, value_delimiter = ',', default_value = "2,4,8,16")]
    tasks: Vec<usize>,
    /// Which operations (several with commas); all without it
    #[arg(long, value_delimiter = ',', value_parser = BENCHES.map(|(name, _)| name))]
    only: Vec<String>,
    /// Sizes, like 8,4K,64K-1M
    #[arg(long, default_value = "8,1K,64K,1M")]
    sizes: String,
    /// How often each figure is taken; the medians are printed
    #[arg(long)]
    rounds: Option<usize>,
    /// One short round: indicative only
    #[arg(long)]
    quick: bool,
    /// No MPI, even if there is one
    #[arg(long)]
    no_peers: bool,
    /// Where the report goes
    #[arg(long, default_value = "docs/bench")]
    out: PathBuf,
    /// Print the tables only; write no files
    #[arg(long)]
    dry: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(tasks) = args.tasks.iter().find(|tasks| **tasks < 2) {
        bail!("--tasks {tasks}: collectives take two tasks at least");
    }
    let rounds = args.rounds.unwrap_or(if args.quick { 1 } else { 5 }).max(1);
    let budget = Duration::from_millis(if args.quick { 20 } else { 100 });
    let sizes = size::parse_list(&args.sizes)?;
    let mut outcome = Outcome::new("collectives", "collectives over shared memory", rounds, args.quick);
    for tasks in args.tasks.iter().copied() {
        let short: Vec<u64> = sizes.iter().copied().filter(|size| size * tasks as u64 <= MOST).collect();
        let requests = requests(&args.only, &sizes, &short, budget);
        let parties = parties(tasks, args.no_peers, &mut outcome);
        for round in 1..=rounds {
            eprintln!("bench: collectives: {tasks} tasks, round {round} of {rounds}");
            let asks = |bench: &str| requests.iter().any(|request| request.bench == bench);
            if tasks == 2 {
                outcome.hold_against(tasks, floor::line(budget));
                for size in sizes.iter().filter(|size| asks("allreduce") && **size >= COPY_ADD) {
                    outcome.hold_against(tasks, floor::copy_add(*size as usize, budget));
                }
            } else if tasks > pin::allowed().len() {
                outcome.hold_against(tasks, floor::hand_on(tasks, budget));
                let copies = |size: &u64| floor::copies_among(tasks, *size as usize, budget).transpose();
                for copy in short.iter().filter(|_| asks("alltoall")).filter_map(copies) {
                    outcome.hold_against(tasks, copy);
                }
            }
            outcome.ask(&Jobs { tasks, beside: "", parties: &parties }, &requests);
        }
    }
    outcome.report((!args.dry).then_some(&args.out))
}

/// Everything asked for, in sizes of data and of parts.
fn requests<'a>(only: &[String], sizes: &'a [u64], parts: &'a [u64], budget: Duration) -> Vec<Request<'a>> {
    let chosen = BENCHES.iter().filter(|(bench, _)| only.is_empty() || only.iter().any(|name| name == bench));
    chosen
        .map(|(bench, of_parts)| Request { bench, sizes: if *of_parts { parts } else { sizes }, budget })
        .filter(|request| !request.sizes.is_empty() || request.bench == "barrier")
        .collect()
}

fn parties(tasks: usize, alone: bool, outcome: &mut Outcome) -> Vec<Party> {
    let (mut parties, mut missing) = (Vec::new(), Vec::new());
    match peers::lapis_of(tasks) {
        Ok(party) => parties.push(party),
        Err(absent) => missing.push(absent),
    }
    if !alone {
        let (found, absent) = peers::mpis_of(tasks);
        parties.extend(found);
        missing.extend(absent);
    }
    outcome.are_absent(missing);
    parties
}
