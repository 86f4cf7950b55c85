//! Algorithms chosen by the user or by measurement, in place of those of the table.

use super::{Algorithm, NAMES, Shape, TABLE};
use crate::call::Call;
use std::ops::RangeInclusive;

/// Choices that override the table, as `LAPIS_COLLECTIVES` and the tuning file give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides(Vec<Override>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Override {
    operation: &'static str,
    /// Bytes of the call's count.
    bytes: RangeInclusive<usize>,
    members: RangeInclusive<usize>,
    algorithm: Algorithm,
}

impl Overrides {
    /// From `allreduce=ring,barrier=dissemination`. An operation may have a range of bytes and one
    /// of members, as in `allreduce:64K-1M@2-8=ring`; a range may lack an end. Later ones win.
    ///
    /// # Errors
    /// A message that says which part of the text is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let overrides = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        overrides.map(Override::parse).collect::<Result<_, _>>().map(Self)
    }

    /// The algorithm chosen for a call, if any. For parts of unequal lengths no member knows the
    /// total of bytes: overrides for `alltoall` apply to them if they name no range of bytes, nor
    /// Bruck's algorithm, which needs equal parts.
    pub(crate) fn for_call(&self, call: &Call<'_>, shape: &Shape<'_>) -> Option<Algorithm> {
        // A reduce_scatter's bytes are those of all parts.
        let (name, count) = match *call {
            Call::ReduceScatterBlock { count } => ("reduce_scatter", count.saturating_mul(shape.n)),
            _ => (call.name(), call.count() as usize),
        };
        let bytes = count.saturating_mul(shape.size);
        let suits = |entry: &&Override| {
            let named = match call {
                Call::AllToAllV { .. } => {
                    entry.operation == "alltoall"
                        && entry.bytes == (0..=usize::MAX)
                        && entry.algorithm != Algorithm::Bruck
                }
                _ => entry.operation == name,
            };
            named && entry.members.contains(&shape.n) && entry.bytes.contains(&bytes)
        };
        self.0.iter().rev().find(suits).map(|entry| entry.algorithm)
    }
}

impl Override {
    fn parse(text: &str) -> Result<Self, String> {
        let (what, algorithm) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not OPERATION=ALGORITHM"))?;
        let (what, members) = what.split_once('@').unwrap_or((what, "-"));
        let (operation, bytes) = what.split_once(':').unwrap_or((what, "-"));
        let row = TABLE
            .iter()
            .find(|row| row.operation == operation.trim())
            .ok_or_else(|| format!("no operation `{}`", operation.trim()))?;
        let found = NAMES.iter().find(|(name, _)| *name == algorithm.trim()).map(|(_, a)| *a);
        let algorithm = found.filter(|a| row.algorithms.contains(a)).ok_or_else(|| {
            let names: Vec<_> = row.algorithms.iter().map(|a| a.name()).collect();
            format!("no algorithm `{algorithm}` for {operation}: there are {}", names.join(", "))
        })?;
        let range = |text: &str| {
            range(text.trim())
                .ok_or_else(|| format!("`{text}` in `{what}` is not a range, as in 4K-64K, 8- or 2"))
        };
        Ok(Self { operation: row.operation, bytes: range(bytes)?, members: range(members)?, algorithm })
    }
}

/// `4K-64K`, `-8`, `8-`, `2`, or `-` for all.
fn range(text: &str) -> Option<RangeInclusive<usize>> {
    let number = |text: &str, absent: usize| {
        let (digits, shift) = match text.as_bytes().last() {
            None => return Some(absent),
            Some(b'K') => (&text[..text.len() - 1], 10),
            Some(b'M') => (&text[..text.len() - 1], 20),
            Some(b'G') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        digits.parse::<usize>().ok()?.checked_mul(1 << shift)
    };
    let (low, high) = match text.split_once('-') {
        Some((low, high)) => (number(low, 0)?, number(high, usize::MAX)?),
        None if text.is_empty() => return None,
        None => (number(text, 0)?, number(text, 0)?),
    };
    (low <= high).then_some(low..=high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_schedules::tree::Parts;

    fn shape(n: usize) -> Shape<'static> {
        Shape { me: 0, n, hosts: None, size: 8, reorder: true, reproducible: false }
    }

    #[test]
    fn an_override_applies_within_its_ranges_and_later_ones_win() {
        let overrides = Overrides::parse(
            "allreduce=doubling, allreduce:4K-64K@2-8=ring,allreduce:64K-=halves,barrier@4=memory",
        )
        .unwrap();
        let taken = |bytes: usize, n| overrides.for_call(&Call::AllReduce { count: bytes / 8 }, &shape(n));
        assert_eq!(taken(8, 2), Some(Algorithm::Doubling));
        assert_eq!(taken(4096, 8), Some(Algorithm::Ring));
        assert_eq!(taken(4096, 9), Some(Algorithm::Doubling));
        assert_eq!(taken(64 << 10, 4), Some(Algorithm::Halves));
        let barrier = |n| overrides.for_call(&Call::Barrier, &shape(n));
        assert_eq!((barrier(4), barrier(5)), (Some(Algorithm::Memory), None));
    }

    #[test]
    fn an_override_of_alltoall_applies_to_unequal_parts_if_it_can() {
        let parts = Parts { counts: &[1; 9], starts: &[0; 9] };
        let call = Call::AllToAllV { give: parts, get: parts };
        let taken = |text: &str| Overrides::parse(text).unwrap().for_call(&call, &shape(9));
        assert_eq!(taken("alltoall=pairwise"), Some(Algorithm::Pairwise));
        assert_eq!(taken("alltoall@2-8=pairwise"), None);
        assert_eq!(taken("alltoall:0-=memory"), Some(Algorithm::Memory));
        assert_eq!(taken("alltoall=pairwise,alltoall:-1K=memory"), Some(Algorithm::Pairwise));
        assert_eq!(taken("alltoall=bruck"), None);
        assert_eq!(taken("allgather=ring"), None);
    }

    #[test]
    fn errors_in_an_override_are_explained() {
        for (text, problem) in [
            ("allreduce", "`allreduce` is not OPERATION=ALGORITHM"),
            ("all=ring", "no operation `all`"),
            ("barrier=ring", "no algorithm `ring` for barrier: there are memory, dissemination, two-levels"),
            ("allreduce:8K-4K=ring", "`8K-4K` in `allreduce:8K-4K` is not a range"),
            ("allreduce:x=ring", "`x` in `allreduce:x` is not a range"),
            ("allreduce@=ring", "`` in `allreduce` is not a range"),
        ] {
            let why = Overrides::parse(text).unwrap_err();
            assert!(why.starts_with(problem), "{text}: {why}");
        }
    }
}
