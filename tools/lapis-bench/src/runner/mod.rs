//! `lapis-bench run`: floors, Lapis and peers in interleaved rounds, each sample between two
//! probes.

pub(crate) mod ablation;
mod bars;
pub(crate) mod collectives;
pub(crate) mod crowd;
pub(crate) mod dgsp;
mod dgsp_report;
mod fabric;
pub(crate) mod kinds;
mod machine;
mod memory;
pub(crate) mod network;
mod noise;
mod plan;
mod report;
mod rounds;
mod sample;
mod trials;
mod turns;
mod wire;

use crate::peers::{self, Absent, How, Party};
use anyhow::{Result, bail};
use lapis_bench::size;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which benches (several with commas); all without it
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// What carries the bytes; rdma over LAPIS_RDMA_PROVIDER, or tcp;ofi_rxm without it
    #[arg(long, default_value = "shm", value_parser = ["shm", "udp", "hps", "rdma"])]
    transport: String,
    /// How often each figure is taken; the medians are printed
    #[arg(long)]
    rounds: Option<usize>,
    /// Also the peers found installed (`cargo xtask setup --peers` installs them)
    #[arg(long)]
    peers: bool,
    /// A folder with another build of Lapis (launcher, lapis-perf, liblapi_r.so and plugins), such
    /// as target/release of an older tree: it takes part as `base` and `base-c`
    #[arg(long, value_name = "FOLDER")]
    baseline: Option<PathBuf>,
    /// Also Lapis through QNIX (libqnix.so), which has am_lat, am_rate, am_bw, barrier, and, in a
    /// job of eight, send_short and broadcast_short
    #[arg(long)]
    qnix: bool,
    /// Also Lapis through ACP (libacp.so), which has benches of its own, too; and OpenSHMEM
    #[arg(long)]
    acp: bool,
    /// Also Lapis through GM (libgm.so), which has am_lat, am_rate, am_bw, blocked and gm_open, and
    /// whose windows are those of `--transport hps`
    #[arg(long)]
    gm: bool,
    /// Only parties whose name contains one of these (several with commas)
    #[arg(long, value_delimiter = ',')]
    party: Vec<String>,
    /// Three short rounds over few sizes: indicative only
    #[arg(long)]
    quick: bool,
    /// Sizes, like 8,4K,64K-1M, in place of each bench's own
    #[arg(long)]
    sizes: Option<String>,
    /// Milliseconds for each figure
    #[arg(long)]
    time_ms: Option<u64>,
    /// Where the report goes
    #[arg(long, default_value = "docs/bench")]
    out: PathBuf,
    /// Print the table only; write no files. Without it, even a part of the benches replaces this
    /// kind of processor's report
    #[arg(long)]
    dry: bool,
}

/// Everything that a report says.
pub(crate) struct Outcome {
    pub(crate) transport: String,
    pub(crate) rounds: usize,
    pub(crate) budget: Duration,
    pub(crate) quick: bool,
    pub(crate) figures: Vec<rounds::Figure>,
    pub(crate) bars: Vec<bars::Bar>,
    pub(crate) absent: Vec<Absent>,
    pub(crate) noise: noise::Noise,
    pub(crate) machine: machine::Machine,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let trials: Vec<(&str, &str)> = match &*args.transport {
        "udp" => trials::ALL.into_iter().chain(memory::ALL).collect(),
        "hps" => wire::ALL.to_vec(),
        "rdma" => fabric::ALL.into_iter().chain(memory::ALL).collect(),
        _ => memory::ALL.to_vec(),
    };
    let plan = wanted_benches(args, &trials)?;
    let (parties, mut absent) = parties(args, plan.iter().any(|b| b.name == peers::C_CALL));
    absent.iter().for_each(|a| eprintln!("bench: absent: {}: {}", a.name, a.why));
    let rounds = args.rounds.unwrap_or(if args.quick { 3 } else { 7 }).max(1);
    let budget = Duration::from_millis(args.time_ms.unwrap_or(if args.quick { 20 } else { 60 }));
    let mut noise = noise::Noise::new()?;
    let mut figures = rounds::take(&plan, &args.transport, &parties, rounds, budget, &mut noise, &mut absent);
    let wanted = |name: &str| {
        let (known, all) = (trials.iter().any(|(trial, _)| *trial == name), args.only.is_empty());
        known && (all || args.only.iter().any(|n| n == name))
    };
    figures.extend(trials::take(wanted, &args.transport, (rounds, budget), &mut absent));
    if figures.is_empty() {
        bail!("nothing could be measured");
    }
    let outcome = Outcome {
        transport: args.transport.clone(),
        rounds,
        budget,
        quick: args.quick,
        bars: bars::of(&args.transport, &figures),
        figures,
        absent,
        noise,
        machine: machine::Machine::here(),
    };
    println!("{}", report::plain(&outcome));
    if !args.dry {
        report::write(&outcome, &args.out)?;
        kinds::write(&args.out)?;
    }
    Ok(())
}

