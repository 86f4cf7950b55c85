//! What `lapis_alloc` has given out, and what `lapis_register` was given.

use crate::sync::lock;
use lapis_core::sync::blocking::Mutex;
use lapis_core::{Memory, RegisteredMemory};
use std::collections::HashMap;

/// Memory by address.
#[derive(Default)]
pub(crate) struct Blocks {
    allocated: Mutex<HashMap<usize, Memory>>,
    registered: Mutex<HashMap<usize, Vec<RegisteredMemory>>>,
}

impl Blocks {
    /// Gives everything back.
    pub(crate) fn clear(&self) {
        // As in `lapis_free`.
        let all = (std::mem::take(&mut *self.locked()), std::mem::take(&mut *self.registered()));
        drop(all);
    }

    pub(crate) fn locked(&self) -> impl std::ops::DerefMut<Target = HashMap<usize, Memory>> + '_ {
        lock(&self.allocated)
    }

    /// What was registered, by first address.
    pub(crate) fn registered(
        &self,
    ) -> impl std::ops::DerefMut<Target = HashMap<usize, Vec<RegisteredMemory>>> + '_ {
        lock(&self.registered)
    }
}
