//! How a process joins its job.

use std::time::Duration;

/// How to join.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The context to open; its keys and collective operations are its own.
    pub context: u32,
    /// Longest search for the server and, without a launcher, for the other tasks. `None`: what
    /// `LAPIS_INIT_TIMEOUT` of the environment says, or a minute.
    pub patience: Option<Duration>,
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
        self.patience = Some(longest);
        self
    }

    /// How long the search may take.
    pub(super) fn longest_search(&self) -> Duration {
        self.patience.unwrap_or(Duration::from_secs(60))
    }
}
