//! Which interfaces of two tasks reach each other.
//!
//! Both tasks come to the same answer because both look at the pair from the side of the
//! lower-numbered task, so that path *n* of one is path *n* of the other.

use crate::address::{Card, Entry};
use crate::options::MAX_RAILS;

/// A path: an interface here and one there, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) here: usize,
    pub(crate) there: usize,
}

/// The paths between two tasks, best first. `routed` says whether the kernel knows a way between
/// two entries that share no subnet.
pub(crate) fn pairs(
    me: u32,
    mine: &Card,
    peer: u32,
    theirs: &Card,
    mut routed: impl FnMut(&Entry, &Entry) -> bool,
) -> Vec<Pair> {
    let swapped = peer < me;
    let (low, high) = if swapped { (theirs, mine) } else { (mine, theirs) };
    let same_stack = low.identity == high.identity;
    let wanted = usize::from(low.rails.min(high.rails)).clamp(1, MAX_RAILS);
    let turn = |(l, h): (usize, usize)| {
        if swapped { Pair { here: h, there: l } } else { Pair { here: l, there: h } }
    };
    if same_stack && !low.explicit && !high.explicit {
        let loopback = |card: &Card| card.entries.iter().position(|e| e.loopback);
        if let (Some(l), Some(h)) = (loopback(low), loopback(high)) {
            return vec![turn((l, h))];
        }
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    // Two addresses of one interface are no two rails, unless the user says so.
    let taken = |card: &Card, at: usize, now: usize| {
        at == now || (!card.explicit && card.entries[at].name == card.entries[now].name)
    };
    let mut take = |fits: &mut dyn FnMut(&Entry, &Entry) -> bool| {
        for (l, from) in low.entries.iter().enumerate() {
            for (h, to) in high.entries.iter().enumerate() {
                let free = !found.iter().any(|&(fl, fh)| taken(low, fl, l) || taken(high, fh, h));
                if found.len() < wanted && free && possible(from, to, same_stack) && fits(from, to) {
                    found.push((l, h));
                }
            }
        }
    };
    // A bridge that both have is usually each one's own; it counts only if nothing else does.
    take(&mut |a, b| same_subnet(a, b) && !(a.bridge && b.bridge));
    take(&mut |a, b| {
        let (here, there) = if swapped { (b, a) } else { (a, b) };
        !same_subnet(a, b) && !a.link_local() && !b.link_local() && routed(here, there)
    });
    if found.is_empty() {
        for (l, from) in low.entries.iter().enumerate() {
            for (h, to) in high.entries.iter().enumerate() {
                if found.is_empty() && possible(from, to, same_stack) && same_subnet(from, to) {
                    found.push((l, h));
                }
            }
        }
    }
    found.into_iter().map(turn).collect()
}

fn possible(a: &Entry, b: &Entry, same_stack: bool) -> bool {
    a.ip.is_ipv6() == b.ip.is_ipv6()
        // An address that two machines have leads each to itself.
        && (same_stack || (a.ip != b.ip && !a.loopback && !b.loopback))
}

fn same_subnet(a: &Entry, b: &Entry) -> bool {
    a.prefix == b.prefix && a.network() == b.network()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(identity: u8, rails: u8, explicit: bool, entries: &[(&str, &str, u8)]) -> Card {
        let entries = entries
            .iter()
            .map(|(name, ip, prefix)| Entry {
                name: (*name).into(),
                ip: ip.parse().expect("an address"),
                prefix: *prefix,
                scope: 0,
                port: 1,
                loopback: *name == "lo",
                bridge: name.starts_with("docker"),
            })
            .collect();
        Card { identity: [identity; 16], rails, explicit, entries }
    }

    fn both(a: &Card, b: &Card, routed: bool) -> Vec<(usize, usize)> {
        let forth = pairs(3, a, 5, b, |_, _| routed);
        let back = pairs(5, b, 3, a, |_, _| routed);
        let mirrored: Vec<Pair> = back.iter().map(|p| Pair { here: p.there, there: p.here }).collect();
        assert_eq!(forth, mirrored, "both sides agree");
        forth.iter().map(|p| (p.here, p.there)).collect()
    }

    #[test]
    fn tasks_of_one_machine_use_loopback() {
        let a = card(1, 8, false, &[("lo", "127.0.0.1", 8), ("en0", "10.0.0.1", 24)]);
        assert_eq!(both(&a, &a, true), [(0, 0)]);
        // Unless the user named interfaces.
        let a = card(1, 1, true, &[("en0", "10.0.0.1", 24)]);
        assert_eq!(both(&a, &a, true), [(0, 0)]);
    }

    #[test]
    fn rails_pair_by_subnet_whatever_their_order() {
        let a =
            card(1, 2, false, &[("lo", "127.0.0.1", 8), ("en0", "10.0.0.1", 24), ("en1", "10.1.0.1", 24)]);
        let b =
            card(2, 8, false, &[("lo", "127.0.0.1", 8), ("en0", "10.1.0.2", 24), ("en1", "10.0.0.2", 24)]);
        assert_eq!(both(&a, &b, false), [(1, 2), (2, 1)]);
        let one = Card { rails: 1, ..b };
        assert_eq!(both(&a, &one, false), [(1, 2)]);
    }

    #[test]
    fn an_interface_of_two_addresses_is_one_rail_unless_both_are_named() {
        let a = card(1, 8, false, &[("en0", "10.0.0.1", 24), ("en0", "fd00::1", 64)]);
        let b = card(2, 8, false, &[("en0", "10.0.0.2", 24), ("en1", "fd00::2", 64)]);
        assert_eq!(both(&a, &b, true), [(0, 0)]);
        let [a, b] = [a, b].map(|card| Card { explicit: true, ..card });
        assert_eq!(both(&a, &b, true), [(0, 0), (1, 1)]);
    }

    #[test]
    fn bridges_without_a_peer_are_avoided() {
        let a = card(1, 2, false, &[("docker0", "172.17.0.1", 16), ("en0", "10.0.0.1", 24)]);
        let b = card(2, 2, false, &[("docker0", "172.17.0.1", 16), ("en0", "10.0.0.2", 24)]);
        assert_eq!(both(&a, &b, false), [(1, 1)]);
        let b = card(2, 2, false, &[("docker0", "172.17.0.2", 16), ("en0", "10.0.0.2", 24)]);
        assert_eq!(both(&a, &b, false), [(1, 1)]);
    }

    #[test]
    fn without_a_common_subnet_the_kernel_decides() {
        let a = card(1, 1, false, &[("en0", "10.0.0.1", 24)]);
        let b = card(2, 1, false, &[("en0", "10.9.0.1", 24)]);
        assert_eq!(both(&a, &b, true), [(0, 0)]);
        assert_eq!(both(&a, &b, false), []);
    }
}
