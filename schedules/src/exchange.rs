//! Personalised exchanges: each member has different data for each other one, or for its
//! neighbours.

use crate::tree::Parts;
use crate::{Place, Script, Side, Span};
use std::collections::HashMap;

/// What member i of the output is what member i had for this one. In round r everybody sends to the
/// member r further on and receives from the one r before; `ports` rounds are under way at a time.
/// Any lengths.
pub fn all_to_all(out: &mut Script, at: Place<'_>, give: Parts<'_>, get: Parts<'_>, ports: usize) {
    let input = |rank: usize| Span::input(give.starts[rank], give.counts[rank]);
    let output = |rank: usize| Span::output(get.starts[rank], get.counts[rank]);
    out.copy(input(at.me), output(at.me));
    for round in 1..at.n {
        out.receive(at, at.before(round), 0, output(at.before(round)));
        out.send(at, at.after(round), 0, input(at.after(round)));
        if round % ports.max(1) == 0 {
            out.wait();
        }
    }
    out.wait();
    out.end();
}

/// The same for short blocks of equal length: ⌈log₂ n⌉ rounds, in each of which half of all blocks
/// travel (Bruck).
pub fn all_to_all_by_bits(out: &mut Script, at: Place<'_>, count: usize) {
    let n = at.n;
    // Block i is on its way to the member i further on.
    let held = out.room(n * count);
    let (gone, come) = (out.room(n.div_ceil(2) * count), out.room(n.div_ceil(2) * count));
    let first = n - at.me;
    out.copy(Span::input(at.me * count, first * count), held.part(0, first * count));
    out.copy(Span::input(0, at.me * count), held.part(first * count, at.me * count));
    let mut distance = 1;
    while distance < n {
        // Blocks whose way has this bit stand in runs of `distance`.
        let runs = || (distance..n).step_by(2 * distance).map(|from| (from, distance.min(n - from)));
        let mut packed = 0;
        for (from, len) in runs() {
            out.copy(held.part(from * count, len * count), gone.part(packed * count, len * count));
            packed += len;
        }
        let tag = distance.trailing_zeros() as usize;
        out.send(at, at.after(distance), tag, gone.part(0, packed * count));
        out.receive(at, at.before(distance), tag, come.part(0, packed * count));
        out.wait();
        out.drain();
        packed = 0;
        for (from, len) in runs() {
            out.copy(come.part(packed * count, len * count), held.part(from * count, len * count));
            packed += len;
        }
        distance <<= 1;
    }
    // Block i has come from the member i before.
    for i in 0..n {
        out.copy(held.part(i * count, count), Span::output(at.before(i) * count, count));
    }
    out.end();
}

/// Everybody's output becomes its part of everybody's inputs, folded in the order of ranks: n − 1
/// messages, each of one part.
pub fn reduce_scatter(out: &mut Script, at: Place<'_>, counts: &[usize]) {
    let starts = super::ring::starts(counts);
    let input = |rank: usize| Span::input(starts[rank], counts[rank]);
    let mine = counts[at.me];
    let (low, high, room) = (out.room(mine), out.room(mine), out.room(mine));
    out.copy(input(at.me), low);
    for round in 1..at.n {
        // First the members before this one, from the nearest on; then those behind it, from the
        // last on.
        let from = at.before(round);
        let first_behind = from == at.n - 1;
        let into = if first_behind && at.me != at.n - 1 { high } else { room };
        out.send(at, at.after(round), round, input(at.after(round)));
        out.receive(at, from, round, into);
        out.wait();
        if into == room {
            out.fold(room, if from < at.me { low } else { high }, Side::Before);
        }
    }
    if at.me + 1 < at.n {
        out.fold(high, low, Side::After);
    }
    // In place, parts of the input lie there that are still being sent.
    out.drain();
    out.copy(low, Span::output(0, mine));
    out.end();
}

/// An edge of a graph: whom it leads to, or from whom, and which elements go along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The member at the other end.
    pub member: usize,
    /// First element: of the input for what is sent, of the output for what is received.
    pub start: usize,
    /// How many.
    pub len: usize,
}

/// Edges, each with the number of those before it that lead to the same member.
fn ordinals(edges: impl Iterator<Item = Edge>) -> Vec<(usize, Edge)> {
    let mut many = HashMap::new();
    let numbered = edges.map(|edge| {
        let next = many.entry(edge.member).or_insert(0);
        *next += 1;
        (*next - 1, edge)
    });
    numbered.collect()
}

/// Exchanges along the edges of a graph of which every member knows its own. Several edges between
/// two members are told apart by their order, which must be the same at both.
pub fn neighbours(out: &mut Script, at: Place<'_>, from: &[Edge], to: &[Edge]) {
    // A member may be its own neighbour.
    let own = |edges: &[Edge]| edges.iter().filter(|e| e.member == at.me).copied().collect::<Vec<_>>();
    let others = |edges: &[Edge]| ordinals(edges.iter().filter(|e| e.member != at.me).copied());
    for (ordinal, edge) in others(from) {
        out.receive(at, edge.member, ordinal, Span::output(edge.start, edge.len));
    }
    for (ordinal, edge) in others(to) {
        out.send(at, edge.member, ordinal, Span::input(edge.start, edge.len));
    }
    for (given, got) in own(to).into_iter().zip(own(from)) {
        out.copy(Span::input(given.start, given.len), Span::output(got.start, got.len));
    }
    out.wait();
    out.end();
}
