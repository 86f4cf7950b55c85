//! The lane to a task, kept so that the shortest way need not ask whether there is one.

use crate::transport::lane::SendLane;
use std::ptr::NonNull;

/// Never written: it has no room.
static CLOSED: Closed = Closed(SendLane::closed());

struct Closed(SendLane);

// SAFETY: nothing changes it.
unsafe impl Sync for Closed {}

/// The lane to a task, or a closed one in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerLane(NonNull<SendLane>);

impl PeerLane {
    /// Of a task to which no lane leads.
    pub(crate) fn none() -> Self {
        Self(NonNull::from(&CLOSED.0))
    }

    /// The lane, if one leads to the task.
    #[inline(always)]
    pub(crate) fn get(self) -> Option<NonNull<SendLane>> {
        (self.0 != Self::none().0).then_some(self.0)
    }

    /// The lane, or one that has no room: for whoever asks for room first. A closed one is only
    /// read.
    #[inline(always)]
    pub(crate) fn or_closed(self) -> *mut SendLane {
        self.0.as_ptr()
    }
}

impl From<Option<NonNull<SendLane>>> for PeerLane {
    fn from(lane: Option<NonNull<SendLane>>) -> Self {
        lane.map_or(Self::none(), Self)
    }
}
