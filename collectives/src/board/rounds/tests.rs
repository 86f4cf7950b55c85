//! Rounds through memory, among every number of members, in random orders: what is taken must be
//! what was put in that very round.

use super::model::{Case, Way};
use super::{MEET_MEMBERS, Plan};
use crate::call::Call;
use lapis_schedules::group::Group;
use lapis_schedules::tree::Parts;
use lapis_schedules::trial::{JUNK, Map, folded, roots, value};

/// Numbers of members.
fn sizes() -> impl Iterator<Item = usize> {
    let most = if cfg!(miri) { 4 } else { 24 };
    (1..=most).chain((!cfg!(miri)).then_some([64, 100]).into_iter().flatten())
}

/// Each case in place and not, with large and small areas.
fn each(n: usize, case: impl Fn(usize, bool)) {
    for room in [if n > 12 { 8 * n } else { 5000 }, 3 * n] {
        for in_place in [false, true] {
            case(room, in_place);
        }
    }
}

/// Element counts: nothing, little, and enough that large groups divide reductions.
fn counts(n: usize) -> Vec<usize> {
    match n {
        _ if cfg!(miri) => vec![0, 1, 7],
        4 | 5 => vec![0, 1, 7, 4099],
        0..=12 => vec![0, 1, 7],
        _ => vec![1],
    }
}

#[test]
fn reductions_through_memory_fold_in_order() {
    for n in sizes() {
        for count in counts(n) {
            each(n, |room, in_place| {
                let all = |_: usize, i: usize| folded(0..n, i, true);
                let call = Call::AllReduce { count };
                let case = Case {
                    call,
                    calls: None,
                    n,
                    room,
                    in_place,
                    way: Way::Areas,
                    inputs: &|_| count,
                    outputs: &|_| count,
                    expected: &all,
                };
                case.check();
                for root in roots(n) {
                    let outputs = |me: usize| if me == root { count } else { 0 };
                    Case { call: Call::Reduce { root, count }, outputs: &outputs, ..case }.check();
                }
                let (call, each) = (Call::ReduceScatterBlock { count }, |_: usize| n * count);
                let part = |me: usize, i: usize| folded(0..n, me * count + i, true);
                Case { call, inputs: &each, expected: &part, ..case }.check();
                let upto = |me: usize, i: usize| folded(0..me + 1, i, true);
                Case { call: Call::Scan { count }, expected: &upto, ..case }.check();
                let before = |me: usize, i: usize| match me {
                    0 if in_place => value(0, i),
                    0 => JUNK,
                    _ => folded(0..me, i, true),
                };
                Case { call: Call::ExScan { count }, expected: &before, ..case }.check();
            });
        }
        let counts: Vec<usize> = (0..n).map(|member| member * 5 % 7).collect();
        let starts: Vec<usize> = (0..n).map(|member| counts[..member].iter().sum()).collect();
        each(n, |room, in_place| {
            let call = Call::ReduceScatter { counts: &counts };
            let expected = |me: usize, i: usize| folded(0..n, starts[me] + i, true);
            let total = counts.iter().sum();
            let (inputs, outputs) = (|_: usize| total, |me: usize| counts[me]);
            Case {
                call,
                calls: None,
                n,
                room,
                in_place,
                way: Way::Areas,
                inputs: &inputs,
                outputs: &outputs,
                expected: &expected,
            }
            .check();
        });
    }
}

/// Members that meet, with data that is too long for a row.
#[test]
fn long_data_of_members_that_meet_stands_in_their_areas() {
    let n = 9;
    for in_place in [false, true] {
        let (count, room) = (if cfg!(miri) { 4100 } else { 10_000 }, 5000);
        let all = |_: usize, i: usize| folded(0..n, i, true);
        let case = Case {
            call: Call::AllReduce { count },
            calls: None,
            n,
            room,
            in_place,
            way: Way::Areas,
            inputs: &|_| count,
            outputs: &|_| count,
            expected: &all,
        };
        case.check();
        let count = 500;
        let crossed = |me: usize, i: usize| value(i / count, me * count + i % count);
        let each = |_: usize| n * count;
        let call = Call::AllToAll { count };
        Case { call, inputs: &each, outputs: &each, expected: &crossed, ..case }.check();
    }
}

