//! How a peer's window is reached: through memory of this host, or over an Ethernet.

use super::Hps;
use crate::address::{Card, Contact};
use crate::rail::Rail;
use crate::way::{Link, Together, Wire};
use crate::windows::refused;
use lapis_adapters::soft::Sender;
use lapis_core::transport::{PeerId, TransportError};

impl Hps {
    /// Why no window here reaches one of a peer's.
    pub(super) fn unreachable(&self, peer: PeerId, theirs: &Card) -> TransportError {
        let no_wire = |card: &Card| card.entries.iter().all(|entry| entry.wire.is_none());
        let text = if theirs.host != self.card.host && (no_wire(&self.card) || no_wire(theirs)) {
            format!(
                "task {peer} has windows of another host, or of another daemon: windows of soft adapters reach tasks \
                 that share a host and LAPIS_NSD; `lapis-nsd --eth` makes an interface an adapter"
            )
        } else {
            let networks = |card: &Card| {
                let list: Vec<String> = card.entries.iter().map(|entry| entry.network.to_string()).collect();
                list.join(", ")
            };
            format!(
                "no window of this task (networks {}) reaches one of task {peer} (networks {}): MP_EUIDEVICE chooses \
                 adapters",
                networks(&self.card),
                networks(theirs)
            )
        };
        TransportError::Unreachable(text)
    }

    /// Asks for next hops again where they may have changed.
    pub(super) fn look_at_hops(&mut self) {
        let mut rails = self.rails.work();
        for (at, rail) in rails.iter_mut().enumerate() {
            let Rail { entry, port: Some(port), .. } = rail else { continue };
            let now = self.services.hops(entry.index as usize);
            if std::mem::replace(&mut self.hops[at], now) == now {
                continue;
            }
            for way in self.ways.iter_mut().flatten().flatten().filter(|way| way.rail == at) {
                if let Link::Wire(wire) = &mut way.link
                    && let Some(hop) = self.services.known_hop(&entry.place.adapter, wire.address)
                {
                    wire.template = port.template(hop, wire.address, wire.port);
                }
            }
        }
    }

    /// The link from a window here to one of a peer's.
    pub(super) fn link(
        &self,
        peer: PeerId,
        here: usize,
        theirs: &Card,
        there: usize,
    ) -> Result<Link, TransportError> {
        let rails = self.rails.look();
        let (rail, entry) = (&rails[here], &theirs.entries[there]);
        // A host does not answer itself on an Ethernet.
        let one_host = theirs.host == self.card.host;
        if let (Some(port), Some(contact), false) = (&rail.port, entry.wire, one_host) {
            let Contact { address, port: number, room, joins } = contact;
            let hop = self.services.hop(&rail.entry.place.adapter, address);
            let hop = hop.map_err(|why| {
                TransportError::Unreachable(format!("{} of task {peer}: {why}", entry.place))
            })?;
            let template = port.template(hop, address, number);
            let theirs = usize::from(room);
            let room = theirs.min(rail.room()).min(self.services.room(rail.entry.index as usize));
            let together = if joins && port.wire().joins { Together::Later(0) } else { Together::Never };
            let wire = Wire { template, address, port: number, theirs, room, together };
            return Ok(Link::Wire(wire));
        }
        let parts = self.services.daemon.attach(&entry.place, self.services.key).map_err(refused)?;
        let text = |e| TransportError::Exhausted(format!("{} of task {peer}: {e}", entry.place));
        Ok(Link::Memory(Sender::open(parts, self.limits).map_err(text)?))
    }
}
