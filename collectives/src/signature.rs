//! What calls of one operation have in common at all members.

use crate::element::{Operator, Type};

/// Names of operations, in the order of their codes.
pub(crate) const NAMES: [&str; 17] = [
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
];

/// What members' calls must have in common, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature(pub(crate) u64);

impl std::fmt::Display for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = self.0;
        let name = NAMES.get((word >> 59) as usize).unwrap_or(&"unknown operation");
        write!(f, "{name} of {} bytes, root {}", word & 0xffff_ffff, word >> 34 & 0xffff)?;
        if let Some(of) = Type::ALL.get((word >> 54 & 31) as usize) {
            write!(f, ", type {of:?}")?;
        }
        match Operator::ALL.get((word >> 50 & 15) as usize) {
            Some(by) => write!(f, ", operator {by:?}"),
            None => Ok(()),
        }
    }
}
