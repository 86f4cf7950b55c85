//! What `lapis_alloc` has given out.

use crate::sync::lock;
use lapis_core::Memory;
use lapis_core::sync::blocking::Mutex;
use std::collections::HashMap;

/// Memory by address.
#[derive(Default)]
pub(crate) struct Blocks(Mutex<HashMap<usize, Memory>>);

impl Blocks {
    /// Gives everything back.
    pub(crate) fn clear(&self) {
        // As in `lapis_free`.
        let all = std::mem::take(&mut *self.locked());
        drop(all);
    }

    pub(crate) fn locked(&self) -> impl std::ops::DerefMut<Target = HashMap<usize, Memory>> + '_ {
        lock(&self.0)
    }
}
