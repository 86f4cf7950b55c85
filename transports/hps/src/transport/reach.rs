//! How a peer's window is reached: through memory of this host, or over an Ethernet.
//!
//! Over an Ethernet the next hop has to answer first. A way whose next hop does not is down until
//! it does, and is no reason to wait for as long as another way leads to the peer.

use super::Hps;
use crate::address::{Card, Contact};
use crate::rail::Rail;
use crate::services::Services;
use crate::way::{Link, Together, Way, Wire};
use crate::windows::refused;
use lapis_adapters::client::{Daemon, DaemonError};
use lapis_adapters::eth::Hop;
use lapis_adapters::soft::Sender;
use lapis_core::transport::{Host, PeerId, TransportError};
use std::time::{Duration, Instant};

/// For so long a neighbour may take to answer: the kernel asks three times, a second apart.
const NEIGHBOUR: Duration = Duration::from_secs(4);

/// The same where another way leads to the peer already: time for a second question.
const BESIDE: Duration = Duration::from_millis(1500);

/// The same for the successor of a peer: this task's other traffic stands still meanwhile.
const AMID: Duration = Duration::from_millis(20);

/// For so long the daemon may take to say what the window of such a successor is, and is asked
/// again if it has just begun and does not know it yet. Core asks again.
const ATTACH: Duration = Duration::from_millis(500);

/// How long neighbours are waited for: `is_amid` other traffic, and where a way `is_found` already.
fn patience(is_amid: bool, is_found: bool) -> Duration {
    match (is_amid, is_found) {
        (true, _) => AMID,
        (false, true) => BESIDE,
        (false, false) => NEIGHBOUR,
    }
}

/// Why a way leads nowhere yet.
struct Missing {
    rail: usize,
    why: String,
    /// It is not worth waiting for.
    is_hopeless: bool,
    /// The daemon has not said so: it has said nothing.
    is_unanswered: bool,
}

/// A change of next hops that no matrix tells of: they are asked for.
pub(super) const UNSEEN: u32 = u32::MAX;

/// Whether the daemon has not answered.
fn is_unanswered(e: &DaemonError) -> bool {
    !matches!(e, DaemonError::Refused { .. })
}

