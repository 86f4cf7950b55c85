//! A task of `tests/hosts.rs`: `levels_job ROUNDS`. It goes through so many barriers of core's and
//! as many of a team of all tasks, and says how many packets each sort has sent between machines.

use lapis_collectives::Team;
use lapis_core::Context;
use lapis_core::stats::Path;

fn network(context: &Context) -> u64 {
    context.statistics().path(Path::Network).packets_sent
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100);
    let context = lapis::init()?;
    let team = Team::world(&context)?;
    // The first ones find out who shares memory.
    (0..3).try_for_each(|_| context.barrier())?;
    (0..3).try_for_each(|_| team.barrier())?;
    let start = network(&context);
    for _ in 0..rounds {
        context.barrier()?;
    }
    let between = network(&context);
    for _ in 0..rounds {
        team.barrier()?;
    }
    let end = network(&context);
    let task = context.task();
    println!("task {task}: core {} team {}", between - start, end - between);
    context.gfence()?;
    drop(team);
    Ok(context.terminate()?)
}
