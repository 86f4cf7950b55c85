//! A port: what it has, how it is opened and closed.

use crate::abi::{RECEIVE_TOKENS, Status};
use crate::alarm::Alarm;
use crate::daemon::Registration;
use crate::direct::Own;
use crate::events::{Due, Fast, Pending};
use crate::linger::Linger;
use crate::memory::Regions;
use crate::net::{DATAGRAM, Net, Units};
use crate::settings::Settings;
use crate::stream::{Buffer, Bundle, Peer, task};
use crate::watch;
use lapis_adapters::bell::Bell;
use lapis_adapters::client::{Daemon, DaemonError, OpenPort, PortWish};
use lapis_adapters::eth::port::Port as Wire;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{Node, PORTS, Why};
use lapis_adapters::soft::Window;
use lapis_core::reliable::Nanos;
use lapis_core::sync::Arc;
use std::collections::VecDeque;
use std::time::Instant;

/// What keys and secrets are made from, beside the user's secret.
const LABEL: &str = "gm ports of a user";

/// Ports that GM keeps to itself.
const RESERVED: [u32; 3] = [0, 1, 3];

/// Buffers that were provided, and what may come.
pub(crate) struct Buffers {
    pub(crate) free: [[VecDeque<Buffer>; 32]; 2],
    /// Of each priority, which size classes are taken.
    pub(crate) acceptable: [u64; 2],
    /// Receive tokens that the program does not have.
    pub(crate) provided: u32,
}

impl Buffers {
    fn new() -> Self {
        Self {
            free: std::array::from_fn(|_| std::array::from_fn(|_| VecDeque::new())),
            acceptable: [u64::MAX; 2],
            provided: 0,
        }
    }
}

/// Counts for those who look for the reason of something.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Messages sent, of all kinds.
    pub(crate) sent: u64,
    /// Messages received.
    pub(crate) received: u64,
    /// Sends that ended otherwise than well.
    pub(crate) failed: u64,
    /// Messages that had to wait for a buffer.
    pub(crate) waited: u64,
}

/// What a message that has waited too long does to the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing: GM 2.
    #[default]
    Never,
    /// It will close it: GM 1.
    WithoutBuffers,
    /// One has; the port closes with the next poll.
    Due,
    /// The port is closed.
    Over,
}

/// See the module.
pub(crate) struct Port {
    pub(crate) node: u32,
    pub(crate) number: u32,
    pub(crate) board: u32,
    pub(crate) life: u32,
    pub(crate) key: Key,
    /// What is shown to a daemon that comes after the one that opened it.
    pub(crate) registration: Arc<Registration>,
    /// The daemon that this port asks has gone; when it was looked for last.
    pub(crate) is_alone: bool,
    pub(crate) asked: u64,
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) settings: Settings,
    pub(crate) net: Net,
    pub(crate) scratch: Box<[u8]>,
    /// Units of a datagram that is dealt with.
    pub(crate) units: Units,
    /// Other ports and this one, in the places that they have in `net.outlets`.
    pub(crate) peers: Vec<Peer>,
    /// The engine's number and the place of the one that was looked for last.
    pub(crate) recent: (u32, usize),
    /// Peers for whom the engine is to be handed something.
    pub(crate) stirred: Vec<usize>,
    /// Somebody waits for it.
    pub(crate) urgent: bool,
    /// Messages that leave together, later.
    pub(crate) bundle: Option<Bundle>,
    pub(crate) buffers: Buffers,
    /// Streams, as peer and priority, whose turn waits for a buffer, in the order of their waiting.
    pub(crate) waiting: VecDeque<(usize, usize)>,
    pub(crate) events: VecDeque<Pending>,
    /// Short messages among them.
    pub(crate) fast: Fast,
    /// Ends whose event is in the queue, and those whose event the program has.
    pub(crate) due: VecDeque<Due>,
    pub(crate) announced: VecDeque<Due>,
    /// Messages of the calls without callbacks that have been sent.
    pub(crate) sent: Vec<u64>,
    /// Send tokens that the program does not have.
    pub(crate) tokens_out: u32,
    /// Send tokens that the program has left with the library, by priority.
    pub(crate) pool: [u32; 2],
    pub(crate) regions: Regions,
    /// By what others know this process when they copy from its memory.
    pub(crate) own: Own,
    pub(crate) alarms: Vec<Alarm>,
    /// Others may write to registered memory.
    pub(crate) is_open_to_writes: bool,
    /// A port that is not open is no reason to wait.
    pub(crate) nack_down: bool,
    /// The state of next hops that this port has seen.
    pub(crate) hops: u32,
    /// When hops were asked for last.
    pub(crate) hops_asked: u64,
    pub(crate) looked: u64,
    pub(crate) polls: u32,
    pub(crate) pace: Pace,
    pub(crate) wake: Arc<Bell>,
    /// Until when another thread sleeps in a call if nothing arrives; 0: none does.
    pub(crate) sleeps_until: Nanos,
    pub(crate) nodes: Vec<Node>,
    pub(crate) counters: Counters,
    pub(crate) ending: Ending,
}

