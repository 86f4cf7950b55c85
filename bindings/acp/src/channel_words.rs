//! The messages between the ends of channels, and their names.

/// Messages of a channel, sent by core, that no receive has taken yet.
pub(crate) const WINDOW: u64 = 32;

/// Longer messages are offered first.
pub(crate) const EAGER: u64 = 4096;

/// Memory of the program: an address and a length.
pub(crate) type Span = (usize, u64);

/// Something to be sent to `task`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) task: u32,
    pub(crate) send: Send,
}

/// `channel` is the number of the channel among those of the two processes in its direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Send {
    /// The message of a request, which ends when its memory may be used again.
    Whole { channel: u64, number: u64, bytes: Span, request: u64 },
    /// A message waits.
    Offer { channel: u64, number: u64, len: u64, request: u64 },
    /// To the sender: the memory of a receive is there for so many bytes.
    Clear { request: u64, receive: u64, len: u64 },
    /// What was waited for.
    Data { receive: u64, bytes: Span, request: u64 },
    /// To the sender: so many messages have been taken; there may be room in the lane.
    Credit { channel: u64, taken: u64 },
    /// To the sender: the channel's lane, by its place in the receiver's memory for lanes.
    Lane { channel: u64, at: u64 },
    /// To the receiver: something is in the lane, or the sender waits for room behind a position.
    Look { channel: u64, full: bool, awaited: u64 },
    /// The sender's end: so many messages were sent, or will be received.
    Close { channel: u64, from_sender: bool, messages: u64 },
}

/// Which endpoint: whether it sends, to or from which task, which of these channels.
pub(crate) type Wire = (bool, u32, u64);
