//! Every operator on every type that it means something on, against a loop over everybody's data.

mod support;

use lapis_collectives::{
    By, Call, CollectiveError, Complex, Element, Located, Logical, Operator, Team, Type,
};
use std::fmt::Debug;
use support::{SHM, Settings, UDP, job};

/// Numbers of members whose order of operands differs most.
const MEMBERS: [u32; 6] = [1, 2, 3, 5, 8, 13];

/// Elements: fewer than a register of the processor holds, and more, with a rest.
const COUNTS: [usize; 2] = [1, 37];

/// Holds every reduction by an operator against folding in the order of ranks; operands are small
/// whole numbers, so that sums and products are exact.
fn check<T: Element + PartialEq + Debug>(
    team: &Team,
    by: Operator,
    value: impl Fn(usize, usize) -> T,
    fold: impl Fn(T, T) -> T,
) {
    let (me, n) = (team.rank(), team.len());
    for count in COUNTS {
        let folded = |who: std::ops::Range<usize>, from: usize| -> Vec<T> {
            let one = |i: usize| who.clone().map(|rank| value(rank, from + i)).reduce(&fold).unwrap();
            (0..count).map(one).collect()
        };
        let mine: Vec<T> = (0..count).map(|i| value(me, i)).collect();
        let mut all = mine.clone();
        team.all_reduce(&mut all, by).unwrap();
        assert_eq!(all, folded(0..n, 0), "{by:?} of {count} {:?} among {n}", T::TYPE);
        let mut apart = mine.clone();
        team.all_reduce_into(&mine, &mut apart, by).unwrap();
        assert_eq!(apart, all);
        let mut scan = mine.clone();
        team.scan(&mut scan, by).unwrap();
        assert_eq!(scan, folded(0..me + 1, 0));
        let mut before = mine.clone();
        team.exscan(&mut before, by).unwrap();
        assert_eq!(before, if me == 0 { mine.clone() } else { folded(0..me, 0) });
        let root = count % n;
        let mut there = mine.clone();
        team.reduce(&mine, &mut there, by, root).unwrap();
        assert_eq!(there, if me == root { all } else { mine });
        let parts: Vec<T> = (0..n * count).map(|i| value(me, i)).collect();
        let mut part = vec![value(0, 0); count];
        team.reduce_scatter_block(&parts, &mut part, by).unwrap();
        assert_eq!(part, folded(0..n, me * count));
    }
}

/// A small number, different enough.
fn small(rank: usize, i: usize) -> u8 {
    1 + ((rank * 7 + i * 13) % 3) as u8
}

/// Bits without a pattern, in all places.
fn pattern(rank: usize, i: usize) -> u64 {
    let mixed = ((rank * 1009 + i) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 31).wrapping_mul(0x94d0_49bb_1331_11eb)
}

macro_rules! integers {
    ($team:expr, $($of:ty),*) => {$(
        let value = |rank, i| <$of>::try_from(small(rank, i)).unwrap();
        check($team, Operator::Sum, value, <$of>::wrapping_add);
        check($team, Operator::Product, value, <$of>::wrapping_mul);
        check($team, Operator::Min, value, Ord::min);
        check($team, Operator::Max, value, Ord::max);
        let bits = |rank, i| pattern(rank, i) as $of;
        check($team, Operator::BitAnd, |rank, i| bits(rank, i) | 0x11, |a: $of, b| a & b);
        check($team, Operator::BitOr, |rank, i| bits(rank, i) & bits(rank, i + 1), |a: $of, b| a | b);
        check($team, Operator::BitXor, bits, |a: $of, b| a ^ b);
    )*};
}

macro_rules! reals {
    ($team:expr, $($of:ty),*) => {$(
        let value = |rank, i| <$of>::from(small(rank, i)) - 2.0;
        check($team, Operator::Sum, value, |a: $of, b| a + b);
        check($team, Operator::Product, value, |a: $of, b| a * b);
        check($team, Operator::Min, value, <$of>::min);
        check($team, Operator::Max, value, <$of>::max);
    )*};
}

macro_rules! complex {
    ($team:expr, $($of:ty),*) => {$(
        let part = |rank, i| <$of>::from(small(rank, i)) - 2.0;
        let value = |rank, i| Complex { re: part(rank, i), im: part(rank + 1, i) };
        check($team, Operator::Sum, value, |a, b| Complex { re: a.re + b.re, im: a.im + b.im });
        check($team, Operator::Product, value, |a, b| Complex {
            re: a.re * b.re - a.im * b.im,
            im: a.re * b.im + a.im * b.re,
        });
    )*};
}

macro_rules! places {
    ($team:expr, $($of:ty => $at:ty),*) => {$(
        let value = |rank, i| Located { value: <$of>::from(small(rank, i)), at: rank as $at };
        let less = |a: Located<$of, $at>, b: Located<$of, $at>| {
            if (b.value, b.at) < (a.value, a.at) { b } else { a }
        };
        check($team, Operator::MinAt, value, less);
        check($team, Operator::MaxAt, value, |a, b| if (b.value, -b.at) > (a.value, -a.at) { b } else { a });
    )*};
}

