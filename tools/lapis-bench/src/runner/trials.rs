//! Lapis alone, on networks that lose packets or whose rails go down, and what it holds of memory:
//! there are no floors or peers to compare with.

use super::fabric;
use super::memory;
use super::network::Network;
use super::rounds::Figure;
use super::sample::{Sample, keep};
use super::wire;
use crate::peers::Absent;
use anyhow::{Context, Result};
use lapis_bench::pin;
use lapis_bench::record::Unit;
use lapis_bench::stats::Summary;
use std::time::Duration;

/// The trials by name, and what they show.
pub(super) const ALL: [(&str, &str); 3] = [
    ("loss", "1 MiB stream and 1 KiB round trips between two hosts, 1 % of the packets lost"),
    ("rails", "1 MiB stream over one rail and over two"),
    ("stall", "longest pause of a stream over two rails, one of which is pulled"),
];

fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    ALL.iter().chain(&wire::ALL).chain(&fabric::ALL).chain(&memory::ALL)
}

/// Speed of a rail whose number shall count, in megabits a second: two of them stay below what a
/// core sends.
const SLOW: u32 = 2000;
/// Streams with loss and without, in turn, of each round. Where the kernel puts a job's pages and
/// how the cores are shared makes one start of the same stream half as fast again as the next, more
/// than the loss that is looked for.
const STREAMS: usize = 4;
/// A job, start and end included.
const LIMIT: Duration = Duration::from_secs(60);
/// How long the pause of a stream is looked for; when the rail is pulled, from the start of the
/// stream; and when it is cut, from the start of the job.
const STREAM_MS: &str = "800";
const PULL_AFTER: Duration = Duration::from_millis(400);
const CUT_AFTER: Duration = Duration::from_millis(450);

/// Takes those of the trials that are wanted.
pub(super) fn take(
    wanted: impl Fn(&str) -> bool,
    transport: &str,
    (rounds, budget): (usize, Duration),
    absent: &mut Vec<Absent>,
) -> Vec<Figure> {
    let mut samples = Vec::new();
    for (name, _) in all().filter(|(name, _)| wanted(name)) {
        eprintln!("bench: {name}: {rounds} rounds");
        let outcome = match *name {
            "loss" => loss(rounds, budget, &mut samples),
            "rails" => rails(rounds, budget, &mut samples),
            "wire" => wire::take(rounds, budget, &mut samples),
            "fabric" => fabric::take(rounds, budget, &mut samples),
            "memory" => memory::take(transport, rounds, &mut samples),
            _ => stall(rounds, &mut samples),
        };
        if let Err(error) = outcome {
            eprintln!("bench: failed: {name}: {error:#}");
            absent.push(Absent { name: (*name).into(), why: format!("{error:#}") });
        }
    }
    medians(samples)
}

fn loss(rounds: usize, budget: Duration, samples: &mut Vec<Sample>) -> Result<()> {
    let network = Network::make(1)?;
    let time = (budget * 5).as_millis().to_string();
    // A thousandth of the round trips must still be many.
    let long = (budget * 25).as_millis().to_string();
    for _ in 0..rounds {
        for turn in 0..STREAMS {
            for (percent, how) in [(0, "udp, veth"), (1, "udp, veth, 1 % lost")] {
                network.lose(percent)?;
                let stream = ["am_bw", "--sizes", "1M", "--time-ms", &time];
                keep(samples, "loss", how, &network.perf(1, &stream).output(LIMIT)?)?;
                if turn == 0 {
                    let trips = ["rtt_p50", "rtt_p999", "--sizes", "1K", "--time-ms", &long];
                    keep(samples, "loss", how, &network.perf(1, &trips).output(LIMIT)?)?;
                }
            }
        }
    }
    Ok(())
}

