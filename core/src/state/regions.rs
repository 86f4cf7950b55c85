//! Memory that tasks share: the regions that this task has registered, with the transports that
//! need a key, and the regions that peers have announced.
//!
//! The first transfer that would use a peer's regions asks for them; from then on the peer
//! announces every region that it registers or removes. So tasks that never put or get exchange
//! nothing, and a transfer never waits for an answer: until there is one, the data goes in packets.
//!
//! ```text
//!   owner                                 listener
//!     |◄──────────────────────── Regions  | tell me
//!     | Region {come, 7, key} ───────────►| may use the key from now on
//!     |◄─────────────── Region {known, 7} |
//!     | Region {gone, 7} ────────────────►| begins nothing more with it; when nothing is under way
//!     |◄───────────── Region {dropped, 7} |
//!     | the registration is released
//! ```
//!
//! Each announcement is answered. So a region is taken back when nobody uses its key any more; it
//! is not said to be gone before it is known, whatever order packets take; and a listener that
//! answers nothing is told of a few regions only, however many come and go meanwhile.
//!
//! A listener that purges the owner answers nothing more. When its last transfer with the owner has
//! ended it says so by a `Recall` packet, which is valid in any epoch; then it is no listener. If
//! it resumes the owner before that, it answers again.

use crate::transport::PeerId;
use std::collections::{BTreeMap, BTreeSet};

/// Announcements to a listener that it has not answered.
const UNANSWERED: usize = 32;

/// A transport's registration of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    /// Index of the link.
    pub(crate) link: usize,
    /// For the link's `mem_release`.
    pub(crate) id: u64,
    /// What peers name in their transfers.
    pub(crate) key: u64,
}

/// Memory of this task that peers may reach.
#[derive(Debug)]
struct Region {
    /// How listeners name it in their answers: no other one of this task has had this number.
    number: u64,
    base: u64,
    len: u64,
    /// With the transports that work by keys.
    registrations: Vec<Registration>,
}

impl Region {
    fn holds(&self, addr: u64, len: u64) -> bool {
        addr.checked_sub(self.base).is_some_and(|offset| offset <= self.len && len <= self.len - offset)
    }

    /// The key for peers that a link leads to; 0 where it works without keys.
    fn key(&self, link: Option<usize>) -> Option<u64> {
        let Some(link) = link else { return Some(0) };
        self.registrations.iter().find(|r| r.link == link).map(|r| r.key)
    }
}

/// A region that the program has taken back.
#[derive(Debug)]
struct Leaving {
    region: Region,
    /// Its registrations have been released.
    released: bool,
}

/// What is said of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) number: u64,
    pub(crate) base: u64,
    pub(crate) len: u64,
    pub(crate) key: u64,
    /// Whether it is there, or not any more.
    pub(crate) come: bool,
}

/// What a listener has been told of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// That it is there; the answer is outstanding.
    Come,
    /// The same, and it has answered.
    Known,
    /// That it is there no more; the answer is outstanding.
    Gone,
}

/// A peer that wants to hear of regions.
#[derive(Debug)]
struct Listener {
    peer: PeerId,
    /// The link by whose keys it reaches them, if that works by keys.
    link: Option<usize>,
    /// Regions from this number on it has not been told of.
    next: u64,
    /// What it has been told, by the regions' numbers.
    told: BTreeMap<u64, Told>,
    /// Announcements that it has not answered.
    unanswered: usize,
}

/// This task's regions, and who wants to hear of them.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    /// In the order of their numbers.
    all: Vec<Region>,
    /// Those that listeners have to drop, or that are still to be released.
    leaving: Vec<Leaving>,
    listeners: Vec<Listener>,
    next: u64,
    /// Peers' regions that are gone, and that transfers of ours still use.
    pub(crate) withdrawn: Vec<Withdrawn>,
    /// Peers that were purged, and some of whose regions transfers of ours still use.
    pub(crate) left: Vec<PeerId>,
    /// The program has been told that a transport can't register memory.
    pub(crate) warned: bool,
    /// It has been told that memory is taken back before all have answered.
    pub(crate) said_early: bool,
}

/// A region of a peer's that is not to be used any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Withdrawn {
    pub(crate) peer: PeerId,
    pub(crate) news: News,
}

impl Regions {
    pub(crate) fn add(&mut self, base: u64, len: u64, registrations: Vec<Registration>) {
        let number = self.next;
        self.next += 1;
        self.all.push(Region { number, base, len, registrations });
    }

    /// One region that is just this range is there no more: its number. It stays registered until
    /// it is [released](Self::release).
    pub(crate) fn take(&mut self, base: u64, len: u64) -> Option<u64> {
        let at = self.all.iter().position(|r| (r.base, r.len) == (base, len))?;
        let region = self.all.remove(at);
        let number = region.number;
        self.leaving.push(Leaving { region, released: false });
        Some(number)
    }

    /// Whether a region that was taken is known to a peer that reaches it by key.
    pub(crate) fn is_known(&self, number: u64) -> bool {
        self.listeners.iter().any(|l| l.link.is_some() && l.told.contains_key(&number))
    }

    /// The registrations of a region that was taken.
    pub(crate) fn of_leaving(&self, number: u64) -> &[Registration] {
        let leaving = self.leaving.iter().find(|l| l.region.number == number && !l.released);
        leaving.map_or(&[], |leaving| &leaving.region.registrations)
    }

    /// A region that was taken is released: its registrations are the caller's.
    pub(crate) fn release(&mut self, number: u64) -> Vec<Registration> {
        let Some(leaving) = self.leaving.iter_mut().find(|l| l.region.number == number && !l.released) else {
            return Vec::new();
        };
        leaving.released = true;
        let registrations = leaving.region.registrations.clone();
        self.forget_dropped();
        registrations
    }

