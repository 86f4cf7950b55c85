//! The one place that names the standard library's atomics.
//!
//! Everything that takes part in a protocol between threads or processes takes its atomics from
//! here, so that `RUSTFLAGS="--cfg loom"` puts the model checker's types under the very code that
//! ships. `clippy.toml` forbids the standard types everywhere else. Every ordering stronger than
//! `Relaxed` carries a `// SYNC:` comment that names the access it pairs with.

#[cfg(not(loom))]
#[allow(clippy::disallowed_types, reason = "this facade is where the real types come from")]
mod imp {
    pub use std::cell::UnsafeCell;
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, compiler_fence, fence,
    };
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use std::thread;
}

#[cfg(loom)]
mod imp {
    pub use loom::cell::UnsafeCell;
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    };
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use loom::thread;
    pub use std::sync::atomic::compiler_fence;
}

/// Locks, condition variables and cells of code that no model runs: the standard library's, or what
/// ThreadSanitizer sees through.
pub mod blocking {
    #[cfg(lapis_tsan)]
    pub use super::sanitized::{Condvar, Mutex, MutexGuard, OnceLock};
    #[cfg(not(lapis_tsan))]
    pub use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
}

#[cfg(lapis_tsan)]
mod sanitized;

pub(crate) mod futex;
pub mod membarrier;
pub mod prefetch;

/// Atomics on memory that is somebody else's, and those that outlive a run of the model checker: it
/// knows only its own, so these are always the real ones.
#[allow(clippy::disallowed_types, reason = "this facade is where the real types come from")]
pub mod placed {
    pub use std::sync::atomic::{AtomicU32, AtomicU64};
}

pub use crossbeam::utils::CachePadded;
pub use imp::*;
