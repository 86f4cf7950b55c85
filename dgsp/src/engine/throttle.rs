//! Throttling: short pauses between blocks whose lines compete for one set of the cache.
//!
//! At a stride of a power of two every line that a column touches belongs to the same one, two or
//! four sets. The processor runs far ahead: it requests more lines of the set than it has ways, and
//! loses some before they are used. Stores to a line of our own slow it down just enough. Elsewhere
//! they cost less than the misses between them.
#![allow(unsafe_code, reason = "a store that the compiler must keep")]

/// Bytes after which addresses fall into the same set of a first-level cache again.
const PERIOD: isize = 4096;
/// So many blocks fit into their sets.
const FEW: usize = 64;

/// How many stores stand between two blocks.
#[derive(Clone, Copy)]
pub(crate) enum Throttle {
    Light,
    Medium,
    Heavy,
}

impl Throttle {
    /// For `count` short blocks at a stride; `None` where the lines are spread over the cache.
    #[inline(always)]
    pub(crate) fn for_stride(stride: isize, count: usize, gathers: bool) -> Option<Self> {
        if stride & (PERIOD / 4 - 1) != 0 || count <= FEW || stride == 0 {
            return None;
        }
        Some(match (gathers, stride & (PERIOD - 1) == 0) {
            (true, true) => Self::Heavy,
            (true, false) => Self::Light,
            (false, _) => Self::Medium,
        })
    }
}

/// Stores so many times.
#[inline(always)]
pub(crate) fn wait<const STORES: u8>(value: usize) {
    let mut own = 0;
    for _ in 0..STORES {
        // SAFETY: our own variable.
        unsafe { (&raw mut own).write_volatile(value) };
    }
}

/// The same number, unknown to the compiler: what it can't count it neither unrolls nor takes for a
/// memcpy. Unrolled, a loop loses most of what the waiting gains. (`black_box` would take the
/// number through memory.)
#[inline(always)]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) fn opaque(mut n: usize) -> usize {
    // SAFETY: no instruction at all.
    unsafe { std::arch::asm!("/* {} */", inout(reg) n, options(pure, nomem, nostack, preserves_flags)) };
    n
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
pub(crate) use std::hint::black_box as opaque;
