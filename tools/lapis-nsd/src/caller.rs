//! The identity of a client.

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The connection.
    pub client: u64,
    /// Its user, as the kernel tells.
    pub user: u32,
    /// Its process, as the kernel tells; 0 if it is in a PID namespace that the daemon can't see.
    pub process: u32,
    /// Whether it may take adapters up and down: root, and the daemon's user.
    pub administrator: bool,
}
