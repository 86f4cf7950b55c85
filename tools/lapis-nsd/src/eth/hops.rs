//! Next hops that tasks have been given: the neighbour, and its Ethernet address.

use crate::eth::netlink::{Heard, Link, Netlink};
use lapis_adapters::eth::Hop;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Neighbours are asked so often whether they are there.
const ASK: Duration = Duration::from_secs(10);

/// Enough for each task of a large job; who asks for more is served, too.
const MOST: usize = 1 << 16;

/// A next hop that tasks were told.
#[derive(Clone, Copy, Debug)]
struct Via {
    address: IpAddr,
    mac: [u8; 6],
}

/// The next hops from an interface that its tasks know.
#[derive(Debug)]
pub(super) struct Hops {
    /// By the addresses that they lead to.
    known: HashMap<IpAddr, Via>,
    /// Neighbours were asked last whether they are there.
    asked: Instant,
}

impl Hops {
    pub(super) fn none() -> Self {
        Self { known: HashMap::new(), asked: Instant::now() }
    }

    /// The next hop to an address; none, while it is looked for.
    pub(super) fn find(&mut self, netlink: &Netlink, link: &Link, to: IpAddr) -> io::Result<Option<Hop>> {
        let address = netlink.next_hop(link.index, to)?;
        let Some(mac) = netlink.neighbour(link.index, address)? else {
            // Who was told one is told the next one, too.
            self.known.entry(to).and_modify(|via| via.mac = [0; 6]);
            netlink.look_for(link.index, address)?;
            return Ok(None);
        };
        if self.known.len() < MOST {
            self.known.insert(to, Via { address, mac });
        }
        Ok(Some(Hop { mac, from: link.mac }))
    }

    /// Whether tasks were told a hop that is now another one.
    pub(super) fn have_changed(&mut self, netlink: &Netlink, index: u32, heard: Heard) -> bool {
        if self.known.is_empty() || !(heard.routes || heard.neighbours) {
            return false;
        }
        // The kernel is short of something: the next news tell, too.
        let Ok(neighbours) = netlink.neighbours(index) else { return false };
        let mut changed = false;
        for (to, via) in &mut self.known {
            if heard.routes {
                match netlink.next_hop(index, *to) {
                    Ok(address) => via.address = address,
                    Err(_) => continue,
                }
            }
            match neighbours.get(&via.address) {
                Some(neighbour) if neighbour.mac != via.mac => (via.mac, changed) = (neighbour.mac, true),
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
        if self.known.is_empty() || self.asked.elapsed() < ASK {
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
        (!self.known.is_empty()).then(|| ASK.saturating_sub(self.asked.elapsed()))
    }

    /// No task is there that knows any.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }
}
