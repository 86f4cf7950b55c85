//! Next hops that tasks have asked for: the neighbour, and its Ethernet address.

use crate::eth::netlink::{Heard, Link, Netlink};
use lapis_adapters::eth::Hop;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Neighbours are asked so often whether they are there.
const ASK: Duration = Duration::from_secs(10);

/// The same while tasks wait for one that has not answered.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A neighbour that does not answer for so long is not there: the kernel asks three times, a second
/// apart.
const SILENT: Duration = Duration::from_secs(4);

/// Enough for each task of a large job; who asks for more is served, too.
const MOST: usize = 1 << 16;

/// A next hop that tasks were told, or wait for.
#[derive(Clone, Copy, Debug)]
struct Via {
    address: IpAddr,
    /// `None`: it has not answered since.
    mac: Option<[u8; 6]>,
    since: Instant,
}

/// The next hops from an interface that its tasks have asked for.
#[derive(Debug)]
pub(super) struct Hops {
    /// By the addresses that they lead to.
    known: HashMap<IpAddr, Via>,
    /// Neighbours were asked last whether they are there.
    asked: Instant,
    /// A task was told another hop than those before it, who have not heard of it.
    untold: bool,
}

impl Hops {
    pub(super) fn none() -> Self {
        Self { known: HashMap::new(), asked: Instant::now(), untold: false }
    }

    /// The next hop to an address; none, while it is looked for. Whoever hears of none is told when
    /// there is one.
    pub(super) fn find(&mut self, netlink: &Netlink, link: &Link, to: IpAddr) -> io::Result<Option<Hop>> {
        let address = netlink.next_hop(link.index, to);
        let address = address.inspect_err(|_| self.note(to, to, None))?;
        let mac = netlink.neighbour(link.index, address)?;
        self.note(to, address, mac);
        if mac.is_none() {
            netlink.look_for(link.index, address)?;
        }
        Ok(mac.map(|mac| Hop { mac, from: link.mac }))
    }

    fn note(&mut self, to: IpAddr, address: IpAddr, mac: Option<[u8; 6]>) {
        let fresh = Via { address, mac, since: Instant::now() };
        let is_full = self.known.len() >= MOST;
        match self.known.get_mut(&to) {
            Some(via) if via.mac == mac => via.address = address,
            Some(via) => {
                self.untold |= mac.is_some();
                *via = fresh;
            }
            None if is_full => {}
            None => _ = self.known.insert(to, fresh),
        }
    }

    /// Whether nobody whom tasks look for from here answers: the network in between carries
    /// nothing.
    pub(super) fn are_silent(&self) -> bool {
        let is_silent = |via: &Via| via.mac.is_none() && via.since.elapsed() >= SILENT;
        !self.known.is_empty() && self.known.values().all(is_silent)
    }

    /// Whether tasks were told a hop that is now another one.
    pub(super) fn have_changed(&mut self, netlink: &Netlink, index: u32, heard: Heard) -> bool {
        if self.known.is_empty() || !(heard.routes || heard.neighbours) {
            return false;
        }
        // The kernel is short of something: the next news tell, too.
        let Ok(neighbours) = netlink.neighbours(index) else { return false };
        let mut changed = std::mem::take(&mut self.untold);
        for (to, via) in &mut self.known {
            if heard.routes {
                match netlink.next_hop(index, *to) {
                    Ok(address) => via.address = address,
                    Err(_) => continue,
                }
            }
            match neighbours.get(&via.address) {
                Some(neighbour) if Some(neighbour.mac) != via.mac => {
                    (via.mac, changed) = (Some(neighbour.mac), true);
                }
                Some(_) => {}
                // The way leads over somebody whom nobody has looked for yet, or who has gone.
                None => drop(netlink.look_for(index, via.address)),
            }
        }
        changed
    }

    /// If it is time, has the kernel ask neighbours that have not been heard of for a while. By
    /// itself it asks those alone to whom its own traffic goes.
    pub(super) fn ask(&mut self, netlink: &Netlink, index: u32) {
        if self.asks_in() != Some(Duration::ZERO) {
            return;
        }
        self.asked = Instant::now();
        let Ok(neighbours) = netlink.neighbours(index) else { return };
        for address in self.known.values().map(|via| via.address).collect::<BTreeSet<_>>() {
            if neighbours.get(&address).is_none_or(|neighbour| neighbour.is_stale) {
                let _ = netlink.look_for(index, address);
            }
        }
    }

    /// When it is time.
    pub(super) fn asks_in(&self) -> Option<Duration> {
        let waits = self.known.values().any(|via| via.mac.is_none());
        let pause = if waits { ASK_AGAIN } else { ASK };
        (!self.known.is_empty()).then(|| pause.saturating_sub(self.asked.elapsed()))
    }

    /// No task is there that knows any.
    pub(super) fn forget(&mut self) {
        (self.known, self.untold) = (HashMap::new(), false);
    }
}
