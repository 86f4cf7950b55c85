//! The body of the fuzz target, as a plain function, so that ordinary tests run it too: a schedule,
//! the numbers that describe it, and the order in which its members go on, all from bytes. A
//! finding is a panic: the [model](crate::model) finds a fault, or somebody has what it must not.

use crate::levels::{self, Hosts};
use crate::model::Sending;
use crate::tree::Parts;
use crate::trial::{Case, JUNK, Map, folded, owner, value};
use crate::{Place, Script, doubling, exchange, ring, tree, two_trees};

/// Members and elements of a schedule at most.
const MEMBERS: usize = 24;
const ELEMENTS: usize = 40;

/// Numbers from bytes; zeroes behind their end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first) % limit.max(1)
    }
}

/// What a schedule is described by.
struct Shape {
    n: usize,
    root: usize,
    count: usize,
    /// A radix, elements of a segment, or ports.
    k: usize,
    /// Operands keep their order, where that is a choice.
    ordered: bool,
    in_place: bool,
    /// Parts by rank.
    counts: Vec<usize>,
    hosts: Hosts,
}

impl Shape {
    fn of(input: &mut Input<'_>) -> Self {
        let n = 1 + input.below(MEMBERS);
        let (root, count, k) = (input.below(n), input.below(ELEMENTS), 1 + input.below(9));
        let (ordered, in_place) = (input.below(2) == 1, input.below(2) == 1);
        let equal = input.below(2) == 1;
        let counts = (0..n).map(|_| if equal { count % 5 } else { input.below(5) }).collect();
        let hosts = Hosts::of((0..n).map(|_| input.below(4) as u64));
        Self { n, root, count, k, ordered, in_place, counts, hosts }
    }
}

/// What each member has and must have in the end.
type Lengths<'a> = &'a dyn Fn(usize) -> usize;
type Cells<'a> = &'a dyn Fn(usize, usize) -> Map;
type Steps<'a> = &'a dyn Fn(&mut Script, Place<'_>);

/// Runs a schedule that the bytes describe.
///
/// # Panics
/// The schedule is wrong.
pub fn any_schedule(data: &[u8]) {
    let mut input = Input(data);
    let (which, sending) =
        (input.below(7), if input.below(2) == 1 { Sending::Synchronous } else { Sending::Eager });
    let shape = Shape::of(&mut input);
    let mut trial = Trial { shape: &shape, sending, input };
    match which {
        0 => broadcast(&mut trial),
        1 => reduce(&mut trial),
        2 => all_reduce(&mut trial),
        3 => reduce_scatter(&mut trial),
        4 => scan(&mut trial),
        5 => gather(&mut trial),
        _ => exchange_all(&mut trial),
    }
}

struct Trial<'a> {
    shape: &'a Shape,
    sending: Sending,
    input: Input<'a>,
}

impl Trial<'_> {
    fn check(
        &mut self,
        name: &str,
        (ordered, in_place): (bool, bool),
        (inputs, outputs): (Lengths<'_>, Lengths<'_>),
        (before, expected): (Cells<'_>, Cells<'_>),
        script: Steps<'_>,
    ) {
        let case = Case { n: self.shape.n, ordered, in_place, inputs, outputs, before, script, expected };
        case.check_in_order(name, self.sending, |len| self.input.below(len));
    }
}

fn junk(_: usize, _: usize) -> Map {
    JUNK
}

fn broadcast(trial: &mut Trial<'_>) {
    let Shape { root, count, k, ref hosts, .. } = *trial.shape;
    let which = trial.input.below(5);
    let script = |out: &mut Script, at: Place<'_>| match which {
        0 => tree::broadcast(out, at, root, count, k + 1),
        1 => tree::broadcast_by_pieces(out, at, root, count),
        2 => ring::broadcast(out, at, root, count, k),
        3 => two_trees::broadcast(out, at, root, count, k),
        _ => levels::broadcast(out, at, hosts, root, count, k + 1),
    };
    let before = |me: usize, i: usize| if me == root { value(root, i) } else { JUNK };
    let expected = |_: usize, i: usize| value(root, i);
    trial.check("broadcast", (true, false), (&|_| 0, &|_| count), (&before, &expected), &script);
}

fn reduce(trial: &mut Trial<'_>) {
    let Shape { n, root, count, k, ordered, in_place, .. } = *trial.shape;
    let chain = trial.input.below(2) == 1;
    let script = |out: &mut Script, at: Place<'_>| match chain {
        true => ring::reduce(out, at, root, count, k, ordered),
        false => tree::reduce(out, at, root, count, k + 1, ordered),
    };
    let outputs = |me: usize| if me == root { count } else { 0 };
    let expected = |_: usize, i: usize| folded(0..n, i, ordered);
    trial.check("reduce", (ordered, in_place), (&|_| count, &outputs), (&junk, &expected), &script);
}

fn all_reduce(trial: &mut Trial<'_>) {
    let Shape { n, count, k, in_place, ref hosts, .. } = *trial.shape;
    let which = trial.input.below(4);
    // Doubling keeps order, and levels do if the ranks of each host follow each other.
    let ordered = which == 0 || which == 3 && hosts.in_order();
    let script = |out: &mut Script, at: Place<'_>| match which {
        0 => doubling::all_reduce(out, at, count),
        1 => doubling::all_reduce_by_halves(out, at, count),
        2 => ring::all_reduce(out, at, count),
        _ => levels::all_reduce(out, at, hosts, count, k + 1),
    };
    let expected = |_: usize, i: usize| folded(0..n, i, ordered);
    trial.check("allreduce", (ordered, in_place), (&|_| count, &|_| count), (&junk, &expected), &script);
}

