//! Every operation over real transports, held against what a loop over everybody's data gives.

mod support;

use lapis_collectives::{Combine, Edge, Element, Group, Located, Operator, Parts, Team};
use support::{LOSSY, SHM, Settings, UDP, job};

/// What member `rank` has at place `i`.
fn value(rank: usize, i: usize) -> i64 {
    ((rank * 7919 + i * 104_729) % 1009) as i64 - 400
}

fn data(rank: usize, count: usize) -> Vec<i64> {
    (0..count).map(|i| value(rank, i)).collect()
}

fn folded(who: std::ops::Range<usize>, i: usize, fold: impl Fn(i64, i64) -> i64) -> i64 {
    who.map(|rank| value(rank, i)).reduce(fold).unwrap()
}

/// Associative, and minds order: keeps the left one's low digits.
fn left(a: i64, _: i64) -> i64 {
    a
}

fn reductions(team: &Team, count: usize) {
    let (me, n) = (team.rank(), team.len());
    let sums = |who: std::ops::Range<usize>| {
        (0..count).map(|i| folded(who.clone(), i, |a, b| a + b)).collect::<Vec<_>>()
    };
    let mut all = data(me, count);
    team.all_reduce(&mut all, Operator::Sum).unwrap();
    assert_eq!(all, sums(0..n), "allreduce of {count} among {n}");
    let mut most = vec![0; count];
    team.all_reduce_into(&data(me, count), &mut most, Operator::Max).unwrap();
    assert_eq!(most, (0..count).map(|i| folded(0..n, i, i64::max)).collect::<Vec<_>>());
    let mut first = data(me, count);
    team.all_reduce(&mut first, Combine::ordered(left)).unwrap();
    assert_eq!(first, data(0, count), "ordered allreduce of {count} among {n}");
    let mut own = data(me, count);
    team.all_reduce(&mut own, Combine::commutative(|a: i64, b: i64| a.min(b))).unwrap();
    assert_eq!(own, (0..count).map(|i| folded(0..n, i, i64::min)).collect::<Vec<_>>());
    for root in [0, n / 2, n - 1] {
        let mut there = vec![0; if me == root { count } else { 0 }];
        team.reduce(&data(me, count), &mut there, Operator::Sum, root).unwrap();
        assert_eq!(there, if me == root { sums(0..n) } else { vec![] });
        team.reduce(&data(me, count), &mut there, Combine::ordered(left), root).unwrap();
        assert_eq!(there, if me == root { data(0, count) } else { vec![] });
    }
    let mut scan = data(me, count);
    team.scan(&mut scan, Operator::Sum).unwrap();
    assert_eq!(scan, sums(0..me + 1));
    let mut before = data(me, count);
    team.exscan(&mut before, Operator::Sum).unwrap();
    assert_eq!(before, if me == 0 { data(0, count) } else { sums(0..me) });
    let counts: Vec<usize> = (0..n).map(|rank| (rank + count) % 5 * (1 + count / 50)).collect();
    let (total, start): (usize, usize) = (counts.iter().sum(), counts[..me].iter().sum());
    for ordered in [false, true] {
        let by = if ordered { Combine::ordered(left) } else { Operator::Sum.into() };
        let mut part = vec![0; counts[me]];
        team.reduce_scatter(&data(me, total), &mut part, &counts, by).unwrap();
        let expected = |i| if ordered { value(0, i) } else { folded(0..n, i, |a, b| a + b) };
        assert_eq!(part, (start..start + counts[me]).map(expected).collect::<Vec<_>>());
    }
}

fn movements(team: &Team, count: usize) {
    let (me, n) = (team.rank(), team.len());
    let everything: Vec<i64> = (0..n).flat_map(|rank| data(rank, count)).collect();
    let mut all = vec![0; n * count];
    team.all_gather(&data(me, count), &mut all).unwrap();
    assert_eq!(all, everything, "allgather of {count} among {n}");
    for root in [0, n - 1] {
        let mut word = data(if me == root { root } else { 99 }, count);
        team.broadcast(&mut word, root).unwrap();
        assert_eq!(word, data(root, count));
        let mut there = vec![0; if me == root { n * count } else { 0 }];
        team.gather(&data(me, count), &mut there, root).unwrap();
        assert_eq!(there, if me == root { everything.clone() } else { vec![] });
        let mut mine = vec![0; count];
        team.scatter(&there, &mut mine, root).unwrap();
        assert_eq!(mine, data(me, count));
    }
    let some = Group::from_list(&[(n - 1) as u32]).unwrap();
    let mut word = data(me, count);
    team.multicast(&mut word, 0, &some).unwrap();
    assert_eq!(word, data(if me == n - 1 { 0 } else { me }, count));
    let mut sorted = vec![0; n * count];
    team.all_to_all(&data(me, n * count), &mut sorted, count).unwrap();
    let block = |rank: usize| (0..count).map(move |i| value(rank, me * count + i));
    assert_eq!(sorted, (0..n).flat_map(block).collect::<Vec<_>>(), "alltoall of {count} among {n}");
}

