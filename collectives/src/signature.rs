//! What the calls of one operation must have in common at all members.

use crate::element::{Operator, Type};

/// Names of operations, in the order of their codes.
pub(crate) const NAMES: [&str; 19] = [
    "barrier",
    "broadcast",
    "multicast",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "scan",
    "exscan",
    "neighbours",
    "reduce_scatter_block",
    "another operation through memory",
];

/// The number of the search for memory before a team's first call through it: no call's own.
const SEARCH: u64 = NAMES.len() as u64 - 1;

/// What members' calls must have in common, in a word:
///
/// ```text
/// | operation (5) | type (5) | operator (4) | root (16) | bytes (34) |
/// ```
///
/// Calls with a list of lengths that all members give have all bytes, and in place of a root a
/// digest of the list. Where elements of the program are folded, the bits of type and operator tell
/// their size. What does not fit in its bits is mixed into them; the first bit of a root says that
/// it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature(pub(crate) u64);

/// Where operation, type, operator and root stand.
const OPERATION: u32 = 59;
const TYPE: u32 = 54;
const OPERATOR: u32 = 50;
const ROOT: u32 = 34;

/// The bit of a root that says that others are mixed into it.
const MIXED: u64 = 1 << (OPERATOR - ROOT - 1);

/// No type, because bytes alone count; no operator.
const ANY_TYPE: u64 = 31;
const NO_OPERATOR: u64 = 15;

/// What stands in the bits of type and operator from the first type on that is none of the
/// library's: elements of the program, of 0 bytes and more. Sizes that are not told exactly share
/// what is left below `ANY_TYPE`.
const OPAQUE: u64 = 19 << (TYPE - OPERATOR);
const EXACT: u64 = 128;
const OTHERS: u32 = 6;

const _: () = assert!(OPAQUE + EXACT + (1 << OTHERS) == ANY_TYPE << (TYPE - OPERATOR));
const _: () = assert!(Type::ALL.len() as u64 <= OPAQUE >> (TYPE - OPERATOR));

impl Signature {
    /// Of an operation's number, and of a type if it counts; `root` is the digest of lengths, if
    /// there are any.
    pub(crate) fn new(operation: u64, of: Option<Type>, by: Option<Operator>, root: u64, bytes: u64) -> Self {
        let folded = folded(of, by);
        let bytes = squeezed(bytes, ROOT);
        let root = match root {
            rank if rank >= MIXED && has_root(operation) => squeezed(rank, OPERATOR - ROOT - 1) | MIXED,
            other => squeezed(other, OPERATOR - ROOT),
        };
        Self(operation << OPERATION | folded << OPERATOR | root << ROOT | bytes)
    }

    /// Of the search for memory. A member that makes another call learns from it no more than that
    /// this one's goes through memory.
    pub(crate) fn of_search() -> Self {
        Self::new(SEARCH, None, None, 0, 0)
    }

    fn operation(self) -> u64 {
        self.0 >> OPERATION
    }

    /// The root, if it is of a call that has one. `None`: it has none, or one too large to tell.
    fn root(self) -> Option<usize> {
        let root = self.0 >> ROOT & (2 * MIXED - 1);
        (has_root(self.operation()) && root < MIXED).then_some(root as usize)
    }

    /// The roots of this and of another call, if they differ in nothing else.
    pub(crate) fn other_root(self, other: Self) -> Option<(usize, usize)> {
        let roots = self.root().zip(other.root()).filter(|(mine, theirs)| mine != theirs);
        roots.filter(|_| (self.0 ^ other.0) & !((2 * MIXED - 1) << ROOT) == 0)
    }

    /// Whether it is of a call with a list of lengths that all members give.
    fn has_lengths(self) -> bool {
        matches!(NAMES.get(self.operation() as usize), Some(&("reduce_scatter" | "allgatherv")))
    }

    /// Whether it is of a call with lists of receivers or edges, which it says nothing of.
    pub(crate) fn leaves_lists_out(self) -> bool {
        matches!(NAMES.get(self.operation() as usize), Some(&("multicast" | "neighbours")))
    }

    /// Whether a member of such a call may only send, so that it can be calls ahead of those who
    /// receive.
    pub(crate) fn may_run_ahead(self) -> bool {
        let name = self.name();
        !matches!(name, "barrier" | "allreduce" | "allgather" | "alltoall" | "reduce_scatter_block")
    }

    /// Whether it differs from that of another call in their lists of lengths alone.
    pub(crate) fn differs_in_lengths(self, other: Self) -> bool {
        self != other && self.has_lengths() && self.0 >> OPERATOR == other.0 >> OPERATOR
    }

    /// Whether it is of a call with these lengths in bytes, by rank.
    pub(crate) fn is_of(self, lengths: impl Iterator<Item = u64>) -> bool {
        let (bytes, root) = digest(lengths);
        self.has_lengths() && self.0 & ((1 << OPERATOR) - 1) == root << ROOT | squeezed(bytes, ROOT)
    }

    /// The number of bytes of folded elements of the program; the error is a digest of larger
    /// ones. `None`: there are no such elements.
    fn opaque(self) -> Option<Result<u64, u64>> {
        let folded = self.0 >> OPERATOR & ((1 << (OPERATION - OPERATOR)) - 1);
        let size = folded.checked_sub(OPAQUE).filter(|size| *size < EXACT + (1 << OTHERS))?;
        Some(if size < EXACT { Ok(size) } else { Err(size - EXACT) })
    }

    /// The operation's name.
    pub(crate) fn name(self) -> &'static str {
        NAMES.get(self.operation() as usize).unwrap_or(&"unknown operation")
    }
}

