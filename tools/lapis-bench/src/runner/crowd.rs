//! `lapis-bench crowd`: jobs with more tasks than cores, and jobs of two tasks beside processes that
//! compute, of Lapis and of every MPI found, over shared memory.
//!
//! The programs are `peers/crowd.c` and `peers/crowd_mpi.c`. Tasks are left to the kernel if they
//! outnumber the cores.

use super::turns::{Jobs, Outcome};
use crate::exec::{Line, Running};
use crate::peers::{self, Party, Request};
use anyhow::{Result, bail};
use lapis_bench::{pin, size};
use std::path::PathBuf;
use std::time::Duration;

/// What can be measured.
const BENCHES: [&str; 4] = ["fence", "alltoall_put", "random_access", "serve"];

/// Beside others a sample lasts for several time slices: it takes a fortieth of the time.
const BESIDE: u32 = 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tasks of the jobs (several with commas)
    #[arg(long, value_delimiter = ',', default_value = "4,8,16,64")]
    tasks: Vec<usize>,
    /// How many busy processes run beside jobs of two tasks (several with commas; 0: none, which
    /// the others are compared with)
    #[arg(long, value_delimiter = ',', default_value = "0,1,2")]
    busy: Vec<usize>,
    /// Which operations (several with commas); all without it
    #[arg(long, value_delimiter = ',', value_parser = BENCHES)]
    only: Vec<String>,
    /// Sizes of the blocks of `alltoall_put`, up to 256K
    #[arg(long, default_value = "8,64K")]
    sizes: String,
    /// How often each figure is taken; the medians are printed
    #[arg(long)]
    rounds: Option<usize>,
    /// Milliseconds for each figure; ten times as many beside busy processes
    #[arg(long, default_value_t = 100)]
    time_ms: u64,
    /// One round: indicative only
    #[arg(long)]
    quick: bool,
    /// No MPI, even if there is one
    #[arg(long)]
    no_peers: bool,
    /// Only parties whose name contains one of these (several with commas)
    #[arg(long, value_delimiter = ',')]
    party: Vec<String>,
    /// Where the report goes
    #[arg(long, default_value = "docs/bench")]
    out: PathBuf,
    /// Print the tables only; write no files
    #[arg(long)]
    dry: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(tasks) = args.tasks.iter().find(|tasks| !(2..=256).contains(*tasks)) {
        bail!("--tasks {tasks}: a job here has 2 to 256 tasks");
    }
    let rounds = args.rounds.unwrap_or(if args.quick { 1 } else { 5 }).max(1);
    let sizes = size::parse_list(&args.sizes)?;
    let mut outcome = Outcome::new("crowd", "more tasks than cores, and busy neighbours", rounds, args.quick);
    let requests = |budget: Duration| -> Vec<Request<'_>> {
        let chosen = |bench: &&str| args.only.is_empty() || args.only.iter().any(|only| only == bench);
        BENCHES.into_iter().filter(chosen).map(|bench| Request { bench, sizes: &sizes, budget }).collect()
    };
    let time = Duration::from_millis(args.time_ms.max(1));
    let crowds = args.tasks.iter().map(|tasks| (*tasks, None));
    for (tasks, busy) in crowds.chain(args.busy.iter().map(|busy| (2, Some(*busy)))) {
        let parties = parties(tasks, args, &mut outcome);
        let beside = busy.map(in_words).unwrap_or_default();
        let requests = requests(if busy.unwrap_or(0) > 0 { time * BESIDE } else { time });
        for round in 1..=rounds {
            let comma = if beside.is_empty() { "" } else { ", " };
            eprintln!("bench: crowd: {tasks} tasks{comma}{beside}, round {round} of {rounds}");
            let _busy = busy_processes(busy.unwrap_or(0))?;
            outcome.ask(&Jobs { tasks, beside: &beside, parties: &parties }, &requests);
        }
    }
    outcome.report((!args.dry).then_some(&args.out))
}

fn in_words(busy: usize) -> String {
    match busy {
        0 => "alone".to_owned(),
        1 => "one busy process beside".to_owned(),
        n => format!("{n} busy processes beside"),
    }
}

fn parties(tasks: usize, args: &Args, outcome: &mut Outcome) -> Vec<Party> {
    let (mut parties, missing) = peers::crowds_of(tasks, !args.no_peers);
    parties.retain(|party| args.party.is_empty() || args.party.iter().any(|word| party.name.contains(word)));
    outcome.are_absent(missing);
    parties
}

/// Processes that compute until they are dropped, each bound to a core of its own as long as there
/// are any.
fn busy_processes(count: usize) -> Result<Vec<Running>> {
    let cores = pin::allowed();
    let busy = Line::new(["sh", "-c", "while :; do :; done"]);
    (0..count).map(|at| busy.clone().on_core(cores[at % cores.len()]).spawn()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_processes_end_with_what_was_measured_beside_them() {
        let busy = busy_processes(2).unwrap();
        let places: Vec<PathBuf> = busy.iter().map(|one| format!("/proc/{}", one.id()).into()).collect();
        assert!(places.iter().all(|place| place.exists()));
        drop(busy);
        assert!(!places.iter().any(|place| place.exists()));
    }
}
