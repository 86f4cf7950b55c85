//! What takes the place of `permute.rs` where there are no such instructions: other processors, and
//! Miri.
#![allow(unsafe_code, reason = "a function with the signature of one that moves raw memory")]

/// There are none.
#[derive(Clone, Debug)]
pub(crate) enum Permutation {}

impl Permutation {
    /// None.
    pub(crate) fn new(_: &[(i64, u64)], _: i64) -> Option<Box<Self>> {
        None
    }

    /// # Safety
    /// None: there is no permutation to call it with.
    pub(crate) unsafe fn run<const GATHERS: bool>(&self, _: *mut u8, _: *mut u8, _: usize) {
        match *self {}
    }
}
