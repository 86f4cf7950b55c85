//! Schedules that move data and fold none.

use crate::levels::{self, Hosts};
use crate::tree::{self, Parts};
use crate::trial::{Case, JUNK, owner, roots, sizes, uneven, value};
use crate::{Place, Script, doubling, exchange, ring};

#[test]
fn gathers_and_scatters_keep_everybodys_place() {
    for n in sizes(true) {
        let (counts, starts) = uneven(n);
        let total: usize = counts.iter().sum();
        let parts = Parts { counts: &counts, starts: &starts };
        for root in roots(n) {
            for k in [2, 3] {
                let gather = Case {
                    n,
                    ordered: true,
                    in_place: false,
                    inputs: &|_| 2,
                    outputs: &|me| if me == root { 2 * n } else { 0 },
                    before: &|_, _| JUNK,
                    script: &|o, at| tree::gather(o, at, root, 2, k),
                    expected: &|_, i| value(i / 2, i % 2),
                };
                gather.check("gather");
                Case {
                    inputs: &|me| if me == root { 2 * n } else { 0 },
                    outputs: &|_| 2,
                    script: &|o, at| tree::scatter(o, at, root, 2, k),
                    expected: &|me, i| value(root, 2 * me + i),
                    ..gather
                }
                .check("scatter");
            }
            let known = |me: usize| (me == root).then_some(parts);
            let gather = Case {
                n,
                ordered: true,
                in_place: false,
                inputs: &|me| counts[me],
                outputs: &|me| if me == root { total } else { 0 },
                before: &|_, _| JUNK,
                script: &|o, at| tree::gather_v(o, at, root, counts[at.me], known(at.me)),
                expected: &|_, i| {
                    let (member, element) = owner(&counts, i);
                    value(member, element)
                },
            };
            gather.check("gather of unequal parts");
            Case {
                inputs: &|me| if me == root { total } else { 0 },
                outputs: &|me| counts[me],
                script: &|o, at| tree::scatter_v(o, at, root, counts[at.me], known(at.me)),
                expected: &|me, i| value(root, starts[me] + i),
                ..gather
            }
            .check("scatter of unequal parts");
        }
    }
}

#[test]
fn all_gathers_give_everybody_everything() {
    for n in sizes(true) {
        let (counts, starts) = uneven(n);
        let total: usize = counts.iter().sum();
        let any = Case {
            n,
            ordered: true,
            in_place: false,
            inputs: &|_| 2,
            outputs: &|_| 2 * n,
            before: &|_, _| JUNK,
            script: &|o, at| doubling::all_gather_any(o, at, |rank| (2 * rank, 2)),
            expected: &|_, i| value(i / 2, i % 2),
        };
        any.check("Bruck");
        // Blocks of ranks, ranks in turns, and all on one host, as whoever meets at the first does.
        for (blocks, per) in [(true, 4), (false, 3), (true, n)] {
            let host = |rank: usize| if blocks { rank / per } else { rank % per };
            let hosts = Hosts::of((0..n).map(|rank| host(rank) as u64));
            for k in [4, n] {
                Case { script: &|o, at| levels::all_gather(o, at, &hosts, 2, k), ..any }.check("two levels");
            }
        }
        if n.is_power_of_two() {
            Case { script: &|o, at| doubling::all_gather(o, at, 2), ..any }.check("doubling");
        }
        let uneven = Case {
            inputs: &|me| counts[me],
            outputs: &|_| total,
            script: &|o, at| ring::all_gather(o, at, &counts, &starts),
            expected: &|_, i| {
                let (member, element) = owner(&counts, i);
                value(member, element)
            },
            ..any
        };
        uneven.check("ring");
        let bruck = |o: &mut Script, at: Place<'_>| {
            doubling::all_gather_any(o, at, |rank| (starts[rank], counts[rank]));
        };
        Case { script: &bruck, ..uneven }.check("Bruck, of uneven parts");
    }
}

#[test]
fn all_to_all_sorts_blocks_by_sender() {
    for n in sizes(true) {
        let bits = Case {
            n,
            ordered: true,
            in_place: false,
            inputs: &|_| 2 * n,
            outputs: &|_| 2 * n,
            before: &|_, _| JUNK,
            script: &|o, at| exchange::all_to_all_by_bits(o, at, 2),
            expected: &|me, i| value(i / 2, 2 * me + i % 2),
        };
        bits.check("Bruck");
        // Member i has (i + j) % 3 elements for member j.
        let count = |from: usize, to: usize| (from + to) % 3;
        let give = |me: usize| (0..n).map(|j| count(me, j)).collect::<Vec<_>>();
        for ports in [1, 4] {
            Case {
                inputs: &|me| give(me).iter().sum(),
                outputs: &|me| give(me).iter().sum(),
                script: &|o, at| {
                    // What comes is as much as goes: the table is symmetric.
                    let (counts, starts) = (give(at.me), ring::starts(&give(at.me)));
                    let parts = Parts { counts: &counts, starts: &starts };
                    exchange::all_to_all(o, at, parts, parts, ports);
                },
                expected: &|me, i| {
                    let (from, element) = owner(&give(me), i);
                    value(from, ring::starts(&give(from))[me] + element)
                },
                ..bits
            }
            .check("pairwise");
        }
    }
}

#[test]
fn neighbours_exchange_along_their_edges() {
    for n in sizes(true) {
        // A ring with two edges forward, one back and one to oneself.
        let far = |me: usize, by: usize| (me + by) % n;
        let edges = |members: [usize; 4]| {
            let lens = [1, 2, 3, 1];
            let starts = [0, 1, 3, 6];
            std::array::from_fn::<_, 4, _>(|i| exchange::Edge {
                member: members[i],
                start: starts[i],
                len: lens[i],
            })
        };
        if n < 3 {
            continue;
        }
        Case {
            n,
            ordered: true,
            in_place: false,
            inputs: &|_| 7,
            outputs: &|_| 7,
            before: &|_, _| JUNK,
            script: &|o, at| {
                let me = at.me;
                let to = edges([far(me, 1), far(me, 1), far(me, n - 1), me]);
                let from = edges([far(me, n - 1), far(me, n - 1), far(me, 1), me]);
                exchange::neighbours(o, at, &from, &to);
            },
            expected: &|me, i| match i {
                0..3 => value(far(me, n - 1), i),
                3..6 => value(far(me, 1), i),
                _ => value(me, i),
            },
        }
        .check("neighbours");
    }
}
