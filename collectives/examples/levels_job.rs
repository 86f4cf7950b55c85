//! A task of `tests/hosts.rs`: `levels_job ROUNDS`. It goes through so many barriers of core's and
//! as many of a team of all tasks, then through as many exchanges of core's and allgathers of the
//! team, and says how many packets each sort has sent between machines.

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
    let (task, n) = (context.task(), context.tasks());
    println!("task {task}: core {} team {}", between - start, end - between);
    let word = |task: u32, round: u64| u64::from(task) << 32 | round;
    for round in 0..rounds {
        let all = context.all_gather(&word(task, round).to_le_bytes())?;
        let right = (0..n).flat_map(|task| word(task, round).to_le_bytes());
        assert!(all.into_iter().eq(right), "exchange {round}");
    }
    let between = network(&context);
    let mut all = vec![0; n as usize];
    for round in 0..rounds {
        team.all_gather(&[word(task, round)], &mut all)?;
        assert!((0..n).map(|task| word(task, round)).eq(all.iter().copied()), "allgather {round}");
    }
    println!("task {task}, all: core {} team {}", between - end, network(&context) - between);
    context.gfence()?;
    drop(team);
    Ok(context.terminate()?)
}
