//! Tasks that are restarted: finding the process that has replaced a dead one.
//!
//! A task publishes its card (which `builder.rs` exchanges) under its number. If there is a sign
//! that a peer has a new process, its card is looked up there. A new process is reached over a
//! datagram link only: the packet engine distinguishes its incarnations, and no memory of the old
//! process is mapped.

use super::card::{address_for, card_key, epoch_of, plain_address};
use super::{Context, Locked, Shared};
use crate::bootstrap::Entry;
use crate::context::State;
use crate::datagrams::{Datagrams, Parties};
use crate::error::{Error, Result};
use crate::state::{PeerLane, PeerState, Route};
use crate::sync::Ordering;
use crate::transport::{Caps, PeerId};
use std::net::SocketAddr;
use std::time::Duration;

/// How long the store may take to answer a question that needs no waiting.
const ANSWER: Duration = Duration::from_secs(2);

impl Context {
    /// Tells where a task receives datagrams now, on its path number `path`, in a job whose program
    /// knows the addresses.
    ///
    /// *LAPI Guide, LAPI_Util, LAPI_ADD_UDP_DEST_PORT.*
    ///
    /// # Errors
    /// Bad target; the job has a launcher or a store that knows the addresses; an address that
    /// can't be used.
    #[doc(alias = "LAPI_ADD_UDP_DEST_PORT")]
    pub fn set_peer_address(&self, target: PeerId, path: usize, address: SocketAddr) -> Result<()> {
        self.usable()?;
        self.check_target(target)?;
        let mut locked = self.locked();
        let state = &mut *locked;
        let over = state.link_to(target).map_or("none", |link| link.name());
        // An address that the transport to the task can't use.
        let no_place = |what| Error::Transport { transport: over.into(), what, source: None };
        let mut listed = self.shared.listed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let paths = listed.get(self.shared.task as usize).map_or(0, Vec::len);
        if path >= paths {
            return Err(if paths == 0 {
                Error::NotAllowed {
                    call: "LAPI_ADD_UDP_DEST_PORT",
                    place: "in a job whose tasks find each other by themselves",
                    remedy: "leave it out: a task that is restarted is found, too",
                }
            } else {
                let what = format!("path {path} of {paths} to task {target}");
                no_place(what)
            });
        }
        // Before anything is changed: a peer without an address would be out of reach.
        if address.port() == 0 || address.ip().is_unspecified() {
            let what = format!("{address} is no place where task {target} could receive");
            return Err(no_place(what));
        }
        listed[target as usize][path] = address;
        if target == self.shared.task {
            return Ok(());
        }
        let card = plain_address(&listed[target as usize]);
        let index = state.peers[target].route.index();
        if state.links.datagrams.get(index).is_some_and(Option::is_none) {
            // The tasks of one machine have met, and a successor of one can't meet the others.
            let p = &state.peers[target];
            return match p.dead || p.state == PeerState::Down {
                false => Ok(()),
                true => Err(Error::NotAllowed {
                    call: "LAPI_ADD_UDP_DEST_PORT",
                    place: "for a task that was reached over shared memory and has ended",
                    remedy: "set LAPI_USE_SHM=no in all tasks of a job that is to take up tasks that were restarted",
                }),
            };
        }
        let Some(link) = state.link_to(target) else { return Ok(()) };
        link.disconnect(target);
        let name = link.name();
        // A transport that takes no such address does not reach the task.
        let Some(address) = address_for(link, &[], Some(&card)) else { return Ok(()) };
        link.connect(target, &address).map_err(|e| Error::Transport {
            transport: name.into(),
            what: e.to_string(),
            source: None,
        })
    }

    /// How often everything started again with any task. Costs no more than a look, so that waits
    /// may ask.
    pub fn beginnings(&self) -> u32 {
        self.shared.beginnings.load(Ordering::Relaxed)
    }

    /// How often everything started again with a task: it was purged, has purged this one, or was
    /// restarted. 0 for this task itself.
    pub fn beginnings_with(&self, peer: PeerId) -> u32 {
        if peer >= self.shared.tasks {
            return 0;
        }
        self.locked().peers[peer].life
    }

    /// The network paths to a task, by number: whether each is up. Empty where there is only one
    /// way. Those of a transport that stands by are not among them, unless there are no others.
    pub fn paths_to(&self, peer: PeerId) -> Vec<bool> {
        if peer >= self.shared.tasks {
            return Vec::new();
        }
        self.locked().paths_to(peer)
    }
}

