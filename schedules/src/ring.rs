//! Rings and chains: every member sends the minimum of data, in as many rounds as there are members
//! or segments.

use crate::{Place, Script, Side, Span, piece, segments};

/// Everybody's output becomes everybody's inputs, one after another, of any lengths.
pub fn all_gather(out: &mut Script, at: Place<'_>, counts: &[usize], starts: &[usize]) {
    let part = |rank: usize| Span::output(starts[rank], counts[rank]);
    out.copy(Span::input(0, counts[at.me]), part(at.me));
    for round in 0..at.n - 1 {
        out.send(at, at.after(1), round, part(at.before(round)));
        out.receive(at, at.before(1), round, part(at.before(round + 1)));
        out.wait();
    }
    out.end();
}

/// Everybody's output becomes everybody's inputs, folded; the operator may be reordered. The data
/// goes round twice, each time cut in `n` pieces: first to be folded, then to be known.
pub fn all_reduce(out: &mut Script, at: Place<'_>, count: usize) {
    let (n, all) = (at.n, Span::output(0, count));
    out.copy(Span::input(0, count), all);
    if n > 1 {
        let room = out.room(count.div_ceil(n));
        for round in 0..n - 1 {
            let mine = piece(all, n, at.before(round + 2));
            let into = room.part(0, mine.len);
            out.send(at, at.after(1), round, piece(all, n, at.before(round + 1)));
            out.receive(at, at.before(1), round, into);
            out.wait();
            out.drain();
            out.fold(into, mine, Side::After);
        }
        for round in 0..n - 1 {
            out.send(at, at.after(1), n + round, piece(all, n, at.before(round)));
            out.receive(at, at.before(1), n + round, piece(all, n, at.before(round + 1)));
            out.wait();
        }
    }
    out.end();
}

/// Everybody's output becomes its part of everybody's inputs, folded; the operator may be
/// reordered. Each part goes round once.
pub fn reduce_scatter(out: &mut Script, at: Place<'_>, counts: &[usize]) {
    let starts = starts(counts);
    let input = |rank: usize| Span::input(starts[rank], counts[rank]);
    let most = counts.iter().copied().max().unwrap_or(0);
    let rooms = [out.room(most), out.room(most)];
    let mut held = input(at.before(1));
    for round in 0..at.n - 1 {
        let next = at.before(round + 2);
        let into = rooms[round % 2].part(0, counts[next]);
        out.send(at, at.after(1), round, held);
        out.receive(at, at.before(1), round, into);
        out.wait();
        out.drain();
        out.fold(input(next), into, Side::After);
        held = into;
    }
    out.copy(held, Span::output(0, counts[at.me]));
    out.end();
}

/// Everybody's output becomes the root's: segments of at most `most` elements follow each other
/// down a chain.
pub fn broadcast(out: &mut Script, at: Place<'_>, root: usize, count: usize, most: usize) {
    let (n, all) = (at.n, Span::output(0, count));
    let (v, parts) = ((at.me + n - root) % n, segments(count, most));
    for i in 0..parts {
        let part = piece(all, parts, i);
        if v > 0 {
            out.receive(at, at.before(1), i, part);
            out.wait();
        }
        if v + 1 < n {
            out.send(at, at.after(1), i, part);
        }
    }
    out.end();
}

/// The root's output becomes everybody's inputs, folded, in the order of ranks if `ordered`:
/// segments follow each other up a chain.
pub fn reduce(out: &mut Script, at: Place<'_>, root: usize, count: usize, most: usize, ordered: bool) {
    let n = at.n;
    // In order, the chain ends at rank 0, which hands the result on.
    let end = if ordered { 0 } else { root };
    let (v, parts) = ((at.me + n - end) % n, segments(count, most));
    let result = if at.me == root && end == root { Span::output(0, count) } else { out.room(count) };
    let room = out.room(count.div_ceil(parts));
    for i in 0..parts {
        let part = piece(result, parts, i);
        out.copy(piece(Span::input(0, count), parts, i), part);
        if v + 1 < n {
            let into = room.part(0, part.len);
            out.receive(at, at.after(1), i, into);
            out.wait();
            out.fold(into, part, Side::After);
        }
        if v > 0 {
            out.send(at, at.before(1), i, part);
        }
    }
    if end != root && at.me == end {
        out.send(at, root, parts, result);
    } else if end != root && at.me == root {
        // In place, the input was there; all of it has been copied.
        out.receive(at, end, parts, Span::output(0, count));
        out.wait();
    }
    out.end();
}

/// Where parts of these lengths begin if they lie one after another.
pub fn starts(counts: &[usize]) -> Vec<usize> {
    let mut sum = 0;
    let begin = |count: &usize| {
        sum += count;
        sum - count
    };
    counts.iter().map(begin).collect()
}
