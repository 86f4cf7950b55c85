//! Measures the machine's floors, the peers found installed, and Lapis, side by side.

mod exec;
mod floor;
mod peers;
mod runner;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use lapis_bench::size;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(name = "lapis-bench", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print floors of this machine, a line of JSON for each figure
    Floor(FloorArgs),
    /// Print the time of a cache line between the two cores, in nanoseconds one way
    Probe,
    /// Measure floors, Lapis and (with --peers) the peers in interleaved rounds, and write a report
    Run(runner::Args),
    /// Which bars the newest reports meet, each of another kind of processor; writes bars.md
    Bars(runner::kinds::Args),
    /// Pack, unpack and copy the shapes of applications, beside hand-written loops, memcpy and
    /// every MPI found
    Dgsp(runner::dgsp::Args),
    /// Collectives of jobs of several sizes over shared memory, beside every MPI found
    Collectives(runner::collectives::Args),
    /// More tasks than cores, and busy processes beside, of Lapis and every MPI found
    Crowd(runner::crowd::Args),
    /// What each optimisation buys: a build that can turn them off, with each of them and without
    Ablation(runner::ablation::Args),
    /// Runs a program on one of the hosts of a measurement, on a core of its own
    #[command(hide = true)]
    OnHost(runner::network::OnHost),
}

#[derive(clap::Args)]
struct FloorArgs {
    /// Which floors (several with commas); all without it
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Sizes, like 8,4K,64K-1M
    #[arg(long, default_value = "8,64,1K,4K,16K,64K,256K,1M,4M")]
    sizes: String,
    /// Milliseconds for each figure
    #[arg(long, default_value_t = 100)]
    time_ms: u64,
    /// Only list them
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Floor(args) => print_floors(&args),
        Command::Run(args) => runner::run(&args),
        Command::Bars(args) => runner::kinds::run(&args),
        Command::Dgsp(args) => runner::dgsp::run(&args),
        Command::Collectives(args) => runner::collectives::run(&args),
        Command::Crowd(args) => runner::crowd::run(&args),
        Command::Ablation(args) => runner::ablation::run(&args),
        Command::OnHost(args) => runner::network::on_host(&args),
        Command::Probe => floor::probe().map(|ns| println!("{ns:.1}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lapis-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_floors(args: &FloorArgs) -> Result<()> {
    if args.list {
        floor::ALL.iter().for_each(|f| println!("{:<12} {:<4} {}", f.name, f.transport, f.what));
        return Ok(());
    }
    if let Some(unknown) = args.only.iter().find(|name| floor::ALL.iter().all(|f| f.name != **name)) {
        bail!("no floor is called `{unknown}`; `lapis-bench floor --list` names them");
    }
    let ask =
        floor::Ask { sizes: size::parse_list(&args.sizes)?, budget: Duration::from_millis(args.time_ms) };
    let mut failed = 0;
    for floor in floor::ALL.iter().filter(|f| args.only.is_empty() || args.only.iter().any(|n| n == f.name)) {
        match (floor.run)(&ask) {
            Ok(records) => records.iter().for_each(lapis_bench::record::Record::print),
            // One floor that this machine refuses must not hide the others.
            Err(error) => {
                eprintln!("lapis-bench: {}: {error:#}", floor.name);
                failed += 1;
            }
        }
    }
    if failed > 0 {
        bail!("{failed} floors could not be measured");
    }
    Ok(())
}