/// Asks for the next hop of a way from a window here, and answers whether there is one. If there is
/// none, the daemon tells when there is.
///
/// # Errors
/// It does not answer.
fn renew_hop(services: &Services, host: &Host, rail: &Rail, way: &mut Way) -> Result<bool, DaemonError> {
    let (Link::Wire(wire), Rail { entry, port: Some(port), .. }) = (&mut way.link, rail) else {
        return Ok(false);
    };
    let hop = match services.hop_within(services.patience(), &entry.place.adapter, wire.address) {
        Err(e) if is_unanswered(&e) => return Err(e),
        Ok(Some(hop)) => hop,
        Ok(None) | Err(_) => return Ok(false),
    };
    wire.template = port.template(hop, wire.address, wire.port);
    if !std::mem::replace(&mut wire.found, true) {
        host.info(format_args!("{}: {} answers by now", entry.place, wire.address));
    }
    Ok(true)
}

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

    /// Asks for next hops again where they may have changed. If the daemon is silent, it is asked
    /// again later.
    pub(super) fn look_at_hops(&mut self) {
        if self.services.is_gone() {
            // The next daemon is asked for all of them.
            return;
        }
        let (mut asks, mut answered) = (false, true);
        let mut rails = self.rails.work();
        for (at, rail) in rails.iter_mut().enumerate() {
            let now = self.services.hops(rail.entry.index as usize);
            if rail.port.is_none() || self.hops[at] == now {
                continue;
            }
            asks = true;
            let ways = self.ways.iter_mut().flatten().flatten().filter(|way| way.rail == at);
            let renewed = ways.map(|way| renew_hop(&self.services, &self.host, rail, way));
            match renewed.collect::<Result<Vec<bool>, DaemonError>>() {
                Ok(found) => {
                    self.hops[at] = now;
                    self.silent[at] &= !found.contains(&true);
                }
                Err(e) => {
                    self.host.debug(format_args!("{}: next hops: {e}", rail.entry.place));
                    answered = false;
                    break;
                }
            }
        }
        drop(rails);
        if asks {
            self.services.note_answers(answered);
            self.pace();
        }
    }

    /// The link from a window here to one of a peer's. Over an Ethernet it leads nowhere yet.
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
            let nowhere = Hop { mac: [0; 6], from: port.wire().mac };
            let template = port.template(nowhere, address, number);
            let theirs = usize::from(room);
            let room = theirs.min(rail.room()).min(self.services.room(rail.entry.index as usize));
            let together = if joins && port.wire().joins { Together::Later(0) } else { Together::Never };
            let wire = Wire { template, found: false, address, port: number, theirs, room, together };
            return Ok(Link::Wire(wire));
        }
        // Contexts that share the windows go on.
        drop(rails);
        let attach = |daemon: &Daemon| daemon.attach(&entry.place, self.services.key);
        let daemon = &self.services.daemon;
        let parts = if self.is_amid() { daemon.within(ATTACH, attach) } else { attach(daemon) };
        let parts = parts.map_err(refused)?;
        let text = |e| TransportError::Exhausted(format!("{} of task {peer}: {e}", entry.place));
        Ok(Link::Memory(Sender::open(parts, self.limits).map_err(text)?))
    }

    /// Whether a peer is connected amid this task's other traffic, which stands still meanwhile.
    fn is_amid(&self) -> bool {
        // Core polls when all peers are connected.
        self.polls != 0
    }

    /// Finds the next hops of ways to a peer. At the start of a job one way has to be found. Those
    /// that are not are left out until their next hops answer.
    pub(super) fn find_hops(&mut self, peer: PeerId, ways: &mut [Way]) -> Result<(), TransportError> {
        let is_amid = self.is_amid();
        let begun = Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            let (mut missing, mut hopeful, mut worth_it) = (Vec::new(), false, false);
            for way in ways.iter_mut().filter(|way| !way.is_found()) {
                let Err(this) = self.find_hop(way, is_amid) else { continue };
                hopeful |= !this.is_hopeless;
                // Who was waited for at a network in vain is not waited for again.
                worth_it |= !this.is_hopeless && !self.silent[way.rail];
                missing.push(this);
            }
            let Some(last) = missing.last() else { return Ok(()) };
            let is_found = ways.iter().any(Way::is_found);
            let promising = if is_found || is_amid { worth_it } else { hopeful };
            let waits = promising && begun.elapsed() < patience(is_amid, is_found);
            if !(waits || is_found || is_amid && hopeful) {
                return Err(TransportError::Unreachable(format!("task {peer}: {}", last.why)));
            }
            if !waits {
                missing.iter().for_each(|this| self.leave_out(peer, this));
                return Ok(());
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(20));
        }
    }

    /// Finds a way's next hop, or says why there is none.
    fn find_hop(&self, way: &mut Way, is_amid: bool) -> Result<(), Missing> {
        let Link::Wire(wire) = &mut way.link else { return Ok(()) };
        // Contexts that share the windows go on.
        let adapter = self.rails.look()[way.rail].entry.place.adapter.clone();
        let address = wire.address;
        let hop = if is_amid {
            self.services.hop_within(AMID, &adapter, address)
        } else {
            self.services.hop(&adapter, address)
        };
        let missing =
            |why, is_hopeless, is_unanswered| Missing { rail: way.rail, why, is_hopeless, is_unanswered };
        match hop {
            Ok(Some(hop)) => {
                let rails = self.rails.look();
                let Some(port) = &rails[way.rail].port else { return Ok(()) };
                (wire.template, wire.found) = (port.template(hop, address, wire.port), true);
                Ok(())
            }
            Ok(None) => {
                let why = format!(
                    "{address} does not answer at the network of {adapter}: is that host up, and is there a way to it?"
                );
                Err(missing(why, false, false))
            }
            // Amid traffic it was not given the time to answer.
            Err(e) if is_unanswered(&e) => Err(missing(e.to_string(), !is_amid, true)),
            Err(e) => Err(missing(e.to_string(), true, false)),
        }
    }

    /// Leaves a way out until its next hop answers, and says so once for a window.
    fn leave_out(&mut self, peer: PeerId, missing: &Missing) {
        let Missing { rail, why, is_unanswered, .. } = missing;
        if *is_unanswered {
            // The daemon does not know that it has something to tell.
            self.hops[*rail] = UNSEEN;
            self.services.note_answers(false);
            self.pace();
        }
        if !std::mem::replace(&mut self.silent[*rail], true) {
            let place = self.rails.look()[*rail].entry.place.clone();
            self.host.warn(format_args!("{place} does not lead to task {peer} at present: {why}"));
        }
    }

    /// Whether a way carries datagrams at present.
    pub(super) fn is_up(services: &Services, way: &Way, rail: &Rail) -> bool {
        let index = rail.entry.index as usize;
        // What goes through memory needs nobody to answer at a network.
        let answers = matches!(way.link, Link::Memory(_)) || !services.is_silent(index);
        let theirs = way.index.is_none_or(|index| services.is_up(index));
        services.is_up(index) && theirs && way.is_found() && answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_that_does_not_answer_stops_this_tasks_traffic_for_a_moment_only() {
        assert!(patience(false, false) > patience(false, true));
        for is_found in [false, true] {
            assert!(patience(true, is_found) <= Duration::from_millis(20));
        }
    }
}
