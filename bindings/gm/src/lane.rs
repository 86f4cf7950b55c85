//! The way of units to a port of this host: its lane, past the FIFO and the packet engine.
//!
//! A lane is memory of the target's window that one port writes and one reads: nothing gets lost
//! there, and nothing changes places (docs/hps.md). So a unit needs no number, no acknowledgement
//! and no copy from which it could be sent again. What the engine alone can do it does: it finds
//! out in which lives two ports are, and carries units before that is known, to other hosts, while
//! an adapter is down, and where no lane is free. The numbers of a stream put into order what takes
//! both ways.
//!
//! ```text
//!   0              4              8
//!   │ epoch, from  │ epoch, to    │ unit
//! ```
//!
//! The epochs are the engine's: what was sent in a former life of either port is dropped.

use crate::net::Net;
use crate::wire::{Head, Kind, LONG};
use lapis_adapters::lanes::Arrival;
use lapis_adapters::soft::InLane;

/// Bytes before a unit: the engine's epochs of sender and receiver.
pub(crate) const EPOCHS: usize = 8;

/// Bytes of a long message in one part.
pub(crate) const PART: usize = 32 << 10;
const _: () = assert!(EPOCHS + LONG + PART <= lapis_adapters::lanes::LONGEST);

/// What a lane has brought.
pub(crate) enum FromLane {
    /// A unit, and whom it is from.
    Unit(u32, *const [u8]),
    /// Something of a former life of its sender or this port.
    Stale(u32),
}

/// The port behind a name, which anybody can have made up.
fn task_of(name: u64) -> u32 {
    name.wrapping_sub(1) as u32
}

/// What is before a unit's bytes in a lane, and how long it is.
#[inline]
fn front_of((own, theirs): (u32, u32), head: &Head) -> ([u8; EPOCHS + LONG], usize) {
    let (encoded, len) = head.encode();
    let mut front = [0; EPOCHS + LONG];
    front[..EPOCHS / 2].copy_from_slice(&own.to_le_bytes());
    front[EPOCHS / 2..EPOCHS].copy_from_slice(&theirs.to_le_bytes());
    front[EPOCHS..].copy_from_slice(&encoded);
    (front, EPOCHS + len)
}

/// Whether a lane has taken a unit. `None`: there is none.
#[inline]
fn taken(sent: InLane) -> Option<bool> {
    match sent {
        InLane::Sent => Some(true),
        InLane::NoRoom => Some(false),
        InLane::NoLane => None,
    }
}

impl Net {
    /// Whether short messages to the peer at this place may go by a lane.
    #[inline]
    pub(crate) fn has_lane(&mut self, place: usize) -> bool {
        self.lanes && !self.outlets.loses() && self.outlets.near(place).is_some()
    }

    /// Hands a bundle to the lane of a peer on this host: `write` writes so many bytes
    /// behind the head. The answer is that of [`submit_to_lane`](Self::submit_to_lane).
    #[inline]
    pub(crate) fn bundle_to_lane(
        &mut self,
        (task, place): (u32, usize),
        head: &Head,
        len: usize,
        write: impl FnOnce(*mut u8),
    ) -> Option<bool> {
        if !self.has_lane(place) {
            return None;
        }
        let sender = self.outlets.near(place)?;
        let (front, first) = front_of(self.engine.epochs(task)?, head);
        let sent = sender.write_in_lane(self.name, first + len, |place| {
            // SAFETY: there is room for all bytes.
            unsafe {
                place.copy_from_nonoverlapping(front.as_ptr(), first);
                write(place.add(first));
            }
        });
        taken(sent)
    }

    /// Hands a unit to the lane of a peer on this host, which copies it. False: there is no
    /// room at present. `None`: it goes through the engine.
    #[inline]
    pub(crate) fn submit_to_lane(
        &mut self,
        (task, place): (u32, usize),
        head: &Head,
        bytes: &[u8],
    ) -> Option<bool> {
        if !self.lanes || (self.outlets.loses() && head.kind != Kind::Part) {
            return None;
        }
        // An adapter that is down carries nothing: the engine knows how to wait for it.
        let sender = self.outlets.near(place)?;
        let (front, len) = front_of(self.engine.epochs(task)?, head);
        taken(sender.send_in_lane(self.name, &front[..len], bytes))
    }

    /// Gives back what was taken from lanes, and wakes those who sleep until there is room.
    #[inline]
    pub(crate) fn begin_with_lanes(&mut self) {
        let outlets = &self.outlets;
        self.window.lanes().begin(|name| {
            if let Some(place) = outlets.place(task_of(name)) {
                outlets.wake(place);
            }
        });
    }

    /// The next unit that has come by a lane, and whom it is from. It stays in place until
    /// [`begin_with_lanes`](Self::begin_with_lanes).
    #[inline]
    pub(crate) fn next_in_lane(&mut self) -> Option<FromLane> {
        let Arrival { sender, data, len } = self.window.lanes().take()?;
        let task = task_of(sender);
        // SAFETY: it stays in place until the lanes are begun with anew.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast_const(), len) };
        let Some((epochs, unit)) = bytes.split_first_chunk::<EPOCHS>() else {
            return Some(FromLane::Stale(task));
        };
        let [a, b, c, d, e, f, g, h] = *epochs;
        let (source, destination) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if self.engine.is_current(task, source, destination) {
            Some(FromLane::Unit(task, unit))
        } else {
            Some(FromLane::Stale(task))
        }
    }
}
