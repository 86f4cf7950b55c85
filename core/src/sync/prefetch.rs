//! Fetching a cache line before it is needed.

use lapis_ablation::{Optimization, without};

/// The calling thread reads here soon. A hint, which has no effect on memory, and may be given for
/// any address.
#[inline(always)]
pub fn before_reading(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect on memory, and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// The calling thread writes here soon: its core gets the line to itself meanwhile. The store is
/// then seen by others a journey of the line earlier. A hint, which has no effect on memory, and
/// may be given for any address.
#[inline(always)]
pub fn before_writing(at: *const u8) {
    if without(Optimization::WritePrefetch) {
        return;
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction reads and writes nothing that the program could see, and never
    // faults. (The intrinsic becomes one that fetches for reading unless all processors that the
    // build is for have this one; those that lack it do nothing.)
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
