//! What `gm.h` declares, for Rust: numbers, and the layout of events. A test compares the two.

/// The length of a port's host names, in bytes.
pub const MAX_HOST_NAME_LEN: usize = 128;
/// The room for an answer of gm_yp, in bytes.
pub const MAX_YP_STRING_LEN: usize = 128;
/// No node has this identity.
pub const NO_SUCH_NODE_ID: u32 = 0;
/// Send tokens of a port.
pub const SEND_TOKENS: u32 = 64;
/// Receive tokens of a port: as many as there are tags.
pub const RECEIVE_TOKENS: u32 = 256;
/// The longest message that comes in the event itself, in bytes.
pub const FAST_MAX: usize = 128;
/// The largest size class: messages of up to 2 GiB less 8 bytes.
pub const MAX_SIZE: u32 = 31;
/// The smallest size class: every message fits a buffer of 8 bytes at least.
pub const MIN_SIZE: u32 = 3;
/// Bytes of a packet, and so of a datagram at most.
pub const MTU: u32 = 4096;
/// The greatest identity of a node.
pub const MAX_NODE_ID: u32 = 1023;

/// The bytes that a message of a size class has at most: 2^size - 8.
pub fn max_length(size: u32) -> u64 {
    if (MIN_SIZE..64).contains(&size) { (1 << size) - 8 } else { 0 }
}

/// The smallest size class whose messages may have so many bytes.
pub fn min_size(length: u64) -> u32 {
    (MIN_SIZE..64).find(|size| max_length(*size) >= length).unwrap_or(64)
}

/// How a send or a request ended, or what a call answers.
///
/// GM's `gm_status_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// It is done.
    Success = 0,
    /// It failed.
    Failure = 1,
    /// There is something else in the way at present.
    TryAgain = 4,
    /// Somebody has it.
    Busy = 5,
    /// The memory is not registered.
    MemoryFault = 6,
    /// An argument can't be.
    InvalidParameter = 8,
    /// Memory is short.
    OutOfMemory = 9,
    /// The target has not allowed it.
    PermissionDenied = 11,
    /// The services daemon said what it should not, or the system is short of something.
    InternalError = 12,
    /// No buffer was provided for the message in time.
    SendTimedOut = 15,
    /// The target does not take messages of this size.
    SendRejected = 16,
    /// The target port is not open, or not any more.
    SendTargetPortClosed = 17,
    /// There is no such node, or no way to it.
    SendTargetNodeUnreachable = 18,
    /// The program asked for it to be dropped.
    SendDropped = 19,
    /// The port that it was sent from is closed.
    SendPortClosed = 20,
    /// There is no such board, or no services daemon.
    NoSuchDevice = 24,
    /// Library and daemon are of different releases.
    IncompatibleLibAndDriver = 26,
    /// The system has no way to do it.
    NoDriverSupport = 29,
    /// Nothing of that name or number is known.
    NoMatch = 33,
    /// There is no such port.
    InvalidPortNumber = 42,
    /// No node has this under the key that was asked for.
    YpNoMatch = 45,
}

impl Status {
    /// What it means, for people.
    pub fn text(self) -> std::borrow::Cow<'static, str> {
        crate::texts::of(self as i32).to_string_lossy()
    }
}

/// Kinds of events, GM's `enum gm_recv_event_type`.
pub mod kind {
    /// Nothing has happened.
    pub const NONE: u8 = 0;
    /// An alarm is due.
    pub const ALARM: u8 = 2;
    /// Messages of the calls without callbacks have been sent.
    pub const SENT: u8 = 3;
    /// More was sent than there are tokens.
    pub const SEND_TOKEN_VIOLATION: u8 = 7;
    /// More buffers were provided than there are tokens.
    pub const RECV_TOKEN_VIOLATION: u8 = 8;
    /// A message in its buffer; plus 1 for high priority, 2 from a port of the same number.
    pub const RECV: u8 = 11;
    /// A short message in the event; plus as for [`RECV`].
    pub const FAST_RECV: u8 = 15;
    /// A message of the calls without callbacks was of a size that the target does not take.
    pub const REJECTED_SEND: u8 = 19;
    /// A message of the calls without callbacks could not be delivered.
    pub const ORPHANED_SEND: u8 = 20;
    /// A message of the calls without callbacks was dropped.
    pub const DROPPED_SEND: u8 = 25;
    /// An alarm was asked for before its time: how long it has still to run.
    pub const FLUSHED_ALARM: u8 = 28;
    /// Callbacks are due.
    pub const SENT_TOKENS: u8 = 29;
}

/// An event as C programs see it: 64 bytes, of which the last says what it is. Numbers are in
/// network byte order.
#[repr(C, align(8))]
#[derive(Clone, Debug)]
pub struct Event(pub(crate) [u8; 64]);

/// Where the fields of `gm_recv_t` lie.
pub(crate) mod at {
    pub(crate) const MESSAGE: usize = 32;
    pub(crate) const BUFFER: usize = 40;
    pub(crate) const LENGTH: usize = 52;
    pub(crate) const SENDER_NODE: usize = 56;
    pub(crate) const TAG: usize = 60;
    pub(crate) const SIZE: usize = 61;
    pub(crate) const SENDER_PORT: usize = 62;
    pub(crate) const TYPE: usize = 63;
    /// `gm_sent_t` and `gm_failed_send_event_t`.
    pub(crate) const LIST: usize = 48;
    /// `gm_flushed_alarm_t`.
    pub(crate) const USECS_REMAINING: usize = 56;
    pub(crate) const TARGET_NODE: usize = 60;
    pub(crate) const TARGET_PORT: usize = 62;
}

impl Event {
    pub(crate) const fn none() -> Self {
        Self([0; 64])
    }

    pub(crate) fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        self.0[at..at + N].copy_from_slice(&bytes);
    }

    pub(crate) fn kind(&self) -> u8 {
        self.0[at::TYPE]
    }

    /// Buffer, size, priority and tag of an event that says that a message was received.
    pub(crate) fn received(&self) -> Option<(u64, u32, u32, u8)> {
        let kind = self.kind();
        if !(kind::RECV..kind::FAST_RECV + 4).contains(&kind) {
            return None;
        }
        let mut buffer = [0; 8];
        buffer.copy_from_slice(&self.0[at::BUFFER..at::BUFFER + 8]);
        let priority = u32::from((kind - kind::RECV) & 1);
        Some((u64::from_be_bytes(buffer), self.0[at::SIZE].into(), priority, self.0[at::TAG]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lengths_fit_each_other() {
        assert_eq!((max_length(3), max_length(4), max_length(31)), (0, 8, (1 << 31) - 8));
        for length in [0u64, 1, 8, 9, 24, 25, 56, 1000, 4088, 4089, 1 << 20] {
            let size = min_size(length);
            assert!(max_length(size) >= length);
            assert!(size == MIN_SIZE || max_length(size - 1) < length, "{length}");
        }
        assert_eq!(min_size(u64::MAX), 64);
    }
}