fn unequal_movements(team: &Team, count: usize) {
    let (me, n) = (team.rank(), team.len());
    let counts: Vec<usize> = (0..n).map(|rank| rank % 3 * count).collect();
    let starts: Vec<usize> = (0..n).map(|rank| counts[..rank].iter().sum()).collect();
    let parts = Parts { counts: &counts, starts: &starts };
    let total = counts.iter().sum();
    let everything: Vec<i64> = (0..n).flat_map(|rank| data(rank, counts[rank])).collect();
    let mut all = vec![0; total];
    team.all_gather_v(&data(me, counts[me]), &mut all, parts).unwrap();
    assert_eq!(all, everything);
    for root in [0, n - 1] {
        let at_root = (me == root).then_some(parts);
        let mut there = vec![0; if me == root { total } else { 0 }];
        team.gather_v(&data(me, counts[me]), &mut there, root, at_root).unwrap();
        assert_eq!(there, if me == root { everything.clone() } else { vec![] });
        let mut mine = vec![0; counts[me]];
        team.scatter_v(&there, &mut mine, root, at_root).unwrap();
        assert_eq!(mine, data(me, counts[me]));
    }
    // Member i has (i + j) % 3 · count elements for member j: as many as it gets from it.
    let counts: Vec<usize> = (0..n).map(|j| (me + j) % 3 * count).collect();
    let starts: Vec<usize> = (0..n).map(|j| counts[..j].iter().sum()).collect();
    let parts = Parts { counts: &counts, starts: &starts };
    let len = counts.iter().sum();
    let mut come = vec![0; len];
    team.all_to_all_v(&data(me, len), parts, &mut come, parts).unwrap();
    for from in 0..n {
        let offset: usize = (0..me).map(|j| (from + j) % 3 * count).sum();
        let expected: Vec<i64> = (0..counts[from]).map(|i| value(from, offset + i)).collect();
        assert_eq!(come[starts[from]..][..counts[from]], expected);
    }
    let (next, last) = ((me + 1) % n, (me + n - 1) % n);
    let edges = |a: usize, b: usize| {
        [Edge { member: a, start: 0, len: count }, Edge { member: b, start: count, len: 2 * count }]
    };
    let mut come = vec![0; 3 * count];
    if n > 2 || n == 1 {
        team.neighbours(&data(me, 3 * count), &edges(next, last), &mut come, &edges(last, next)).unwrap();
        assert_eq!(come[..count], data(last, 3 * count)[..count]);
        assert_eq!(come[count..], data(next, 3 * count)[count..]);
    }
}

fn everything(tasks: u32, settings: Settings, counts: &'static [usize]) {
    job(tasks, settings, move |context| {
        let team = Team::world(context).unwrap();
        for count in counts.iter().copied() {
            reductions(&team, count);
            movements(&team, count);
            unequal_movements(&team, count);
            team.barrier().unwrap();
        }
    });
}

#[test]
fn operations_agree_with_loops_over_shared_memory() {
    for tasks in 1..=8 {
        everything(tasks, SHM, &[0, 1, 5, 130]);
    }
    everything(17, SHM, &[1, 33]);
}

#[test]
fn operations_agree_with_loops_among_any_number_of_members() {
    for tasks in (9..=16).chain([32, 64]) {
        everything(tasks, SHM, &[3]);
    }
    for tasks in (3..=17).step_by(2) {
        everything(tasks, UDP, &[3]);
    }
}

#[test]
fn long_data_goes_the_long_ways() {
    everything(3, SHM, &[1100, 3000, 70_000]);
    everything(6, SHM, &[2000, 20_000]);
}

#[test]
fn operations_agree_with_loops_over_datagrams_that_get_lost() {
    everything(2, LOSSY, &[0, 1, 130, 5000]);
    everything(5, LOSSY, &[1, 130, 5000]);
}

#[test]
fn data_that_begin_to_come_before_their_receiver_is_reached_may_come_in_pieces() {
    // The least that a path may carry: most messages take several packets, even short ones.
    const NARROW: Settings = &[("LAPI_USE_SHM", "no"), ("LAPIS_CHAOS", "seed=5,reorder=10%,mtu=600")];
    everything(3, NARROW, &[1, 60, 900]);
    everything(5, NARROW, &[60, 900]);
}

#[test]
fn every_algorithm_that_can_be_wished_for_works() {
    const WISHES: [Settings; 4] = [
        &[
            ("LAPI_USE_SHM", "only"),
            ("LAPIS_COLLECTIVES", "broadcast=pieces,allreduce=ring,reduce=chain,allgather=bruck"),
        ],
        &[
            ("LAPI_USE_SHM", "only"),
            ("LAPIS_COLLECTIVES", "broadcast=chain,allreduce=halves,allgather=ring,alltoall=bruck"),
        ],
        &[
            ("LAPI_USE_SHM", "only"),
            ("LAPIS_COLLECTIVES", "broadcast=two-trees,reduce_scatter=ring,alltoall=pairwise"),
        ],
        &[
            ("LAPI_USE_SHM", "only"),
            ("LAPIS_COLLECTIVES", "broadcast=tree,reduce_scatter=halves,reduce=tree"),
        ],
    ];
    for overrides in WISHES {
        everything(5, overrides, &[1, 700]);
        everything(8, overrides, &[13, 3000]);
    }
}

#[test]
fn pairs_say_where_the_least_is() {
    fn check<T: Element + PartialEq + std::fmt::Debug>(team: &Team, mine: T, least: T, most: T) {
        let mut low = [mine; 3];
        team.all_reduce(&mut low, Operator::MinAt).unwrap();
        assert_eq!(low, [least; 3]);
        let mut high = [mine; 3];
        team.all_reduce(&mut high, Operator::MaxAt).unwrap();
        assert_eq!(high, [most; 3]);
    }
    job(5, SHM, |context| {
        let team = Team::world(context).unwrap();
        let me = team.rank();
        let worth = [4, 1, 3, 1, 4][me];
        let here = |value: i32, at: i32| Located { value, at };
        check(&team, here(worth, me as i32), here(1, 1), here(4, 0));
        let here = |value: f64, at: i64| Located { value, at };
        check(&team, here(f64::from(worth), me as i64), here(1.0, 1), here(4.0, 0));
    });
}
