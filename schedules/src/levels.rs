//! Two levels: within each host first, then between one member of each, then within each host
//! again. Networks carry one message for a host instead of one for each of its members.

use crate::group::Group;
use crate::{Place, Script, Span, doubling, tree};
use std::cell::Cell;

/// Which members share a host: groups of ranks.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    groups: Vec<Group>,
    in_order: bool,
    /// Members of the host that has most.
    most: usize,
}

impl Hosts {
    /// From what each member says of itself, by rank: equal words mean the same host.
    pub fn of(words: impl Iterator<Item = u64>) -> Self {
        let mut lists: Vec<(u64, Vec<u32>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut members = 0;
        for (rank, word) in words.enumerate() {
            members = rank as u32 + 1;
            let at = *places.entry(word).or_insert_with(|| {
                lists.push((word, Vec::new()));
                lists.len() - 1
            });
            lists[at].1.push(rank as u32);
        }
        // Every call asks for both.
        let in_order = lists.iter().flat_map(|(_, ranks)| ranks).copied().eq(0..members);
        let most = lists.iter().map(|(_, ranks)| ranks.len()).max().unwrap_or(0);
        let group = |(_, ranks): (u64, Vec<u32>)| Group::from_list(&ranks).unwrap_or_else(|_| Group::empty());
        Self { groups: lists.into_iter().map(group).collect(), in_order, most }
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The ranks on a host.
    pub fn ranks(&self, host: usize) -> &Group {
        &self.groups[host]
    }

    /// A member's host.
    pub fn host_of(&self, rank: usize) -> usize {
        self.groups.iter().position(|group| group.rank(rank as u32).is_some()).unwrap_or(0)
    }

    /// Whether members of each host have ranks that follow each other: then two levels keep the
    /// order of ranks.
    pub fn in_order(&self) -> bool {
        self.in_order
    }

    /// The first rank on a host.
    pub fn first(&self, host: usize) -> usize {
        self.ranks(host).task(0).unwrap_or(0) as usize
    }

    /// How many members the host has that has most.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Whether all hosts have equally many members.
    pub fn are_equal(&self) -> bool {
        self.groups.iter().all(|group| group.len() == self.most)
    }

    fn ranks_in_all(&self) -> u32 {
        self.groups.iter().map(|group| group.len() as u32).sum()
    }
}

/// The rank that sends and receives for a host: the root on its own, else the first.
pub fn leader(hosts: &Hosts, host: usize, root: Option<usize>) -> usize {
    match root.filter(|root| hosts.ranks(host).rank(*root as u32).is_some()) {
        Some(root) => root,
        None => hosts.first(host),
    }
}

/// One host's members, `leader` first.
struct Level {
    me: usize,
    n: usize,
    leader: usize,
}

impl Level {
    fn of(group: &Group, leader: usize, rank: usize) -> Self {
        let leader = group.rank(leader as u32).unwrap_or(0);
        Self { me: group.rank(rank as u32).unwrap_or(0), n: group.len(), leader }
    }
}

/// Runs `up` within the calling member's host, `across` among the leaders, `down` within the host.
/// `root`, if any, leads its host.
fn levels(
    out: &mut Script,
    at: Place<'_>,
    hosts: &Hosts,
    root: usize,
    up: impl FnOnce(&mut Script, Place<'_>, usize),
    across: impl FnOnce(&mut Script, Place<'_>, usize),
    down: impl FnOnce(&mut Script, Place<'_>, usize),
) {
    let (mine, top) = (hosts.host_of(at.me), hosts.host_of(root));
    let leader = |host: usize| {
        if host == top { root } else { hosts.first(host) }
    };
    let group = hosts.ranks(mine);
    let level = Level::of(group, leader(mine), at.me);
    let local = |v: usize| (at.rank)(group.task(v).unwrap_or(0) as usize);
    let here = Place { me: level.me, n: level.n, rank: &local, phase: at.phase + 1 };
    up(out, here, level.leader);
    if leader(mine) == at.me {
        let far = |v: usize| (at.rank)(leader(v));
        across(out, Place { me: mine, n: hosts.len(), rank: &far, phase: at.phase + 2 }, top);
    }
    down(out, here.phase(at.phase + 3), level.leader);
    out.end();
}

/// Nobody ends before everybody has begun.
pub fn barrier(out: &mut Script, at: Place<'_>, hosts: &Hosts, k: usize) {
    let up = |out: &mut Script, at: Place<'_>, top: usize| {
        tree::reduce_to(out, at, top, Span::NONE, k, false);
    };
    let across = |out: &mut Script, at: Place<'_>, _: usize| doubling::barrier(out, at, 2);
    let down = |out: &mut Script, at: Place<'_>, top: usize| tree::broadcast_of(out, at, top, Span::NONE, k);
    levels(out, at, hosts, hosts.first(0), up, across, down);
}

/// Everybody's output becomes the root's.
pub fn broadcast(out: &mut Script, at: Place<'_>, hosts: &Hosts, root: usize, count: usize, k: usize) {
    let data = Span::output(0, count);
    let across = |out: &mut Script, at: Place<'_>, top: usize| tree::broadcast_of(out, at, top, data, 2);
    let down = |out: &mut Script, at: Place<'_>, top: usize| tree::broadcast_of(out, at, top, data, k);
    levels(out, at, hosts, root, |_, _, _| {}, across, down);
}

/// Everybody's output becomes everybody's inputs, folded: in the order of ranks if that is the
/// order of [hosts](Hosts::in_order).
pub fn all_reduce(out: &mut Script, at: Place<'_>, hosts: &Hosts, count: usize, k: usize) {
    let (input, data) = (Span::input(0, count), Span::output(0, count));
    let up = |out: &mut Script, at: Place<'_>, top: usize| {
        let result = tree::reduce_to(out, at, top, input, k, true);
        // What is sent is not where the result goes, unless all is done in place.
        out.drain();
        if at.me == top {
            out.copy(result, data);
        }
    };
    let across = |out: &mut Script, at: Place<'_>, _: usize| {
        doubling::all_reduce_in(out, at, data);
        out.drain();
    };
    let down = |out: &mut Script, at: Place<'_>, top: usize| tree::broadcast_of(out, at, top, data, k);
    levels(out, at, hosts, hosts.first(0), up, across, down);
}

/// Everybody's output becomes everybody's inputs, of `count` elements each: the first member of
/// each host collects those of its host, and gives everything to it along a tree of radix `k`.
pub fn all_gather(out: &mut Script, at: Place<'_>, hosts: &Hosts, count: usize, k: usize) {
    let all = hosts.ranks_in_all() as usize * count;
    let held = Cell::new(Span::NONE);
    let up = |out: &mut Script, at: Place<'_>, top: usize| {
        if at.me != top {
            return out.send(at, top, 0, Span::input(0, count));
        }
        held.set(out.room(all));
        let of = |member: usize| held.get().part(member * count, count);
        out.copy(Span::input(0, count), of(top));
        for from in (0..at.n).filter(|from| *from != top) {
            out.receive(at, from, 0, of(from));
        }
        out.wait();
    };
    let across = |out: &mut Script, at: Place<'_>, _: usize| {
        let len = |host: usize| hosts.ranks(host).len() * count;
        doubling::all_gather_around(out, at, len, held.get());
        let order = (at.me..at.n).chain(0..at.me);
        let ranks = order.flat_map(|host| hosts.ranks(host).iter());
        doubling::copy_runs(out, held.get(), ranks.map(|rank| (rank as usize * count, count)));
    };
    let down = |out: &mut Script, at: Place<'_>, top: usize| {
        tree::broadcast_of(out, at, top, Span::output(0, all), k);
    };
    levels(out, at, hosts, hosts.first(0), up, across, down);
}
