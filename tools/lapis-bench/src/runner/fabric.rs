//! Rails of libfabric's tcp provider between two hosts: what two carry, and what it costs when one
//! of them is pulled.

use super::network::Network;
use super::sample::{Sample, keep};
use crate::exec::Line;
use anyhow::{Context, Result};
use lapis_bench::pin;
use std::time::Duration;

/// The trial by name, and what it shows.
pub(super) const ALL: [(&str, &str); 1] = [("fabric", "rails of tcp;ofi_rxm between two hosts, over veth")];

/// Speed of a rail, in megabits a second: two of them stay below what a core sends.
const SLOW: u32 = 2000;
/// How long a figure takes of which a rail is pulled, and when it is pulled: in the middle.
const PULLED_MS: &str = "1000";
const PULL_AFTER: Duration = Duration::from_millis(500);
/// What is measured with all rails and with one pulled: bench and size.
const PULLED: [(&str, &str); 3] = [("put_goodput", "1M"), ("rtt_p999", "1K"), ("am_pause", "8K")];
/// A job, start and end included.
const LIMIT: Duration = Duration::from_secs(60);

/// Takes the trial's figures. Puts are cut into pieces for the rails; messages would need gets for
/// that, which old versions of libfabric don't have over several rails.
pub(super) fn take(rounds: usize, budget: Duration, samples: &mut Vec<Sample>) -> Result<()> {
    let network = Network::make(2)?;
    let time = (budget * 5).as_millis().to_string();
    network.slow_down(SLOW)?;
    network.settle()?;
    for _ in 0..rounds {
        for (rails, how) in (1..).zip(["1 rail of 2 Gbit/s", "2 rails of 2 Gbit/s"]) {
            let stream = ["put_bw", "--sizes", "1M", "--time-ms", &time];
            keep(samples, "fabric", how, &over(&network, rails, &stream).output(LIMIT)?)?;
        }
    }
    // As in the trial `stall`: beside pollers of real-time priority no link goes down.
    pin::leave_real_time().context("cannot go back to the usual scheduling")?;
    for (round, (bench, size)) in (0..rounds).flat_map(|round| PULLED.map(|bench| (round, bench))) {
        let whole = [bench, "--sizes", size, "--time-ms", PULLED_MS];
        keep(samples, "fabric", "2 rails of 2 Gbit/s", &over(&network, 2, &whole).output(LIMIT)?)?;
        let job = over(&network, 2, &[&["am_lat"], &whole[..]].concat());
        let text = network.pull_amid(&job, round % 2, PULL_AFTER, LIMIT)?;
        network.settle()?;
        keep(samples, "fabric", "2 rails of 2 Gbit/s, one pulled", &text)?;
    }
    Ok(())
}

/// `lapis-perf` over the first so many rails.
fn over(network: &Network, rails: usize, arguments: &[&str]) -> Line {
    let devices: Vec<String> = (0..rails).map(|rail| format!("r{rail}")).collect();
    let line = network.perf_on_all("rdma", arguments).var("LAPIS_RDMA_DOMAIN", devices.join(","));
    line.var("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm")
}
