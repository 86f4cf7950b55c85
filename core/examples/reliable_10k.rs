//! Ten thousand engines in one process and in virtual time: a barrier, then messages to random
//! neighbours.
//!
//! `cargo run --release -p lapis-core --features sim --example reliable_10k [tasks] [neighbours]
//! [messages] [seed]`

use std::time::Instant;

use lapis_core::reliable::sim::{Fault, Random, Traffic, World, WorldSpec};
use lapis_core::reliable::{Channel, NoAuth};

fn argument(at: usize, default: u64) -> u64 {
    std::env::args().nth(at).map_or(default, |arg| arg.parse().expect("a number"))
}

fn unit(to: u32, count: u64) -> Traffic {
    Traffic { to, channel: Channel::Request, size: 64, count, external: false }
}

/// A dissemination barrier: in round `i` every task tells the one `2^i` further, once it was told
/// in round `i - 1`.
fn barrier(world: &mut World<NoAuth>, tasks: u32) {
    let rounds = tasks.next_power_of_two().trailing_zeros();
    let mut told = vec![0u32; tasks as usize];
    let mut reached = vec![0u32; tasks as usize];
    for task in 0..tasks {
        world.send(task, unit((task + 1) % tasks, 1));
    }
    let mut finished = 0;
    while finished < tasks {
        assert!(world.step(), "the barrier hangs");
        for note in std::mem::take(world.notes.as_mut().expect("switched on")) {
            let at = note.to;
            let distance = (at + tasks - note.from) % tasks;
            told[at as usize] |= 1 << distance.trailing_zeros();
            while reached[at as usize] < rounds && told[at as usize] >> reached[at as usize] & 1 == 1 {
                reached[at as usize] += 1;
                let round = reached[at as usize];
                if round == rounds {
                    finished += 1;
                } else {
                    world.send(at, unit((at + (1 << round)) % tasks, 1));
                }
            }
        }
    }
}

fn main() {
    let (tasks, neighbours) = (argument(1, 10_000) as u32, argument(2, 16));
    let (messages, seed) = (argument(3, 20), argument(4, 1));
    let start = Instant::now();
    let fault = Fault { loss: 1000, jitter: 5_000, ..Fault::default() };
    let spec = WorldSpec { tasks, fault, ..WorldSpec::default() };
    let mut world = World::new(seed, &spec, &NoAuth, false);
    let report = |world: &World<NoAuth>, what: &str, from: u64| {
        println!(
            "{what}: {:.3} ms of virtual time, {} units, {} datagrams, {:.1} KiB of engine per task, {:.1} s of real time",
            (world.now - from) as f64 / 1e6,
            world.ledger.arrived,
            world.datagrams,
            world.memory() as f64 / f64::from(tasks) / 1024.0,
            start.elapsed().as_secs_f64(),
        );
    };
    report(&world, "start", 0);
    world.notes = Some(Vec::new());
    barrier(&mut world, tasks);
    report(&world, "barrier", 0);
    let from = world.now;
    let idle = from + 1_000_000;
    world.run_until(idle);
    let from = world.now;
    barrier(&mut world, tasks);
    report(&world, "second barrier", from);
    world.notes = None;
    let mut random = Random::new(seed);
    let from = world.now;
    for task in 0..tasks {
        for _ in 0..neighbours {
            let other = (task + random.range(1..u64::from(tasks)) as u32) % tasks;
            world.send(task, unit(other, messages));
        }
    }
    while world.ledger.missing > 0 {
        assert!(world.step(), "units are missing and nothing is going to happen");
    }
    report(&world, "random neighbours", from);
}
