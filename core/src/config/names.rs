//! Detecting names in the environment that are probably misspelt.

use super::table::{Config, variable};
use super::{Environment, Warning};

/// What begins like this is handed from a launcher to its tasks, not set by users, and never warned
/// about.
pub const LAUNCHER_PREFIX: &str = "LAPIS_JOB_";

/// What begins like this is read by the project's own tests, in the environment of which jobs run,
/// and never warned about.
const TEST_PREFIX: &str = "LAPIS_TEST_";

/// What the bootstrap reads for itself, mostly as the launcher has set it, and what the launcher
/// reads.
const BOOTSTRAP_NAMES: [&str; 4] = {
    use crate::bootstrap::variables::{KVS, TASK, TASKS};
    [KVS, TASK, TASKS, "LAPIS_REMOTE"]
};

/// Names that no longer have an effect, and what to do instead.
pub const DEPRECATED: &[(&str, &str)] =
    &[("MP_COPY_SEND_BUF_SIZE", "set MP_REXMIT_BUF_SIZE and MP_REXMIT_BUF_CNT instead")];

/// Names that begin like this and are not in the table are probably misspelt.
const OUR_PREFIXES: [&str; 3] = ["LAPIS_", "LAPI_", "MP_LAPI_"];

impl Config {
    /// Names of the environment that look like ours and that neither core nor a transport knows.
    /// `unread` are transports that are there and were not loaded: variables that begin with
    /// `LAPIS_` and one of their names may be theirs.
    pub fn unknown_names(&self, env: &Environment, unread: &[&str]) -> Vec<Warning> {
        let theirs = |name: &str| {
            unread.iter().any(|transport| {
                let rest =
                    name.strip_prefix("LAPIS_").and_then(|n| n.strip_prefix(&transport.to_uppercase()));
                rest.is_some_and(|rest| rest.starts_with('_'))
            })
        };
        env.iter()
            .map(|(name, _)| name)
            .filter(|name| looks_like_ours(name) && !self.is_declared(name) && !theirs(name))
            .map(|name| Warning::UnknownName { name: name.to_owned(), nearest: self.nearest_to(name) })
            .collect()
    }
}

/// Whether a name looks like one of ours and stands neither in the table nor in another list of
/// core's.
fn looks_like_ours(name: &str) -> bool {
    OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !name.starts_with(LAUNCHER_PREFIX)
        && !name.starts_with(TEST_PREFIX)
        && !BOOTSTRAP_NAMES.contains(&name)
        && !DEPRECATED.iter().any(|(old, _)| *old == name)
        && variable(name).is_none()
}
