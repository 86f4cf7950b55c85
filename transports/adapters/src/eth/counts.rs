//! What is counted at a port.

/// What a port has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub arrived: u64,
    /// Frames that were not for this window's job, or torn.
    pub refused: u64,
}
