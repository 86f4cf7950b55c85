//! Ports of nodes: windows that other programs of their user find by node and number.

use super::{Answer, FIRST_PORT, Tables};
use crate::caller::Caller;
use crate::ports::{Away, Listed, NewPort};
use crate::remote_daemons::{RemoteDaemons, State};
use lapis_adapters::fifo::Geometry;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{PORTS, Place, Reply, Why};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

impl Tables {
    /// Makes nodes known before any of their ports is open. A name alone is a node for each adapter
    /// of this host. NAME@ADDRESS is the node of one board of some host, in the order of a list
    /// that all hosts have.
    pub fn add_nodes(&mut self, names: &[String]) -> Result<(), String> {
        let listed: Vec<Listed> = names.iter().map(|name| Listed::parse(name)).collect::<Result<_, _>>()?;
        let with = listed.iter().filter(|node| node.address.is_some()).count();
        if with != 0 && with != listed.len() {
            return Err("either all nodes have addresses, or none".to_owned());
        }
        for Listed { name, board, address } in &listed {
            match address {
                Some(address) => self.list_node(name, *board, *address)?,
                None => {
                    for board in 0..self.cards.len() as u32 {
                        self.ports.identify(name, board, None)?;
                    }
                }
            }
        }
        if with != 0 {
            let port = FIRST_PORT - 1;
            let others = RemoteDaemons::open(port)
                .map_err(|e| format!("UDP port {port}, at which daemons hear of other hosts: {e}"))?;
            self.others = Some(others);
        }
        Ok(())
    }

    /// The board that is an interface of this address, or leads to it: that of its subnet, or the
    /// first.
    fn list_node(&mut self, name: &str, board: Option<u32>, address: IpAddr) -> Result<(), String> {
        let interfaces =
            (0..).zip(&self.cards).filter_map(|(at, card)| Some((at, &card.interface.as_ref()?.0)));
        let interfaces: Vec<_> = interfaces.collect();
        let find = |is_so: &dyn Fn(&crate::eth::interface::Interface) -> bool| {
            interfaces.iter().find(|(_, interface)| is_so(interface)).map(|(at, _)| *at)
        };
        if let Some(own) = find(&|interface| interface.address() == address) {
            if board.unwrap_or(0) != own {
                return Err(format!(
                    "{name}@{address}: that interface is board {own} here: all lists need {name}:{own}@{address}"
                ));
            }
            return self.ports.list(name, own, None).map(drop);
        }
        let first = interfaces.first().map(|(at, _)| *at);
        let through = find(&|interface| interface.covers(address)).or(first);
        let through = through.ok_or_else(|| {
            format!("{name}@{address}: other hosts are reached by interfaces: --eth names some")
        })?;
        self.ports.list(name, board.unwrap_or(0), Some(Away { address, through })).map(drop)
    }

