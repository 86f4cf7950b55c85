//! Many engines in virtual time over networks as bad as one likes.
//!
//! A [`World`] owns the engines, the pipes between them and the clock. Everything that happens
//! follows from one seed. What the tasks send is written into a [`Ledger`], which panics when a
//! unit arrives twice, changed, or out of nowhere, and knows what is missing.
//!
//! Tests run a few seeds of each property and those that once showed a fault;
//! `LAPIS_SIM_SEEDS=5000` runs so many (from `LAPIS_SIM_FROM` on; `cargo xtask nightly --only
//! simulator`), `LAPIS_SIM_SEED=17` one. A failing seed prints the command that runs it again.

#[cfg(test)]
mod incarnations;
mod ledger;
mod network;
#[cfg(test)]
mod path_mtu;
#[cfg(test)]
mod properties;
mod random;
mod spec;
mod task;
mod world;

pub use ledger::{Ledger, Note};
pub use network::{Fault, Pipe};
pub use random::Random;
pub use spec::{Traffic, WorldSpec};
pub use world::World;

/// Failing seeds of one property after which the others are not run.
const ENOUGH_FAILURES: usize = 10;

/// Runs `property` for the seeds that the environment asks for; without, for `known`, which once
/// showed a fault, and the first `seeds`. Every seed that panics is named with the command that
/// replays it.
///
/// # Panics
/// At the end, if a seed did; with many, before the end.
pub fn for_seeds(test: &str, seeds: u64, known: &[u64], property: impl Fn(u64) + std::panic::RefUnwindSafe) {
    // The command below must name the test that runs. Where tests have threads of their own, these
    // are called after them.
    if let Some(name) = std::thread::current().name().filter(|name| *name != "main") {
        assert_eq!(name, test, "the name that replays this property");
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (known, range) = match (number("LAPIS_SIM_SEED"), number("LAPIS_SIM_SEEDS")) {
        (Some(seed), _) => (&[][..], seed..seed + 1),
        (None, Some(count)) => {
            let first = number("LAPIS_SIM_FROM").unwrap_or(0);
            (&[][..], first..first + count)
        }
        (None, None) => (known, 0..seeds),
    };
    let before = known.iter().copied().filter(|seed| !range.contains(seed));
    let mut failed = Vec::new();
    for seed in before.chain(range.clone()) {
        if std::panic::catch_unwind(|| property(seed)).is_err() {
            eprintln!(
                "replay: LAPIS_SIM_SEED={seed} cargo test -p lapis-core --lib -- --exact --nocapture {test}"
            );
            failed.push(seed);
            if failed.len() == ENOUGH_FAILURES {
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{test} fails for the seeds {failed:?}");
}