fn rails(rounds: usize, budget: Duration, samples: &mut Vec<Sample>) -> Result<()> {
    let network = Network::make(2)?;
    let time = (budget * 5).as_millis().to_string();
    let stream = ["am_bw", "--sizes", "1M", "--time-ms", &time];
    for _ in 0..rounds {
        for (megabits, hows) in [
            (0, ["udp, 1 rail", "udp, 2 rails"]),
            (SLOW, ["udp, 1 rail of 2 Gbit/s", "udp, 2 rails of 2 Gbit/s"]),
        ] {
            network.slow_down(megabits)?;
            for (number, how) in (1..).zip(hows) {
                keep(samples, "rails", how, &network.perf(number, &stream).output(LIMIT)?)?;
            }
        }
    }
    Ok(())
}

/// First a rail that goes silent, then one whose link is set down. That under the usual scheduling:
/// while processes of real-time priority poll on every core, the kernel gets no link down; so what
/// else runs on the machine shows in these pauses.
fn stall(rounds: usize, samples: &mut Vec<Sample>) -> Result<()> {
    let network = Network::make(2)?;
    let stream = ["am_pause", "--sizes", "8K", "--time-ms", STREAM_MS];
    for round in 0..rounds {
        let hand = network.cut_later(round % 2, CUT_AFTER)?;
        let text = network.perf(2, &stream).output(LIMIT);
        let cut = hand.finish(LIMIT);
        network.uncut();
        cut?;
        keep(samples, "stall", "udp, 2 rails, one gone silent", &text?)?;
    }
    pin::leave_real_time().context("cannot go back to the usual scheduling")?;
    for round in 0..rounds {
        keep(samples, "stall", "udp, 2 rails", &network.perf(2, &stream).output(LIMIT)?)?;
        let job = network.perf(2, &[&["am_lat"], &stream[..]].concat());
        let text = network.pull_amid(&job, round % 2, PULL_AFTER, LIMIT)?;
        keep(samples, "stall", "udp, 2 rails, one pulled", &text)?;
    }
    Ok(())
}

/// The medians over the rounds, in the order of the first.
fn medians(samples: Vec<Sample>) -> Vec<Figure> {
    let mut groups: Vec<(Sample, Vec<f64>)> = Vec::new();
    for sample in samples {
        let same = |s: &Sample| {
            (s.trial, s.how, s.record.size) == (sample.trial, sample.how, sample.record.size)
                && s.record.bench == sample.record.bench
        };
        match groups.iter_mut().find(|(s, _)| same(s)) {
            Some((_, values)) => values.push(sample.record.value),
            None => {
                let value = sample.record.value;
                groups.push((sample, vec![value]));
            }
        }
    }
    let figure = |(sample, values): (Sample, Vec<f64>)| {
        let Sample { trial, how, mut record } = sample;
        let Summary { min, median, max, samples } = Summary::of(&values);
        (record.value, record.min, record.max, record.samples) = (median, min, max, samples);
        if record.unit == Unit::Nanoseconds {
            // Units of a table are alike; these times are long.
            record.unit = Unit::Microseconds;
            (record.value, record.min, record.max) = (median / 1e3, min / 1e3, max / 1e3);
        }
        record.transport = format!("{}: {how}", record.bench);
        let what = all().find(|(name, _)| *name == trial).map_or("", |(_, what)| what);
        Figure { bench: trial, what, record, to_floor: None, to_peer: None }
    };
    groups.into_iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_bench::record::Record;

    #[test]
    fn rounds_become_a_median_each() {
        let sample = |how, value: f64| {
            let record = Record::latency("rtt_p50", 1024, Summary::of(&[value]));
            Sample { trial: "loss", how, record }
        };
        let figures = medians(vec![sample("x", 5e3), sample("y", 1e3), sample("x", 9e3), sample("x", 7e3)]);
        let seen: Vec<(&str, f64)> =
            figures.iter().map(|f| (f.record.transport.as_str(), f.record.value)).collect();
        assert_eq!(seen, [("rtt_p50: x", 7.0), ("rtt_p50: y", 1.0)]);
        assert_eq!(figures[0].record.unit, Unit::Microseconds);
    }
}
