//! What is handed to the engine, and why it is refused.

use super::wire::MAX_PATHS;

/// The two channels of a peer. Replies and whatever else frees resources go on the second, which
/// requests never hold up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Channel {
    /// Requests.
    Request = 0,
    /// Replies and acknowledgements of the upper layer.
    Reply = 1,
}

impl Channel {
    /// The parser lets only 0 and 1 through.
    pub(super) fn of(number: u8) -> Self {
        if number == 0 { Self::Request } else { Self::Reply }
    }
}

/// No preference: the unit may take any path.
const ANY: u8 = u8::MAX;

/// Where a unit is to go: on which channel, and over which path if it may choose.
///
/// A preferred path is a hint. The unit waits for room on that path as long as it is
/// [up](super::PathState::Up); if it is not, or no path has that number, the unit takes any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Via {
    /// On which channel.
    pub channel: Channel,
    pub(super) preferred: PreferredPath,
}

impl Via {
    /// On a channel, over this path rather than others; `None`: over whichever is best.
    #[must_use]
    #[inline]
    pub fn path(channel: Channel, path: Option<u8>) -> Self {
        Self {
            channel,
            preferred: path
                .filter(|path| usize::from(*path) < MAX_PATHS)
                .map_or(PreferredPath(ANY), PreferredPath),
        }
    }
}

impl From<Channel> for Via {
    #[inline]
    fn from(channel: Channel) -> Self {
        Self { channel, preferred: PreferredPath::default() }
    }
}

/// The path that a unit should take, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PreferredPath(u8);

impl Default for PreferredPath {
    fn default() -> Self {
        Self(ANY)
    }
}

impl PreferredPath {
    pub(super) fn is_none(self) -> bool {
        self.0 == ANY
    }

    /// Whether the unit may take a path. `up`: a bit for each number of a path that is up.
    #[inline]
    pub(super) fn allows(self, path: u8, up: u8) -> bool {
        self.0 == ANY || self.0 == path || up >> self.0 & 1 == 0
    }
}

/// The part of a unit behind its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// Copied at once.
    Copy(&'a [u8]),
    /// In the caller's memory, which must not change until [`Event::Acked`](super::Event::Acked) or
    /// [`Event::Purged`](super::Event::Purged) names the unit's token. The engine only passes the
    /// name on, to [`Memory`](super::Memory) and in
    /// [`Segment::External`](super::Segment::External).
    External {
        /// The caller's name for the memory.
        buffer: u64,
        /// Where the body starts in it.
        offset: u64,
        /// Its size in bytes.
        len: u32,
    },
}

/// Why a unit was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The channel, or the engine, holds as much as it may: make progress and submit again.
    #[error("the window is full; make progress and try again")]
    Again,
    /// The peer is purged.
    #[error("task {0} is purged; resume it first")]
    PeerDown(u32),
    /// The task was never added.
    #[error("task {0} is not a peer of this engine; add it first")]
    Unknown(u32),
    /// The unit fits no datagram, whatever the path.
    #[error("unit of {len} bytes for task {peer} is larger than the {max} that fit the largest datagram")]
    TooLarge {
        /// Whom it was for.
        peer: u32,
        /// Its size.
        len: usize,
        /// What would fit.
        max: usize,
    },
}

/// Why a peer or a path was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// It is there already.
    #[error("task {0} is a peer already")]
    Exists(u32),
    /// It is not there.
    #[error("task {0} is not a peer of this engine")]
    Unknown(u32),
    /// None, too many, or the same number twice.
    #[error("task {peer}: {count} paths; 1 to 8 with different numbers below 8 are needed")]
    Paths {
        /// Which peer.
        peer: u32,
        /// How many paths were given.
        count: usize,
    },
    /// Datagrams are too small or too large.
    #[error("task {peer}, path {path}: datagrams of {max_datagram} bytes; 548 to 65507 are possible")]
    Datagram {
        /// Which peer.
        peer: u32,
        /// Which path.
        path: u8,
        /// What was asked for.
        max_datagram: usize,
    },
    /// Epoch 0 means unknown on the wire.
    #[error("task {0}: epoch 0 is reserved")]
    Epoch(u32),
}
