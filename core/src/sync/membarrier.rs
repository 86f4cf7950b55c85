//! The two halves of a memory barrier between processes of which only the rare side pays: whoever
//! is about to rely on being woken makes the stores and loads of all who have
//! [registered](register) stand in their order, by `membarrier(2)`.
//!
//! Who shows something stores a flag and then looks whether somebody wants to be woken; who wants
//! to be woken says so and then looks at the flag. One of both must see the other's word.

#[cfg(all(target_os = "linux", not(miri), not(loom)))]
mod imp {
    /// Commands of `membarrier(2)`, for all processes that have registered.
    const GLOBAL_EXPEDITED: i32 = 1 << 1;
    const REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

    pub(super) fn call(register: bool) -> bool {
        let command = if register { REGISTER_GLOBAL_EXPEDITED } else { GLOBAL_EXPEDITED };
        // SAFETY: a call without pointers.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}

#[cfg(any(not(target_os = "linux"), miri, loom))]
mod imp {
    pub(super) fn call(_: bool) -> bool {
        false
    }
}

use super::{Ordering, compiler_fence, fence};

/// Whether this process takes part: the kernel makes its memory accesses stand in order when
/// another process asks. Otherwise it puts fences of its own.
pub fn register() -> bool {
    imp::call(true)
}

/// The half of who shows something, between its store and its look. `fences`: not all processes
/// concerned have registered.
#[inline(always)]
pub fn light(fences: bool) {
    if fences {
        // SYNC: pairs with the fence in `heavy`.
        fence(Ordering::SeqCst);
    } else {
        // SYNC: the system call in `heavy` makes a fence of it when it matters.
        compiler_fence(Ordering::SeqCst);
    }
}

/// The half of who wants to be woken, between its store and its look. Whether the system call
/// worked: it can't fail where [`register`] succeeded, unless a filter forbids this half only;
/// where it does not work, the others put fences.
pub fn heavy() -> bool {
    let worked = imp::call(false);
    // SYNC: pairs with `light`.
    fence(Ordering::SeqCst);
    worked
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::AtomicU64;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn loom_who_shows_or_who_wants_to_be_woken_sees_the_other() {
        loom::model(|| {
            let words = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
            let theirs = Arc::clone(&words);
            let shows = thread::spawn(move || {
                // SYNC: pairs with the Acquire load below, as flags do.
                theirs.0.store(1, Ordering::Release);
                light(true);
                theirs.1.load(Ordering::Relaxed)
            });
            words.1.store(1, Ordering::Relaxed);
            heavy();
            // SYNC: pairs with the Release store above.
            let shown = words.0.load(Ordering::Acquire);
            let wanted = shows.join().unwrap();
            assert!(shown == 1 || wanted == 1, "the wish was missed, and so was the flag");
        });
    }
}
