//! `lapis-bench collectives`: Lapis and every MPI found, in jobs of several sizes over shared
//! memory.
//!
//! In each round every party takes every figure once, alternately; medians of the rounds are shown.
//! Two tasks have a core each; more are left to the kernel, as a user would leave them. Where tasks
//! outnumber the cores, processes that only hand the cores on are the floor; those that copy as
//! much as an alltoall moves are shown beside it.

use super::turns::{Jobs, Outcome};
use crate::floor;
use crate::peers::{self, Party, Request};
use anyhow::{Result, bail};
use lapis_bench::{pin, size};
use std::path::PathBuf;
use std::time::Duration;

/// What can be measured.
const BENCHES: [&str; 4] = ["barrier", "bcast", "allreduce", "alltoall"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tasks of the jobs (several with commas)
    #[arg(long, value_delimiter = ',', default_value = "2,4,8,16")]
    tasks: Vec<usize>,
    /// Which operations (several with commas); all without it
    #[arg(long, value_delimiter = ',', value_parser = BENCHES)]
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
    let chosen = BENCHES.into_iter().filter(|b| args.only.is_empty() || args.only.iter().any(|o| o == b));
    let requests: Vec<Request<'_>> = chosen.map(|bench| Request { bench, sizes: &sizes, budget }).collect();
    let mut outcome = Outcome::new("collectives", "collectives over shared memory", rounds, args.quick);
    for tasks in args.tasks.iter().copied() {
        let parties = parties(tasks, args.no_peers, &mut outcome);
        for round in 1..=rounds {
            eprintln!("bench: collectives: {tasks} tasks, round {round} of {rounds}");
            if tasks > pin::allowed().len() {
                outcome.hold_against(tasks, floor::hand_on(tasks, budget));
                let copies = |size: &u64| floor::copies_among(tasks, *size as usize, budget).transpose();
                let moves_parts = requests.iter().any(|request| request.bench == "alltoall");
                for copy in sizes.iter().filter(|_| moves_parts).filter_map(copies) {
                    outcome.hold_against(tasks, copy);
                }
            }
            outcome.ask(&Jobs { tasks, beside: "", parties: &parties }, &requests);
        }
    }
    outcome.report((!args.dry).then_some(&args.out))
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