/// Whether calls with an operation's number have a root.
fn has_root(operation: u64) -> bool {
    let name = NAMES.get(operation as usize);
    name.is_some_and(|name| {
        matches!(*name, "broadcast" | "multicast" | "reduce" | "gather" | "gatherv" | "scatter" | "scatterv")
    })
}

/// The bits of type and operator.
fn folded(of: Option<Type>, by: Option<Operator>) -> u64 {
    match of {
        Some(Type::Bytes(size)) if u64::from(size) < EXACT => OPAQUE + u64::from(size),
        Some(Type::Bytes(size)) => OPAQUE + EXACT + squeezed(u64::from(size), OTHERS),
        _ => {
            let of = of.and_then(|of| Type::ALL.iter().position(|one| *one == of));
            let of = of.map_or(ANY_TYPE, |at| at as u64);
            of << (TYPE - OPERATOR) | by.map_or(NO_OPERATOR, |by| by as u64)
        }
    }
}

/// An odd number without a pattern.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number as it is if so many bits hold it; others differ from it and from each other, but for
/// one in as many as there are.
fn squeezed(number: u64, bits: u32) -> u64 {
    let mixed = (number >> bits).wrapping_mul(MIX) >> (64 - bits);
    (number ^ mixed) & ((1 << bits) - 1)
}

/// All bytes of a list of lengths, and 16 bits that tell it from most others, of other order, too.
pub(crate) fn digest(lengths: impl Iterator<Item = u64>) -> (u64, u64) {
    let next = |(all, mixed): (u64, u64), len: u64| {
        (all.wrapping_add(len), (mixed.rotate_left(25) ^ len).wrapping_mul(MIX))
    };
    let (all, mixed) = lengths.fold((0, MIX), next);
    (all, mixed >> 48)
}

impl std::fmt::Display for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = self.0;
        if self.operation() == SEARCH {
            return f.write_str(self.name());
        }
        let (bytes, root) = (word & ((1 << ROOT) - 1), word >> ROOT & 0xffff);
        write!(f, "{} of {bytes} bytes", self.name())?;
        match self.root() {
            _ if self.has_lengths() => write!(f, " in all, lengths #{root:04x}")?,
            Some(root) => write!(f, ", root {root}")?,
            None if has_root(self.operation()) => write!(f, ", root #{root:04x}, beyond {MIXED}")?,
            None => {}
        }
        match self.opaque() {
            Some(Ok(size)) => return write!(f, ", type Bytes({size})"),
            Some(Err(digest)) => return write!(f, ", type Bytes #{digest:02x}, of {EXACT} bytes and more"),
            None => {}
        }
        if let Some(of) = Type::ALL.get((word >> TYPE & ANY_TYPE) as usize) {
            write!(f, ", type {of:?}")?;
        }
        match Operator::ALL.get((word >> OPERATOR & NO_OPERATOR) as usize) {
            Some(by) => write!(f, ", operator {by:?}"),
            None => Ok(()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn roots_are_told_if_nothing_else_differs() {
        let of = |operation, root, bytes| Signature::new(operation, None, None, root, bytes);
        assert_eq!(of(1, 3, 8).other_root(of(1, 70, 8)), Some((3, 70)));
        assert_eq!(of(1, 3, 8).other_root(of(1, 3, 8)), None);
        assert_eq!(of(1, 3, 8).other_root(of(1, 4, 9)), None);
        assert_eq!(of(1, 3, 8).other_root(of(6, 4, 8)), None);
        assert_eq!(of(1, 3, 8).other_root(of(1, 1 << 20, 8)), None, "what is mixed is no root");
        assert_eq!(of(11, 3, 8).other_root(of(11, 4, 8)), None, "digests of lengths are no roots");
    }

    #[test]
    fn elements_of_the_program_are_told_from_each_other_by_their_size() {
        let of = |of: Type, by| Signature::new(4, Some(of), by, 0, 1 << 20);
        let sizes = [0, 1, 8, 16, 127, 128, 129, 256, 4096, 1 << 20];
        let mut all: Vec<_> = sizes.iter().map(|size| of(Type::Bytes(*size), None)).collect();
        all.push(Signature::new(4, None, None, 0, 1 << 20));
        all.extend(Type::ALL.iter().map(|one| of(*one, None)));
        all.extend(Type::ALL.iter().map(|one| of(*one, Some(Operator::BitXor))));
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{one} twice");
        }
        assert_eq!(all[3].to_string(), "allreduce of 1048576 bytes, type Bytes(16)");
        assert!(all[5].to_string().ends_with(", of 128 bytes and more"), "{}", all[5]);
        assert!(all[11].to_string().ends_with(", type I8"), "{}", all[11]);
    }

    #[test]
    fn lengths_and_roots_of_any_size_are_told_from_each_other() {
        let of = |root: u64, bytes: u64| Signature::new(1, None, None, root, bytes);
        let lengths = [8, 8 + (1 << 32), 8 + (2 << 32), 8 + (4 << 32), 8 + (1 << 40), 8 + (1 << 62)];
        let roots = [3, 3 + (1 << 16), 3 + (2 << 16), 3 + (1 << 20), 3 + (1 << 31)];
        let all: Vec<_> = lengths.iter().flat_map(|len| roots.map(|root| of(root, *len))).collect();
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{one} twice");
        }
        assert_eq!(of(3, 5 << 30).to_string(), "broadcast of 5368709120 bytes, root 3");
        assert!(of(1 << 20, 1).to_string().contains("root #"), "not a root that was not named");
        let many = [1 << 33, 1 << 33, 1 << 33];
        let (bytes, root) = digest(many.into_iter());
        assert!(Signature::new(11, None, None, root, bytes).is_of(many.into_iter()));
    }
}