    /// Whether a registration is a region's that is not released.
    pub(crate) fn has(&self, registration: &Registration) -> bool {
        let leaving = self.leaving.iter().filter(|l| !l.released).map(|l| &l.region);
        self.all.iter().chain(leaving).any(|region| region.registrations.contains(registration))
    }

    /// A peer, which a link leads to, wants to hear of regions, perhaps because it has forgotten
    /// what it was told.
    pub(crate) fn listen(&mut self, peer: PeerId, link: Option<usize>) {
        let mut told = BTreeMap::new();
        if let Some(at) = self.listeners.iter().position(|l| l.peer == peer) {
            // What it may still use must be taken back from it all the same.
            told = self.listeners.swap_remove(at).told;
            told.values_mut().for_each(|told| *told = Told::Known);
        }
        self.listeners.push(Listener { peer, link, next: 0, told, unanswered: 0 });
    }

    /// A peer that lives has begun anew, and forgotten what it was told. Transfers of its former
    /// life may still use that, so it is asked to drop what goes; it hears of nothing new until it
    /// asks again.
    pub(crate) fn begin_anew(&mut self, peer: PeerId) {
        let Some(listener) = self.listeners.iter_mut().find(|l| l.peer == peer && l.link.is_some()) else {
            return self.forget(peer);
        };
        listener.told.values_mut().for_each(|told| *told = Told::Known);
        (listener.next, listener.unanswered) = (u64::MAX, 0);
        self.withdrawn.retain(|withdrawn| withdrawn.peer != peer);
    }

    /// A peer has no use for regions any more, and is told of none.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.listeners.retain(|listener| listener.peer != peer);
        self.withdrawn.retain(|withdrawn| withdrawn.peer != peer);
        self.forget_dropped();
    }

    /// Those that want to hear of regions.
    pub(crate) fn listeners(&self) -> Vec<PeerId> {
        self.listeners.iter().map(|listener| listener.peer).collect()
    }

    /// What a listener is to be told next, if it has answered enough of what it was told before.
    pub(crate) fn next_news(&mut self, peer: PeerId) -> Option<News> {
        let Self { all, leaving, listeners, .. } = self;
        let listener = listeners.iter_mut().find(|l| l.peer == peer && l.unanswered < UNANSWERED)?;
        let gone = leaving.iter().find(|l| listener.told.get(&l.region.number) == Some(&Told::Known));
        let (region, key, come) = if let Some(Leaving { region, .. }) = gone {
            (region, region.key(listener.link)?, false)
        } else {
            let first = all.partition_point(|region| region.number < listener.next);
            let reached = |region: &Region| region.key(listener.link).is_some();
            let region = all[first..].iter().find(|region| reached(region))?;
            listener.next = region.number + 1;
            (region, region.key(listener.link)?, true)
        };
        listener.told.insert(region.number, if come { Told::Come } else { Told::Gone });
        listener.unanswered += 1;
        Some(News { number: region.number, base: region.base, len: region.len, key, come })
    }

    /// A listener has answered that it knows a region, or has dropped it.
    pub(crate) fn answered(&mut self, peer: PeerId, number: u64, come: bool) {
        let Some(listener) = self.listeners.iter_mut().find(|l| l.peer == peer) else { return };
        let expected = if come { Told::Come } else { Told::Gone };
        // An answer to what was said before it asked anew is none.
        if listener.told.get(&number) != Some(&expected) {
            return;
        }
        listener.unanswered = listener.unanswered.saturating_sub(1);
        if come {
            listener.told.insert(number, Told::Known);
        } else {
            listener.told.remove(&number);
            self.forget_dropped();
        }
    }

    /// What is released and known to nobody is forgotten.
    fn forget_dropped(&mut self) {
        let Self { leaving, listeners, .. } = self;
        leaving.retain(|l| !l.released || listeners.iter().any(|p| p.told.contains_key(&l.region.number)));
    }

    /// Whether a range lies in one region.
    pub(crate) fn hold(&self, addr: u64, len: u64) -> bool {
        self.all.iter().any(|region| region.holds(addr, len))
    }

    /// The registration by which a link's peers reach a range that is registered already.
    pub(crate) fn registration(&self, link: usize, addr: u64, len: u64) -> Option<Registration> {
        let holding = self.all.iter().filter(|region| region.holds(addr, len));
        holding.flat_map(|region| &region.registrations).find(|r| r.link == link).copied()
    }
}

/// What a peer told of its regions: (first address, length, number, key).
#[derive(Debug, Default)]
pub(crate) struct PeerRegions(BTreeSet<(u64, u64, u64, u64)>);

impl PeerRegions {
    /// A region has come or gone.
    pub(crate) fn note(&mut self, news: News) {
        let region = (news.base, news.len, news.number, news.key);
        if news.come {
            self.0.insert(region);
        } else {
            self.0.remove(&region);
        }
    }

    /// The key for a range. Regions rarely overlap: the first one looked at mostly has it.
    pub(crate) fn key(&self, addr: u64, len: u64) -> Option<u64> {
        self.keys(addr, len).next()
    }

    /// Whether a key is for a range.
    pub(crate) fn have(&self, addr: u64, len: u64, key: u64) -> bool {
        self.keys(addr, len).any(|one| one == key)
    }

    fn keys(&self, addr: u64, len: u64) -> impl Iterator<Item = u64> {
        let before = self.0.range(..=(addr, u64::MAX, u64::MAX, u64::MAX)).rev();
        let holds = move |(base, size, ..): &&(u64, u64, u64, u64)| {
            addr - base <= *size && len <= size - (addr - base)
        };
        before.filter(holds).map(|(.., key)| *key)
    }
}

#[cfg(test)]
#[path = "regions_tests.rs"]
mod tests;
