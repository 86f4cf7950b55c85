//! The two halves of an asymmetric memory barrier. The thread that has the bias pays nothing for
//! its half; any other thread pays a system call.

/// The half of the thread that has the bias.
#[inline(always)]
pub(super) fn light() {
    #[cfg(not(any(loom, miri)))]
    // SYNC: a membarrier by the other side turns this into a full fence when it matters.
    crate::sync::compiler_fence(crate::sync::Ordering::SeqCst);
    #[cfg(any(loom, miri))]
    // SYNC: the model of the above: a membarrier behaves as if this were a full fence.
    crate::sync::fence(crate::sync::Ordering::SeqCst);
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
const PRIVATE_EXPEDITED: i32 = 1 << 3;
#[cfg(all(target_os = "linux", not(loom), not(miri)))]
const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

/// Whether the kernel has what it takes.
#[cfg(all(target_os = "linux", not(loom), not(miri)))]
pub(super) fn register() -> bool {
    // SAFETY: a call without pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 }
}

/// Half of everybody else.
#[cfg(all(target_os = "linux", not(loom), not(miri)))]
#[cold]
pub(super) fn heavy() {
    // SAFETY: a call without pointers. It can't fail where `register` succeeded.
    unsafe { libc::syscall(libc::SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) };
    // SYNC: the calling thread's own part.
    crate::sync::fence(crate::sync::Ordering::SeqCst);
}

#[cfg(any(not(target_os = "linux"), loom, miri))]
pub(super) fn register() -> bool {
    cfg!(any(loom, miri))
}

#[cfg(any(not(target_os = "linux"), loom, miri))]
pub(super) fn heavy() {
    // SYNC: pairs with `light`.
    crate::sync::fence(crate::sync::Ordering::SeqCst);
}
