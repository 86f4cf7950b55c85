//! Rails of libfabric's tcp provider between two hosts: what two carry.

use super::network::Network;
use super::sample::{Sample, keep};
use crate::exec::Line;
use anyhow::Result;
use std::time::Duration;

/// The trial by name, and what it shows.
pub(super) const ALL: [(&str, &str); 1] = [("fabric", "rails of tcp;ofi_rxm between two hosts, over veth")];

/// Speed of a rail, in megabits a second: two of them stay below what a core sends.
const SLOW: u32 = 2000;
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
    Ok(())
}

/// `lapis-perf` over the first so many rails.
fn over(network: &Network, rails: usize, arguments: &[&str]) -> Line {
    let devices: Vec<String> = (0..rails).map(|rail| format!("r{rail}")).collect();
    let line = network.perf_on_all("rdma", arguments).var("LAPIS_RDMA_DOMAIN", devices.join(","));
    line.var("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm")
}
