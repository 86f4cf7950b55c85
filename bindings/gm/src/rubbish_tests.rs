//! A port that is sent rubbish: whole units by a peer that keeps no rules, and datagrams by
//! somebody who has the window and no secret.

use crate::port::Port;
use crate::settings::Settings;
use crate::stream::Op;
use crate::wire::{Head, Kind, LONG};
use crate::{stream, wish};
use lapis_adapters::channel::Address;
use lapis_adapters::soft::Sender;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use std::time::Duration;

/// A daemon of a test's own, and where it listens.
pub(crate) fn daemon(test: &str) -> (Address, Handle) {
    young_daemon(test, Duration::ZERO)
}

/// The same that for so long does not know what ports there are.
pub(crate) fn young_daemon(test: &str, youth: Duration) -> (Address, Handle) {
    let address = Address::new(&format!("lapis-gm-{test}-{}", std::process::id()));
    let adapters = soft_adapters(1, 1, 16).expect("possible");
    let options =
        Options { address: address.clone(), adapters, share: Some(16), youth, ..Options::default() };
    (address, Server::open(options).expect("nobody listens there").spawn().expect("a thread"))
}

pub(crate) fn open(test: &str) -> (Port, Handle) {
    let (daemon, handle) = daemon(test);
    let settings = Settings { daemon, node: "left".to_owned(), ..Settings::of_process() };
    (Port::open(settings, 0, 2, "rubbish").expect("free"), handle)
}

/// Random numbers, the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Mostly small, sometimes anything.
    fn number(&mut self) -> u64 {
        match self.next() % 8 {
            0 => self.next(),
            1 => u64::MAX - self.next() % 4,
            _ => self.next() % 6,
        }
    }
}

#[test]
fn units_of_a_peer_that_keeps_no_rules_cost_nothing_but_its_own_messages() {
    let (mut port, _daemon) = open("units");
    let mut random = Random(99);
    let mut buffers = vec![vec![0u8; 1 << 14]; 200];
    let own = port.peer(port.node, 2);
    for buffer in &mut buffers {
        let size = 3 + (random.next() % 12) as u32;
        let at = buffer.as_mut_ptr().expose_provenance() as u64;
        port.provide(at, size, (random.next() & 1) as u32, 0);
    }
    let memory = vec![7u8; 9000];
    port.regions.add(memory.as_ptr().expose_provenance() as u64, 100);
    for round in 0..20_000 {
        if round % 50 == 0 {
            // Something for the answers to be about.
            let teller = stream::Teller::Event;
            let local = memory.as_ptr().expose_provenance() as u64;
            let (op, node) = (Op::Message { size: 14 }, port.node);
            port.send(wish::Wish { op, local, len: 9000, priority: 0, node, port: 2, teller });
        }
        let kinds = [Kind::Message, Kind::LongMessage, Kind::Put, Kind::LongPut, Kind::Get, Kind::Go];
        let more = [Kind::Part, Kind::Got, Kind::Done, Kind::Failed, Kind::Datagram, Kind::Bundle];
        let all: Vec<Kind> = kinds.into_iter().chain(more).collect();
        let kind = all[(random.next() % 12) as usize];
        let head = Head {
            size: (random.next() % 32) as u8,
            status: random.next() as u8,
            a: random.number(),
            b: random.number(),
            ..Head::new(kind, (random.next() & 1) as usize, random.number() as u32, random.number())
        };
        let (bytes, len) = head.encode();
        let unit = [&bytes[..len], &memory[..(random.next() % 300) as usize]].concat();
        port.unit(own, &unit);
        port.unit(own, &unit[..(random.next() as usize) % (LONG.min(unit.len()) + 1)]);
        port.stir(own);
        if round % 7 == 0 {
            port.poll();
            port.events.clear();
            port.sent.clear();
        }
    }
    assert!(memory.iter().all(|byte| *byte == 7), "nobody has opened this memory to others");
}

#[test]
fn datagrams_of_somebody_without_the_secret_are_not_heard() {
    let (mut port, _daemon) = open("datagrams");
    let mut random = Random(7);
    let way = port.daemon.attach_port(port.node, port.node, 2, port.key).expect("it is open");
    let lapis_adapters::client::PortWay::Here { parts, .. } = way else { panic!("this host's") };
    let mut sender = Sender::open(parts, lapis_copies::Copies::USUAL).expect("maps");
    for _ in 0..20_000 {
        let len = 1 + (random.next() % 2000) as usize;
        let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        // SAFETY: there is room for so many bytes.
        sender.send(len, |to| unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), len) });
        port.poll();
    }
    assert!(port.events.is_empty() && port.counters.received == 0);
    assert_eq!(port.peers.len(), 1, "nobody but the port itself");
}
