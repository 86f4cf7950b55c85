//! How a process joins its job.

use std::time::Duration;

/// How to join.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The context to open; its keys and collective operations are its own.
    pub context: u32,
    /// Longest search for the server and, without a launcher, for the other tasks.
    /// `LAPIS_BOOT_TIMEOUT` overrides it.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { context: 0, patience: Duration::from_secs(60) }
    }
}

impl Options {
    /// The same options for another context.
    #[must_use]
    pub fn context(mut self, number: u32) -> Self {
        self.context = number;
        self
    }

    /// The same options with another longest search.
    #[must_use]
    pub fn patience(mut self, longest: Duration) -> Self {
        self.patience = longest;
        self
    }
}
