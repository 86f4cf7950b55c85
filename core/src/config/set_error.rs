//! Why a variable was not set.

use super::ConfigError;

/// Why [`Config::set`](super::Config::set) refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// No variable has this name.
    #[error("`{name}` is not a variable of the configuration{}", .nearest.map(|n| format!(": is {n} meant?")).unwrap_or_default())]
    UnknownName {
        /// The name that was given.
        name: String,
        /// The known name it is nearest to.
        nearest: Option<&'static str>,
    },
    /// The value is bad.
    #[error(transparent)]
    Value(#[from] ConfigError),
}
