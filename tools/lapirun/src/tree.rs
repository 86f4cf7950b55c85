//! The start tree: machines in a tree, each of which starts a bounded number of others.
//!
//! The launcher starts the first machine of each branch and hands it the rest of the branch, which
//! is divided there in the same way. So the machines of a level are started at the same time, and
//! none of them has more connections than the tree's fan-out, the launcher's own machine included.

/// How many machines each starts, unless the user says otherwise.
pub(crate) const FAN_OUT: u32 = 32;

/// Divides what is to be started into branches: the head of each, and what that one starts.
///
/// At most `fan_out` branches, which differ by one in their size; neighbours stay together.
pub(crate) fn branches<T>(machines: Vec<T>, fan_out: u32) -> Vec<(T, Vec<T>)> {
    let all = machines.len();
    let count = all.min(fan_out.max(1) as usize);
    let mut machines = machines.into_iter();
    let branch = |at: usize| {
        let size = (at + 1) * all / count - at * all / count;
        let head = machines.next()?;
        Some((head, machines.by_ref().take(size - 1).collect()))
    };
    (0..count).map_while(branch).collect()
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_alike_and_keep_neighbours_together() {
        let cut = |all: u32, fan_out| branches((0..all).collect(), fan_out);
        assert_eq!(cut(0, 32), []);
        assert_eq!(cut(3, 32), [(0, vec![]), (1, vec![]), (2, vec![])]);
        assert_eq!(cut(7, 2), [(0, vec![1, 2]), (3, vec![4, 5, 6])]);
        assert_eq!(cut(4, 1), [(0, vec![1, 2, 3])]);
        for all in [33, 1000, 1056, 1057] {
            let found = cut(all, FAN_OUT);
            assert_eq!(found.len(), 32);
            let sizes: Vec<usize> = found.iter().map(|(_, rest)| rest.len()).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
            let flat: Vec<u32> =
                found.into_iter().flat_map(|(head, rest)| std::iter::once(head).chain(rest)).collect();
            assert_eq!(flat, (0..all).collect::<Vec<_>>());
        }
    }
}
