//! TCP over loopback: ping-pong without delay, and a stream.

use super::Ask;
use super::process_pair;
use anyhow::{Context, Result};
use lapis_bench::clock;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Instant;

/// Bytes of one write of the stream.
const CHUNK: usize = 1 << 20;
/// Writes that make one sample.
const CHUNKS: usize = 8;

pub(super) fn latency(ask: &Ask) -> Result<Vec<Record>> {
    ask.sizes
        .iter()
        .copied()
        .filter(|&s| (1..=1 << 16).contains(&s))
        .map(|size| ping(ask, size as usize))
        .collect()
}

pub(super) fn stream(ask: &Ask) -> Result<Vec<Record>> {
    let (mut here, mut there) = pair()?;
    let samples = process_pair::run(
        |_| {
            let (mut buffer, mut samples, start) = (vec![0u8; CHUNK], Vec::new(), Instant::now());
            while samples.len() < 5 || start.elapsed() < ask.budget {
                let begin = Instant::now();
                for _ in 0..CHUNKS {
                    here.read_exact(&mut buffer)?;
                }
                samples.push(begin.elapsed().as_nanos() as f64 / CHUNKS as f64);
            }
            here.shutdown(std::net::Shutdown::Both)?;
            Ok(samples)
        },
        || {
            let data = vec![1u8; CHUNK];
            // The reader ends the stream by closing it.
            while there.write_all(&data).is_ok() {}
            Ok(())
        },
    )?;
    Ok(vec![Record::bandwidth("tcp_stream", CHUNK as u64, Summary::of(&samples)).of("floor", "tcp")])
}

fn ping(ask: &Ask, size: usize) -> Result<Record> {
    let (mut here, mut there) = pair()?;
    here.set_nonblocking(true)?;
    there.set_nonblocking(true)?;
    let summary = process_pair::run(
        |_| {
            let (out, mut back) = (vec![1u8; size], vec![0u8; size]);
            let mut failure = None;
            let summary = clock::per_operation(ask.budget, |count| {
                for _ in 0..count {
                    let round = spin_write(&mut here, &out).and_then(|()| spin_read(&mut here, &mut back));
                    failure = failure.take().or(round.err());
                }
            });
            here.shutdown(std::net::Shutdown::Both)?;
            failure.map_or(Ok(summary), |error| Err(error).context("TCP ping-pong"))
        },
        || {
            let mut buffer = vec![0u8; size];
            while spin_read(&mut there, &mut buffer).is_ok() {
                spin_write(&mut there, &buffer)?;
            }
            Ok(())
        },
    )?;
    Ok(Record::latency("tcp_lat", size as u64, summary.scaled(0.5)).of("floor", "tcp"))
}

fn pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on loopback")?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    Ok((here, there))
}

fn spin_read(stream: &mut TcpStream, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => buffer = &mut buffer[length..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn spin_write(stream: &mut TcpStream, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        match stream.write(data) {
            Ok(length) => data = &data[length..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
