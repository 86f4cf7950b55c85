//! What some versions of some providers do, and how we get along with it.

use super::Endpoint;
use crate::rest::Length;
use std::time::Duration;

impl Endpoint {
    /// Whether closing it while messages arrive can end the process: libfabric 1.17 then gives
    /// buffers to connections that it has closed, unless all share their buffers. Only a variable
    /// of the process decides that, which is not ours to set.
    pub(crate) fn is_fragile(&self) -> bool {
        let shared = std::env::var("FI_OFI_RXM_USE_SRX").is_ok_and(|value| is_yes(&value));
        self.provider() == "verbs;ofi_rxm" && !shared
    }

    /// Whether closing it while the answer of a get has come in part can end the process: before
    /// 1.18 libfabric's tcp provider ends such a get twice, the second time without its name.
    pub(crate) fn ends_gets_twice(&self) -> bool {
        ends_gets_twice(&self.provider(), self.library.version())
    }

    /// Whether a put or get that the target refuses costs the connection, and the messages in it.
    pub(crate) fn closes_on_refusal(&self) -> bool {
        self.provider() == "tcp;ofi_rxm"
    }

    /// How long the receiver of a stream should let messages gather between two looks, where each
    /// look costs the sender time: over TCP, while one or two are written; over shm with the lock
    /// that libfabric had before 1.18, while half a window is written.
    pub(crate) fn rest_of_streams(&self) -> Option<Length> {
        let (each, most) = match self.provider().as_str() {
            "shm" if self.library.version() < (1, 18) => (250, 5000),
            "tcp;ofi_rxm" => (5000, 5000),
            _ => return None,
        };
        Some(Length { each: Duration::from_nanos(each), most: Duration::from_nanos(most) })
    }
}

/// Whether libfabric takes a variable's value for yes.
fn is_yes(value: &str) -> bool {
    ["1", "yes", "true", "on"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

fn ends_gets_twice(provider: &str, version: (u32, u32)) -> bool {
    provider == "tcp;ofi_rxm" && version < (1, 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_set_in_any_of_libfabrics_words() {
        assert!(["1", "yes", "TRUE", "On"].into_iter().all(is_yes));
        assert!(!["", "0", "no", "false", "2"].into_iter().any(is_yes));
    }

    #[test]
    fn gets_end_twice_over_old_tcp_alone() {
        assert!(ends_gets_twice("tcp;ofi_rxm", (1, 17)) && ends_gets_twice("tcp;ofi_rxm", (1, 14)));
        assert!(!ends_gets_twice("tcp;ofi_rxm", (1, 18)) && !ends_gets_twice("tcp;ofi_rxm", (2, 0)));
        assert!(!ends_gets_twice("verbs;ofi_rxm", (1, 17)));
    }
}
