//! A stream of UDP datagrams with segmentation offload on both sides (GSO, GRO).

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use super::udp::pair;
use anyhow::{Context, Result, bail};
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bytes of one datagram on the wire: what fits an Ethernet frame with room for headers.
const SEGMENT: usize = 1400;
/// Datagrams that one call hands to the kernel; their sum must stay below 64 KiB.
const SEGMENTS: usize = 46;
/// Bytes under way at most: what a receive buffer of the kernel's default size holds.
const WINDOW: u64 = 4 * (SEGMENT * SEGMENTS) as u64;
/// Bytes of one sample.
const SAMPLE: u64 = 4 << 20;
/// Without progress for so long, what is under way was lost.
const LOST: Duration = Duration::from_millis(20);

pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    let shared = Shared::new(8192)?;
    let (received, stop) = (shared.line(0), shared.line(16));
    let (here, there) = pair()?;
    option(&here, libc::UDP_GRO, 1).context("this kernel does not join datagrams (UDP_GRO)")?;
    option(&there, libc::UDP_SEGMENT, SEGMENT as libc::c_int)
        .context("this kernel does not split (UDP_SEGMENT)")?;
    let samples = process_pair::run(
        |_| {
            let (mut buffer, mut samples) = (vec![0u8; 1 << 16], Vec::new());
            let (start, mut sum) = (Instant::now(), 0);
            while samples.len() < 5 || start.elapsed() < ask.budget {
                let (begin, first) = (Instant::now(), sum);
                while sum - first < SAMPLE {
                    match here.recv(&mut buffer) {
                        Ok(length) => {
                            sum += length as u64;
                            received.store(sum, Ordering::Relaxed);
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(error) => bail!("UDP stream: {error}"),
                    }
                    // The sender starts again after a loss; a stream that never moves again is an
                    // error.
                    if begin.elapsed() > Duration::from_secs(5) {
                        bail!("UDP stream: {} of {SAMPLE} bytes in 5 s", sum - first);
                    }
                }
                samples.push(begin.elapsed().as_nanos() as f64 * (1 << 20) as f64 / (sum - first) as f64);
            }
            stop.store(1, Ordering::Relaxed);
            Ok(samples)
        },
        || {
            let data = vec![1u8; SEGMENT * SEGMENTS];
            let (mut sent, mut moved) = (0u64, (0, Instant::now()));
            while stop.load(Ordering::Relaxed) == 0 {
                let seen = received.load(Ordering::Relaxed);
                if seen != moved.0 {
                    moved = (seen, Instant::now());
                }
                if sent.saturating_sub(seen) >= WINDOW {
                    if moved.1.elapsed() > LOST {
                        sent = seen;
                    }
                    continue;
                }
                match there.send(&data) {
                    Ok(length) => sent += length as u64,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => bail!("UDP stream: {error}"),
                }
            }
            Ok(())
        },
    )?;
    let mut record = Record::bandwidth("udp_stream", 1 << 20, Summary::of(&samples)).of("floor", "udp");
    record.note = Some(format!("{SEGMENT} B datagrams, GSO and GRO, {SEGMENTS} a call"));
    Ok(vec![record])
}

fn option(socket: &UdpSocket, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open, value is a c_int that lives through the call, length is its
    // size.
    match unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, name, (&raw const value).cast(), length)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
