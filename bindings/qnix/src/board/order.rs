//! The two halves of a memory barrier between who shows something and who is about to rely on
//! being asked to look.
//!
//! Who shows stores a word and then looks whether the others look; who stops looking says so and
//! then looks once more. One of both must see the other's word. Processes that poll stop looking
//! seldom, just before they sleep: they pay for both halves, by a system call. A process whose
//! doorbells ring without calls stops with each call that ends; where there is one, both halves
//! are fences.

use lapis_core::sync::{Ordering, compiler_fence, fence};

#[cfg(all(target_os = "linux", not(miri), not(loom)))]
fn membarrier(command: i32) -> bool {
    // SAFETY: a call without pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(any(not(target_os = "linux"), miri, loom))]
fn membarrier(_: i32) -> bool {
    false
}

/// Commands of `membarrier(2)`, for all processes that have registered.
const GLOBAL_EXPEDITED: i32 = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

/// Whether the kernel puts this process's memory accesses in order when another one asks.
pub(super) fn register() -> bool {
    membarrier(REGISTER_GLOBAL_EXPEDITED)
}

/// The half of who shows something.
#[inline(always)]
pub(super) fn settle(fences: bool) {
    if fences {
        // SYNC: pairs with the fence in `stop`.
        fence(Ordering::SeqCst);
    } else {
        // SYNC: the system call in `stop` makes a fence of it when it matters.
        compiler_fence(Ordering::SeqCst);
    }
}

/// The half of who stops looking, or has been asked to look.
pub(super) fn stop(fences: bool) {
    if !fences {
        // It can't fail where `register` succeeded.
        membarrier(GLOBAL_EXPEDITED);
    }
    // SYNC: pairs with `settle`.
    fence(Ordering::SeqCst);
}