/// The benches that the options ask for, at the sizes that they ask for.
fn wanted_benches(args: &Args, trials: &[(&str, &str)]) -> Result<Vec<plan::Bench>> {
    let mut plan = plan::plan(&args.transport, args.quick);
    if args.qnix {
        plan::for_qnix(&mut plan, &args.transport);
    }
    if args.acp {
        plan.extend(plan::acp(&args.transport));
    }
    if args.gm {
        plan.push(plan::gm());
    }
    let names: Vec<&str> = plan.iter().map(|b| b.name).chain(trials.iter().map(|(name, _)| *name)).collect();
    if let Some(unknown) = args.only.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("no bench is called `{unknown}`; there are {}", names.join(", "));
    }
    plan.retain(|b| args.only.is_empty() || args.only.iter().any(|n| n == b.name));
    if let Some(text) = &args.sizes {
        let sizes = size::parse_list(text)?;
        plan.iter_mut().filter(|b| !b.sizes.is_empty()).for_each(|b| b.sizes.clone_from(&sizes));
    }
    Ok(plan)
}

/// Who takes part, and who can't. With `calls`, the programs that time calls alone are among them.
fn parties(args: &Args, calls: bool) -> (Vec<Party>, Vec<Absent>) {
    let (mut parties, mut absent) = (Vec::new(), Vec::new());
    let ours = [peers::lapis(&args.transport), peers::lapis_from_c(&args.transport)];
    let base = args.baseline.iter().flat_map(|folder| {
        [
            peers::lapis_in(folder, "base", &args.transport),
            peers::lapis_from_c_in(folder, "base-c", &args.transport),
        ]
    });
    let jobs: &[usize] = if args.qnix { &[2, 8] } else { &[] };
    let qnix = jobs.iter().map(|tasks| peers::lapis_from_qnix(&args.transport, *tasks));
    let acp = args.acp.then(|| peers::lapis_from_acp(&args.transport));
    let shmem = (args.acp && args.transport == "shm").then(peers::openshmem);
    let gm = args.gm.then(peers::lapis_from_gm);
    for party in ours
        .into_iter()
        .chain(qnix)
        .chain(acp)
        .chain(shmem)
        .chain(gm)
        .chain(calls.then(peers::c_calls))
        .chain(base)
    {
        match party {
            Ok(party) => parties.push(party),
            Err(missing) => absent.push(missing),
        }
    }
    if args.transport == "hps" && !args.gm {
        match peers::lapis_as_reference() {
            Ok(party) => parties.push(party),
            Err(missing) => absent.push(missing),
        }
    }
    if args.peers {
        let (found, missing) = peers::peers(&args.transport);
        parties.extend(found);
        absent.extend(missing);
    }
    let wanted =
        |p: &Party| args.party.is_empty() || args.party.iter().any(|n| p.label().contains(n.as_str()));
    parties.retain(|p| wanted(p) || matches!(p.how, How::Lapis(_) | How::Calls(_)));
    (parties, absent)
}
