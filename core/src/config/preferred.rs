//! Which transports a configuration asks for.

use super::{Config, EuiLib, UseShm};
use crate::transport::{Policy, Selection};

impl Config {
    /// The transports that may carry messages between tasks: those that the user named, which are a
    /// closed set, or what the guide's variables prefer.
    pub fn selection(&self) -> Selection {
        match self.transport.get() {
            Some(names) => Selection::Named(names.clone()),
            None => Selection::Suiting(Policy {
                host: *self.use_shm.get() != UseShm::No,
                network: *self.use_shm.get() != UseShm::Only,
                user_space: *self.euilib.get() == EuiLib::Us,
            }),
        }
    }
}
