//! Ports of nodes, as clients have them.

use super::{Daemon, DaemonError};
use crate::eth::WireParts;
use crate::key::Key;
use crate::protocol::{Node, Place, Reply, Request};
use crate::soft::Parts;
use std::net::IpAddr;
use std::os::fd::AsFd;

/// A port that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct PortWish<'a> {
    /// The host name of the node.
    pub node: &'a str,
    /// The node's adapter, by its place in the availability matrix.
    pub board: u32,
    /// The port's number.
    pub port: u32,
    /// What the program calls it.
    pub name: &'a str,
}

/// A port that the daemon has opened.
#[derive(Debug)]
pub struct OpenPort {
    /// The identity of its node.
    pub node: u32,
    /// The window behind it.
    pub place: Place,
    /// This life of the port.
    pub life: u32,
    /// What the window is made of.
    pub parts: Parts,
    /// What it has on an Ethernet. Its opener may take it out.
    pub wire: Option<WireParts>,
}

/// The way to a port.
#[derive(Debug)]
pub enum PortWay {
    /// On this host, through memory.
    Here {
        /// The port's life.
        life: u32,
        /// Its adapter's place in the availability matrix.
        board: u32,
        /// Its window's parts.
        parts: Parts,
    },
    /// On another host, by frames.
    Away {
        /// The port's life.
        life: u32,
        /// Its board's address.
        address: IpAddr,
        /// Its window's UDP port.
        port: u16,
        /// The longest datagram that it takes.
        room: u32,
    },
}

impl Daemon {
    /// Opens a port of a node on an adapter.
    ///
    /// # Errors
    /// It is open already, or there is no such adapter or number; the text says what to do.
    pub fn open_port(&self, wish: &PortWish<'_>, key: Key) -> Result<OpenPort, DaemonError> {
        let request = Request::OpenPort {
            node: wish.node.to_owned(),
            board: wish.board,
            port: wish.port,
            name: wish.name.to_owned(),
            key,
        };
        match self.ask_until_settled(&request)? {
            (Reply::PortOpened { node, place, life, geometry, wire }, fds) => {
                let (parts, wire) = self.all_parts(geometry, wire, fds)?;
                Ok(OpenPort { node, place, life, parts, wire })
            }
            (other, _) => Err(self.confused(&other)),
        }
    }

    /// Shows the daemon a port that one before it opened.
    ///
    /// # Errors
    /// Somebody else has it, or its node's identity, by now.
    pub fn adopt_port(&self, wish: &PortWish<'_>, port: &OpenPort, key: Key) -> Result<(), DaemonError> {
        let request = Request::AdoptPort {
            node: port.node,
            host: wish.node.to_owned(),
            board: wish.board,
            port: wish.port,
            name: wish.name.to_owned(),
            life: port.life,
            place: port.place.clone(),
            key,
            geometry: port.parts.geometry,
        };
        self.done(&request, &[port.parts.memory.as_fd(), port.parts.bell.as_fd()])
    }

    /// The way to a port, for a port of the node `from`.
    ///
    /// # Errors
    /// It isn't open, or there is no such node, or no way to it.
    /// [`Soon`](crate::protocol::Why::Soon): its host is asked, or the daemon has just begun and
    /// knows not all ports yet; the next call may know the answer.
    pub fn attach_port(&self, from: u32, node: u32, port: u32, key: Key) -> Result<PortWay, DaemonError> {
        match self.ask(&Request::AttachPort { from, node, port, key }, &[])? {
            (Reply::PortAttached { life, board, geometry }, fds) => {
                Ok(PortWay::Here { life, board, parts: self.parts(geometry, fds)? })
            }
            (Reply::PortAway { life, address, port, room }, _) => {
                Ok(PortWay::Away { life, address, port, room })
            }
            (other, _) => Err(self.confused(&other)),
        }
    }

    /// All nodes with their open ports.
    ///
    /// # Errors
    /// The daemon has gone.
    pub fn nodes(&self) -> Result<Vec<Node>, DaemonError> {
        let mut all = Vec::new();
        let mut from = 0;
        loop {
            match self.ask(&Request::Nodes { from }, &[])?.0 {
                Reply::Nodes { nodes, next } => {
                    all.extend(nodes);
                    match next {
                        Some(next) if next > from => from = next,
                        _ => return Ok(all),
                    }
                }
                other => return Err(self.confused(&other)),
            }
        }
    }
}
