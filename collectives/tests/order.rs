//! Functions of the program that do not commute: every algorithm keeps the order of ranks.

mod support;

use lapis_collectives::{Call, Combine, Team};
use support::{SHM, Settings, job};

/// A map x → ax + b in 32 bits each: composing is associative, and tells all orders apart.
fn then(first: u64, second: u64) -> u64 {
    let half = 0xffff_ffff;
    let ((a, b), (c, d)) = ((first >> 32, first & half), (second >> 32, second & half));
    ((a * c) & half) << 32 | (b * c + d) & half
}

fn value(rank: usize, i: usize) -> u64 {
    (2 * rank as u64 + 3) << 32 | (rank as u64 * 31 + i as u64 * 7 + 1) & 0xffff_ffff
}

fn folded(who: std::ops::Range<usize>, i: usize) -> u64 {
    who.map(|rank| value(rank, i)).reduce(then).unwrap()
}

fn by<'f>() -> Combine<'f, u64> {
    Combine::ordered(then)
}

fn check(team: &Team, count: usize) {
    let (me, n) = (team.rank(), team.len());
    let text = format!("{count} elements among {n}, at {me}");
    let mine = |len: usize| -> Vec<u64> { (0..len).map(|i| value(me, i)).collect() };
    let of =
        |who: std::ops::Range<usize>| -> Vec<u64> { (0..count).map(|i| folded(who.clone(), i)).collect() };
    let mut all = mine(count);
    team.all_reduce(&mut all, by()).unwrap();
    assert_eq!(all, of(0..n), "allreduce of {text}");
    let started = team.start(&Call::AllReduce { count }, by(), mine(count), vec![0; count]).unwrap();
    assert_eq!(started.wait().unwrap().1, of(0..n), "started allreduce of {text}");
    for root in [0, n / 2, n - 1] {
        let mut there = vec![0; if me == root { count } else { 0 }];
        team.reduce(&mine(count), &mut there, by(), root).unwrap();
        assert_eq!(there, if me == root { of(0..n) } else { vec![] }, "reduce to {root} of {text}");
    }
    let mut scan = mine(count);
    team.scan(&mut scan, by()).unwrap();
    assert_eq!(scan, of(0..me + 1), "scan of {text}");
    let mut before = mine(count);
    team.exscan(&mut before, by()).unwrap();
    assert_eq!(before, if me == 0 { mine(count) } else { of(0..me) }, "exscan of {text}");
    let mut part = vec![0; count];
    team.reduce_scatter_block(&mine(n * count), &mut part, by()).unwrap();
    let expected: Vec<u64> = (0..count).map(|i| folded(0..n, me * count + i)).collect();
    assert_eq!(part, expected, "reduce_scatter_block of {text}");
    let counts: Vec<usize> = (0..n).map(|rank| (rank + 1) % 3 * count).collect();
    let (total, start): (usize, usize) = (counts.iter().sum(), counts[..me].iter().sum());
    let mut part = vec![0; counts[me]];
    team.reduce_scatter(&mine(total), &mut part, &counts, by()).unwrap();
    let expected: Vec<u64> = (0..counts[me]).map(|i| folded(0..n, start + i)).collect();
    assert_eq!(part, expected, "reduce_scatter of {text}");
}

/// Those that can't keep the order are replaced by others that do.
const WISHES: [Settings; 4] = [
    &[
        ("LAPI_USE_SHM", "no"),
        ("LAPIS_COLLECTIVES", "allreduce=doubling,reduce=tree,reduce_scatter=doubling"),
    ],
    &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "allreduce=halves,reduce=chain,reduce_scatter=pairwise")],
    &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "allreduce=ring,reduce=chain,reduce_scatter=ring")],
    &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "reduce_scatter=halves")],
];

#[test]
fn operands_keep_their_order_whatever_algorithm_is_wished_for() {
    for wish in WISHES {
        for n in [2, 3, 5, 8] {
            job(n, wish, |context| {
                let team = Team::world(context).unwrap();
                [1, 40, 1500].into_iter().for_each(|count| check(&team, count));
            });
        }
    }
}

#[test]
fn operands_keep_their_order_in_memory() {
    // A few look at each other's flags; more meet. Some reductions are divided, some take several
    // rounds.
    for n in [2, 3, 5, 9, 17] {
        job(n, SHM, |context| {
            let team = Team::world(context).unwrap();
            [1, 40, 1500, 10_000].into_iter().for_each(|count| check(&team, count));
        });
    }
}
