//! Members may make the same call in different forms: waiting, not waiting, set up before, told by
//! a counter or a function.

mod support;

use lapis_collectives::{
    By, Call, CollectiveError, Combine, Element, Group, Operator, Parts, Persistent, Team, Type,
};
use lapis_core::{Context, Counter};
use std::ptr::NonNull;
use support::{LOSSY, SHM, UDP, interrupted_job, job, sleep_on};

/// Numbers that look like any.
fn noise(n: u64) -> u64 {
    let mixed = (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 32).wrapping_mul(0x94d0_49bb_1331_11eb) >> 7
}

fn sum() -> Option<Combine<'static, u64>> {
    Some(Operator::Sum.into())
}

/// Makes a call in one of five forms; gives its output.
fn call_in_form<T: Element + Send>(
    team: &Team,
    form: u64,
    call: &Call<'_>,
    by: Option<Combine<'static, T>>,
    input: Vec<T>,
    output: Vec<T>,
) -> Vec<T> {
    let context = team.context();
    match form % 5 {
        0 => {
            let mut kept: Persistent<T> = team.persistent(call, by, input, output).unwrap();
            kept.start().unwrap();
            kept.wait().unwrap();
            kept.output().unwrap().to_vec()
        }
        1 => {
            let mut request = team.start(call, by, input, output).unwrap();
            while !request.test().unwrap() {}
            request.wait().unwrap().1
        }
        2 => {
            let (tell, told) = std::sync::mpsc::channel();
            let request = team.start(call, by, input, output).unwrap();
            request.then(move |_, ended| tell.send(ended.unwrap().1).unwrap());
            let mut got = None;
            let mut look = || {
                got = got.take().or_else(|| told.try_recv().ok());
                got.is_some()
            };
            context.wait_until(&mut look).unwrap();
            got.unwrap()
        }
        _ => team.start(call, by, input, output).unwrap().wait().unwrap().1,
    }
}

/// Calls of many kinds, each member in a form of its own; every third blocks.
fn calls(team: &Team, round: u64) {
    let (n, me) = (team.len(), team.rank() as u64);
    let form = noise(round * 31 + me);
    let count = [1, 3, 40, 900, 20_000][round as usize % 5];
    let blocks = form.is_multiple_of(3);
    let ranks: u64 = (0..n as u64).sum();
    let mine = vec![me + round; count];
    let all = if blocks {
        let mut all = mine;
        team.all_reduce(&mut all, Operator::Sum).unwrap();
        all
    } else {
        call_in_form(team, form, &Call::AllReduce { count }, sum(), mine, vec![0; count])
    };
    assert_eq!(all, vec![ranks + n as u64 * round; count], "round {round}");
    let root = round as usize % n;
    let word = if blocks {
        let mut word = vec![me * 1000 + round; count];
        team.broadcast(&mut word, root).unwrap();
        word
    } else {
        let word = vec![me * 1000 + round; count];
        call_in_form(team, form / 5, &Call::Broadcast { root, count }, None, vec![], word)
    };
    assert_eq!(word, vec![root as u64 * 1000 + round; count]);
    let counts: Vec<usize> = (0..n).map(|rank| (rank + count) % 4).collect();
    let starts: Vec<usize> = (0..n).map(|rank| counts[..rank].iter().sum()).collect();
    let parts = Parts { counts: &counts, starts: &starts };
    let (mine, room) = (vec![me; counts[me as usize]], vec![0; counts.iter().sum()]);
    let got = if blocks {
        let mut got = room;
        team.all_gather_v(&mine, &mut got, parts).unwrap();
        got
    } else {
        call_in_form(team, form / 25, &Call::AllGatherV { parts }, None, mine, room)
    };
    assert!((0..n).all(|rank| got[starts[rank]..][..counts[rank]].iter().all(|v| *v == rank as u64)));
    unequal_calls(team, round, form);
    if blocks {
        team.barrier().unwrap();
    } else {
        team.start_barrier().unwrap().wait().unwrap();
    }
}