#[test]
fn data_moves_through_memory_to_where_it_belongs() {
    for n in sizes() {
        for count in counts(n).into_iter().filter(|count| *count < 10) {
            each(n, |room, in_place| {
                let all = |_: usize, i: usize| value(i / count, i % count);
                let (one, each) = (|_: usize| count, |_: usize| n * count);
                let case = Case {
                    calls: None,
                    call: Call::AllGather { count },
                    n,
                    room,
                    in_place,
                    way: Way::Areas,
                    inputs: &one,
                    outputs: &each,
                    expected: &all,
                };
                case.check();
                let crossed = |me: usize, i: usize| value(i / count, me * count + i % count);
                Case { call: Call::AllToAll { count }, inputs: &each, expected: &crossed, ..case }.check();
                for root in roots(n) {
                    let at_root = |me: usize| if me == root { n * count } else { 0 };
                    Case { call: Call::Gather { root, count }, outputs: &at_root, ..case }.check();
                    let part = |me: usize, i: usize| value(root, me * count + i);
                    let call = Call::Scatter { root, count };
                    Case { call, inputs: &at_root, outputs: &one, expected: &part, ..case }.check();
                    let roots = |_: usize, i: usize| value(root, i);
                    let call = Call::Broadcast { root, count };
                    Case { call, inputs: &|_| 0, outputs: &one, expected: &roots, ..case }.check();
                    multicast(n, root, &case);
                }
            });
        }
        if n <= 24 {
            unequal_parts(n);
        }
        let inputs = |_: usize| 0;
        let (call, expected) = (Call::Barrier, |_: usize, _: usize| JUNK);
        Case {
            call,
            calls: None,
            n,
            room: 1,
            in_place: false,
            way: Way::Areas,
            inputs: &inputs,
            outputs: &inputs,
            expected: &expected,
        }
        .check();
    }
}

#[test]
fn nobody_leaves_a_barrier_or_an_allreduce_before_everybody_has_begun() {
    for n in sizes().filter(|n| *n > 1) {
        for call in [Call::Barrier, Call::AllReduce { count: 3 }, Call::AllReduce { count: 200 }] {
            let (count, room) = (call.count() as usize, 4 * n + 200);
            let (inputs, expected) = (|_: usize| count, |_: usize, _: usize| JUNK);
            let case = Case {
                call,
                calls: None,
                n,
                room,
                in_place: false,
                way: Way::Areas,
                inputs: &inputs,
                outputs: &inputs,
                expected: &expected,
            };
            for absent in roots(n) {
                for (me, member) in case.run(Some(absent)).iter().enumerate() {
                    let left = member.begun == member.rounds() && member.ended_round();
                    assert!(!left, "{call:?} of {n}: {me} left although {absent} had not begun");
                }
            }
        }
    }
}

#[test]
fn nobody_leaves_a_call_before_everybody_has_begun_while_calls_are_compared() {
    for n in sizes().filter(|n| *n > 1) {
        let (count, root, room) = (3, n / 2, 4 * n + 200);
        let (lens, expected) = (|_: usize| n * count, |_: usize, _: usize| JUNK);
        for call in [
            Call::Broadcast { root, count },
            Call::Reduce { root, count },
            Call::Gather { root, count },
            Call::Scatter { root, count },
        ] {
            let case = Case {
                call,
                calls: None,
                n,
                room,
                in_place: false,
                way: Way::Compared,
                inputs: &lens,
                outputs: &lens,
                expected: &expected,
            };
            for absent in roots(n) {
                let members = case.run(Some(absent));
                let left =
                    members.iter().any(|member| member.begun == member.rounds() && member.ended_round());
                assert!(!left, "{call:?} of {n}: somebody left although {absent} had not begun");
            }
        }
    }
}

#[test]
fn members_of_a_chain_are_ahead_of_the_next_one_only() {
    let (n, room) = (4, 8);
    let lens = |_: usize| 64 * room;
    let expected = |_: usize, _: usize| JUNK;
    let case = Case {
        call: Call::Scan { count: 64 * room },
        calls: None,
        n,
        room,
        in_place: false,
        way: Way::Areas,
        inputs: &lens,
        outputs: &lens,
        expected: &expected,
    };
    let begun: Vec<usize> = case.run(Some(n - 1)).iter().map(|member| member.begun).collect();
    let ahead = case.slots() - 1;
    assert_eq!(begun, [3 * ahead, 2 * ahead, ahead, 0]);
}

