//! Teams on one host: calls go through memory, and waits sleep and wake.

mod support;

use lapis_collectives::{Call, Combine, Group, Operator, Team};
use lapis_core::Context;
use std::time::Duration;
use support::{SHM, Settings, job};

fn sent(context: &Context) -> u64 {
    context.statistics().total().packets_sent
}

/// Small calls of all kinds.
fn small_calls(team: &Team, round: u64) {
    let (n, me) = (team.len(), team.rank() as u64);
    let ranks: Vec<u64> = (0..n as u64).collect();
    team.barrier().unwrap();
    let mut sum = [me + round, 1];
    team.all_reduce(&mut sum, Operator::Sum).unwrap();
    assert_eq!(sum, [ranks.iter().sum::<u64>() + n as u64 * round, n as u64]);
    let root = round as usize % n;
    let mut word = [me * 100 + round];
    team.broadcast(&mut word, root).unwrap();
    assert_eq!(word, [root as u64 * 100 + round]);
    let mut all = vec![0; n];
    team.all_gather(&[me], &mut all).unwrap();
    assert_eq!(all, ranks);
    let mut parts = vec![0; n];
    let given: Vec<u64> = ranks.iter().map(|to| me << 32 | to).collect();
    team.all_to_all(&given, &mut parts, 1).unwrap();
    assert!(parts.iter().zip(&ranks).all(|(part, from)| *part == from << 32 | me), "{parts:?}");
    let mut least = [u64::MAX];
    team.reduce(&[me + 7], &mut least, Operator::Min, root).unwrap();
    assert_eq!(least[0], if me as usize == root { 7 } else { u64::MAX });
}

#[test]
fn calls_on_one_host_send_nothing_once_the_way_is_known() {
    job(4, SHM, |context| {
        let team = Team::world(context).unwrap();
        // Members doze while others begin, and are woken by messages; later on, too, but seldom.
        for round in 0..100 {
            small_calls(&team, round);
        }
        let before = sent(context);
        for round in 0..1000 {
            small_calls(&team, round);
        }
        let messages = sent(context) - before;
        assert!(messages < 1000, "{messages} packets for 6000 calls");
    });
}

#[test]
fn more_tasks_than_cores_mix_calls_of_overlapping_teams() {
    job(16, SHM, |context| {
        let all = Team::world(context).unwrap();
        let pair = all.split(Some(context.task() / 2), 0).unwrap().unwrap();
        let odd =
            (context.task() % 2 == 1).then(|| Team::of(context, Group::strided(1, 2, 8).unwrap()).unwrap());
        for round in 0..30 {
            small_calls(&pair, round);
            if let Some(odd) = &odd {
                small_calls(odd, round);
            }
            small_calls(&all, round);
        }
        // Who is late is waited for by sleepers.
        if context.task() == 3 {
            std::thread::sleep(Duration::from_millis(40));
        }
        small_calls(&all, 1);
    });
}

#[test]
fn operands_of_functions_keep_their_order_at_any_length() {
    job(5, SHM, |context| {
        let team = Team::world(context).unwrap();
        // x → ax + b, packed: composing does not commute.
        let then = |first: u64, second: u64| {
            let ((a, b), (c, d)) = ((first >> 32, first & 0xffff_ffff), (second >> 32, second & 0xffff_ffff));
            ((a * c) & 0xffff_ffff) << 32 | (b * c + d) & 0xffff_ffff
        };
        let value = |rank: u64, i: u64| (2 * rank + 3) << 32 | (rank * 31 + i) & 0xffff_ffff;
        for count in [1u64, 10, 700, 30_000] {
            let mine: Vec<u64> = (0..count).map(|i| value(team.rank() as u64, i)).collect();
            let mut all = mine.clone();
            team.all_reduce(&mut all, Combine::ordered(then)).unwrap();
            let folded = |i: u64| (0..5).map(|rank| value(rank, i)).reduce(then).unwrap();
            assert!((0..count).all(|i| all[i as usize] == folded(i)), "{count} elements");
        }
    });
}

/// Long data bypasses the caches, however near the cores are.
const PAST: Settings =
    &[("LAPI_USE_SHM", "only"), ("LAPIS_SHM_COPIES", "near-past=1024,far=1,far-past=1024")];