/// Calls whose parts have a length for each two members, some longer than an area.
fn unequal_calls(team: &Team, round: u64, form: u64) {
    let (n, me, root) = (team.len(), team.rank(), round as usize % team.len());
    let most = [1, 7, 5000, 30_000][round as usize % 4];
    let len = |from: usize, to: usize| (from * 3 + to * 5 + round as usize) * most / 7 % (most + 1);
    let starts = |counts: &[usize]| -> Vec<usize> { (0..n).map(|i| counts[..i].iter().sum()).collect() };
    let (gives, gets): (Vec<_>, Vec<_>) = (0..n).map(|other| (len(me, other), len(other, me))).unzip();
    let (give_starts, get_starts) = (starts(&gives), starts(&gets));
    let give = Parts { counts: &gives, starts: &give_starts };
    let get = Parts { counts: &gets, starts: &get_starts };
    let word = |from: usize, to: usize| (from * 1000 + to) as u64 + round;
    let part = |from: usize, to: usize| vec![word(from, to); len(from, to)];
    let row = |all: &dyn Fn(usize) -> Vec<u64>| (0..n).flat_map(all).collect::<Vec<u64>>();
    let mine = row(&|to| part(me, to));
    let all = row(&|from| part(from, me));
    let room = vec![0; all.len()];
    let crossed = match form % 4 {
        0 => {
            let mut crossed = room;
            team.all_to_all_v(&mine, give, &mut crossed, get).unwrap();
            crossed
        }
        _ => call_in_form(team, form / 7, &Call::AllToAllV { give, get }, None, mine.clone(), room),
    };
    assert_eq!(crossed, all, "round {round}");
    // What members say that are not the root does not count, however wrong it is.
    let (wrong, nowhere) = (vec![1 << 40; n], vec![0; n]);
    let wrong = (round % 2 == 1).then_some(Parts { counts: &wrong, starts: &nowhere });
    let call = Call::GatherV { root, mine: len(me, root), parts: if me == root { Some(get) } else { wrong } };
    let there = vec![0; if me == root { all.len() } else { 0 }];
    let there = call_in_form(team, form / 11, &call, None, part(me, root), there);
    assert_eq!(there, if me == root { all } else { vec![] });
    let call =
        Call::ScatterV { root, mine: len(root, me), parts: if me == root { Some(give) } else { wrong } };
    let given = if me == root { mine } else { vec![] };
    let got = call_in_form(team, form / 13, &call, None, given, vec![0; len(root, me)]);
    assert_eq!(got, part(root, me));
}

#[test]
fn unequal_parts_of_other_lengths_than_expected_are_told() {
    for known in [false, true] {
        job(3, SHM, move |context| {
            let team = Team::world(context).unwrap();
            if known {
                team.barrier().unwrap();
            }
            let me = team.rank();
            // Member 1 gives 5 elements where member 2 expects 4.
            let gives = [1, 1, if me == 1 { 5 } else { 1 }];
            let gets = [1, if me == 2 { 4 } else { 1 }, 1];
            let gives = if me == 2 { [1, 1, 1] } else { gives };
            let give = Parts { counts: &gives, starts: &[0, 1, 2] };
            let get = Parts { counts: &gets, starts: &[0, 1, 5] };
            let ended = team.all_to_all_v(&[0u16; 8], give, &mut [0; 8], get);
            match ended {
                Err(CollectiveError::Length { from: 1, got: 10, expected: 8 }) => assert_eq!(me, 2),
                Ok(()) | Err(CollectiveError::Broken { .. }) => assert_ne!(me, 2),
                other => panic!("{other:?}"),
            }
            assert!(team.barrier().is_err());
            Team::world(context).unwrap().barrier().unwrap();
        });
    }
}

#[test]
fn members_may_count_the_same_bytes_in_other_elements() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let n = team.len();
        // 12 does not divide an area: windows must not depend on it.
        let bytes = 12 * 30_000;
        let value = |from: usize, at: usize| (from * 31 + at / 3) as u8;
        for of in [Type::Bytes(12), Type::U32] {
            let of = if team.rank() == 1 { of } else { Type::U8 };
            let count = bytes / of.size();
            let mine: Vec<u8> = (0..n * bytes).map(|at| value(team.rank(), at)).collect();
            let mut got = vec![0u8; n * bytes];
            let call = Call::AllToAll { count };
            // SAFETY: both buffers have a part for each member.
            unsafe { team.call_raw(&call, of, By::Nothing, mine.as_ptr(), got.as_mut_ptr()) }.unwrap();
            for from in 0..n {
                let part = |at: usize| value(from, team.rank() * bytes + at);
                assert!((0..bytes).all(|at| got[from * bytes + at] == part(at)), "from {from} by {of:?}");
            }
        }
    });
}

#[test]
fn an_exchange_of_unequal_parts_in_place_reads_before_it_writes() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let me = team.rank() as u64;
        let (counts, there) = ([2, 2, 2], [4, 2, 0]);
        let give = Parts { counts: &counts, starts: &[0, 2, 4] };
        let get = Parts { counts: &counts, starts: &there };
        let mut data: Vec<u64> = (0..6).map(|i| me * 10 + i).collect();
        let of = data.as_mut_ptr().cast::<u8>();
        // SAFETY: input and output are the same, and have all parts.
        unsafe { team.call_raw(&Call::AllToAllV { give, get }, Type::U64, By::Nothing, of, of) }.unwrap();
        let expected: Vec<u64> =
            [2, 1, 0].into_iter().flat_map(|from| [0, 1].map(|i| from * 10 + me * 2 + i)).collect();
        assert_eq!(data, expected);
    });
}

