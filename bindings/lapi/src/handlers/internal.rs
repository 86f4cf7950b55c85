//! Handlers that are ours, by number.

/// A handler of the internal kind: not an address, for addresses of functions have these bits
/// clear.
pub(crate) const INTERNAL: u64 = 1 << 63;

/// A put of vectors.
pub(crate) const PUT: u64 = INTERNAL | 1;
/// The request of a get of vectors.
pub(crate) const GET: u64 = INTERNAL | 2;
/// Its answer.
pub(crate) const ANSWER: u64 = INTERNAL | 3;
/// A program's vector header handler, in the bits below.
pub(crate) const AMV: u64 = INTERNAL | 1 << 62;
/// A program's header handler, in the bits below, for a message whose packets hold whole atoms.
pub(crate) const ATOMS: u64 = INTERNAL | 1 << 61;

/// What a message's user header says behind the program's.
pub(crate) fn note(atom: u64) -> [u8; 8] {
    atom.to_le_bytes()
}
