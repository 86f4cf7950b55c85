//! What [`Team`](crate::Team) runs: lists of steps over blocks. Pure: no context, no time, no memory but the lists.
//!
//! Members are numbered 0 … n − 1. The data of a collective is cut into blocks; a step sends or receives a range of them.

use std::ops::Range;

/// One thing a member does. Steps of a member happen in order; a receive waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send these blocks, as they are now, to a member.
    Send {
        /// To whom.
        to: usize,
        /// Which blocks.
        blocks: Range<usize>,
    },
    /// Receive blocks from a member in place of one's own.
    Receive {
        /// From whom.
        from: usize,
        /// Which blocks.
        blocks: Range<usize>,
    },
    /// Receive blocks from a member and combine them with one's own.
    Combine {
        /// From whom.
        from: usize,
        /// Which blocks.
        blocks: Range<usize>,
    },
}

/// Everybody ends with the root's only block. Binomial tree: ⌈log₂ n⌉ rounds, n − 1 messages.
pub(crate) fn broadcast(member: usize, members: usize, root: usize) -> Vec<Step> {
    let relative = (member + members - root) % members;
    let absolute = |r: usize| (r + root) % members;
    let mut steps = Vec::new();
    // The lowest set bit of the relative number says in which round the data comes.
    let mut mask = 1;
    while mask < members && relative & mask == 0 {
        mask <<= 1;
    }
    if relative != 0 {
        steps.push(Step::Receive { from: absolute(relative - mask), blocks: 0..1 });
    }
    mask = if relative == 0 { members.next_power_of_two() } else { mask };
    while mask > 1 {
        mask >>= 1;
        if relative + mask < members {
            steps.push(Step::Send { to: absolute(relative + mask), blocks: 0..1 });
        }
    }
    steps
}

/// Everybody ends with all members' only blocks combined. Recursive doubling among the largest power of two; the others
/// hand their data to a neighbour first and get the result last. Every member combines in an order that gives the same
/// result everywhere for commutative operations.
pub(crate) fn all_reduce(member: usize, members: usize) -> Vec<Step> {
    let core = if members.is_power_of_two() { members } else { members.next_power_of_two() / 2 };
    let extra = members - core;
    let mut steps = Vec::new();
    if member >= core {
        steps.push(Step::Send { to: member - core, blocks: 0..1 });
        steps.push(Step::Receive { from: member - core, blocks: 0..1 });
        return steps;
    }
    if member < extra {
        steps.push(Step::Combine { from: member + core, blocks: 0..1 });
    }
    let mut distance = 1;
    while distance < core {
        let partner = member ^ distance;
        steps.push(Step::Send { to: partner, blocks: 0..1 });
        steps.push(Step::Combine { from: partner, blocks: 0..1 });
        distance <<= 1;
    }
    if member < extra {
        steps.push(Step::Send { to: member + core, blocks: 0..1 });
    }
    steps
}

/// Everybody ends with everybody's block, block i being member i's. Ring: n − 1 rounds, each link carries each block once,
/// which is the least that large data allows.
pub(crate) fn all_gather(member: usize, members: usize) -> Vec<Step> {
    let (next, previous) = ((member + 1) % members, (member + members - 1) % members);
    let mut steps = Vec::new();
    for round in 0..members.saturating_sub(1) {
        let out = (member + members - round) % members;
        let into = (member + members - round - 1) % members;
        steps.push(Step::Send { to: next, blocks: out..out + 1 });
        steps.push(Step::Receive { from: previous, blocks: into..into + 1 });
    }
    steps
}