    /// Becomes readable when a daemon of another host says something.
    pub(crate) fn others(&self) -> Option<BorrowedFd<'_>> {
        self.others.as_ref().map(AsFd::as_fd)
    }

    /// Hears daemons of other hosts, and tells them of this host's ports.
    pub(crate) fn receive_from_remote_daemons(&mut self) {
        let Self { others: Some(others), ports, cards, .. } = self else { return };
        others.hear(|node, name, number| {
            let own = ports.name(node).filter(|_| ports.away(node).is_none()).unwrap_or_default();
            if own != name {
                return State::Stranger { name: own };
            }
            let room =
                |board: u32| cards.get(board as usize)?.interface.as_ref().map(|(_, state)| state.room);
            match (ports.find(node, number), ports.board(node).ok().and_then(room)) {
                (Ok((_, life)), Some(room)) => State::Open { life, room },
                _ => State::Closed,
            }
        });
    }

    /// The way to a port of another host.
    fn reach(&mut self, from: u32, (node, port): (u32, u32), away: Away, name: &str) -> Answer {
        let Away { address, through } = away;
        let own = self.ports.board(from)?;
        let network = |board: u32| self.cards.get(board as usize).map(|card| card.spec.network);
        if network(own) != network(through) {
            return Err((
                Why::Unreachable,
                format!("{name} is another host, on another network than board {own}"),
            ));
        }
        let state = self.others.as_mut().and_then(|others| others.state((node, port), name, address));
        match state {
            None => Err((
                Why::Soon,
                format!("the daemon of {name} at {address} has not said yet whether port {port} is open"),
            )),
            Some(State::Closed) => {
                Err((Why::NoPort, format!("port {port} of node {node} ({name} at {address}) is not open")))
            }
            Some(State::Stranger { name: theirs }) => {
                let text = format!(
                    "node {node} is {name} here, and `{theirs:.64}` for the daemon at {address}: all hosts need the same list of --node"
                );
                Err((Why::Unreachable, text))
            }
            Some(State::Open { life, room }) => {
                let port = FIRST_PORT + port as u16;
                Ok((Reply::PortAway { life, address, port, room }, Vec::new()))
            }
        }
    }

    pub(super) fn open_port(&mut self, caller: Caller, wish: NewPort, key: Key) -> Answer {
        let Some(card) = self.cards.get(wish.board as usize) else {
            let (board, last) = (wish.board, self.cards.len() - 1);
            return Err((Why::NoAdapter, format!("there is no board {board}: boards are 0 to {last}")));
        };
        let adapter = card.spec.name.clone();
        // A program that runs already may have the identity that would be given now.
        self.grown_up()?;
        // Other hosts find a port's window by the port's number.
        let window = card.interface.is_some().then_some(wish.port);
        let node = self.ports.may_open(&wish, caller)?;
        let (Reply::Opened { window, geometry, wire }, fds) = self.open(caller, &adapter, window, key)?
        else {
            return Err((Why::Exhausted, "no window was opened".to_owned()));
        };
        let place = Place { adapter, window };
        let life = self.ports.put(node, wish, place.clone(), caller);
        Ok((Reply::PortOpened { node, place, life, geometry, wire }, fds))
    }

    pub(super) fn adopt_port(
        &mut self,
        caller: Caller,
        (node, life, wish): (u32, u32, NewPort),
        place: &Place,
        (key, geometry): (Key, Geometry),
        fds: &mut Vec<OwnedFd>,
    ) -> Answer {
        let adapter = self.cards.get(wish.board as usize).map(|card| card.spec.name.as_str());
        if adapter != Some(place.adapter.as_str()) {
            return Err((Why::NoAdapter, format!("board {} is not {:.32}", wish.board, place.adapter)));
        }
        self.ports.may_adopt(node, &wish, caller)?;
        let answer = self.adopt(caller, place, key, geometry, fds)?;
        self.ports.put_back(node, life, wish, place.clone(), caller);
        Ok(answer)
    }

    pub(super) fn attach_port(
        &mut self,
        caller: Caller,
        (from, node, port): (u32, u32, u32),
        key: Key,
    ) -> Answer {
        if port < PORTS
            && let Some((away, name)) = self.ports.away(node)
        {
            return self.reach(from, (node, port), away, &name);
        }
        // The program that has the port open may have to show it yet.
        let or_soon = |refused| self.grown_up().err().unwrap_or(refused);
        let board = |node| self.ports.board(node).map_err(or_soon);
        let (own, board) = (board(from)?, board(node)?);
        let network = |board: u32| self.cards.get(board as usize).map(|card| card.spec.network);
        if network(own) != network(board) {
            let text = format!("node {node} is on another network than node {from}");
            return Err((Why::Unreachable, text));
        }
        let (place, life) = self.ports.find(node, port).map_err(or_soon)?;
        let (Reply::Attached { geometry }, fds) = self.attach(caller, &place, key)? else {
            return Err((Why::Exhausted, "no window was attached".to_owned()));
        };
        Ok((Reply::PortAttached { life, board, geometry }, fds))
    }

    pub(super) fn nodes(&self, from: u32) -> Reply {
        let network = |board: u32| self.cards.get(board as usize).map_or(0, |card| card.spec.network);
        self.ports.tell(from, network)
    }
}