/// How closely the program's calls follow each other.
#[derive(Default)]
pub(crate) struct Pace {
    /// Polls since the last look at the clock.
    pub(crate) untimed: u32,
    /// Events that were taken without a poll.
    pub(crate) unpolled: u32,
    /// When the clock was looked at last.
    pub(crate) timed: Nanos,
}

// SAFETY: the addresses in it are the program's, which says when they may be used; the lock of the
// handle lets one thread at a time do so.
unsafe impl Send for Port {}

impl Port {
    /// Opens a port of a board.
    pub(crate) fn open(settings: Settings, board: u32, number: u32, name: &str) -> Result<Self, Status> {
        check_number(number)?;
        let (secret, key) = secret_and_key()?;
        let daemon = Arc::new(Daemon::connect(&settings.daemon).map_err(|e| refused("gm_open", &e))?);
        let wish = PortWish { node: &settings.node, board, port: number, name };
        let mut opened = daemon.open_port(&wish, key).map_err(|e| refused("gm_open", &e))?;
        let short = |e| short(board, number, &e);
        let window = window_of(&mut opened, key).map_err(short)?;
        let own = (task(opened.node, number), opened.life);
        let net = Net::new(own, window, &secret, &settings).map_err(|_| Status::InternalError)?;
        let registration = Registration::new((&settings.daemon, &daemon), &wish, opened, key);
        let mut port = Self {
            node: registration.opened.node,
            number,
            board,
            life: registration.opened.life,
            key,
            registration: Arc::new(registration),
            is_alone: false,
            asked: 0,
            daemon,
            settings,
            net,
            scratch: vec![0; DATAGRAM].into(),
            units: Vec::new(),
            peers: Vec::new(),
            recent: (u32::MAX, 0),
            stirred: Vec::new(),
            urgent: false,
            bundle: None,
            buffers: Buffers::new(),
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            fast: Fast::new(),
            due: VecDeque::new(),
            announced: VecDeque::new(),
            sent: Vec::new(),
            tokens_out: 0,
            pool: [0; 2],
            regions: Regions::default(),
            own: Own::new(),
            alarms: Vec::new(),
            is_open_to_writes: false,
            nack_down: false,
            hops: 0,
            hops_asked: 0,
            looked: 0,
            polls: 0,
            pace: Pace::default(),
            wake: Arc::new(Bell::new().map_err(short)?),
            sleeps_until: 0,
            nodes: Vec::new(),
            counters: Counters::default(),
            ending: Ending::default(),
        };
        port.reach_itself();
        watch::add(&port.registration);
        Ok(port)
    }

    /// A port reaches itself from the beginning.
    fn reach_itself(&mut self) {
        let own = self.peer(self.node, self.number);
        self.peers[own].link = crate::stream::Link::Up;
    }

    /// The peer that is this port of that node.
    #[inline]
    pub(crate) fn peer(&mut self, node: u32, port: u32) -> usize {
        self.peer_of(task(node, port))
    }

    /// The peer of the packet engine's number.
    #[inline]
    pub(crate) fn peer_of(&mut self, task: u32) -> usize {
        if self.recent.0 == task {
            return self.recent.1;
        }
        let place = self.place_of_peer(task);
        self.recent = (task, place);
        place
    }

    fn place_of_peer(&mut self, task: u32) -> usize {
        if let Some(place) = self.net.outlets.place(task) {
            return place;
        }
        self.peers.push(Peer::new(task >> 8, task & 0xff));
        self.net.outlets.add(task)
    }

    /// Has the next poll look after a peer.
    #[inline]
    pub(crate) fn stir(&mut self, peer: usize) {
        self.urgent |= self.peers[peer].is_urgent();
        if !std::mem::replace(&mut self.peers[peer].stirred, true) {
            self.stirred.push(peer);
        }
    }

    /// The same for a peer that has sent short messages and nothing else, all of which have been
    /// delivered: what that makes urgent has been seen.
    #[inline]
    pub(crate) fn stir_plainly(&mut self, peer: usize) {
        if !std::mem::replace(&mut self.peers[peer].stirred, true) {
            self.stirred.push(peer);
        }
    }

    /// Goes on with what is under way as long as that leads somewhere, and ends.
    pub(crate) fn close(mut self) {
        self.finish();
    }

    /// The same for a program that reads no events any more.
    pub(crate) fn finish(&mut self) {
        self.linger(|port| {
            // They are no reason to wait.
            port.events.clear();
            port.due.clear();
            port.sent.clear();
        });
    }

    /// Goes on with what is under way as long as that leads somewhere; with `each` after each look.
    pub(crate) fn linger(&mut self, each: impl Fn(&mut Self)) {
        let mut linger = Linger::new(Instant::now());
        while self.is_under_way() && linger.goes_on(Instant::now()) {
            self.poll();
            each(self);
            self.tend(true);
            self.net.flush();
            std::thread::yield_now();
        }
    }

