//! Windows of Ethernet interfaces beside UDP sockets, over the same pairs of virtual interfaces
//! between two hosts.

use super::network::Network;
use super::sample::{Sample, keep};
use crate::exec::Line;
use anyhow::Result;
use std::time::Duration;

/// The trial by name, and what it shows.
pub(super) const ALL: [(&str, &str); 1] =
    [("wire", "windows of interfaces (AF_XDP) and UDP sockets between two hosts, over veth")];

/// A job, start and end included.
const LIMIT: Duration = Duration::from_secs(60);

/// What is measured: bench, sizes, interfaces.
const MEASURED: [(&str, &str, usize); 5] =
    [("rtt_p50", "8", 1), ("am_rate", "8", 1), ("am_bw", "1M", 1), ("am_bw", "64K", 1), ("am_bw", "1M", 2)];

/// Takes the trial's figures, the two transports by turns.
pub(super) fn take(rounds: usize, budget: Duration, samples: &mut Vec<Sample>) -> Result<()> {
    let network = Network::make(2)?;
    let _daemons = network.daemons()?;
    let time = (budget * 5).as_millis().to_string();
    let exe = std::env::current_exe()?;
    for _ in 0..rounds {
        for floor in ["xdp_rtt", "xdp_stream", "xdp_rtt_native", "xdp_stream_native"] {
            let line = Line::new([exe.as_os_str()]).args(["floor", "--only", floor, "--sizes", "8"]);
            let line = line.args(["--time-ms", &time]);
            keep(samples, "wire", "floor", &line.output(LIMIT)?)?;
        }
        for (bench, sizes, rails) in MEASURED {
            for (transport, hows) in
                [("udp", ["udp, 1 rail", "udp, 2 rails"]), ("hps", ["hps, 1 rail", "hps, 2 rails"])]
            {
                let arguments = [bench, "--sizes", sizes, "--time-ms", &time];
                let line = network.perf_over(transport, rails, &arguments);
                keep(samples, "wire", hows[rails - 1], &line.output(LIMIT)?)?;
            }
        }
    }
    Ok(())
}
