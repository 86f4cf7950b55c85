//! How long a wait has lasted. What it does meanwhile is in `core/src/context/adaptive_wait.rs`.

use std::time::Instant;

/// One wait.
#[derive(Debug)]
pub(crate) struct AdaptiveWait {
    /// Looks since the clock was last read.
    pub(crate) looks: u32,
    pub(crate) since: Option<Instant>,
    /// Packets that the context had sent when the wait began, or began anew.
    pub(crate) sent: u64,
}

impl AdaptiveWait {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { looks: 0, since: None, sent: 0 }
    }

    /// Something came.
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }

    /// So many looks found nothing.
    #[inline(always)]
    pub(crate) fn passed(&mut self, looks: u32) {
        self.looks += looks;
    }
}
