//! A task of `tests/hosts.rs`: `levels_job ROUNDS`. It goes through so many barriers of core's and
//! as many of a team of all tasks, then through as many exchanges of core's and allgathers of the
//! team, and says how many packets each sort has sent between machines. Then it makes calls of all
//! kinds, whose data goes through memory within machines and by messages between them.

use lapis_collectives::{Edge, Operator, Parts, Result, Team};
use lapis_core::Context;
use lapis_core::stats::Path;

fn network(context: &Context) -> u64 {
    context.statistics().path(Path::Network).packets_sent
}

/// What a member has at a place.
fn value(rank: usize, i: usize) -> u64 {
    ((rank * 7919 + i * 104_729) % 100_003) as u64
}

/// Calls of all kinds, of short data and of long, held against what everybody has.
fn several(team: &Team) -> Result<()> {
    for count in [1, 700, 20_000] {
        reductions(team, count)?;
        movements(team, count)?;
        unequal(team, count)?;
    }
    Ok(())
}

fn data(rank: usize, count: usize) -> Vec<u64> {
    (0..count).map(|i| value(rank, i)).collect()
}

fn reductions(team: &Team, count: usize) -> Result<()> {
    let (me, n) = (team.rank(), team.len());
    let sums = |who: std::ops::Range<usize>, from: usize| -> Vec<u64> {
        (0..count).map(|i| who.clone().map(|rank| value(rank, from + i)).sum()).collect()
    };
    let mut all = data(me, count);
    team.all_reduce(&mut all, Operator::Sum)?;
    assert_eq!(all, sums(0..n, 0), "allreduce of {count}");
    for root in 0..n {
        let mut there = vec![0; if me == root { count } else { 0 }];
        team.reduce(&data(me, count), &mut there, Operator::Sum, root)?;
        assert!(me != root || there == sums(0..n, 0), "reduce of {count} to {root}");
    }
    let mut scan = data(me, count);
    team.scan(&mut scan, Operator::Sum)?;
    assert_eq!(scan, sums(0..me + 1, 0), "scan of {count}");
    let mut part = vec![0; count];
    team.reduce_scatter_block(&data(me, n * count), &mut part, Operator::Sum)?;
    assert_eq!(part, sums(0..n, me * count), "reduce_scatter of {count}");
    Ok(())
}

fn movements(team: &Team, count: usize) -> Result<()> {
    let (me, n) = (team.rank(), team.len());
    for root in 0..n {
        let mut word = data(me, count);
        team.broadcast(&mut word, root)?;
        assert_eq!(word, data(root, count), "broadcast of {count} from {root}");
        let mut there = vec![0; if me == root { n * count } else { 0 }];
        team.gather(&data(me, count), &mut there, root)?;
        let all = || (0..n).flat_map(|rank| data(rank, count));
        assert!(me != root || all().eq(there.iter().copied()), "gather of {count} to {root}");
        let mut part = vec![0; count];
        team.scatter(&there, &mut part, root)?;
        assert_eq!(part, data(me, count), "scatter of {count} from {root}");
    }
    let mut sorted = vec![0; n * count];
    team.all_to_all(&data(me, n * count), &mut sorted, count)?;
    let right = (0..n).flat_map(|rank| (0..count).map(move |i| value(rank, me * count + i)));
    assert!(right.eq(sorted), "alltoall of {count}");
    Ok(())
}

fn unequal(team: &Team, count: usize) -> Result<()> {
    let (me, n) = (team.rank(), team.len());
    let counts: Vec<usize> = (0..n).map(|rank| rank % 3 * count).collect();
    let starts: Vec<usize> = (0..n).map(|rank| counts[..rank].iter().sum()).collect();
    let mut all = vec![0; counts.iter().sum()];
    team.all_gather_v(&data(me, counts[me]), &mut all, Parts { counts: &counts, starts: &starts })?;
    assert!((0..n).flat_map(|rank| data(rank, counts[rank])).eq(all), "allgatherv of {count}");
    let edge = |member: usize| [Edge { member: member % n, start: 0, len: count }];
    let mut come = vec![0; count];
    team.neighbours(&data(me, count), &edge(me + 1), &mut come, &edge(me + n - 1))?;
    assert_eq!(come, data((me + n - 1) % n, count), "neighbours of {count}");
    Ok(())
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
    several(&team)?;
    context.gfence()?;
    drop(team);
    Ok(context.terminate()?)
}
