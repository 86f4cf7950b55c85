//! What an open endpoint's provider does in its own way, for who looks at a machine.

use super::Endpoint;
use crate::ffi::{FI_MR_ALLOCATED, FI_MR_ENDPOINT, FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR};

/// libfabric's names of the ways in which memory is registered.
const MODES: [(u32, &str); 5] = [
    (FI_MR_LOCAL, "FI_MR_LOCAL"),
    (FI_MR_VIRT_ADDR, "FI_MR_VIRT_ADDR"),
    (FI_MR_ALLOCATED, "FI_MR_ALLOCATED"),
    (FI_MR_PROV_KEY, "FI_MR_PROV_KEY"),
    (FI_MR_ENDPOINT, "FI_MR_ENDPOINT"),
];

impl Endpoint {
    /// Statements, each behind a semicolon.
    pub(crate) fn habits(&mut self) -> String {
        let mode = self.mr_mode();
        let modes: Vec<&str> =
            MODES.iter().filter(|(bit, _)| mode & bit != 0).map(|(_, name)| *name).collect();
        let modes = if modes.is_empty() { "by keys and offsets of ours".to_owned() } else { modes.join(" ") };
        let order = if self.keeps_order() { "kept" } else { "not kept, so lost messages go unnoticed" };
        let done = match (self.is_one_sided(), self.delivers()) {
            (false, _) => "not used, the provider has none that suit",
            (true, true) => "done when delivered (FI_DELIVERY_COMPLETE)",
            (true, false) => "done when their last byte has been read back",
        };
        let sleep = match self.queue().fd() {
            Some(_) => "on a descriptor",
            None => "for a millisecond at a time",
        };
        format!("; registration: {modes}; order of messages: {order}; puts: {done}; sleeps: {sleep}")
    }
}
