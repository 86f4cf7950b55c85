//! Ethernet interfaces in the tables.

use super::cards::Card;
use super::{Answer, Tables};
use crate::caller::Caller;
use crate::eth::interface::{Interface, State};
use crate::eth::netlink::Heard;
use lapis_adapters::protocol::{Reply, Why};
use std::net::IpAddr;
use std::time::Duration;

impl Tables {
    /// Whether there are interfaces, whose news count.
    pub fn has_interfaces(&self) -> bool {
        self.cards.iter().any(|card| card.interface.is_some())
    }

    /// Why interfaces can't be used though they were asked for.
    pub fn troubles(&self) -> impl Iterator<Item = &str> {
        self.cards.iter().filter_map(|card| card.interface.as_ref()?.0.refused())
    }

    /// Looks what has become of interfaces, after such news.
    pub(crate) fn look(&mut self, heard: Heard) {
        for (index, card) in self.cards.iter_mut().enumerate() {
            let was = card.is_up();
            let Some((interface, state)) = &mut card.interface else { continue };
            let now = interface.look(heard);
            let before = std::mem::replace(state, now);
            if card.is_up() != was {
                self.matrix.set(index, !was);
            }
            if now.silent != before.silent {
                self.matrix.set_silent(index, now.silent);
            }
            if now.room != before.room {
                self.matrix.set_room(index, now.room);
            }
            if now.hops_changed {
                self.matrix.change_hops(index);
            }
            self.changed |= now.up != before.up
                || now.silent != before.silent
                || now.room != before.room
                || now.hops_changed;
        }
    }

    /// Does what windows that were closed may have stood in the way of: nobody knows next hops any
    /// more, and an interface that was removed and is there again can be taken.
    pub(super) fn after_closing(&mut self) {
        self.cards.iter_mut().for_each(Card::forget_hops);
        let removed = |card: &Card| card.interface.as_ref().is_some_and(|(interface, _)| interface.is_gone());
        if self.cards.iter().any(removed) {
            self.look(Heard::default());
        }
    }

    /// Does what is due at interfaces.
    pub fn settle(&mut self) {
        let mut turned = false;
        for (interface, state) in self.cards.iter_mut().filter_map(|card| card.interface.as_mut()) {
            interface.settle();
            turned |= interface.has_turned(state);
        }
        if turned {
            self.look(Heard::default());
        }
    }

    /// When something is due.
    pub fn settles_in(&self) -> Option<Duration> {
        let due = |(interface, state): &(Interface, State)| {
            if interface.has_turned(state) { Some(Duration::ZERO) } else { interface.settles_in() }
        };
        self.cards.iter().filter_map(|card| due(card.interface.as_ref()?)).min()
    }

    pub(super) fn hop(&mut self, caller: Caller, adapter: &str, address: IpAddr) -> Answer {
        let Some((interface, _)) = &mut self.card_for(caller, adapter)?.interface else {
            return Err((Why::NoAdapter, format!("{adapter} is no adapter of an Ethernet")));
        };
        match interface.hop(address) {
            Ok(hop) => Ok((Reply::Hop { hop }, Vec::new())),
            Err(e) => {
                let name = interface.name();
                let text = format!("there is no way from {name} to {address}: {e}: `ip route` shows ways");
                Err((Why::NoAdapter, text))
            }
        }
    }
}
