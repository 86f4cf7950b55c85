//! UDP ping-pong over loopback: connected sockets, polled without sleeping.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use anyhow::{Context, Result};
use lapis_bench::clock;
use lapis_bench::record::Record;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::Ordering;

/// The largest payload that an IPv4 datagram holds is 65507 bytes; a floor above 64000 says nothing
/// more.
const MAX: u64 = 64_000;

pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    ask.sizes.iter().copied().filter(|&s| s <= MAX).map(|size| one(ask, size as usize)).collect()
}

/// Two sockets of this machine, each connected to the other.
pub(super) fn pair() -> Result<(UdpSocket, UdpSocket)> {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind a UDP socket to loopback");
    let (a, b) = (bind()?, bind()?);
    a.connect(b.local_addr()?)?;
    b.connect(a.local_addr()?)?;
    a.set_nonblocking(true)?;
    b.set_nonblocking(true)?;
    Ok((a, b))
}

fn one(ask: &Ask, size: usize) -> Result<Record> {
    let shared = Shared::new(4096)?;
    let stop = shared.line(0);
    let (here, there) = pair()?;
    let summary = process_pair::run(
        |_| {
            let (out, mut back) = (vec![1u8; size], vec![0u8; size + 1]);
            let mut failure = None;
            let summary = clock::per_operation(ask.budget, |count| {
                for _ in 0..count {
                    let round = here.send(&out).and_then(|_| receive(&here, &mut back, || false));
                    failure = failure.take().or(round.err());
                }
            });
            stop.store(1, Ordering::Relaxed);
            failure.map_or(Ok(summary), |error| Err(error).context("UDP ping-pong"))
        },
        || {
            let mut buffer = vec![0u8; size + 1];
            let stopped = || stop.load(Ordering::Relaxed) == 1;
            while let Some(length) = receive(&there, &mut buffer, stopped)? {
                there.send(&buffer[..length])?;
            }
            Ok(())
        },
    )?;
    Ok(Record::latency("udp_lat", size as u64, summary.scaled(0.5)).of("floor", "udp"))
}

fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    stopped: impl Fn() -> bool,
) -> std::io::Result<Option<usize>> {
    loop {
        match socket.recv(buffer) {
            Ok(length) => return Ok(Some(length)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if stopped() {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error),
        }
    }
}
