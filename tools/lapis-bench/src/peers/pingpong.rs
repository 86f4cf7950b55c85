//! libfabric's own ping-pong, `fi_pingpong`: latency of messages over a provider.

use super::perftest::{free_port, listens};
use super::{Party, Request};
use crate::exec::Line;
use anyhow::{Context, Result, bail};
use lapis_bench::pin;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::time::{Duration, Instant};

pub(super) fn measure(
    party: &Party,
    line: &Line,
    request: &Request<'_>,
    limit: Duration,
) -> Result<Vec<Record>> {
    if request.bench != "am_lat" {
        return Ok(Vec::new());
    }
    let mut records = Vec::new();
    for &size in request.sizes.iter().filter(|&&s| s > 0) {
        // It takes a count, so the time of one is guessed, on the small side.
        let each_ns = if party.transport == "shm" { 400 } else { 15_000 } + size / 5;
        let count = (request.budget.as_nanos() as u64 / each_ns).clamp(50, 1_000_000);
        let text = run(line, size, count, limit)?;
        let value = one_way_ns(&text).context("fi_pingpong printed no figures")?;
        let once = Summary { min: value, median: value, max: value, samples: 1 };
        let mut record = Record::latency(request.bench, size, once).of(&party.name, &party.transport);
        record.note = Some("fi_pingpong -e rdm".into());
        records.push(record);
    }
    Ok(records)
}

fn run(line: &Line, size: u64, count: u64, limit: Duration) -> Result<String> {
    let (here, there) = pin::pair();
    let port = free_port()?.to_string();
    let line = line.clone().args(["-e", "rdm", "-S", &size.to_string(), "-I", &count.to_string()]);
    let server = line.clone().args(["-B", &port]).on_core(there).spawn()?;
    let start = Instant::now();
    while !listens(&port) {
        if start.elapsed() > Duration::from_secs(10) {
            bail!("fi_pingpong's server did not listen on port {port} within 10 s");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let text = line.args(["-P", &port, "127.0.0.1"]).on_core(here).output(limit)?;
    server.finish(Duration::from_secs(10))?;
    Ok(text)
}

/// Reads the row of figures: bytes, sent, acknowledged, total, time, MB/s, µs for a transfer (one
/// way), millions a second.
fn one_way_ns(text: &str) -> Option<f64> {
    let row = text.lines().rev().map(|l| l.split_whitespace().collect::<Vec<_>>()).find(|w| w.len() == 8)?;
    Some(row[6].parse::<f64>().ok()? * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_of_its_table_is_read() {
        let text = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n\
                    8       20k     =20k     312k        2.75s      0.12      68.66       0.01\n";
        assert_eq!(one_way_ns(text), Some(68_660.0));
        assert_eq!(one_way_ns("fi_getinfo: -61\n"), None);
    }
}
