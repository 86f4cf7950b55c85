//! Which transports a configuration asks for.

use super::{Config, EuiLib, UseShm};

impl Config {
    /// The transports that may carry messages between tasks, best first, and whether the user named them: names are a closed
    /// set, what the guide's variables lead to is a wish.
    pub fn preferred_transports(&self) -> (Vec<String>, bool) {
        if let Some(names) = self.transport.get() {
            return (names.clone(), true);
        }
        // Looking for an adapter takes milliseconds of each start: only who asks for user space pays them.
        let net: &[&str] = match self.euilib.get() {
            EuiLib::Us => &["rdma", "hps"],
            _ => &["udp"],
        };
        let shm: &[&str] = match self.use_shm.get() {
            UseShm::No => &[],
            _ => &["shm"],
        };
        let net = if *self.use_shm.get() == UseShm::Only { &[] } else { net };
        let names = shm.iter().chain(net);
        (names.map(|name| (*name).to_owned()).collect(), false)
    }
}
