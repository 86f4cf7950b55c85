//! What is said to the daemon of the windows, and by it. docs/hps.md draws the conversation.
//!
//! Each message is one JSON value in one packet of a UNIX socket, with descriptors beside it where
//! the value says so. The first request is [`Request::Hello`]; each request gets one reply. Between
//! replies there may be [`Reply::Changed`].

use crate::eth::{Hop, Wire};
use crate::fifo::{Geometry, NOTES};
use crate::key::Key;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The version of this protocol. A daemon serves clients of its own version only and says so.
pub const VERSION: u32 = 7;

/// The longest request, in bytes.
pub const MAX_REQUEST: usize = 4096;
/// The longest reply, in bytes.
pub const MAX_REPLY: usize = 64 << 10;
/// The most windows in one reply.
pub const WINDOWS_AT_ONCE: usize = 128;
/// The most nodes in one reply.
pub const NODES_AT_ONCE: usize = 32;
/// Ports of a node: GM's numbers 0 to 15.
pub const PORTS: u32 = 16;

/// A window: its number on an adapter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The adapter's name.
    pub adapter: String,
    /// The window's number, from 0.
    pub window: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "window {} of {}", self.window, self.adapter)
    }
}

/// What clients ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Begins a conversation. [`Reply::Welcome`].
    Hello {
        /// [`VERSION`].
        version: u32,
    },
    /// Which adapters there are. [`Reply::Adapters`].
    Adapters,
    /// Which windows of an adapter are not free. [`Reply::Windows`].
    Windows {
        /// The adapter's name.
        adapter: String,
        /// Those from this number on.
        from: u32,
    },
    /// Opens a window for the job of this key, until the client closes it, ends or disconnects.
    /// [`Reply::Opened`].
    Open {
        /// On which adapter.
        adapter: String,
        /// Which one, reserved or free; without a number a free one.
        window: Option<u32>,
        /// The job's key.
        key: Key,
    },
    /// Shows the daemon a window that one before it opened; memory and bell come with it.
    /// [`Reply::Done`].
    Adopt {
        /// Which window.
        place: Place,
        /// The job's key.
        key: Key,
        /// How its memory is divided.
        geometry: Geometry,
    },
    /// Asks for a window's memory and bell, to send to it. [`Reply::Attached`].
    Attach {
        /// Which window.
        place: Place,
        /// The job's key.
        key: Key,
    },
    /// Asks for the next hop from an adapter of an Ethernet to an address. [`Reply::Hop`].
    Hop {
        /// The adapter's name.
        adapter: String,
        /// Where to.
        address: IpAddr,
    },
    /// Gives back a window that this client has opened. [`Reply::Done`].
    Close {
        /// Which window.
        place: Place,
    },
    /// Keeps a window for tasks of this user until it is released. [`Reply::Reserved`].
    Reserve {
        /// On which adapter.
        adapter: String,
        /// Which one; without a number a free one.
        window: Option<u32>,
        /// No longer than this connection lasts.
        #[serde(default)]
        held: bool,
    },
    /// Ends a reservation. [`Reply::Done`].
    Release {
        /// Which window.
        place: Place,
    },
    /// Lets none but the job of this key open a reserved window. [`Reply::Done`].
    Load {
        /// Which window.
        place: Place,
        /// The job's key.
        key: Key,
    },
    /// Lets any job of the user open it again. [`Reply::Done`].
    Unload {
        /// Which window.
        place: Place,
    },
    /// Opens a port of a node, with a window of the node's adapter behind it, until the window is
    /// closed. [`Reply::PortOpened`].
    OpenPort {
        /// The node's host name; the daemon gives it an identity when it hears it first.
        node: String,
        /// The node's adapter, by its place in the availability matrix.
        board: u32,
        /// The port's number, below [`PORTS`].
        port: u32,
        /// What the program calls it.
        name: String,
        /// The key of those who may send to it.
        key: Key,
    },
    /// Shows the daemon a port that one before it opened; its window's memory and bell come with
    /// it. [`Reply::Done`].
    AdoptPort {
        /// The identity of its node.
        node: u32,
        /// The node's host name.
        host: String,
        /// The node's adapter, by its place in the availability matrix.
        board: u32,
        /// The port's number.
        port: u32,
        /// What its program calls it.
        name: String,
        /// Its life.
        life: u32,
        /// The window behind it.
        place: Place,
        /// The key of those who may send to it.
        key: Key,
        /// How the window's memory is divided.
        geometry: Geometry,
    },
    /// Asks for the way to a port, to send to it: the memory and bell of its window
    /// ([`Reply::PortAttached`]), or where it is on another host ([`Reply::PortAway`]).
    AttachPort {
        /// The node whose port is to send.
        from: u32,
        /// The node whose port is to receive.
        node: u32,
        /// That port's number.
        port: u32,
        /// The key that it was opened with.
        key: Key,
    },
    /// Which nodes there are, and their open ports. [`Reply::Nodes`].
    Nodes {
        /// Those from this identity on.
        from: u32,
    },
    /// Takes an adapter down or up: for root and for the daemon's user. [`Reply::Done`].
    Set {
        /// The adapter's name.
        adapter: String,
        /// Whether it is to be up.
        up: bool,
    },
}

