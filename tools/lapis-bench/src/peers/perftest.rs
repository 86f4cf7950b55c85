//! UCX's own measuring program.

use super::{Party, Request};
use crate::exec::Line;
use anyhow::{Context, Result, bail};
use lapis_bench::pin;
use lapis_bench::record::{Record, Unit};
use lapis_bench::stats::Summary;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

/// Its name of a test, and which column of its table is the figure.
fn test_of(bench: &str) -> Option<(&'static str, Unit)> {
    Some(match bench {
        "am_lat" => ("ucp_am_lat", Unit::Nanoseconds),
        "am_rate" => ("ucp_am_bw", Unit::Millions),
        "am_bw" => ("ucp_am_bw", Unit::Gigabytes),
        "put_lat" => ("ucp_put_lat", Unit::Nanoseconds),
        "put_rate" => ("ucp_put_bw", Unit::Millions),
        "put_bw" => ("ucp_put_bw", Unit::Gigabytes),
        "get_lat" => ("ucp_get", Unit::Nanoseconds),
        "get_bw" => ("ucp_get", Unit::Gigabytes),
        "fadd" => ("ucp_fadd", Unit::Nanoseconds),
        _ => return None,
    })
}

pub(super) fn measure(
    party: &Party,
    line: &Line,
    request: &Request<'_>,
    limit: Duration,
) -> Result<Vec<Record>> {
    let Some((test, unit)) = test_of(request.bench) else {
        return Ok(Vec::new());
    };
    let sizes: &[u64] = if request.bench == "fadd" { &[8] } else { request.sizes };
    let mut records = Vec::new();
    for &size in sizes.iter().filter(|&&s| s > 0) {
        let text = run(line, test, size, iterations(request, party, size), limit)?;
        let value =
            figure(&text, unit).with_context(|| format!("ucx_perftest printed no figures for {test}"))?;
        let once = Summary { min: value, median: value, max: value, samples: 1 };
        // The times are already in the right unit: only name them.
        let mut record = Record::latency(request.bench, size, once).of(&party.name, &party.transport);
        record.unit = unit;
        // Its put latency is a ping-pong seen by both sides, where ours is the time until the
        // origin knows.
        let seen = if test == "ucp_put_lat" { ", seen by the target" } else { "" };
        record.note = Some(format!("ucx_perftest -t {test}{seen}"));
        records.push(record);
    }
    Ok(records)
}

/// Enough for the time that is wanted: it takes a count, so the time of one is guessed, on the
/// small side.
fn iterations(request: &Request<'_>, party: &Party, size: u64) -> u64 {
    let each_ns = if party.transport == "tcp" { 6000 } else { 100 } + size / 10;
    (request.budget.as_nanos() as u64 / each_ns).clamp(50, 10_000_000)
}

fn run(line: &Line, test: &str, size: u64, iterations: u64, limit: Duration) -> Result<String> {
    let (here, there) = pin::pair();
    let port = free_port()?.to_string();
    let server = line.clone().args(["-p", &port]).on_core(there).spawn()?;
    let start = Instant::now();
    // It takes one connection only, so a trial connection can't be how we learn that it listens.
    while !listens(&port) {
        if start.elapsed() > Duration::from_secs(10) {
            bail!("ucx_perftest's server did not listen on port {port} within 10 s");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let warmup = (iterations / 10).to_string();
    let (size, count) = (size.to_string(), iterations.to_string());
    let options = ["127.0.0.1", "-p", &port, "-t", test, "-s", &size, "-n", &count, "-w", &warmup, "-f"];
    let text = line.clone().args(options).on_core(here).output(limit)?;
    server.finish(Duration::from_secs(10))?;
    Ok(text)
}

/// A port that nobody uses now. Somebody may take it before the server does; the sample then fails
/// and is retaken.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Whether the kernel's table holds a listening TCP socket (state 0A) with this port.
pub(super) fn listens(port: &str) -> bool {
    let Ok(port) = port.parse::<u16>() else {
        return false;
    };
    let wanted = format!(":{port:04X}");
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        text.lines().any(|l| {
            let words: Vec<&str> = l.split_whitespace().collect();
            words.len() > 3 && words[1].ends_with(&wanted) && words[3] == "0A"
        })
    })
}

/// Reads the last line of figures: iterations, latency µs (median, average, overall), MiB/s (two),
/// messages/s (two).
fn figure(text: &str, unit: Unit) -> Option<f64> {
    let numbers = |l: &str| l.split_whitespace().map(|w| w.parse().ok()).collect::<Option<Vec<f64>>>();
    let row = text.lines().rev().filter_map(numbers).find(|n| n.len() == 8)?;
    Some(match unit {
        Unit::Nanoseconds => row[3] * 1e3,
        Unit::Microseconds => row[3],
        Unit::Gigabytes => row[5] * f64::from(1 << 20) / 1e9,
        Unit::Millions => row[7] / 1e6,
        // No test of its own measures that.
        Unit::Percent | Unit::Kibibytes => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_of_its_table_is_read() {
        let text = "| Test | # iterations |\n+---+\n   100000   0.065   0.105   0.105   72.37   72.37   9485405   9485405\n";
        assert_eq!(figure(text, Unit::Nanoseconds), Some(105.0));
        assert_eq!(figure(text, Unit::Millions), Some(9.485405));
        assert!((figure(text, Unit::Gigabytes).unwrap() - 0.075886).abs() < 1e-5);
        assert_eq!(figure("no table", Unit::Millions), None);
    }

    #[test]
    fn a_listening_port_is_seen_without_connecting_to_it() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        assert!(listens(&port));
        drop(listener);
        assert!(!listens(&port));
    }
}