fn everything(team: &Team) {
    integers!(team, i8, i16, i32, i64, u8, u16, u32, u64);
    reals!(team, f32, f64);
    complex!(team, f32, f64);
    truths(team);
    places!(team, i32 => i32, i64 => i64, f32 => i32, f64 => i64);
}

fn truths(team: &Team) {
    let value = |rank, i| Logical(small(rank, i) % 2);
    check(team, Operator::And, value, |a, b| Logical(a.0 & b.0));
    check(team, Operator::Or, value, |a, b| Logical(a.0 | b.0));
    check(team, Operator::Xor, value, |a, b| Logical(a.0 ^ b.0));
}

#[test]
fn operators_agree_with_loops_on_every_type_of_numbers() {
    for n in MEMBERS {
        job(n, SHM, |context| everything(&Team::world(context).unwrap()));
    }
    job(3, UDP, |context| everything(&Team::world(context).unwrap()));
}

/// Zeros of both signs, and all kinds of what is not a number.
fn special(rank: usize, i: usize) -> f64 {
    const VALUES: [f64; 9] = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7ff8_0000_0000_0123),
        f64::from_bits(0xfff0_0000_0000_0007),
        -0.0,
        0.0,
        1.0,
    ];
    VALUES[(rank * 5 + i * (1 + rank % 2)) % VALUES.len()]
}

/// All members get the same bits of what they fold, though zeros and what is not a number may come
/// in any order.
fn same_bits(team: &Team, count: usize) {
    let agree = |bits: &[u64], what: &str| {
        let mut all = vec![0; bits.len() * team.len()];
        team.all_gather(bits, &mut all).unwrap();
        for (rank, theirs) in all.chunks_exact(bits.len()).enumerate() {
            assert_eq!(theirs, bits, "{what} of {count} at {rank} and {} of {}", team.rank(), team.len());
        }
    };
    for by in [Operator::Min, Operator::Max] {
        let mut long: Vec<f64> = (0..count).map(|i| special(team.rank(), i)).collect();
        team.all_reduce(&mut long, by).unwrap();
        agree(&long.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), "f64");
        let mut short: Vec<f32> = (0..count).map(|i| special(team.rank(), i) as f32).collect();
        team.all_reduce(&mut short, by).unwrap();
        agree(&short.iter().map(|value| u64::from(value.to_bits())).collect::<Vec<_>>(), "f32");
    }
    for by in [Operator::MinAt, Operator::MaxAt] {
        let place = |i| Located { value: special(team.rank(), i), at: (i % 3) as i64 };
        let mut places: Vec<Located<f64, i64>> = (0..count).map(place).collect();
        team.all_reduce(&mut places, by).unwrap();
        let bits = places.iter().flat_map(|place| [place.value.to_bits(), place.at.cast_unsigned()]);
        agree(&bits.collect::<Vec<_>>(), "with places");
    }
}

#[test]
fn all_members_get_the_same_bits_of_zeros_and_of_what_is_not_a_number() {
    const BY: [Settings; 5] = [
        SHM,
        UDP,
        &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "allreduce=doubling")],
        &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "allreduce=halves")],
        &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "allreduce=ring")],
    ];
    for settings in BY {
        for n in [2, 5] {
            job(n, settings, |context| {
                let team = Team::world(context).unwrap();
                for count in [1, 37, 3000] {
                    same_bits(&team, count);
                }
            });
        }
    }
}

/// An allreduce of 16 bytes by a function of the program, which takes them as elements of `size`
/// bytes.
fn reduce_opaque(team: &Team, size: u32) -> Result<(), CollectiveError> {
    let (mine, mut all) = ([1u64, 2], [0u64; 2]);
    let by = By::User { fold: Box::new(|from, into, _| into.copy_from_slice(from)), commutes: true };
    let call = Call::AllReduce { count: 16 / size as usize };
    // SAFETY: both buffers have the bytes of all elements, and are unaligned bytes to the function.
    unsafe { team.call_raw(&call, Type::Bytes(size), by, mine.as_ptr().cast(), all.as_mut_ptr().cast()) }
}

#[test]
fn elements_of_the_program_of_other_sizes_do_not_match() {
    for settings in [SHM, UDP] {
        job(2, settings, |context| {
            let team = Team::world(context).unwrap();
            team.barrier().unwrap();
            reduce_opaque(&team, 8).unwrap();
            let size = if context.task() == 0 { 8 } else { 16 };
            let failed = reduce_opaque(&team, size).unwrap_err();
            assert!(matches!(failed, CollectiveError::Mismatch { .. }), "{failed}");
            let text = failed.to_string();
            assert!(text.contains("type Bytes(8)") && text.contains("type Bytes(16)"), "{text}");
        });
    }
}