/// What the daemon answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// To `hello`. The availability matrix comes with it.
    Welcome {
        /// [`VERSION`].
        version: u32,
        /// This daemon's number: another one for each daemon of any host, and after each restart.
        daemon: u64,
    },
    /// To `adapters`.
    Adapters {
        /// All of them.
        adapters: Vec<Adapter>,
    },
    /// To `windows`.
    Windows {
        /// Those that are not free, at most [`WINDOWS_AT_ONCE`].
        windows: Vec<Window>,
        /// Where to go on, if there are more.
        next: Option<u32>,
    },
    /// To `open`. Memory and bell come with it, and for a window of an Ethernet its socket, the
    /// frames' memory and what holds the steering program.
    Opened {
        /// The window's number.
        window: u32,
        /// How its memory is divided.
        geometry: Geometry,
        /// What it has on an Ethernet.
        wire: Option<Wire>,
    },
    /// To `hop`.
    Hop {
        /// The next hop; none, while it is looked for.
        hop: Option<Hop>,
    },
    /// To `attach`. Memory and bell come with it.
    Attached {
        /// How its memory is divided.
        geometry: Geometry,
    },
    /// To `open_port`. Memory and bell come with it.
    PortOpened {
        /// The node's identity, from 1.
        node: u32,
        /// The window behind the port.
        place: Place,
        /// This life of the port: later ones are greater, modulo 2^32.
        life: u32,
        /// How the window's memory is divided.
        geometry: Geometry,
        /// What it has on an Ethernet; descriptors come as with `opened`.
        wire: Option<Wire>,
    },
    /// To `attach_port`, if the port is another host's.
    PortAway {
        /// The port's life.
        life: u32,
        /// Its board's address.
        address: IpAddr,
        /// Its window's UDP port.
        port: u16,
        /// The longest datagram that it takes.
        room: u32,
    },
    /// To `attach_port`. Memory and bell come with it.
    PortAttached {
        /// The port's life.
        life: u32,
        /// Its adapter's place in the availability matrix.
        board: u32,
        /// How the window's memory is divided.
        geometry: Geometry,
    },
    /// To `nodes`.
    Nodes {
        /// At most [`NODES_AT_ONCE`].
        nodes: Vec<Node>,
        /// Where to go on, if there are more.
        next: Option<u32>,
    },
    /// To `reserve`.
    Reserved {
        /// The window's number.
        window: u32,
    },
    /// What was asked for is done.
    Done,
    /// To nothing: the availability matrix has changed. For those who sleep.
    Changed,
    /// It can't be done.
    Refused {
        /// Why, for programs.
        why: Why,
        /// Why, and what to do, for people.
        text: String,
    },
}

/// Why the daemon refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Not a request, or not at this time.
    Malformed,
    /// Another version of this protocol.
    Version,
    /// There is no such adapter.
    NoAdapter,
    /// There is no such window, or it is not open.
    NoWindow,
    /// Somebody has the window.
    Taken,
    /// All windows are taken, or as many as one user may have.
    Full,
    /// The window belongs to another job.
    WrongKey,
    /// The caller may not do that.
    NotAllowed,
    /// There is no such node.
    NoNode,
    /// The port is not open.
    NoPort,
    /// The two nodes are on different networks.
    Unreachable,
    /// The adapter is down.
    Down,
    /// Somebody has what it takes, and may be about to let go of it, or another host has been
    /// asked: worth another try.
    Soon,
    /// The system is short of something.
    Exhausted,
}

/// An adapter, as the daemon tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// Its name: `sn0`, `sn1`, ….
    pub name: String,
    /// `soft` or `eth`.
    pub kind: String,
    /// The interface that it is, by its present name.
    pub interface: Option<String>,
    /// How frames get to tasks: `zero-copy`, `native` or `generic`.
    pub mode: Option<String>,
    /// Why no window of it can be opened at present, though it may be up.
    pub refused: Option<String>,
    /// That may be over in a moment.
    pub soon: bool,
    /// The network that it is on: windows reach windows of the same network.
    pub network: u32,
    /// Its place in the availability matrix.
    pub index: u32,
    /// Whether it is up.
    pub up: bool,
    /// How many windows it has.
    pub windows: u32,
    /// How many of them are not free.
    pub taken: u32,
    /// The longest datagram, in bytes.
    pub longest: u32,
}

/// A window that is not free, as the daemon tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its number.
    pub window: u32,
    /// `reserved`, `loaded` or `open`.
    pub state: String,
    /// The user whom it belongs to.
    pub user: u32,
    /// The process that has opened it, if the daemon can see it.
    pub process: Option<u32>,
    /// The fingerprint of its job's key.
    pub job: Option<String>,
    /// What has passed through it, while it is open.
    pub counts: Option<Counts>,
}

/// What has passed through a window. Its owner could write anything here: for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Datagrams that the owner took out of its memory.
    pub taken: u64,
    /// Datagrams that senders gave up because the memory was full.
    pub refused: u64,
    /// Frames of an Ethernet for which there was no room.
    pub lost: u64,
    /// What the owner has noted; docs/gm.md says what GM's ports note.
    pub notes: [u64; NOTES],
}

/// A node: one adapter of a host, as GM counts them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its identity, from 1.
    pub node: u32,
    /// The host's name; a colon and the board's number follow for all boards but the first.
    pub name: String,
    /// Its adapter's place in the availability matrix.
    pub board: u32,
    /// The network that it is on.
    pub network: u32,
    /// Six bytes that no other node has, as 12 hexadecimal digits.
    pub unique: String,
    /// Where it is, if it is another host's.
    pub address: Option<IpAddr>,
    /// Its open ports.
    pub ports: Vec<Port>,
}

/// An open port, as the daemon tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Its number.
    pub port: u32,
    /// What its program calls it.
    pub name: String,
    /// Whose it is.
    pub user: u32,
    /// The process that has opened it.
    pub process: u32,
    /// The window behind it.
    pub place: Place,
}
