//! Marks of the kinds of structures.

/// Bytes in a row.
pub(crate) const VECTOR: u64 = 0x4c41_5049_5376_6563;
/// Bytes with two open ends.
pub(crate) const DEQUE: u64 = 0x4c41_5049_5364_6571;
/// Linked elements.
pub(crate) const LIST: u64 = 0x4c41_5049_536c_7374;
/// Keys.
pub(crate) const SET: u64 = 0x4c41_5049_5373_6574;
/// Keys that are counted.
pub(crate) const MULTISET: u64 = 0x4c41_5049_536d_7365;
/// Keys with values.
pub(crate) const MAP: u64 = 0x4c41_5049_536d_6170;
