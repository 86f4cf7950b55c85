//! State that layers between core and the program store with a context.

use crate::error::Result;
use crate::sync::blocking::Mutex;
use crate::transport::PeerId;
use std::any::Any;
use std::sync::{Arc, OnceLock, PoisonError};

/// See [`Context::watch_peers`](super::Context::watch_peers).
pub(super) type Watch<C> = dyn Fn(&C, PeerId) + Send + Sync;

/// See [`Context::look_after`](super::Context::look_after).
pub(super) type Look<C> = dyn Fn(&C) + Send + Sync;

/// What layers keep with a context `C`.
pub(crate) struct Extensions<C> {
    /// States of layers, by type.
    states: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    /// Told of the loss of peers.
    pub(super) watch: OnceLock<Box<Watch<C>>>,
    /// Called by calls that wait or make progress.
    pub(super) look: OnceLock<Box<Look<C>>>,
}

impl<C> Default for Extensions<C> {
    fn default() -> Self {
        Self { states: Mutex::default(), watch: OnceLock::new(), look: OnceLock::new() }
    }
}

impl<C> Extensions<C> {
    /// The value of this type; made by `make` when it is first asked for.
    pub(super) fn get_or_make<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce() -> Result<Arc<T>>,
    ) -> Result<Arc<T>> {
        let mut all = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.iter().find_map(|one| Arc::clone(one).downcast::<T>().ok()) {
            return Ok(found);
        }
        let made = make()?;
        all.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        Ok(made)
    }
}
