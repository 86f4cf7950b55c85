//! The lane to a task, kept so that the shortest way need not ask whether there is one; and which
//! lanes of a transport core uses.

use crate::transport::lane::{MOST_SLOTS, ReceiveLanes, SendLane};
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
        let mask = unsafe { (*lane.as_ptr()).mask };
        if has_too_many(mask, "it is not used") {
            return Self::none();
        }
        Self(lane)
    }
}

/// Whether core reads the lanes that a transport has when its peers are connected. If one of them
/// has more slots than a lane may have, the transport reads all of them.
pub(super) fn can_be_read(lanes: NonNull<ReceiveLanes>) -> bool {
    // SAFETY: it stays in place as long as the link, and nothing changes it meanwhile.
    let ReceiveLanes { lanes, count } = unsafe { lanes.as_ref() };
    let present = lanes.iter().take(*count as usize);
    // SAFETY: the first ones are valid, and live as long as the link.
    let mut masks = present.filter_map(|lane| unsafe { lane.as_ref() }).map(|lane| lane.mask);
    !masks.any(|mask| has_too_many(mask, "the transport reads its lanes itself"))
}

fn has_too_many(mask: u64, so: &str) -> bool {
    let slots = mask.saturating_add(1);
    let too_many = slots > MOST_SLOTS as u64;
    if too_many {
        tracing::warn!("a transport's lane has {slots} slots; {MOST_SLOTS} are the limit: {so}");
    }
    too_many
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::AtomicU64;
    use crate::transport::lane::{DataIn, ReceiveLane};

    #[test]
    fn lanes_with_more_slots_than_there_may_be_are_not_used() {
        for (mask, is_used) in [(63, true), (255, true), (511, false), (u64::MAX, false)] {
            let mut lane = SendLane { mask, ..SendLane::closed() };
            let found = PeerLane::from(Some(NonNull::from(&mut lane)));
            assert_eq!(found.get().is_some(), is_used, "{mask}");
        }
        assert!(PeerLane::from(None).get().is_none());
    }

    #[test]
    fn lanes_of_which_one_has_more_slots_than_there_may_be_are_left_to_their_transport() {
        let word = AtomicU64::new(0);
        for (mask, are_read) in [(63, true), (255, true), (511, false), (u64::MAX, false)] {
            let lane = |mask| ReceiveLane {
                slots: std::ptr::null(),
                mask,
                position: 0,
                due: 0,
                told: &raw const word,
                peer: 0,
                mailbox: std::ptr::null_mut(),
                tail: &raw const word,
                data: DataIn::none(),
            };
            let (mut short, mut other) = (lane(63), lane(mask));
            let mut lanes = ReceiveLanes::none();
            lanes.lanes[..2].copy_from_slice(&[&raw mut short, &raw mut other]);
            for (count, are_read) in [(1, true), (2, are_read)] {
                lanes.count = count;
                assert_eq!(can_be_read(NonNull::from(&mut lanes)), are_read, "{mask}");
            }
        }
    }
}
