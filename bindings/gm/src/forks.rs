//! Whose a port is: after a fork the parent's.

use crate::abi::Status;
use lapis_core::sync::{AtomicU32, Ordering};
use std::sync::Once;

/// How often this process's line has forked.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The process that has made something, as far as forks tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Maker(u32);

impl Maker {
    /// This process, whose forks are counted from now on.
    pub(crate) fn this_process() -> Self {
        static COUNTED: Once = Once::new();
        COUNTED.call_once(|| {
            // SAFETY: the function lives as long as the library, which is never unloaded while the
            // program has ports.
            unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        });
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether the calling process is it.
    #[inline(always)]
    pub(crate) fn is_here(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }

    /// Says that the calling process is not: in one line, and as a status.
    #[cold]
    pub(crate) fn is_elsewhere() -> Status {
        tracing::error!(
            target: "lapis::gm",
            "this port was opened before a fork: it is the parent's, and this process may open one of its own"
        );
        Status::InvalidParameter
    }
}
