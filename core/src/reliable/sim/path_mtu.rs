//! Paths that carry less than they are said to.

use super::{Random, Traffic, World, WorldSpec, for_seeds};
use crate::reliable::{Channel, Event, JobAuth};

const MS: u64 = 1_000_000;

fn auth() -> JobAuth {
    JobAuth::new(b"a secret of thirty-two bytes ...")
}

/// Paths that drop what is too large without a word, from the start or from some moment on:
/// everything arrives soon, and the size that is used in the end is nearly what passes.
#[test]
fn black_holes() {
    for_seeds("reliable::sim::path_mtu::black_holes", 60, &[], |seed| {
        let mut random = Random::new(seed);
        let told = [1472, 8972, 57_480][random.below(3) as usize];
        let passes = random.range(548..told as u64) as usize;
        let spec = WorldSpec { max_datagram: told, ..WorldSpec::default() };
        let mut world = World::new(random.word(), &spec, &auth(), true);
        let loss = [0, 0, 10_000, 50_000][random.below(4) as usize];
        world.pipes.iter_mut().for_each(|pipe| pipe.fault.loss = loss);
        if random.below(2) == 0 {
            world.pipes[1].fault.mtu = passes;
        }
        for channel in [Channel::Request, Channel::Reply] {
            let size = told - 64;
            world.send(0, Traffic { to: 1, channel, size, count: random.range(1..200), external: false });
        }
        world.run_until(random.below(3 * MS));
        world.pipes[1].fault.mtu = passes;
        world.send(
            1,
            Traffic { to: 0, channel: Channel::Request, size: told - 64, count: 50, external: true },
        );
        world.finish(10_000 * MS);
        // Long enough to find the size, if it has not been found; a large unit is what asks for it.
        world.send(
            0,
            Traffic { to: 1, channel: Channel::Request, size: told - 64, count: 20, external: false },
        );
        world.finish(10_000 * MS);
        world.run_until(world.now + 10_000 * MS);
        let found = world.engine(0).max_payload(1).expect("a peer") + 64;
        assert!(found <= passes || passes == told, "{found} of {passes}, told {told}");
        if loss == 0 {
            assert!(found + 32 > passes, "{found} of {passes}, told {told}");
        }
        assert_eq!(
            world.engine(1).max_payload(0),
            Some(told - 64),
            "the way back is as wide as it was said to be"
        );
        let said = |event: &&(u32, Event)| matches!(event, (0, Event::PathNarrow { peer: 1, .. }));
        assert_eq!(world.events.iter().filter(said).count(), 1, "it is said once");
    });
}

/// A path that carries small datagrams but none of the size that every path must carry is named,
/// and nothing else is.
#[test]
fn paths_that_are_too_narrow_for_data_are_named() {
    for_seeds("reliable::sim::path_mtu::paths_that_are_too_narrow_for_data_are_named", 10, &[], |seed| {
        let mut random = Random::new(seed);
        let mut world = World::new(random.word(), &WorldSpec::default(), &auth(), true);
        world.pipes[1].fault.mtu = random.range(100..500) as usize;
        world.send(0, Traffic { to: 1, channel: Channel::Request, size: 1400, count: 3, external: false });
        world.run_until(2_000 * MS);
        let named = |event: &&(u32, Event)| matches!(event, (0, Event::PathTooNarrow { peer: 1, path: 0 }));
        assert_eq!(world.events.iter().filter(named).count(), 1, "{:?}", world.events);
    });
}

/// Losses alone, however many, don't make a path narrow for long.
#[test]
fn losses_are_no_black_hole() {
    for_seeds("reliable::sim::path_mtu::losses_are_no_black_hole", 20, &[], |seed| {
        let mut random = Random::new(seed);
        let mut world = World::new(random.word(), &WorldSpec::default(), &auth(), true);
        world.pipes.iter_mut().for_each(|pipe| pipe.fault.loss = 50_000);
        for _ in 0..300 {
            world
                .send(0, Traffic { to: 1, channel: Channel::Request, size: 1400, count: 1, external: false });
            world.finish(1_000 * MS);
        }
        world.run_until(world.now + 1_000 * MS);
        assert_eq!(world.engine(0).max_payload(1), Some(1472 - 64), "{:?}", world.events);
    });
}
