//! Two binary trees at once: an inner node of one is a leaf of the other, so that every member
//! sends and receives all the time. Long broadcasts then take twice as long as one message, plus
//! the time of logarithmically many segments.

use crate::{Place, Script, Span, piece, segments};

/// A member's place in one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// `None` for the top.
    parent: Option<usize>,
    children: [Option<usize>; 2],
    /// Members between it and the top.
    depth: usize,
}

/// The tree of which odd numbers are the leaves: a number's lowest set bit is its height.
fn node(v: usize, n: usize) -> Node {
    let unit = if v == 0 { n.next_power_of_two() } else { v & v.wrapping_neg() };
    let parent_of = |v: usize| {
        let unit = v & v.wrapping_neg();
        let above = (v ^ unit) | (unit << 1);
        (v != 0).then_some(if above < n { above } else { v ^ unit })
    };
    let below = if v == 0 || unit == 1 { None } else { Some(v - unit / 2) };
    // The part behind it may be too short for a child half a unit away: then a nearer one heads it.
    let mut half = unit / 2;
    while half > 0 && v + half >= n {
        half /= 2;
    }
    let beyond = (half > 0).then(|| v + half);
    let mut depth = 0;
    let mut up = v;
    while let Some(parent) = parent_of(up) {
        (up, depth) = (parent, depth + 1);
    }
    Node { parent: parent_of(v), children: [below, beyond], depth }
}

/// The second tree is the first one with the numbers turned: mirrored, or moved by one.
fn turned(v: usize, n: usize) -> usize {
    if n.is_multiple_of(2) { n - 1 - v } else { (v + n - 1) % n }
}

fn turned_back(v: usize, n: usize) -> usize {
    if n.is_multiple_of(2) { n - 1 - v } else { (v + 1) % n }
}

fn nodes(v: usize, n: usize) -> [Node; 2] {
    let second = node(turned(v, n), n);
    let back = |other: Option<usize>| other.map(|other| turned_back(other, n));
    let second = Node { parent: back(second.parent), children: second.children.map(back), ..second };
    [node(v, n), second]
}

/// Everybody's output becomes the root's: segments of at most `most` elements take the two trees by
/// turns.
pub fn broadcast(out: &mut Script, at: Place<'_>, root: usize, count: usize, most: usize) {
    let (all, parts) = (Span::output(0, count), segments(count, most));
    let others = at.n - 1;
    // The others, by their distance from the root.
    let member = |v: usize| (v + 1 + root) % at.n;
    if at.me == root {
        // The tops of both.
        let tops = [0, if others > 0 { turned_back(0, others) } else { 0 }];
        for i in 0..parts * usize::from(others > 0) {
            out.send(at, member(tops[i % 2]), i, piece(all, parts, i));
        }
        return out.end();
    }
    let nodes = nodes((at.me + at.n - root - 1) % at.n, others);
    // Parents take each segment earlier than their children do in this order, so nobody waits in a
    // circle.
    let mut order: Vec<usize> = (0..parts).collect();
    order.sort_by_key(|i| i / 2 * 2 + nodes[i % 2].depth);
    for i in order {
        let (node, part) = (&nodes[i % 2], piece(all, parts, i));
        out.receive(at, node.parent.map_or(root, member), i, part);
        out.wait();
        for child in node.children.into_iter().flatten() {
            out.send(at, member(child), i, part);
        }
    }
    out.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_inside_of_one_tree_is_a_leaf_of_the_other() {
        for n in 1..600 {
            for v in 0..n {
                let both = nodes(v, n);
                let inside =
                    both.map(|node| node.children.iter().flatten().count() > 0 && node.parent.is_some());
                assert!(!(inside[0] && inside[1]), "{v} of {n}: {both:?}");
                for (tree, node) in both.iter().enumerate() {
                    assert!(node.depth <= n.ilog2() as usize + 1, "{v} of {n}: depth {}", node.depth);
                    for child in node.children.into_iter().flatten() {
                        assert_eq!(nodes(child, n)[tree].parent, Some(v), "{child} under {v} of {n}");
                    }
                    if let Some(parent) = node.parent {
                        let there = nodes(parent, n)[tree].children;
                        assert!(there.contains(&Some(v)), "{v} under {parent} of {n}");
                    }
                }
            }
        }
    }
}
