//! Prefetching: asking for the lines of a block some time before it is copied.
//!
//! The processor's own prefetchers follow lines that lie side by side and lose the trail where a
//! row ends: the first lines of the next row, a page away, are then waited for. Rows of 512 bytes
//! out of pages of their own are packed and unpacked 1.02 to 1.05 times as fast with this, and up
//! to 1.15 times where another thread shares the core (Zen 4).
#![allow(unsafe_code, reason = "inline assembly")]

use lapis_ablation::{Optimization, without};

/// Blocks between the one that is copied and the one that is asked for.
pub(crate) const BLOCKS: usize = 2;
/// Blocks between the short one that is written and the one that is asked for. Stores wait for
/// their lines one after the other; asked for, several lines come at once: a face of single doubles
/// is unpacked 1.06 times as fast (Zen 4). Loads overlap anyway.
pub(crate) const SCATTERED: isize = 16;
/// Blocks of a column for which that pays: in shorter ones too much is asked for behind the end.
pub(crate) const COLUMN: usize = 2 * SCATTERED as usize;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the first lines of a block of two lines or more, to be written if `WRITES`. The
/// prefetchers find the others; to ask for all of them takes longer than it saves. Accesses
/// nothing, so that any address will do.
#[inline(always)]
pub(crate) fn block<const WRITES: bool>(at: *const u8) {
    if without(Optimization::DgspPrefetch) {
        return;
    }
    line::<WRITES>(at);
    line::<WRITES>(at.wrapping_add(LINE));
}

/// Asks for the line that a short block is to be written to.
#[inline(always)]
pub(crate) fn short_block(at: *const u8) {
    if without(Optimization::DgspPrefetch) {
        return;
    }
    line::<true>(at);
}

#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn line<const WRITES: bool>(at: *const u8) {
    // SAFETY: hints, which have no effect but on caches. Processors that don't know `prefetchw`
    // pass over it.
    unsafe {
        if WRITES {
            std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
        } else {
            std::arch::asm!("prefetcht0 [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
        }
    }
}

#[inline(always)]
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn line<const WRITES: bool>(_: *const u8) {}
