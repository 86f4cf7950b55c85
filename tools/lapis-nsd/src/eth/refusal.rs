//! Why an interface gives no window, and what helps.

use lapis_adapters::eth::MOST_QUEUES;
use lapis_adapters::protocol::Why;
use std::io;

/// Why an interface gives no window.
pub(super) type Refusal = (Why, String);

pub(super) fn too_many_queues(name: &str, queues: u32) -> String {
    format!(
        "{name} spreads what it receives over {queues} queues, and windows have sockets at {MOST_QUEUES} at most: \
         `ethtool -L {name} combined {MOST_QUEUES}`"
    )
}

/// The reason and the remedy.
pub(super) fn because(name: &str, e: &io::Error) -> String {
    let remedy = match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            " (this takes CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF: run the daemon as root or by its systemd unit)"
        }
        Some(libc::EBUSY | libc::EEXIST) => {
            " (another XDP program is there, or tasks of a daemon that has ended, or a task that keeps the socket of a \
             closed window: `ip link` shows the first two; it is taken when it is free)"
        }
        Some(libc::EAFNOSUPPORT) => " (this kernel has no AF_XDP: CONFIG_XDP_SOCKETS)",
        Some(libc::ENOBUFS | libc::ENOMEM) => {
            " (the limit of locked memory is too low: LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited)"
        }
        Some(libc::EOPNOTSUPP | libc::EINVAL) => " (its driver has no XDP, or not with this MTU)",
        _ => "",
    };
    format!("interface {name} can't be taken: {e}{remedy}")
}

pub(super) fn is_busy(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}
