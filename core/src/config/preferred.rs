//! Which transports a configuration asks for.

use super::{Config, EuiLib, UseShm};

impl Config {
    /// The transports that may carry messages between tasks, best first, and whether the user named them: names are a closed
    /// set, what the guide's variables lead to is a wish.
    pub fn preferred_transports(&self) -> (Vec<String>, bool) {
        if let Some(names) = self.transport.get() {
            return (names.clone(), true);
        }
        let net = match self.euilib.get() {
            EuiLib::Us => "hps",
            _ => "udp",
        };
        let names = match self.use_shm.get() {
            UseShm::Only => vec!["shm"],
            UseShm::Yes => vec!["shm", "rdma", net],
            UseShm::No => vec!["rdma", net],
        };
        (names.into_iter().map(str::to_owned).collect(), false)
    }
}
