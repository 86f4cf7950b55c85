//! A transport over datagram sockets of this machine (reliable and in order on Linux), with a
//! choice of bugs.

use lapis_core::transport::{
    Attributes, Caps, Event, Host, Limits, OpenParams, PeerId, Status, Transport, TransportError, Waiter,
};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

const TWICE: u32 = 1;
const SWAPPED: u32 = 2;
const CHANGED: u32 = 3;
const LIMITLESS: u32 = 4;
const REUSED: u32 = 5;
const WARNS: u32 = 6;
const LOSES: u32 = 7;
const ASKS: u32 = 8;

macro_rules! variants {
    ($($module:ident = $name:literal $bug:expr),* $(,)?) => {
        $(pub(crate) mod $module {
            lapis_core::export_transport!(super::Pipes<{ $bug }>, $name, "0.0.1");
        })*
    };
}

const MAX: usize = 1024;
const BATCH: usize = 16;

pub(crate) struct Pipes<const BUG: u32> {
    task: PeerId,
    name: Vec<u8>,
    socket: UnixDatagram,
    peers: HashMap<PeerId, SocketAddr>,
    /// Bytes of the last poll's messages.
    bytes: Vec<[u8; MAX + 4]>,
    sent: u64,
    held: Option<(PeerId, Vec<u8>)>,
    /// Polls in a row that found nothing.
    idle: u32,
}

pub(crate) struct Sockets {
    socket: UnixDatagram,
    notifier: OwnedFd,
}

impl<const BUG: u32> Pipes<BUG> {
    fn send(&mut self, peer: PeerId, message: &[u8]) -> Status {
        match self.socket.send_to_addr(message, &self.peers[&peer]) {
            Ok(_) => Status::Done,
            Err(e) if e.kind() == ErrorKind::WouldBlock => Status::Again,
            // Its end is closed: nobody is there to read.
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotConnected) => {
                Status::PeerDown
            }
            Err(_) => Status::Io,
        }
    }

    /// Sends a message that was held back, now or later.
    fn release(&mut self, peer: PeerId, message: Vec<u8>) {
        if self.send(peer, &message) == Status::Again {
            self.held = Some((peer, message));
        }
    }
}

impl<const BUG: u32> Transport for Pipes<BUG> {
    const NAME: &'static str = "pipes";
    const VERSION: &'static str = "0.0.1";
    const CAPS: Caps = Caps::AM_SHORT
        .union(Caps::WAIT)
        .union(Caps::RELIABLE)
        .union(Caps::ORDERED)
        .union(Caps::LOCAL_ONLY)
        // Its polls ask the socket.
        .union(if BUG == ASKS { Caps::QUIET_POLLS } else { Caps::empty() });
    type Waiter = Sockets;

    fn open(host: Host, p: &OpenParams<'_>) -> Result<(Self, Sockets), TransportError> {
        let io = |e: std::io::Error| TransportError::Io(e.to_string());
        if BUG == WARNS {
            host.warn(format_args!("something is fishy"));
        }
        let name = format!("pipes-{}-{}-{}-{}", p.job, p.task, p.context, p.incarnation).into_bytes();
        let socket =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).map_err(io)?).map_err(io)?;
        socket.set_nonblocking(true).map_err(io)?;
        let notifier =
            eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(|e| io(e.into()))?;
        let waiter = Sockets { socket: socket.try_clone().map_err(io)?, notifier };
        let bytes = vec![[0; MAX + 4]; BATCH];
        let transport =
            Self { task: p.task, name, socket, peers: HashMap::new(), bytes, sent: 0, held: None, idle: 0 };
        Ok((transport, waiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_short: MAX as u32, max_peers: 1000, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: "for testing tests".to_owned() }
    }

    fn address(&self) -> Vec<u8> {
        self.name.clone()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        if !address.starts_with(b"pipes-") {
            return Err(TransportError::Invalid("not an address of a pipe".to_owned()));
        }
        let address =
            SocketAddr::from_abstract_name(address).map_err(|e| TransportError::Io(e.to_string()))?;
        self.peers.insert(peer, address);
        Ok(())
    }

    fn disconnect(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
    }

    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        let fits = head.len() + body.len() <= MAX || BUG == LIMITLESS;
        if !fits || !self.peers.contains_key(&peer) {
            return Status::Invalid;
        }
        let mut message = [&self.task.to_le_bytes(), head, body].concat();
        message.truncate(MAX + 4);
        self.sent += 1;
        let every = self.sent % 100 == 50;
        match BUG {
            LOSES if every => return Status::Done,
            CHANGED if every && message.len() > 10 => message[9] ^= 1,
            TWICE if every => {
                self.send(peer, &message);
            }
            SWAPPED if every && self.held.is_none() => {
                self.held = Some((peer, message));
                return Status::Done;
            }
            _ => {}
        }
        let status = self.send(peer, &message);
        // Overtaken by the next one to the same peer.
        if status == Status::Done
            && let Some((_, message)) = self.held.take_if(|(held_for, _)| *held_for == peer)
        {
            self.release(peer, message);
        }
        status
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        let mut n = 0;
        // The last message of all has nobody to overtake it: late is what it may be, not lost.
        if self.idle > 1000
            && let Some((peer, message)) = self.held.take()
        {
            self.release(peer, message);
        }
        while n < events.len().min(BATCH) {
            let slot = if BUG == REUSED { 0 } else { n };
            let Ok(len) = self.socket.recv(&mut self.bytes[slot]) else { break };
            let (task, message) = self.bytes[slot][..len].split_at_mut(4);
            let peer = PeerId::from_le_bytes([task[0], task[1], task[2], task[3]]);
            if self.peers.contains_key(&peer) {
                events[n] = Event::message(peer, message.as_mut_ptr(), message.len() as u32);
                n += 1;
            }
        }
        self.idle = if n == 0 { self.idle + 1 } else { 0 };
        n
    }

    fn arm(&mut self) -> Status {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut fds, Some(&Timespec::default())) {
            Ok(0) => Status::Done,
            _ => Status::Again,
        }
    }
}

impl Waiter for Sockets {
    fn wait(&self, timeout_ns: u64) {
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as i64,
            tv_nsec: (timeout_ns % 1_000_000_000) as i64,
        };
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.notifier, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&timeout));
        let _ = rustix::io::read(&self.notifier, &mut [0u8; 8]);
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.notifier, &1u64.to_ne_bytes());
    }
}

variants! {
    honest = "pipes" 0,
    twice = "pipestwice" super::TWICE,
    swapped = "pipesswapped" super::SWAPPED,
    changed = "pipeschanged" super::CHANGED,
    limitless = "pipeslimitless" super::LIMITLESS,
    reused = "pipesreused" super::REUSED,
    warns = "pipeswarns" super::WARNS,
    loses = "pipesloses" super::LOSES,
    asks = "pipesasks" super::ASKS,
}