impl Locked<'_> {
    /// Looks whether another process has taken a peer's place, and turns to it.
    #[cold]
    pub(crate) fn look_for(&mut self, peer: PeerId) -> bool {
        let Some(known) = self.peers[peer].process else { return false };
        let mut job = self.shared().bootstrap.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if job.entry() == Entry::Once {
            return false;
        }
        let card = match job.get(&card_key(peer), ANSWER) {
            Ok(card) => card,
            Err(e) => {
                tracing::debug!(peer, "the store does not say where the peer is: {e}");
                return false;
            }
        };
        let Some(epoch) = epoch_of(&card).filter(|epoch| *epoch != known) else { return false };
        let (info, generation) = (job.job().clone(), job.generation());
        drop(job);
        match self.turn_to(peer, &card, &info, generation) {
            Ok(()) => {
                let p = &mut self.peers[peer];
                (p.process, p.dead, p.farewell) = (Some(epoch), false, false);
                self.is_replaced(peer);
                // What the former process has mapped here is no longer its successor's.
                self.shared().windows[peer as usize].close_for_good();
                tracing::info!(peer, "another process has taken the place of the task's former one");
                true
            }
            Err(e) => {
                tracing::error!(
                    peer,
                    "the process that has taken the task's place is out of reach: {}",
                    e.with_causes()
                );
                false
            }
        }
    }

    /// Leads packets for a peer to where its card says.
    fn turn_to(
        &mut self,
        peer: PeerId,
        card: &[u8],
        info: &crate::bootstrap::JobInfo,
        generation: u32,
    ) -> Result<()> {
        let shared = self.shared();
        let state = &mut **self;
        let former = state.peers[peer].route.index();
        let mut reasons = Vec::new();
        for index in 0..state.links.open.len() {
            let link = &mut state.links.open[index];
            if !link.caps().contains(Caps::DATAGRAM) {
                reasons.push(format!("{}: reaches only the process that has ended", link.name()));
                continue;
            }
            let Some(address) = address_for(link, card, None) else {
                reasons.push(format!("{}: the new process does not have it", link.name()));
                continue;
            };
            link.disconnect(peer);
            if let Err(e) = link.connect(peer, &address) {
                reasons.push(format!("{}: {e}", link.name()));
                continue;
            }
            if former != index {
                let mut params = Parties {
                    task: shared.task,
                    job: &info.id,
                    context: (shared.number, generation),
                    secret: &info.secret,
                    epoch: crate::datagrams::epoch(None),
                    alone: false,
                    peers: Vec::new(),
                };
                match &mut state.links.datagrams[index] {
                    Some(datagrams) => datagrams.adopt(peer, params.epoch),
                    none => {
                        params.peers.push((peer, None));
                        *none = Some(Box::new(Datagrams::new(link, shared.timing(), &params)?));
                        state.links.with_engines = true;
                    }
                }
                state.taken_up(index, peer);
                // Nobody answers there any more, which would count as the successor's silence.
                if let Some((_, datagrams)) = state.links.engine_at(former) {
                    datagrams.purge(peer);
                }
            }
            state.leave_epochs(peer);
            let p = &mut state.peers[peer];
            (p.route, p.lane) = (Route::over(index), PeerLane::none());
            shared.link_sleepers.begin_to_use(index);
            return Ok(());
        }
        Err(Error::NoConnectivity { task: peer, reasons })
    }
}

impl State {
    /// The network paths to a peer, by number: whether each is up.
    pub(super) fn paths_to(&mut self, peer: PeerId) -> Vec<bool> {
        self.engine_to(peer).map_or_else(Vec::new, |(_, datagrams)| datagrams.paths(peer))
    }

    /// A link's engine has taken a peer up. It says nothing to it until the peer is resumed: at
    /// once, unless the program has purged it.
    fn taken_up(&mut self, index: usize, peer: PeerId) {
        let up = self.peers[peer].state == PeerState::Up;
        if let Some((_, datagrams)) = self.links.engine_at(index) {
            datagrams.purge(peer);
            if up {
                datagrams.resume(peer);
            }
        }
    }

    /// A link says that a peer's process has ended. One that carries datagrams doesn't know.
    pub(crate) fn note_death(&mut self, peer: PeerId) {
        let index = self.peers[peer].route.index();
        if self.links.datagrams.get(index).is_none_or(Option::is_none) {
            let p = &mut self.peers[peer];
            p.dead = !p.farewell;
        }
    }
}

impl Shared {
    /// Whether a process that has taken a task's place can be told from the former one.
    pub(crate) fn replacements_show(&self) -> bool {
        let job = self.bootstrap.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        job.entry() != Entry::Once
    }

    /// Whether the program tells where the tasks are.
    pub(crate) fn is_told_addresses(&self) -> bool {
        !self.listed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_empty()
    }
}

#[cfg(all(test, not(any(miri, loom))))]
#[path = "restart_tests.rs"]
mod tests;