    fn is_under_way(&self) -> bool {
        let engine = &self.net.engine;
        let owes = |peer: &Peer| {
            let up = peer.link == crate::stream::Link::Up && !self.net.outlets.is_closed(peer.task());
            let heard = engine.outstanding(peer.task()).is_some_and(|n| n > 0);
            up && (heard || peer.is_owed() || peer.ins.iter().any(crate::stream::InStream::owes))
        };
        self.peers.iter().any(owes) || engine.owes_acks() || self.net.holds_back()
    }

    /// The nodes that the daemon knows, asked for anew if `wants` finds none.
    pub(crate) fn find_node(&mut self, wants: impl Fn(&Node) -> bool) -> Result<Option<&Node>, Status> {
        if !self.nodes.iter().any(&wants) {
            self.nodes = self.daemon.nodes().map_err(|e| refused("the list of nodes", &e))?;
        }
        Ok(self.nodes.iter().find(|node| wants(node)))
    }

    /// All nodes, asked for anew.
    pub(crate) fn all_nodes(&mut self) -> Result<&[Node], Status> {
        self.nodes = self.daemon.nodes().map_err(|e| refused("the list of nodes", &e))?;
        Ok(&self.nodes)
    }

    /// Looks whether the daemon is there, and shows a new one this port.
    pub(crate) fn look_at_daemon(&mut self) {
        if !self.is_alone {
            self.is_alone = self.daemon.has_gone();
            if !self.is_alone {
                return;
            }
            self.registration.lose(&self.daemon);
        }
        let Some(daemon) = self.registration.regain(&self.daemon) else { return };
        self.daemon = daemon;
        // Its count of next hops is another one: all are asked for.
        self.hops = u32::MAX;
        self.is_alone = false;
    }

    /// Takes a buffer for a message.
    pub(crate) fn provide(&mut self, at: u64, size: u32, priority: u32, tag: u8) {
        let (size, priority) = (size as usize & 31, priority as usize & 1);
        if self.buffers.provided >= RECEIVE_TOKENS {
            tracing::error!(
                target: "lapis::gm",
                "port {}: a buffer was provided without a receive token: all {RECEIVE_TOKENS} are in use",
                self.number
            );
            self.events.push_back(Pending::Violation(crate::abi::kind::RECV_TOKEN_VIOLATION));
            return;
        }
        self.send_bundle();
        self.buffers.provided += 1;
        self.buffers.free[priority][size].push_back(Buffer { at, tag });
        if !self.waiting.is_empty() {
            self.serve_waiting(priority, size);
            self.net.flush();
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.registration.close();
    }
}

/// The system is short of what a port takes.
fn short(board: u32, number: u32, why: &std::io::Error) -> Status {
    tracing::error!(target: "lapis::gm", "gm_open: port {number} of board {board}: {why}");
    Status::OutOfMemory
}

/// What all programs of this user know, and the key to their windows that is made from it.
fn secret_and_key() -> Result<([u8; 32], Key), Status> {
    let secret = lapis_core::bootstrap::user_secret().map_err(|e| {
        tracing::error!(target: "lapis::gm", "gm_open: the secret that your programs share: {e}");
        Status::InternalError
    })?;
    Ok((secret, Key::of_job(&secret, LABEL)))
}

/// A port's window, and what that has on an Ethernet.
fn window_of(opened: &mut OpenPort, key: Key) -> std::io::Result<(Window, Option<Wire>)> {
    let mut window = Window::open(opened.parts.try_clone()?)?;
    window.fifo().spare_fences();
    let wire = opened.wire.take().map(|parts| Wire::open(parts, opened.place.window, key.tag()));
    Ok((window, wire.transpose()?))
}

/// Whether programs may have a port of this number.
fn check_number(number: u32) -> Result<(), Status> {
    if number < PORTS && !RESERVED.contains(&number) {
        return Ok(());
    }
    tracing::info!(
        target: "lapis::gm",
        "gm_open: port {number}: programs have ports 2 and 4 to {}; 0, 1 and 3 are GM's own",
        PORTS - 1
    );
    Err(Status::InvalidPortNumber)
}

/// The status for what the daemon says, and one line that says why.
pub(crate) fn refused(what: &str, error: &DaemonError) -> Status {
    let (status, loud) = match error {
        DaemonError::Absent(..) | DaemonError::Stranger(..) => (Status::NoSuchDevice, true),
        DaemonError::Silent(..) => (Status::NoSuchDevice, true),
        DaemonError::Confused(..) => (Status::InternalError, true),
        DaemonError::Refused { why, .. } => match why {
            Why::Taken => (Status::Busy, false),
            Why::NoAdapter => (Status::NoSuchDevice, false),
            Why::NoPort => (Status::InvalidPortNumber, false),
            Why::NoNode => (Status::InvalidParameter, true),
            Why::Down | Why::Soon => (Status::TryAgain, true),
            Why::NotAllowed => (Status::PermissionDenied, true),
            Why::Full | Why::Exhausted => (Status::OutOfMemory, true),
            Why::Version => (Status::IncompatibleLibAndDriver, true),
            _ => (Status::InternalError, true),
        },
    };
    if loud {
        tracing::error!(target: "lapis::gm", "{what}: {error}");
    } else {
        tracing::info!(target: "lapis::gm", "{what}: {error}");
    }
    status
}
