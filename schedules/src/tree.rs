//! Trees of radix k, and their linear forms: logarithmic for data that all members need, or that
//! one member collects.

use crate::{Place, Script, Side, Span, pieces};

/// The tree: member `v` of `n`, counted from the root.
pub(crate) struct Tree {
    /// `None` for the root.
    pub(crate) parent: Option<usize>,
    /// Children and how many members each stands for, itself included; small ones first, which is
    /// the order of numbers.
    pub(crate) children: Vec<(usize, usize)>,
    /// How many members this one stands for.
    pub(crate) size: usize,
}

impl Tree {
    /// The k-nomial tree: a member's number without its last digit that is not 0, in base `k`, is
    /// its parent's.
    pub(crate) fn of(v: usize, n: usize, k: usize) -> Self {
        let k = k.max(2);
        let mut unit = 1;
        let mut children = Vec::new();
        while unit < n && v.is_multiple_of(unit * k) {
            for child in (1..k).map(|j| v + j * unit).take_while(|child| *child < n) {
                children.push((child, unit.min(n - child)));
            }
            unit *= k;
        }
        let parent = (v != 0).then(|| v - v % (unit * k));
        let size = if v == 0 { n } else { unit.min(n - v) };
        Self { parent, children, size }
    }
}

fn relative(at: &Place<'_>, root: usize) -> usize {
    (at.me + at.n - root) % at.n
}

fn absolute(at: &Place<'_>, root: usize, v: usize) -> usize {
    (v + root) % at.n
}

/// Everybody's output becomes the root's. ⌈log_k n⌉ rounds.
pub fn broadcast(out: &mut Script, at: Place<'_>, root: usize, count: usize, k: usize) {
    broadcast_of(out, at, root, Span::output(0, count), k);
    out.end();
}

pub(crate) fn broadcast_of(out: &mut Script, at: Place<'_>, root: usize, data: Span, k: usize) {
    let tree = Tree::of(relative(&at, root), at.n, k);
    if let Some(parent) = tree.parent {
        out.receive(at, absolute(&at, root, parent), 0, data);
        out.wait();
    }
    // Who stands for most members hears first.
    for (child, _) in tree.children.iter().rev() {
        out.send(at, absolute(&at, root, *child), 0, data);
    }
}

/// The root's output becomes everybody's inputs, folded: `ordered` keeps the order of ranks.
pub fn reduce(out: &mut Script, at: Place<'_>, root: usize, count: usize, k: usize, ordered: bool) {
    let input = Span::input(0, count);
    let gathered = reduce_to(out, at, root, input, k, ordered);
    if at.me == root {
        out.copy(gathered, Span::output(0, count));
    }
    out.end();
}

/// Folds everybody's `mine`; says where the result lies at the root.
pub(crate) fn reduce_to(
    out: &mut Script,
    at: Place<'_>,
    root: usize,
    mine: Span,
    k: usize,
    ordered: bool,
) -> Span {
    // The tree folds in the order of numbers from its top on, so order needs the top at rank 0.
    let top = if ordered { 0 } else { root };
    let tree = Tree::of(relative(&at, top), at.n, k);
    let mut result = mine;
    if !tree.children.is_empty() {
        result = out.room(mine.len);
        out.copy(mine, result);
        let ports: Vec<Span> = (1..k.max(2)).map(|_| out.room(mine.len)).collect();
        for level in tree.children.chunk_by(|a, b| level_of(*a, k) == level_of(*b, k)) {
            for ((child, _), port) in level.iter().zip(&ports) {
                out.receive(at, absolute(&at, top, *child), 0, *port);
            }
            out.wait();
            for (_, port) in level.iter().zip(&ports) {
                out.fold(*port, result, Side::After);
            }
        }
    }
    if let Some(parent) = tree.parent {
        out.send(at, absolute(&at, top, parent), 0, result);
    }
    if top != root && at.me == top {
        out.send(at, root, 1, result);
    }
    if top != root && at.me == root {
        out.drain();
        result = out.room(mine.len);
        out.receive(at, top, 1, result);
        out.wait();
    }
    result
}

/// Children of one level are one unit apart; the unit is the child's lowest power of `k`.
fn level_of((child, _): (usize, usize), k: usize) -> usize {
    let mut unit = 1;
    while child.is_multiple_of(unit * k.max(2)) {
        unit *= k.max(2);
    }
    unit
}

