//! Two engines, and a hand on every datagram between them.

mod fast_path;
mod flapping;
mod flow;
mod many_in_flight;
mod path_mtu;
mod peers;
mod preferred_paths;
mod standby;
mod trust;

use super::wire::{ACK_NOW, HEADER_LEN, Header};
use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Tasks 0 and 1, each other's peer.
struct Pair {
    now: Nanos,
    engines: [Engine<JobAuth>; 2],
    /// Datagrams on their way to each task.
    wires: [Vec<Vec<u8>>; 2],
    /// Units that each task got.
    got: [Vec<Vec<u8>>; 2],
    memory: Buffers,
}

struct Buffers(Vec<u8>);

impl Memory for Buffers {
    fn read(&mut self, buffer: u64, offset: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        if buffer == 0 {
            // What was withdrawn.
            return read(&vec![0; len as usize]);
        }
        assert_eq!(buffer, 9);
        read(&self.0[offset as usize..][..len as usize]);
    }
}

fn auth() -> JobAuth {
    JobAuth::new(&[5; 32])
}

fn engine(task: u32, config: &EngineConfig) -> Engine<JobAuth> {
    Engine::new(config.clone(), task, 3, auth()).expect("a valid configuration")
}

impl Pair {
    fn with(config: &EngineConfig, paths: &[PathInfo], known: Option<u32>) -> Self {
        let engines = [0, 1].map(|task| {
            let mut engine = engine(task, config);
            engine.add_peer(0, 1 - task, 1, known, paths).expect("a new peer");
            engine
        });
        let memory = Buffers((0..100_000u32).map(|n| (n * 7 % 251) as u8).collect());
        Self { now: 0, engines, wires: Default::default(), got: Default::default(), memory }
    }

    fn new() -> Self {
        Self::with(&EngineConfig::default(), &[PathInfo::new(0, 1472)], Some(1))
    }

    fn submit(&mut self, from: usize, channel: Channel, body: &[u8], token: u64) -> Result<(), SubmitError> {
        self.engines[from].submit(self.now, 1 - from as u32, channel, b"h:", Body::Copy(body), token)
    }

    /// Puts what a task has to send on its wire; returns how many datagrams.
    fn send(&mut self, from: usize) -> usize {
        self.engines[from].on_timeout(self.now);
        let (mut out, before) = (Transmit::default(), self.wires[1 - from].len());
        while self.engines[from].poll_transmit(self.now, &mut self.memory, &mut out) {
            for index in 0..out.datagrams() {
                let mut datagram = Vec::new();
                out.copy_datagram(index, &mut self.memory, &mut datagram);
                self.wires[1 - from].push(datagram);
            }
        }
        self.wires[1 - from].len() - before
    }

    fn deliver(&mut self, to: usize, datagram: &[u8], verdict: Verdict) {
        let got = &mut self.got[to];
        self.engines[to].on_datagram(self.now, datagram, |delivery| {
            if verdict == Verdict::Accept {
                got.push(delivery.packet.to_vec());
            }
            verdict
        });
    }

    /// Delivers what is on the wire to a task.
    fn receive(&mut self, to: usize) {
        for datagram in std::mem::take(&mut self.wires[to]) {
            self.deliver(to, &datagram, Verdict::Accept);
        }
    }

    /// Lets time pass, and everything through.
    fn run(&mut self, time: Nanos) {
        let until = self.now + time;
        loop {
            for task in 0..2 {
                self.send(task);
                self.receive(1 - task);
            }
            if self.wires.iter().all(Vec::is_empty) && !self.engines_busy() {
                let next = self.engines.iter_mut().filter_map(Engine::next_timeout).min();
                match next {
                    Some(at) if at <= until => self.now = self.now.max(at),
                    _ => break,
                }
            }
        }
        self.now = until;
    }

    fn engines_busy(&mut self) -> bool {
        self.send(0) + self.send(1) > 0
    }

    fn events(&mut self, task: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.engines[task].poll_event()).collect()
    }
}

fn header(datagram: &[u8]) -> Header {
    Header::parse(datagram).expect("a datagram of ours").0
}
