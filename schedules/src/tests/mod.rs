//! Every schedule among every number of members, with random orders of events and both ways to
//! send.

use crate::levels::{self, Hosts};
use crate::model::{Model, Sending, Values};
use crate::trial::{Case, JUNK, Map, folded, noise, roots, sizes, then, uneven, value};
use crate::{Place, Script, doubling, exchange, ring, tree, two_trees};

mod moving;

type Steps<'a> = &'a dyn Fn(&mut Script, Place<'_>);
type Counted = fn(&mut Script, Place<'_>, usize);
type Write = fn(&mut Script, Place<'_>, usize, usize);

#[test]
fn broadcasts_bring_the_roots_data_to_everybody() {
    let ways: [(&str, usize, Write); 7] = [
        ("binomial broadcast", 3, |o, at, root, count| tree::broadcast(o, at, root, count, 2)),
        ("4-nomial broadcast", 3, |o, at, root, count| tree::broadcast(o, at, root, count, 4)),
        ("broadcast by pieces", 11, tree::broadcast_by_pieces),
        ("chain", 7, |o, at, root, count| ring::broadcast(o, at, root, count, 2)),
        ("two trees", 9, |o, at, root, count| two_trees::broadcast(o, at, root, count, 2)),
        ("two trees, one segment", 2, |o, at, root, count| two_trees::broadcast(o, at, root, count, 9)),
        ("broadcast of nothing", 0, |o, at, root, count| tree::broadcast(o, at, root, count, 2)),
    ];
    for (name, count, write) in ways {
        for n in sizes(name == "broadcast by pieces") {
            for root in roots(n) {
                Case {
                    n,
                    ordered: true,
                    in_place: false,
                    inputs: &|_| 0,
                    outputs: &|_| count,
                    before: &|me, i| if me == root { value(root, i) } else { JUNK },
                    script: &|o, at| write(o, at, root, count),
                    expected: &|_, i| value(root, i),
                }
                .check(name);
            }
        }
    }
}

#[test]
fn reductions_count_everybody_once_and_keep_order_where_they_promise_it() {
    let ways: [(&str, bool, Write); 6] = [
        ("binomial reduce", false, |o, at, root, count| tree::reduce(o, at, root, count, 2, false)),
        ("ordered reduce", true, |o, at, root, count| tree::reduce(o, at, root, count, 2, true)),
        ("ordered 4-nomial reduce", true, |o, at, root, count| tree::reduce(o, at, root, count, 4, true)),
        ("5-nomial reduce", false, |o, at, root, count| tree::reduce(o, at, root, count, 5, false)),
        ("chain reduce", false, |o, at, root, count| ring::reduce(o, at, root, count, 2, false)),
        ("ordered chain reduce", true, |o, at, root, count| ring::reduce(o, at, root, count, 2, true)),
    ];
    for (name, ordered, write) in ways {
        for n in sizes(false) {
            for root in roots(n) {
                for in_place in [false, true] {
                    Case {
                        n,
                        ordered,
                        in_place,
                        inputs: &|_| 5,
                        outputs: &|me| if me == root { 5 } else { 0 },
                        before: &|_, _| JUNK,
                        script: &|o, at| write(o, at, root, 5),
                        expected: &|_, i| folded(0..n, i, ordered),
                    }
                    .check(name);
                }
            }
        }
    }
}

#[test]
fn all_reductions_give_everybody_the_same() {
    let ways: [(&str, bool, Counted); 3] = [
        ("recursive doubling", true, doubling::all_reduce),
        ("Rabenseifner", false, doubling::all_reduce_by_halves),
        ("ring", false, ring::all_reduce),
    ];
    for (name, ordered, write) in ways {
        for n in sizes(name == "ring") {
            let shapes = [(1, false), (7, true), (0, false), (37, false)];
            let shapes = if n > 40 { &shapes[n % 4..][..1] } else { &shapes[..] };
            for (count, in_place) in shapes.iter().copied() {
                Case {
                    n,
                    ordered,
                    in_place,
                    inputs: &|_| count,
                    outputs: &|_| count,
                    before: &|_, _| JUNK,
                    script: &|o, at| write(o, at, count),
                    expected: &|_, i| folded(0..n, i, ordered),
                }
                .check(name);
            }
        }
    }
}

#[test]
fn scans_fold_those_before_in_order() {
    for n in sizes(false) {
        for in_place in [false, true] {
            let case = Case {
                n,
                ordered: true,
                in_place,
                inputs: &|_| 3,
                outputs: &|_| 3,
                before: &|_, _| JUNK,
                script: &|o, at| doubling::scan(o, at, 3),
                expected: &|me, i| folded(0..me + 1, i, true),
            };
            case.check("scan");
            let first = |i| if in_place { value(0, i) } else { JUNK };
            Case {
                script: &|o, at| doubling::exscan(o, at, 3),
                expected: &|me, i| if me == 0 { first(i) } else { folded(0..me, i, true) },
                ..case
            }
            .check("exscan");
        }
    }
}

#[test]
fn reduce_scatters_give_everybody_its_part() {
    type Parted = fn(&mut Script, Place<'_>, &[usize]);
    let ways: [(&str, bool, bool, Parted); 4] = [
        ("pairwise", true, true, exchange::reduce_scatter),
        ("of everything", true, true, doubling::reduce_scatter),
        ("ring", false, true, ring::reduce_scatter),
        ("halves", false, false, |o, at, counts| doubling::reduce_scatter_by_halves(o, at, counts[0])),
    ];
    for (name, ordered, any, write) in ways {
        for n in sizes(true).into_iter().filter(|n| any || n.is_power_of_two()) {
            let counts = if any { uneven(n).0 } else { vec![3; n] };
            let starts = ring::starts(&counts);
            let total: usize = counts.iter().sum();
            for in_place in [false, true] {
                Case {
                    n,
                    ordered,
                    in_place,
                    inputs: &|_| total,
                    outputs: &|me| counts[me],
                    before: &|_, _| JUNK,
                    script: &|o, at| write(o, at, &counts),
                    expected: &|me, i| folded(0..n, starts[me] + i, ordered),
                }
                .check(name);
            }
        }
    }
}

#[test]
fn two_levels_do_what_one_does() {
    for n in sizes(false) {
        for (blocks, per) in [(true, 4), (false, 3), (true, 1), (true, 300)] {
            let host = |rank: usize| if blocks { rank / per } else { rank % per };
            let hosts = Hosts::of((0..n).map(|rank| host(rank) as u64));
            assert_eq!(hosts.in_order(), blocks || n <= per, "{n} members");
            let ordered = hosts.in_order();
            for in_place in [false, true] {
                let case = Case {
                    n,
                    ordered,
                    in_place,
                    inputs: &|_| 3,
                    outputs: &|_| 3,
                    before: &|_, _| JUNK,
                    script: &|o, at| levels::all_reduce(o, at, &hosts, 3, 4),
                    expected: &|_, i| folded(0..n, i, ordered),
                };
                case.check("two-level allreduce");
            }
            for root in roots(n) {
                Case {
                    n,
                    ordered: true,
                    in_place: false,
                    inputs: &|_| 0,
                    outputs: &|_| 3,
                    before: &|me, i| if me == root { value(root, i) } else { JUNK },
                    script: &|o, at| levels::broadcast(o, at, &hosts, root, 3, 4),
                    expected: &|_, i| value(root, i),
                }
                .check("two-level broadcast");
            }
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_everybody_has_come() {
    for n in sizes(false) {
        let hosts = Hosts::of((0..n).map(|rank| rank as u64 / 5));
        let one = Hosts::of((0..n).map(|_| 0));
        let ways: [(&str, Steps<'_>); 5] = [
            ("dissemination", &|o, at| doubling::barrier(o, at, 2)),
            ("dissemination of 3", &|o, at| doubling::barrier(o, at, 3)),
            ("dissemination of 8", &|o, at| doubling::barrier(o, at, 8)),
            ("two levels", &|o, at| levels::barrier(o, at, &hosts, 4)),
            ("all meet at the first", &|o, at| levels::barrier(o, at, &one, n)),
        ];
        for (name, write) in ways {
            for late in roots(n) {
                let member = |me: usize| {
                    let mut script = Script::default();
                    // Who is late waits for ever for itself to come.
                    if me == late && n > 1 {
                        script.receive(Place::all(me, n), (me + 1) % n, 9999, crate::Span::NONE);
                        script.wait();
                    }
                    write(&mut script, Place::all(me, n));
                    let none: Values<Map> = Values { buffers: [vec![], vec![], vec![]], fold: then };
                    (script, none)
                };
                let model = Model::new((0..n).map(member).collect(), Sending::Eager, false);
                match model.run(|_| 0) {
                    Err(crate::model::Fault::Deadlock(stuck)) => {
                        assert_eq!(stuck.len(), n, "{name}: some of {n} left before member {late} came");
                    }
                    Ok(_) if n == 1 => {}
                    other => panic!("{name} among {n}: {:?}", other.err()),
                }
                let case = Case {
                    n,
                    ordered: true,
                    in_place: false,
                    inputs: &|_| 0,
                    outputs: &|_| 0,
                    before: &|_, _| JUNK,
                    script: &|o, at| write(o, at),
                    expected: &|_, _| JUNK,
                };
                case.check(name);
            }
        }
    }
}

#[test]
fn sends_of_large_groups_meet_receives_of_their_length() {
    use crate::Step;
    let logarithmic: [(&str, Steps<'_>); 9] = [
        ("barrier", &|o, at| doubling::barrier(o, at, 4)),
        ("broadcast", &|o, at| tree::broadcast(o, at, at.n / 3, 5, 4)),
        ("two trees", &|o, at| two_trees::broadcast(o, at, at.n / 3, 5, 2)),
        ("reduce", &|o, at| tree::reduce(o, at, at.n / 3, 5, 3, true)),
        ("allreduce", &|o, at| doubling::all_reduce(o, at, 5)),
        ("Rabenseifner", &|o, at| doubling::all_reduce_by_halves(o, at, 1_000_003)),
        ("Bruck", &|o, at| doubling::all_gather_any(o, at, |rank| (5 * rank, 5))),
        ("scan", &|o, at| doubling::scan(o, at, 5)),
        ("gather", &|o, at| tree::gather(o, at, at.n / 3, 5, 2)),
    ];
    let rounds = if cfg!(miri) { 2 } else { 200 };
    for round in 0..rounds {
        let n = 1 + noise(round) as usize % 100_000;
        let me = noise(!round) as usize % n;
        let of = |write: &dyn Fn(&mut Script, Place<'_>), me: usize| {
            let mut script = Script::default();
            write(&mut script, Place::all(me, n));
            script.steps
        };
        for (name, write) in &logarithmic {
            for step in of(write, me) {
                let meets = |other: &Step| match (step, *other) {
                    (Step::Send { tag, data, .. }, Step::Receive { from, tag: there, into }) => {
                        (me as u32, tag, data.len) == (from, there, into.len)
                    }
                    (Step::Receive { tag, into, .. }, Step::Send { to, tag: there, data }) => {
                        (me as u32, tag, into.len) == (to, there, data.len)
                    }
                    _ => false,
                };
                if let Step::Send { to: peer, .. } | Step::Receive { from: peer, .. } = step {
                    let found = of(write, peer as usize).iter().filter(|s| meets(s)).count();
                    assert_eq!(found, 1, "{name} among {n}: {step:?} of member {me}");
                }
            }
        }
    }
}
