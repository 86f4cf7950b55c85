//! Bare AF_XDP over a pair of virtual interfaces: frames that a program at each of them hands to
//! the one socket there, polled.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use super::xdp_socket::{End, FRAME, Mode, in_flight, joined};
use anyhow::{Result, bail};
use lapis_bench::clock;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bytes of the Ethernet's head.
const HEAD: usize = 14;
/// Bytes of data in a frame of a stream, as much as others have.
const DATA: usize = 1460;
/// Bytes of one sample of a stream.
const SAMPLE: u64 = 4 << 20;
/// Without progress for so long, what is under way was lost.
const LOST: Duration = Duration::from_millis(20);

/// A frame of data there and back.
pub(super) fn round_trip(ask: &Ask) -> Result<Vec<Record>> {
    round_trips(ask, "xdp_rtt", Mode::Generic)
}

/// The same with the program in the driver.
pub(super) fn round_trip_native(ask: &Ask) -> Result<Vec<Record>> {
    round_trips(ask, "xdp_rtt_native", Mode::Native)
}

fn round_trips(ask: &Ask, name: &'static str, mode: Mode) -> Result<Vec<Record>> {
    let sizes = ask.sizes.iter().copied().filter(|size| *size as usize + HEAD <= FRAME);
    // Each pair of processes has sockets of its own: how far the rings of the second one have got
    // is known to the process that has used them, which ends.
    sizes.map(|size| one(ask, name, &mut joined(mode)?, size as usize)).collect()
}

fn one(ask: &Ask, name: &'static str, [here, there]: &mut [End; 2], size: usize) -> Result<Record> {
    let shared = Shared::new(4096)?;
    let stop = shared.line(0);
    let summary = process_pair::run(
        |_| {
            let mut lost = 0;
            let summary = clock::per_operation(ask.budget, |count| {
                for _ in 0..count {
                    here.send(size + HEAD);
                    let start = Instant::now();
                    while here.receive() == 0 {
                        if start.elapsed() > LOST {
                            lost += 1;
                            here.send(size + HEAD);
                            break;
                        }
                    }
                }
            });
            stop.store(1, Ordering::Relaxed);
            if lost > 10 { bail!("{lost} frames got lost") } else { Ok(summary) }
        },
        || {
            while stop.load(Ordering::Relaxed) == 0 {
                for _ in 0..there.receive() {
                    there.send(size + HEAD);
                }
            }
            Ok(())
        },
    )?;
    Ok(Record::latency(name, size as u64, summary).of("floor", "xdp"))
}

/// A stream of full frames, whose data is copied out as whoever wants data does.
pub(super) fn stream(ask: &Ask) -> Result<Vec<Record>> {
    streamed(ask, "xdp_stream", Mode::Generic)
}

/// The same with the program in the driver.
pub(super) fn stream_native(ask: &Ask) -> Result<Vec<Record>> {
    streamed(ask, "xdp_stream_native", Mode::Native)
}

fn streamed(ask: &Ask, name: &'static str, mode: Mode) -> Result<Vec<Record>> {
    let [here, there] = &mut joined(mode)?;
    let mut data = [0; FRAME];
    let shared = Shared::new(8192)?;
    let (received, stop) = (shared.line(0), shared.line(16));
    let samples = process_pair::run(
        |_| {
            let (mut sum, mut samples) = (0u64, Vec::new());
            let start = Instant::now();
            while samples.len() < 5 || start.elapsed() < ask.budget {
                let (begin, first) = (Instant::now(), sum);
                while (sum - first) * (DATA as u64) < SAMPLE {
                    sum += here.receive_into(&mut data) as u64;
                    received.store(sum, Ordering::Relaxed);
                    if begin.elapsed() > Duration::from_secs(5) {
                        bail!("{} frames in 5 s", sum - first);
                    }
                }
                let bytes = ((sum - first) * DATA as u64) as f64;
                samples.push(begin.elapsed().as_nanos() as f64 * (1 << 20) as f64 / bytes);
            }
            stop.store(1, Ordering::Relaxed);
            Ok(samples)
        },
        || {
            let (mut sent, mut moved) = (0u64, (0, Instant::now()));
            while stop.load(Ordering::Relaxed) == 0 {
                let seen = received.load(Ordering::Relaxed);
                if seen != moved.0 {
                    moved = (seen, Instant::now());
                }
                if sent.saturating_sub(seen) >= in_flight() {
                    if moved.1.elapsed() > LOST {
                        sent = seen;
                    }
                    continue;
                }
                sent += there.send_many(DATA + HEAD, 32);
            }
            Ok(())
        },
    )?;
    let mut record = Record::bandwidth(name, 1 << 20, Summary::of(&samples)).of("floor", "xdp");
    record.note = Some(format!("{DATA} B of data in a frame"));
    Ok(vec![record])
}
