//! Ethernet interfaces in the tables.

use super::{Answer, Tables};
use crate::caller::Caller;
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
            if now.room != before.room {
                self.matrix.set_room(index, now.room);
            }
            if now.hops_changed {
                self.matrix.change_hops(index);
            }
            self.changed |= now.up != before.up || now.room != before.room || now.hops_changed;
        }
    }

    /// Does what is due at interfaces.
    pub fn settle(&mut self) {
        self.cards.iter_mut().filter_map(|card| card.interface.as_mut()).for_each(|(i, _)| i.settle());
    }

    /// When something is due.
    pub fn settles_in(&self) -> Option<Duration> {
        self.cards.iter().filter_map(|card| card.interface.as_ref()?.0.settles_in()).min()
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
