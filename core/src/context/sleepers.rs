//! Who sleeps inside a context.

use crate::sync::AtomicU32;
use crate::sync::blocking::{Condvar, Mutex};

/// Threads of this process that sleep inside the context.
pub(crate) struct Sleepers {
    /// How many: the one that sleeps in the transport and those that wait for it.
    pub(super) count: AtomicU32,
    /// Whether somebody sleeps in the transport.
    pub(super) asleep: Mutex<bool>,
    pub(super) changed: Condvar,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU32::new(0), asleep: Mutex::new(false), changed: Condvar::new() }
    }
}