#[test]
fn long_data_that_goes_past_the_caches_is_whole() {
    job(2, PAST, |context| {
        let team = Team::world(context).unwrap();
        let (me, other) = (team.rank(), 1 - team.rank());
        let byte = |rank: usize, i: usize, round: usize| (rank * 91 + i * 7 + i / 251 + round) as u8;
        for (round, len) in [2047, 2048, 5001, 65_536, 65_549, 300_003, 1 << 20].into_iter().enumerate() {
            let mine: Vec<u8> = (0..2 * len).map(|i| byte(me, i, round)).collect();
            let mut parts = vec![0; 2 * len];
            team.all_to_all(&mine, &mut parts, len).unwrap();
            let all_mine = |(i, part): (usize, &u8)| *part == byte(i / len, me * len + i % len, round);
            assert!(parts.iter().enumerate().all(all_mine), "alltoall of {len} bytes");
            for root in 0..2 {
                let mut data = mine.clone();
                // From and to any place in a line.
                team.broadcast(&mut data[3..], root).unwrap();
                let of_root = |(i, data): (usize, &u8)| *data == byte(root, i, round);
                assert!(data.iter().enumerate().skip(3).all(of_root), "broadcast of {len} bytes");
            }
            let sums: Vec<u8> =
                (0..len).map(|i| byte(me, i, round).wrapping_add(byte(other, i, round))).collect();
            let mut sum = mine[..len].to_vec();
            team.all_reduce(&mut sum, Operator::Sum).unwrap();
            assert!(sum == sums, "allreduce of {len} bytes");
        }
    });
}

#[test]
fn messages_and_requests_go_on_while_a_call_waits() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let none = None::<Combine<'static, u64>>;
        let call = Call::AllGather { count: 20_000 };
        let mine = vec![context.task() as u64; 20_000];
        // Long data is sent when its receiver is ready: members 0 and 1 wait in the barrier while 2
        // gets it.
        let request = team.start(&call, none, mine, vec![0; 60_000]).unwrap();
        if context.task() == 2 {
            let (_, all) = request.wait().unwrap();
            assert!((0..3).all(|rank| all[rank * 20_000] == rank as u64));
            team.barrier().unwrap();
        } else {
            team.barrier().unwrap();
            request.wait().unwrap();
        }
    });
}

/// In some operations only one member, or none, reads what a member puts; in the next one it is
/// others.
#[test]
fn long_runs_of_one_operation_follow_each_other() {
    /// More than a member has lines.
    const RUN: usize = 45;
    /// In a line, and in an area.
    const COUNTS: [usize; 2] = [3, 2000];
    job(5, SHM, |context| {
        let team = Team::world(context).unwrap();
        let (me, n) = (team.rank(), team.len());
        let mut random = 7u64;
        for turn in 0..24 {
            let kind = [0, 1, 2, 3, 0, 4, 5, 0, 2, 5, 1][turn % 11];
            for call in 0..RUN {
                let of = |rank: usize| (turn * 1_000_000 + call * 1000 + rank) as u64;
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (count, root) = (COUNTS[(random >> 40) as usize % 2], turn % n);
                // Each member is the slow one at times.
                if call % n == me && (random >> 50).is_multiple_of(4) {
                    std::thread::sleep(Duration::from_micros(200));
                }
                let (mine, mut out) = (vec![of(me); count], vec![0; count]);
                match kind {
                    0 => {
                        out = mine;
                        team.scan(&mut out, Operator::Sum).unwrap();
                        assert!(out.iter().all(|sum| *sum == (0..=me).map(of).sum()), "scan {turn} {call}");
                    }
                    1 => {
                        out = mine;
                        team.broadcast(&mut out, root).unwrap();
                        assert!(out.iter().all(|value| *value == of(root)), "broadcast {turn} {call}");
                    }
                    2 => {
                        let mut all = vec![0; if me == root { count * n } else { 0 }];
                        team.gather(&mine, &mut all, root).unwrap();
                        let mut parts = all.chunks(count).enumerate();
                        let whole = parts.all(|(rank, part)| part.iter().all(|value| *value == of(rank)));
                        assert!(whole, "gather {turn} {call}");
                    }
                    3 => {
                        team.reduce(&mine, &mut out, Operator::Max, root).unwrap();
                        assert!(
                            me != root || out.iter().all(|most| *most == of(n - 1)),
                            "reduce {turn} {call}"
                        );
                    }
                    4 => {
                        let all: Vec<u64> = (0..n).flat_map(|rank| vec![of(rank); count]).collect();
                        team.scatter(if me == root { &all } else { &[] }, &mut out, root).unwrap();
                        assert!(out.iter().all(|value| *value == of(me)), "scatter {turn} {call}");
                    }
                    _ => {
                        out = mine;
                        team.all_reduce(&mut out, Operator::Sum).unwrap();
                        assert!(
                            out.iter().all(|sum| *sum == (0..n).map(of).sum()),
                            "allreduce {turn} {call}"
                        );
                    }
                }
            }
        }
    });
}
