//! The engine's configuration, set once at its start.

use super::wire::{MAX_DATAGRAM, MIN_DATAGRAM};

/// Time in nanoseconds: a point on the caller's monotonic clock, or a span.
pub type Nanos = u64;

/// One microsecond.
pub(super) const US: Nanos = 1_000;
/// One millisecond.
pub(super) const MS: Nanos = 1_000_000;

/// Limits and timings of an engine. [`EngineConfig::default`] suits a local network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// Units that one channel to one peer may hold unacknowledged (1..=4096).
    pub channel_units: usize,
    /// Bytes of heads and copied bodies that one channel to one peer may hold.
    pub channel_bytes: usize,
    /// Units that all channels together may hold. Replies may exceed it by a quarter, so that they
    /// are never locked out by requests.
    pub total_units: usize,
    /// Packets of a path after which an acknowledgement is sent (1..=31, LAPI's `ACK_THRESHOLD`).
    pub ack_threshold: u8,
    /// The longest delay of an acknowledgement.
    pub max_ack_delay: Nanos,
    /// The shortest time without an answer before something is sent again.
    pub retransmit_floor: Nanos,
    /// The longest: the bound of the exponential growth.
    pub retransmit_max: Nanos,
    /// Round-trip time assumed before the first measurement.
    pub initial_rtt: Nanos,
    /// Silence after which a path that was asked twice is suspected, if it is the only one. Of
    /// several, one is suspected as soon as another answers in its stead, and after ten times this
    /// span if none does.
    pub suspect_after: Nanos,
    /// The longest time between two probes of a suspected path.
    pub probe_max: Nanos,
    /// Silence of a peer that owes an answer before
    /// [`Event::PeerTimeout`](super::Event::PeerTimeout) (LAPI's `TIMEOUT`); `None` waits for ever.
    pub peer_timeout: Option<Nanos>,
    /// Receive buffer of this task in bytes (what `SO_RCVBUF` reads back), shared out as credits.
    pub receive_buffer: u32,
    /// What each datagram costs a receive buffer beyond its bytes.
    pub datagram_overhead: u32,
    /// Datagrams that a path may have in flight at its start.
    pub initial_window: u32,
    /// Bytes that a path may have in flight at most.
    pub max_window: u64,
    /// Datagrams in one [`Transmit`](super::Transmit) at most (64 is what Linux takes in one GSO
    /// send).
    pub batch_datagrams: usize,
    /// Bytes in one [`Transmit`](super::Transmit) at most. A transport may put some before each
    /// datagram, and the kernel takes less than 64 KiB at once, with all heads.
    pub batch_bytes: usize,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            channel_units: 2048,
            channel_bytes: 1 << 20,
            total_units: 1 << 16,
            ack_threshold: 16,
            max_ack_delay: 100 * US,
            retransmit_floor: 200 * US,
            retransmit_max: 100 * MS,
            initial_rtt: 300 * US,
            suspect_after: 4 * MS,
            probe_max: 50 * MS,
            peer_timeout: Some(900_000 * MS),
            receive_buffer: 212_992,
            datagram_overhead: 512,
            initial_window: 16,
            max_window: 16 << 20,
            batch_datagrams: 64,
            batch_bytes: 64_000,
        }
    }
}

impl EngineConfig {
    /// Checks every value against its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |name: &'static str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) { Ok(()) } else { Err(ConfigError { name, value, low, high }) }
        };
        range("channel_units", self.channel_units as u64, 1, super::UNIT_WINDOW)?;
        range("channel_bytes", self.channel_bytes as u64, MAX_DATAGRAM as u64, 1 << 30)?;
        range("total_units", self.total_units as u64, 1, 1 << 30)?;
        range("ack_threshold", self.ack_threshold.into(), 1, 31)?;
        range("max_ack_delay", self.max_ack_delay, 0, 1000 * MS)?;
        range("retransmit_floor", self.retransmit_floor, US, 60_000 * MS)?;
        range("retransmit_max", self.retransmit_max, self.retransmit_floor, 60_000 * MS)?;
        range("initial_rtt", self.initial_rtt, US, 60_000 * MS)?;
        range("suspect_after", self.suspect_after, US, 60_000 * MS)?;
        range("probe_max", self.probe_max, self.retransmit_floor, 60_000 * MS)?;
        range("receive_buffer", self.receive_buffer.into(), MIN_DATAGRAM as u64, u32::MAX.into())?;
        range("datagram_overhead", self.datagram_overhead.into(), 0, MAX_DATAGRAM as u64)?;
        range("initial_window", self.initial_window.into(), 2, 1024)?;
        range("max_window", self.max_window, MAX_DATAGRAM as u64, 1 << 40)?;
        range("batch_datagrams", self.batch_datagrams as u64, 1, 1024)?;
        range("batch_bytes", self.batch_bytes as u64, MIN_DATAGRAM as u64, 1 << 24)
    }
}

/// A value of [`EngineConfig`] that is out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("reliable packets: {name} = {value} is outside {low}..={high}")]
pub struct ConfigError {
    /// The field.
    pub name: &'static str,
    /// What it was set to.
    pub value: u64,
    /// The lowest value allowed.
    pub low: u64,
    /// The highest value allowed.
    pub high: u64,
}