#[test]
fn who_takes_no_part_and_parts_without_elements_need_no_memory() {
    for settings in [SHM, UDP] {
        job(3, settings, |context| {
            let team = Team::world(context).unwrap();
            let me = team.rank();
            // Before shared memory has been looked for, and afterwards.
            for _ in 0..2 {
                let to = Group::from_list(&[2]).unwrap();
                let call = Call::Multicast { root: 0, to: &to, count: 3 };
                let data = vec![me as u64; if me == 1 { 0 } else { 3 }];
                let none = None::<Combine<'static, u64>>;
                let (_, got) = team.start(&call, none, vec![], data).unwrap().wait().unwrap();
                assert_eq!(got, vec![0; if me == 1 { 0 } else { 3 }]);
                // The second member has nothing to do with the others.
                let counts = [0, 1, 2].map(|other| usize::from(me != 1 && other != 1));
                let starts = [if me == 1 { 900 } else { 0 }, 900, if me == 1 { 900 } else { 1 }];
                let parts = Parts { counts: &counts, starts: &starts };
                let mine = vec![me as u64; if me == 1 { 0 } else { 2 }];
                let mut got = mine.clone();
                team.all_to_all_v(&mine, parts, &mut got, parts).unwrap();
                assert_eq!(got, if me == 1 { vec![] } else { vec![0, 2] });
            }
        });
    }
}

#[test]
fn members_make_the_same_call_in_different_forms() {
    job(4, SHM, |context| {
        let all = Team::world(context).unwrap();
        let pair = all.split(Some(context.task() / 2), 0).unwrap().unwrap();
        for round in 0..60 {
            calls(&all, round);
            calls(&pair, round);
        }
    });
    job(9, SHM, |context| {
        let all = Team::world(context).unwrap();
        (0..10).for_each(|round| calls(&all, round));
    });
    job(3, LOSSY, |context| {
        let all = Team::world(context).unwrap();
        (0..5).for_each(|round| calls(&all, round));
    });
}

#[test]
fn the_first_call_of_a_team_may_be_one_that_does_not_block() {
    for first in 0..4 {
        job(3, SHM, move |context| {
            let team = Team::world(context).unwrap();
            let me = context.task();
            // Several wait for the way to be found, at some members before others have called.
            if me == first {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let requests: Vec<_> = (0..5u64)
                .map(|i| team.start(&Call::AllReduce { count: 2 }, sum(), vec![i; 2], vec![0; 2]).unwrap())
                .collect();
            let mut word = [me];
            team.broadcast(&mut word, 2).unwrap();
            assert_eq!(word, [2]);
            for (i, request) in requests.into_iter().enumerate().rev() {
                assert_eq!(request.wait().unwrap().1, [3 * i as u64; 2]);
            }
        });
    }
}

#[test]
fn operations_of_several_teams_end_in_any_order() {
    job(4, SHM, |context| {
        let all = Team::world(context).unwrap();
        let other = Team::world(context).unwrap();
        let me = u64::from(context.task());
        for round in 0..40u64 {
            let count = [2, 30_000][round as usize % 2];
            let call = Call::AllReduce { count };
            let one = all.start(&call, sum(), vec![me; count], vec![0; count]).unwrap();
            let two = other.start(&call, sum(), vec![round; count], vec![0; count]).unwrap();
            // Whoever waits for one carries on the other, whatever the others wait for.
            let (one, two) = if noise(round * 7 + me).is_multiple_of(2) {
                let two = two.wait().unwrap();
                (one.wait().unwrap(), two)
            } else {
                (one.wait().unwrap(), two.wait().unwrap())
            };
            assert!(one.1.iter().all(|v| *v == 6) && two.1.iter().all(|v| *v == 4 * round));
        }
    });
}

/// Waits for a counter while nobody calls for the operation, who counts in it.
fn told_by_a_counter(context: &Context, team: &Team, late: u32, count: usize) {
    if context.task() == late {
        // The others are through with looking and sleep.
        std::thread::sleep(std::time::Duration::from_millis(25));
        let mut all = vec![1u64; count];
        team.all_reduce(&mut all, Operator::Sum).unwrap();
        assert_eq!(all, vec![team.len() as u64; count]);
        return;
    }
    let counter = Counter::default();
    let call = Call::AllReduce { count };
    let request = team.start(&call, sum(), vec![1; count], vec![0; count]).unwrap();
    // SAFETY: the counter is waited for.
    unsafe { request.count_in(NonNull::from(&counter)) };
    context.wait_counter(&counter, 1).unwrap();
}

#[test]
fn who_sleeps_for_a_counter_is_woken_by_what_is_shown_in_memory() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        for round in 0..6 {
            told_by_a_counter(context, &team, round % 3, [1, 50_000][round as usize % 2]);
        }
    });
}

