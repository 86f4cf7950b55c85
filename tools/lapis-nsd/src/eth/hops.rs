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

/// Of those that nobody has answered for so many are kept: a task may ask for any address.
const MOST_UNANSWERED: usize = 4096;

/// So many neighbours are asked at a time, the others later: the daemon has more to do.
const AT_ONCE: usize = 64;

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
    /// The one that was asked last.
    last: Option<IpAddr>,
    /// A task was told another hop than those before it, who have not heard of it.
    untold: bool,
}

impl Hops {
    pub(super) fn none() -> Self {
        Self { known: HashMap::new(), asked: Instant::now(), last: None, untold: false }
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
        let is_full = self.known.len() >= MOST || mac.is_none() && self.unanswered() >= MOST_UNANSWERED;
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

    fn unanswered(&self) -> usize {
        self.known.values().filter(|via| via.mac.is_none()).count()
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
        let is_quiet = |address: &IpAddr| neighbours.get(address).is_none_or(|neighbour| neighbour.is_stale);
        for address in self.turn(is_quiet) {
            let _ = netlink.look_for(index, address);
        }
    }

    /// The neighbours that are asked next, of those that are to be asked.
    fn turn(&mut self, is_quiet: impl Fn(&IpAddr) -> bool) -> Vec<IpAddr> {
        let quiet: BTreeSet<IpAddr> = self.known.values().map(|via| via.address).filter(is_quiet).collect();
        let (before, after): (Vec<IpAddr>, Vec<IpAddr>) =
            quiet.into_iter().partition(|address| self.last.is_some_and(|last| *address <= last));
        let turn: Vec<IpAddr> = after.into_iter().chain(before).take(AT_ONCE).collect();
        self.last = turn.last().copied();
        turn
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(n: u32) -> IpAddr {
        Ipv4Addr::from(0x0a00_0000 + n).into()
    }

    #[test]
    fn neighbours_are_asked_in_turn() {
        let mut hops = Hops::none();
        (0..150).for_each(|n| hops.note(address(n), address(n), None));
        let asked: Vec<Vec<IpAddr>> = (0..3).map(|_| hops.turn(|_| true)).collect();
        let expected =
            |from: u32| (from..from + AT_ONCE as u32).map(|n| address(n % 150)).collect::<Vec<_>>();
        assert_eq!(asked, [expected(0), expected(64), expected(128)]);
        assert_eq!(hops.turn(|quiet| *quiet == address(7)), [address(7)]);
    }

    #[test]
    fn addresses_that_nobody_answers_for_take_little_room_and_leave_some_for_others() {
        let mut hops = Hops::none();
        (0..5000).for_each(|n| hops.note(address(n), address(n), None));
        assert_eq!(hops.known.len(), MOST_UNANSWERED);
        hops.note(address(9000), address(9000), Some([1; 6]));
        assert!(hops.known.contains_key(&address(9000)));
    }
}