/// The root's output becomes everybody's inputs, one after another; all inputs have `count`
/// elements.
pub fn gather(out: &mut Script, at: Place<'_>, root: usize, count: usize, k: usize) {
    let (n, tree) = (at.n, Tree::of(relative(&at, root), at.n, k));
    if tree.children.is_empty() && at.me != root {
        let parent = tree.parent.map_or(root, |parent| absolute(&at, root, parent));
        out.send(at, parent, 0, Span::input(0, count));
        return out.end();
    }
    // Where the root is rank 0 the tree's order is the output's.
    let straight = at.me == root && root == 0;
    let held = if straight { Span::output(0, n * count) } else { out.room(tree.size * count) };
    out.copy(Span::input(0, count), held.part(0, count));
    let v = relative(&at, root);
    for (child, size) in &tree.children {
        let into = held.part((child - v) * count, size * count);
        out.receive(at, absolute(&at, root, *child), 0, into);
    }
    out.wait();
    match tree.parent {
        Some(parent) => out.send(at, absolute(&at, root, parent), 0, held),
        None if !straight => {
            let (first, rest) = ((n - root) * count, root * count);
            out.copy(held.part(0, first), Span::output(rest, first));
            out.copy(held.part(first, rest), Span::output(0, rest));
        }
        None => {}
    }
    out.end();
}

/// Everybody's output becomes its part of the root's input; all parts have `count` elements.
pub fn scatter(out: &mut Script, at: Place<'_>, root: usize, count: usize, k: usize) {
    let (n, tree) = (at.n, Tree::of(relative(&at, root), at.n, k));
    let mut held = Span::output(0, count);
    if at.me == root && root == 0 {
        held = Span::input(0, n * count);
    } else if !tree.children.is_empty() {
        held = out.room(tree.size * count);
    }
    if at.me == root && root != 0 && n > 1 {
        let (first, rest) = ((n - root) * count, root * count);
        out.copy(Span::input(rest, first), held.part(0, first));
        out.copy(Span::input(0, rest), held.part(first, rest));
    } else if at.me == root {
        held = Span::input(0, n * count);
    }
    if let Some(parent) = tree.parent {
        out.receive(at, absolute(&at, root, parent), 0, held);
        out.wait();
    }
    let v = relative(&at, root);
    for (child, size) in tree.children.iter().rev() {
        let data = held.part((child - v) * count, size * count);
        out.send(at, absolute(&at, root, *child), 0, data);
    }
    out.copy(held.part(0, count), Span::output(0, count));
    out.end();
}

/// Who gives or gets how much, by rank, and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Elements.
    pub counts: &'a [usize],
    /// First element.
    pub starts: &'a [usize],
}

impl Parts<'_> {
    /// Where a member's part begins, and its length.
    pub fn of(&self, rank: usize) -> (usize, usize) {
        (self.starts[rank], self.counts[rank])
    }
}

/// Gathers inputs of any lengths: only the root knows `parts`, the others how much they give.
pub fn gather_v(out: &mut Script, at: Place<'_>, root: usize, mine: usize, parts: Option<Parts<'_>>) {
    match parts {
        Some(parts) if at.me == root => {
            let (start, len) = parts.of(root);
            out.copy(Span::input(0, len), Span::output(start, len));
            for from in (0..at.n).filter(|from| *from != root) {
                let (start, len) = parts.of(from);
                out.receive(at, from, 0, Span::output(start, len));
            }
            out.wait();
        }
        _ => out.send(at, root, 0, Span::input(0, mine)),
    }
    out.end();
}

/// Scatters parts of any lengths: only the root knows `parts`, the others how much they get.
pub fn scatter_v(out: &mut Script, at: Place<'_>, root: usize, mine: usize, parts: Option<Parts<'_>>) {
    match parts {
        Some(parts) if at.me == root => {
            for to in (0..at.n).filter(|to| *to != root) {
                let (start, len) = parts.of(to);
                out.send(at, to, 0, Span::input(start, len));
            }
            // In place, the root's part goes where others' parts are sent from.
            out.drain();
            let (start, len) = parts.of(root);
            out.copy(Span::input(start, len), Span::output(0, len));
        }
        _ => {
            out.receive(at, root, 0, Span::output(0, mine));
            out.wait();
        }
    }
    out.end();
}

/// Gives everybody a piece of the root's output down a tree, then passes the pieces round in a
/// ring: for long data, of which every member then sends twice as much as it gets, not more.
pub fn broadcast_by_pieces(out: &mut Script, at: Place<'_>, root: usize, count: usize) {
    let (n, whole) = (at.n, Span::output(0, count));
    let v = relative(&at, root);
    let tree = Tree::of(v, n, 2);
    let held = |v: usize, size: usize| pieces(whole, n, v, v + size);
    if let Some(parent) = tree.parent {
        out.receive(at, absolute(&at, root, parent), 0, held(v, tree.size));
        out.wait();
    }
    for (child, size) in tree.children.iter().rev() {
        out.send(at, absolute(&at, root, *child), 0, held(*child, *size));
    }
    out.drain();
    for round in 0..n.saturating_sub(1) {
        let (gone, come) = ((v + n - round) % n, (v + n - round - 1) % n);
        out.send(at, at.after(1), 1 + round, held(gone, 1));
        // What came down the tree comes once more, with the same content.
        out.receive(at, at.before(1), 1 + round, held(come, 1));
        out.wait();
        out.drain();
    }
    out.end();
}