/// A root's input is read by the others.
#[test]
fn inputs_that_are_shown_are_read_before_they_change() {
    for (n, in_place) in sizes().flat_map(|n| [(n, false), (n, true)]) {
        for root in roots(n) {
            let count = 5;
            let at_root = |me: usize| if me == root { n * count } else { 0 };
            let part = |me: usize, i: usize| value(root, me * count + i);
            Case {
                call: Call::Scatter { root, count },
                calls: None,
                n,
                room: 8 * n,
                in_place,
                way: Way::Shown,
                inputs: &at_root,
                outputs: &|_| count,
                expected: &part,
            }
            .check();
        }
    }
}

#[test]
fn wide_rounds_move_all_parts() {
    for (n, in_place) in sizes().filter(|n| *n <= 24).flat_map(|n| [(n, false), (n, true)]) {
        // Places of 64 elements each: one round, or several with a short one at the end.
        for count in [5, 150] {
            let each = |_: usize| n * count;
            let crossed = |me: usize, i: usize| value(i / count, me * count + i % count);
            Case {
                call: Call::AllToAll { count },
                calls: None,
                n,
                room: 64 * n,
                in_place,
                way: Way::Wide,
                inputs: &each,
                outputs: &each,
                expected: &crossed,
            }
            .check();
        }
    }
}

/// What is too long for an area, in one window and in several.
#[test]
fn members_that_meet_take_windows_of_a_share() {
    for (n, count) in (MEET_MEMBERS..24).flat_map(|n| [(n, 130), (n, 400)]) {
        let (one, each) = (|_: usize| count, |_: usize| n * count);
        let all = |_: usize, i: usize| folded(0..n, i, true);
        let case = Case {
            call: Call::AllReduce { count },
            calls: None,
            n,
            room: 4 * n,
            in_place: false,
            way: Way::Shares,
            inputs: &one,
            outputs: &one,
            expected: &all,
        };
        let rounds = |way: Way| Case { way, ..case }.run(None)[0].rounds();
        assert!(rounds(Way::Shares) < rounds(Way::Areas), "{n} members");
        case.check();
        Case { in_place: true, ..case }.check();
        let part = |me: usize, i: usize| folded(0..n, me * count + i, true);
        let call = Call::ReduceScatterBlock { count };
        Case { call, inputs: &each, expected: &part, ..case }.check();
        let gathered = |_: usize, i: usize| value(i / count, i % count);
        Case { call: Call::AllGather { count }, outputs: &each, expected: &gathered, ..case }.check();
    }
}

/// Every second member gets the root's data.
fn multicast(n: usize, root: usize, like: &Case<'_>) {
    if n > 24 {
        return;
    }
    let to = Group::strided(0, 2, n.div_ceil(2) as u32).unwrap();
    let gets = |me: usize| me.is_multiple_of(2) || me == root;
    let some = |me: usize, i: usize| if gets(me) { value(root, i) } else { JUNK };
    let Call::AllGather { count } = like.call else { panic!("{:?}", like.call) };
    let call = Call::Multicast { root, to: &to, count };
    let (inputs, outputs) = (|_: usize| 0, |_: usize| count);
    let Case { room, in_place, .. } = *like;
    Case {
        call,
        calls: None,
        n,
        room,
        in_place,
        way: Way::Areas,
        inputs: &inputs,
        outputs: &outputs,
        expected: &some,
    }
    .check();
}

/// An allgather of parts of unequal lengths, the last member's first.
fn unequal_parts(n: usize) {
    let counts: Vec<usize> = (0..n).map(|member| member * 5 % 7).collect();
    let starts: Vec<usize> = (0..n).map(|member| counts[member + 1..].iter().sum()).collect();
    let total: usize = counts.iter().sum();
    let owner = |i: usize| (0..n).find(|m| (starts[*m]..starts[*m] + counts[*m]).contains(&i)).unwrap();
    for room in [5000, 3] {
        for in_place in [false, true] {
            let call = Call::AllGatherV { parts: Parts { counts: &counts, starts: &starts } };
            let (inputs, outputs) = (|me: usize| counts[me], |_: usize| total);
            let expected = |_: usize, i: usize| value(owner(i), i - starts[owner(i)]);
            Case {
                call,
                calls: None,
                n,
                room,
                in_place,
                way: Way::Areas,
                inputs: &inputs,
                outputs: &outputs,
                expected: &expected,
            }
            .check();
        }
    }
}

