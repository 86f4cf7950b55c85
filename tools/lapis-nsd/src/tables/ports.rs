//! Ports of nodes: windows that other programs of their user find by node and number.

use super::{Answer, Caller, Tables};
use crate::ports::NewPort;
use lapis_adapters::fifo::Geometry;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{Place, Reply, Why};
use std::os::fd::OwnedFd;

impl Tables {
    /// Makes nodes known before any of their ports is open: one for each adapter and host name.
    pub fn add_nodes(&mut self, names: &[String]) -> Result<(), String> {
        for name in names {
            for board in 0..self.cards.len() as u32 {
                self.ports.identify(name, board, None)?;
            }
        }
        Ok(())
    }

    pub(super) fn open_port(&mut self, caller: Caller, wish: NewPort, key: Key) -> Answer {
        let Some(card) = self.cards.get(wish.board as usize) else {
            let (board, last) = (wish.board, self.cards.len() - 1);
            return Err((Why::NoAdapter, format!("there is no board {board}: boards are 0 to {last}")));
        };
        if card.interface.is_some() {
            let text = format!("board {} is of an Ethernet, on which there are no ports", wish.board);
            return Err((Why::NoAdapter, text));
        }
        let adapter = card.spec.name.clone();
        let node = self.ports.may_open(&wish, caller)?;
        let (Reply::Opened { window, geometry, .. }, fds) = self.open(caller, &adapter, None, key)? else {
            return Err((Why::Exhausted, "no window was opened".to_owned()));
        };
        let place = Place { adapter, window };
        let life = self.ports.put(node, wish, place.clone(), caller);
        Ok((Reply::PortOpened { node, place, life, geometry }, fds))
    }

    pub(super) fn adopt_port(
        &mut self,
        caller: Caller,
        (node, life, wish): (u32, u32, NewPort),
        place: &Place,
        (key, geometry): (Key, Geometry),
        fds: Vec<OwnedFd>,
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
        let boards = (self.ports.board(from)?, self.ports.board(node)?);
        let network = |board: u32| self.cards.get(board as usize).map(|card| card.spec.network);
        if network(boards.0) != network(boards.1) {
            let text = format!("node {node} is on another network than node {from}");
            return Err((Why::Unreachable, text));
        }
        let (place, life) = self.ports.find(node, port)?;
        let (Reply::Attached { geometry }, fds) = self.attach(caller, &place, key)? else {
            return Err((Why::Exhausted, "no window was attached".to_owned()));
        };
        Ok((Reply::PortAttached { life, board: boards.1, geometry }, fds))
    }

    pub(super) fn nodes(&self, from: u32) -> Reply {
        let network = |board: u32| self.cards.get(board as usize).map_or(0, |card| card.spec.network);
        self.ports.tell(from, network)
    }
}