#[test]
fn who_awaits_an_operation_is_woken_whatever_it_waits_for() {
    for settings in [UDP, SHM] {
        interrupted_job(3, settings, |context| {
            let team = Team::world(context).unwrap();
            let me = u64::from(context.task());
            for round in 0..6 {
                // Long data is sent when its receiver is ready, which may be long after.
                let (root, count) = (round % 3, [131_072, 1][round / 3]);
                if me == (round as u64 + 1 + round as u64 / 3) % 3 {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                let call = Call::Broadcast { root, count };
                let none = None::<Combine<'static, u64>>;
                let request = team.start(&call, none, vec![], vec![me; count]).unwrap();
                let (_, got) = sleep_on(request).unwrap();
                assert_eq!(got, vec![root as u64; count]);
            }
        });
    }
}

#[test]
fn who_awaits_an_operation_is_woken_when_calls_do_not_match() {
    interrupted_job(3, UDP, |context| {
        let team = Team::world(context).unwrap();
        if context.task() == 2 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let count = if context.task() == 2 { 8 } else { 9 };
        let call = Call::AllReduce { count };
        let ended = sleep_on(team.start(&call, sum(), vec![1u64; count], vec![0; count]).unwrap());
        assert!(
            matches!(ended, Err(CollectiveError::Mismatch { .. } | CollectiveError::Broken { .. })),
            "{ended:?}"
        );
    });
}

#[test]
fn calls_that_differ_in_way_and_form_are_told() {
    type Act = fn(&Team) -> Result<(), CollectiveError>;
    fn started(team: &Team, call: &Call<'_>, count: usize) -> Result<(), CollectiveError> {
        team.start(call, sum(), vec![1u64; count], vec![0; count])?.wait().map(|_| ())
    }
    fn vectors(team: &Team) -> Result<(), CollectiveError> {
        let (counts, starts) = ([1, 1, 1], [0, 1, 2]);
        let parts = Parts { counts: &counts, starts: &starts };
        team.all_to_all_v(&[1u8; 3], parts, &mut [0; 3], parts)
    }
    // By messages, in memory, and both; waiting and not.
    let acts: [(Act, Act); 5] = [
        (|team| team.barrier(), vectors),
        (|team| started(team, &Call::AllReduce { count: 1 }, 1), vectors),
        (|team| team.barrier(), |team| started(team, &Call::AllReduce { count: 1 }, 1)),
        (
            |team| started(team, &Call::AllReduce { count: 9 }, 9),
            |team| team.all_reduce(&mut [1u64; 8], Operator::Sum),
        ),
        (|team| started(team, &Call::Scan { count: 1 }, 1), |team| team.start_barrier()?.wait()),
    ];
    for (at, (first, second)) in acts.into_iter().enumerate() {
        // The first one of a scan waits for nobody and finds out with the next call.
        let may_go = at > 3;
        for known in [false, true] {
            job(3, SHM, move |context| {
                let team = Team::world(context).unwrap();
                if known {
                    team.barrier().unwrap();
                }
                let ended = if context.task() == 1 { second(&team) } else { first(&team) };
                assert!(
                    may_go && ended.is_ok()
                        || matches!(
                            ended,
                            Err(CollectiveError::Mismatch { .. }
                                | CollectiveError::Broken { .. }
                                | CollectiveError::Length { .. })
                        ),
                    "{ended:?}"
                );
                assert!(team.barrier().is_err());
                // Another one goes on.
                Team::world(context).unwrap().barrier().unwrap();
            });
        }
    }
}

#[test]
fn members_that_name_different_roots_are_told_though_nobody_waits() {
    type Act = fn(&Team, usize) -> Result<(), CollectiveError>;
    let acts: [Act; 3] = [
        |team, root| team.broadcast(&mut [1u64; 3], root),
        |team, root| team.scatter(&[1u64; 9], &mut [0; 3], root),
        |team, root| {
            let none = None::<Combine<'static, u64>>;
            let request = team.start(&Call::Broadcast { root, count: 3 }, none, vec![], vec![1; 3])?;
            request.wait().map(|_| ())
        },
    ];
    for act in acts {
        job(3, UDP, move |context| {
            let team = Team::world(context).unwrap();
            // Each one is the root, sends, and may have ended before anything comes.
            let ended = act(&team, team.rank());
            let told = |ended: &Result<(), CollectiveError>| {
                matches!(ended, Err(CollectiveError::Roots { .. } | CollectiveError::Broken { .. }))
            };
            assert!(ended.is_ok() || told(&ended), "{ended:?}");
            let ended = team.barrier();
            assert!(told(&ended), "{ended:?}");
            Team::world(context).unwrap().barrier().unwrap();
        });
    }
}