/// Parts of any lengths between all members, in areas that take many rounds and few.
#[test]
fn unequal_parts_go_to_where_they_belong() {
    let len = |from: usize, to: usize| if from.is_multiple_of(3) { 0 } else { (from * 7 + to * 5) % 40 };
    for n in sizes().filter(|n| *n <= 24) {
        let row = |counts: Vec<usize>| {
            let starts: Vec<usize> = (0..n).map(|i| counts[i + 1..].iter().sum()).collect();
            (counts, starts)
        };
        let gives: Vec<_> = (0..n).map(|from| row((0..n).map(|to| len(from, to)).collect())).collect();
        let gets: Vec<_> = (0..n).map(|to| row((0..n).map(|from| len(from, to)).collect())).collect();
        let parts = |(counts, starts): &(Vec<usize>, Vec<usize>)| {
            let (counts, starts): (&'static [usize], &'static [usize]) =
                (counts.clone().leak(), starts.clone().leak());
            Parts { counts, starts }
        };
        let place = |(counts, starts): &(Vec<usize>, Vec<usize>), i: usize| {
            let member = (0..n).find(|m| (starts[*m]..starts[*m] + counts[*m]).contains(&i)).unwrap();
            (member, i - starts[member])
        };
        let total = |(counts, _): &(Vec<usize>, Vec<usize>)| counts.iter().sum::<usize>();
        for room in [8 * (n + 1) + 16 * n, 8 * (n + 1) + 48 * n] {
            let calls = |me: usize| Call::AllToAllV { give: parts(&gives[me]), get: parts(&gets[me]) };
            let expected = |me: usize, i: usize| {
                let (from, at) = place(&gets[me], i);
                value(from, gives[from].1[me] + at)
            };
            let (inputs, outputs) = (|me: usize| total(&gives[me]), |me: usize| total(&gets[me]));
            unequal(n, room, false, &calls, &inputs, &outputs, &expected);
            for root in roots(n) {
                let at_root = |me: usize, all: &(Vec<usize>, Vec<usize>)| (me == root).then(|| parts(all));
                for in_place in [false, true] {
                    let calls = |me: usize| {
                        let parts = at_root(me, &gets[root]);
                        Call::GatherV { root, mine: len(me, root), parts }
                    };
                    let expected = |_: usize, i: usize| {
                        let (from, at) = place(&gets[root], i);
                        value(from, at)
                    };
                    let outputs = |me: usize| if me == root { total(&gets[root]) } else { 0 };
                    unequal(n, room, in_place, &calls, &|me| len(me, root), &outputs, &expected);
                    let calls = |me: usize| {
                        let parts = at_root(me, &gives[root]);
                        Call::ScatterV { root, mine: len(root, me), parts }
                    };
                    let expected = |me: usize, i: usize| value(root, gives[root].1[me] + i);
                    let inputs = |me: usize| if me == root { total(&gives[root]) } else { 0 };
                    unequal(n, room, in_place, &calls, &inputs, &|me| len(root, me), &expected);
                }
            }
        }
    }
}

/// A case in which each member's call has lists of its own.
fn unequal(
    n: usize,
    room: usize,
    in_place: bool,
    calls: &dyn Fn(usize) -> Call<'static>,
    inputs: &dyn Fn(usize) -> usize,
    outputs: &dyn Fn(usize) -> usize,
    expected: &dyn Fn(usize, usize) -> Map,
) {
    let (call, calls) = (calls(0), Some(calls));
    Case { call, calls, n, room, in_place, way: Way::Areas, inputs, outputs, expected }.check();
}

#[test]
fn what_does_not_fit_goes_another_way() {
    assert!(Plan::new(&Call::AllToAll { count: 1 }, 0, 9, 8, 1).is_none());
    assert!(Plan::new(&Call::AllReduce { count: 1 }, 0, 2, 8, 16).is_none());
}
