//! Many engines in virtual time over networks as bad as one likes.
//!
//! A [`World`] owns the engines, the pipes between them and the clock. Everything that happens follows from one
//! seed. What the tasks send is written into a [`Ledger`], which panics when a unit arrives twice, changed, or
//! out of nowhere, and knows what is missing.
//!
//! Tests run a few seeds of each property; `LAPIS_SIM_SEEDS=5000` runs so many, `LAPIS_SIM_DOSE=40` so many times as many as usual
//! (`cargo xtask test --nightly`), `LAPIS_SIM_SEED=17` one. A failing seed prints the command that runs it again.

#[cfg(test)]
mod incarnations;
mod ledger;
mod network;
#[cfg(test)]
mod properties;
mod random;
mod spec;
mod world;

pub use ledger::{Ledger, Note};
pub use network::{Fault, Pipe};
pub use random::Random;
pub use spec::{Traffic, WorldSpec};
pub use world::World;

/// Runs `property` for the seeds that the environment asks for, `seeds` without; a seed that panics is named with
/// the command that replays it.
pub fn for_seeds(test: &str, seeds: u64, property: impl Fn(u64) + std::panic::RefUnwindSafe) {
    // The command below must name the test that runs. Where tests have threads of their own, these are called after them.
    if let Some(name) = std::thread::current().name().filter(|name| *name != "main") {
        assert_eq!(name, test, "the name that replays this property");
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let range = match (number("LAPIS_SIM_SEED"), number("LAPIS_SIM_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count) => 0..count.unwrap_or(seeds * number("LAPIS_SIM_DOSE").unwrap_or(1)),
    };
    for seed in range {
        if let Err(panic) = std::panic::catch_unwind(|| property(seed)) {
            eprintln!(
                "replay: LAPIS_SIM_SEED={seed} cargo test -p lapis-core --lib -- --exact --nocapture {test}"
            );
            std::panic::resume_unwind(panic);
        }
    }
}
