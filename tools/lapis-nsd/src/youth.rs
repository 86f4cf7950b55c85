//! A daemon that has just begun may be the successor of one whose tasks still run. They look for it
//! every 50 ms, or every 100 ms if they sleep, and show it their windows.

use std::time::{Duration, Instant};

/// For so long a daemon does not know what the tasks of one before it have.
pub const YOUTH: Duration = Duration::from_secs(1);

/// Until when a daemon is young.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Youth(Instant);

impl Youth {
    /// Of a daemon that begins now, and is young for so long.
    pub(crate) fn begin(lasts: Duration) -> Self {
        Self(Instant::now() + lasts)
    }

    pub(crate) fn is_over(self) -> bool {
        Instant::now() >= self.0
    }
}