fn reduce_scatter(trial: &mut Trial<'_>) {
    let Shape { n, in_place, ref counts, .. } = *trial.shape;
    let halves = n.is_power_of_two() && counts.iter().all(|count| *count == counts[0]);
    let which = trial.input.below(if halves { 4 } else { 3 });
    let script = |out: &mut Script, at: Place<'_>| match which {
        0 => exchange::reduce_scatter(out, at, counts),
        1 => doubling::reduce_scatter(out, at, counts),
        2 => ring::reduce_scatter(out, at, counts),
        _ => doubling::reduce_scatter_by_halves(out, at, counts[0]),
    };
    let (starts, total, ordered) = (ring::starts(counts), counts.iter().sum(), which < 2);
    let expected = |me: usize, i: usize| folded(0..n, starts[me] + i, ordered);
    let lengths: (Lengths<'_>, Lengths<'_>) = (&|_| total, &|me| counts[me]);
    trial.check("reduce_scatter", (ordered, in_place), lengths, (&junk, &expected), &script);
}

fn scan(trial: &mut Trial<'_>) {
    let Shape { count, in_place, .. } = *trial.shape;
    let excludes = trial.input.below(2) == 1;
    let script = |out: &mut Script, at: Place<'_>| match excludes {
        true => doubling::exscan(out, at, count),
        false => doubling::scan(out, at, count),
    };
    let expected = |me: usize, i: usize| match (excludes, me) {
        (false, _) => folded(0..me + 1, i, true),
        (true, 0) if in_place => value(0, i),
        (true, 0) => JUNK,
        (true, _) => folded(0..me, i, true),
    };
    trial.check("scan", (true, in_place), (&|_| count, &|_| count), (&junk, &expected), &script);
}

/// Gathers and scatters, of equal parts and of others.
fn gather(trial: &mut Trial<'_>) {
    let Shape { n, root, k, ref counts, .. } = *trial.shape;
    let (which, one) = (trial.input.below(4), counts[0]);
    let list = if which < 2 { vec![one; n] } else { counts.clone() };
    let (starts, total) = (ring::starts(&list), list.iter().sum());
    let known = |me: usize| (me == root).then_some(Parts { counts: &list, starts: &starts });
    let script = |out: &mut Script, at: Place<'_>| match which {
        0 => tree::gather(out, at, root, one, k + 1),
        1 => tree::scatter(out, at, root, one, k + 1),
        2 => tree::gather_v(out, at, root, list[at.me], known(at.me)),
        _ => tree::scatter_v(out, at, root, list[at.me], known(at.me)),
    };
    let all = |me: usize| if me == root { total } else { 0 };
    let mine = |me: usize| list[me];
    let gathered = |_: usize, i: usize| {
        let (member, element) = owner(&list, i);
        value(member, element)
    };
    let scattered = |me: usize, i: usize| value(root, starts[me] + i);
    match which % 2 {
        0 => trial.check("gather", (true, false), (&mine, &all), (&junk, &gathered), &script),
        _ => trial.check("scatter", (true, false), (&all, &mine), (&junk, &scattered), &script),
    }
}

/// Allgathers and alltoalls.
fn exchange_all(trial: &mut Trial<'_>) {
    let Shape { n, k, ref counts, ref hosts, .. } = *trial.shape;
    let (which, one) = (trial.input.below(6), counts[0]);
    if which >= 4 {
        let (list, crossed) = (vec![one; n], |me: usize, i: usize| value(i / one, me * one + i % one));
        let starts = ring::starts(&list);
        let parts = Parts { counts: &list, starts: &starts };
        let script = |out: &mut Script, at: Place<'_>| match which {
            4 => exchange::all_to_all_by_bits(out, at, one),
            _ => exchange::all_to_all(out, at, parts, parts, k),
        };
        let all = |_: usize| n * one;
        return trial.check("alltoall", (true, false), (&all, &all), (&junk, &crossed), &script);
    }
    let list = if which < 2 { counts.clone() } else { vec![one; n] };
    let (starts, total) = (ring::starts(&list), list.iter().sum());
    let script = |out: &mut Script, at: Place<'_>| match which {
        0 => ring::all_gather(out, at, &list, &starts),
        2 => levels::all_gather(out, at, hosts, one, k + 1),
        3 if n.is_power_of_two() => doubling::all_gather(out, at, one),
        _ => doubling::all_gather_any(out, at, |rank| (starts[rank], list[rank])),
    };
    let expected = |_: usize, i: usize| {
        let (member, element) = owner(&list, i);
        value(member, element)
    };
    trial.check("allgather", (true, false), (&|me| list[me], &|_| total), (&junk, &expected), &script);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::noise;

    #[test]
    fn schedules_of_any_shape_run_in_any_order() {
        for seed in 0..if cfg!(miri) { 20 } else { 5000u64 } {
            let bytes: Vec<u8> = (0..100).map(|i| noise(seed << 8 | i) as u8).collect();
            any_schedule(&bytes);
        }
    }
}