/// Nobody ends before everybody has begun. Dissemination: ⌈log₂ n⌉ rounds of empty messages.
pub(crate) fn barrier(member: usize, members: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut distance = 1;
    while distance < members {
        steps.push(Step::Send { to: (member + distance) % members, blocks: 0..0 });
        steps.push(Step::Receive { from: (member + members - distance) % members, blocks: 0..0 });
        distance <<= 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashMap, VecDeque};

    /// Sizes of teams. Miri is a few hundred times as slow; three rounds, and teams that are no power of two, will do.
    fn sizes(below: usize) -> Range<usize> {
        1..if cfg!(miri) { 7 } else { below }
    }

    /// What a member knows of a block: whose contributions are in it.
    type Block = BTreeSet<usize>;

    /// Runs everybody's steps until nobody can go on; panics on deadlock, double counting or messages left over.
    fn run(
        members: usize,
        blocks: &dyn Fn(usize) -> Vec<Block>,
        steps: &dyn Fn(usize) -> Vec<Step>,
    ) -> Vec<Vec<Block>> {
        let mut data: Vec<_> = (0..members).map(blocks).collect();
        let mut todo: Vec<VecDeque<Step>> = (0..members).map(|m| steps(m).into()).collect();
        let mut wires: HashMap<(usize, usize), VecDeque<Vec<Block>>> = HashMap::new();
        loop {
            let mut moved = false;
            for m in 0..members {
                while let Some(step) = todo[m].front().cloned() {
                    match step {
                        Step::Send { to, blocks } => {
                            assert_ne!(to, m, "a member sends to itself");
                            wires.entry((m, to)).or_default().push_back(data[m][blocks].to_vec());
                        }
                        Step::Receive { from, blocks } | Step::Combine { from, blocks } => {
                            let Some(message) = wires.entry((from, m)).or_default().pop_front() else {
                                break;
                            };
                            assert_eq!(message.len(), blocks.len(), "sizes differ between {from} and {m}");
                            let combine = matches!(todo[m][0], Step::Combine { .. });
                            for (mine, theirs) in data[m][blocks].iter_mut().zip(message) {
                                if combine {
                                    assert!(mine.is_disjoint(&theirs), "member {m} counts somebody twice");
                                    mine.extend(theirs);
                                } else {
                                    *mine = theirs;
                                }
                            }
                        }
                    }
                    todo[m].pop_front();
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert!(todo.iter().all(VecDeque::is_empty), "deadlock among {members}: {todo:?}");
        assert!(wires.values().all(VecDeque::is_empty), "messages left over among {members}");
        data
    }

    #[test]
    fn broadcast_brings_the_roots_data_to_everybody() {
        for members in sizes(40) {
            for root in 0..members {
                let end = run(members, &|m| vec![Block::from([m])], &|m| broadcast(m, members, root));
                assert!(end.iter().all(|d| d[0] == Block::from([root])), "{members} members, root {root}");
            }
        }
    }

    #[test]
    fn all_reduce_combines_everybody_exactly_once() {
        for members in sizes(70) {
            let all: Block = (0..members).collect();
            let end = run(members, &|m| vec![Block::from([m])], &|m| all_reduce(m, members));
            assert!(end.iter().all(|d| d[0] == all), "{members} members");
        }
    }

    #[test]
    fn all_gather_puts_everybodys_block_in_its_place() {
        for members in sizes(40) {
            let begin = |m: usize| {
                (0..members).map(|b| if b == m { Block::from([m]) } else { Block::new() }).collect()
            };
            let end = run(members, &begin, &|m| all_gather(m, members));
            for d in end {
                assert!(
                    d.iter().enumerate().all(|(b, block)| *block == Block::from([b])),
                    "{members} members"
                );
            }
        }
    }

    #[test]
    fn barrier_hears_of_everybody_before_it_ends() {
        for members in sizes(70) {
            // Knowledge spreads with every message: model it as a combine of one block.
            let spread = |m: usize| {
                barrier(m, members)
                    .into_iter()
                    .map(|s| match s {
                        Step::Send { to, .. } => Step::Send { to, blocks: 0..1 },
                        Step::Receive { from, .. } | Step::Combine { from, .. } => {
                            Step::Receive { from, blocks: 1..2 }
                        }
                    })
                    .collect::<Vec<_>>()
            };
            // Reachability by rounds is the whole claim: after ⌈log₂ n⌉ doublings of distance everybody is covered.
            let mut known: Vec<Block> = (0..members).map(|m| Block::from([m])).collect();
            let mut distance = 1;
            while distance < members {
                known = (0..members)
                    .map(|m| known[m].union(&known[(m + members - distance) % members]).copied().collect())
                    .collect();
                distance <<= 1;
            }
            assert!(known.iter().all(|k| k.len() == members), "{members} members");
            run(members, &|m| vec![Block::from([m]), Block::new()], &spread);
        }
    }
}
