//! The lane to a task, kept so that the shortest way need not ask whether there is one.

use crate::transport::lane::{MOST_SLOTS, SendLane};
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
    /// What a transport has given. One with more slots than a lane may have is not used.
    fn from(lane: Option<NonNull<SendLane>>) -> Self {
        let Some(lane) = lane else { return Self::none() };
        // SAFETY: the transport's lanes live as long as its link.
        let slots = unsafe { (*lane.as_ptr()).mask }.saturating_add(1);
        if slots > MOST_SLOTS as u64 {
            tracing::warn!(
                "a transport's lane has {slots} slots; {MOST_SLOTS} are the limit: it is not used"
            );
            return Self::none();
        }
        Self(lane)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lanes_with_more_slots_than_there_may_be_are_not_used() {
        for (mask, is_used) in [(63, true), (255, true), (511, false), (u64::MAX, false)] {
            let mut lane = SendLane { mask, ..SendLane::closed() };
            let found = PeerLane::from(Some(NonNull::from(&mut lane)));
            assert_eq!(found.get().is_some(), is_used, "{mask}");
        }
        assert!(PeerLane::from(None).get().is_none());
    }
}
