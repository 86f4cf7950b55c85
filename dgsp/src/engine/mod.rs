//! The compiled engine: a program's normal form lowered to a plan of nested strided blocks, with a
//! copy kernel chosen for each block length, and started at any byte in O(log n).
//!
//! All of the crate's unsafe code is here and in the calls of [`crate::registered`] that take
//! pointers.

pub(crate) mod kernels;
pub(crate) mod lengths;
pub(crate) mod lockstep;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) mod permute;
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[path = "no_permute.rs"]
pub(crate) mod permute;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod throttle;
pub(crate) mod walk;
