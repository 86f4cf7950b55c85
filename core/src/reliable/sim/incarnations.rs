//! Purged, resumed and restarted peers on a bad network, with an eavesdropper who replays what he
//! heard.

use super::{Fault, Random, Traffic, World, WorldSpec, for_seeds};
use crate::reliable::{Channel, JobAuth};

const MS: u64 = 1_000_000;

/// No unit arrives twice, whichever incarnations sent and took it; none of an earlier incarnation
/// arrives after one of a later one; what was acknowledged was delivered; and after the last
/// upheaval everything works.
#[test]
fn no_incarnation_is_taken_for_another() {
    for_seeds("reliable::sim::incarnations::no_incarnation_is_taken_for_another", 60, &[], |seed| {
        let mut random = Random::new(seed);
        let auth = JobAuth::new(&[3; 32]);
        let fault = bad_network(&mut random);
        let spec = WorldSpec {
            tasks: 3,
            paths: random.range(1..3) as u8,
            fault,
            epochs_known: random.below(2) == 0,
            ..WorldSpec::default()
        };
        let mut world = World::new(random.word(), &spec, &auth, true);
        world.overhear = 400;
        let mut epochs = [1u32; 3];
        for _ in 0..random.range(1..6) {
            traffic(&mut world, &mut random);
            world.run_until(world.now + random.below(5 * MS));
            upheaval(&mut world, &mut random, &mut epochs, &auth);
            let heard = world.overheard.clone();
            for _ in 0..random.below(300) {
                let (to, datagram) = &heard[random.below(heard.len() as u64) as usize];
                world.arrive(*to, datagram);
                world.pump(*to);
            }
        }
        traffic(&mut world, &mut random);
        world.finish(60_000 * MS);
        traffic(&mut world, &mut random);
        world.finish(60_000 * MS);
    });
}

fn bad_network(random: &mut Random) -> Fault {
    Fault {
        loss: random.below(150_000) as u32,
        duplicate: random.below(100_000) as u32,
        reorder: random.below(200_000) as u32,
        reorder_by: random.range(1_000..20 * MS),
        delay: random.range(1_000..MS),
        ..Fault::default()
    }
}

/// Everybody sends something to everybody.
fn traffic(world: &mut World<JobAuth>, random: &mut Random) {
    for from in 0..3 {
        for to in (0..3).filter(|&to| to != from) {
            let channel = if random.below(2) == 0 { Channel::Request } else { Channel::Reply };
            let (size, count) = (random.range(20..1500) as usize, random.range(1..60));
            let external = random.below(2) == 0;
            world.send(from, Traffic { to, channel, size, count, external });
        }
    }
}

/// A task is restarted, or purges another one, or two purge each other.
fn upheaval(world: &mut World<JobAuth>, random: &mut Random, epochs: &mut [u32; 3], auth: &JobAuth) {
    let victim = random.below(3) as u32;
    let other = (victim + 1 + random.below(2) as u32) % 3;
    match random.below(3) {
        0 => {
            // Greater than any epoch that resuming can have reached.
            epochs[victim as usize] += 1000;
            world.restart(victim, epochs[victim as usize], auth);
        }
        1 => {
            world.engine(victim).purge(other).expect("a peer");
            world.pump(victim);
            world.run_until(world.now + random.below(10 * MS));
            let now = world.now;
            world.engine(victim).resume(now, other).expect("a peer");
            world.pump(victim);
        }
        _ => {
            for (at, peer) in [(victim, other), (other, victim)] {
                world.engine(at).purge(peer).expect("a peer");
                world.pump(at);
                let now = world.now;
                world.engine(at).resume(now, peer).expect("a peer");
                world.pump(at);
            }
        }
    }
}
