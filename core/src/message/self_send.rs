//! Layouts that this task sends to itself: both sides are here, so that no packet need carry the bytes.
//!
//! The announcement goes the way of any message to ourselves, and the header handler runs when it arrives. Then the bytes go
//! from layout to layout, a slice at a time.

use super::fragment::{Pull, SLICE};
use super::{Destination, Source, Waiting};
use crate::completion::Notify;
use crate::context::Locked;
use crate::stats::Path;
use crate::transport::PeerId;
use crate::wire::{Header, Kind};

/// Bytes that pass through a buffer at a time, where layouts don't know each other: they stay in the cache.
const PIECE: u64 = 32 << 10;
/// Stands for the address of the data in an announcement whose operation has a layout.
pub(super) const LAYOUT: u64 = 0;

impl Locked<'_> {
    /// Whether a message of several packets goes from layout to layout. Not from within a handler, where a message may have to be
    /// out before anything else can move.
    pub(super) fn goes_straight(
        &mut self,
        target: PeerId,
        source: &Source,
        user_header: usize,
        origin: &Notify,
    ) -> bool {
        let Source::Gather(layout, len) = source else { return false };
        let dispatching = self.dispatching > 0;
        target == self.shared().task
            && layout.local().is_some()
            && !dispatching
            && !self.may_copy(*len, user_header, origin)
    }

    /// Moves one slice of a message to ourselves.
    pub(super) fn fetch_from_self(&mut self, mut pull: Pull) {
        let state = &mut **self;
        let layout = match state.operations.get_mut(pull.operation).map(|operation| &mut operation.waiting) {
            Some(Waiting::Pull(layout)) => layout.take(),
            _ => None,
        };
        let Some(mut layout) = layout else { return };
        let (position, left) = (pull.position, pull.total - pull.position);
        let atom = layout.atom().max(1);
        let whole = |most: u64, left: u64| if left > most { most - most % atom } else { left };
        let n = whole(SLICE as u64, left);
        state.dispatching += 1;
        // SAFETY: the header handler vouched for the destination's memory, and the origin for the source's.
        self.out(|_| unsafe {
            let straight = match (&mut pull.destination, layout.local()) {
                (Destination::Discard, _) => true,
                (Destination::Scatter(to), Some(from)) => to.fetch(position, from, n),
                _ => false,
            };
            let mut done = if straight { n } else { 0 };
            while done < n {
                let piece = whole(PIECE, n - done);
                pull.bounce.resize(piece as usize, 0);
                layout.read(position + done, &mut pull.bounce);
                pull.destination.write(position + done, &pull.bounce);
                done += piece;
            }
        });
        let state = &mut **self;
        state.dispatching -= 1;
        let counts = state.statistics.path_mut(Path::Local);
        counts.data_sent += n;
        counts.data_received += n;
        pull.position += n;
        if pull.position < pull.total && !matches!(pull.destination, Destination::Discard) {
            if let Some(Waiting::Pull(place)) =
                state.operations.get_mut(pull.operation).map(|operation| &mut operation.waiting)
            {
                *place = Some(layout);
            }
            state.pulls.push_back(pull);
            return;
        }
        drop(layout);
        self.reply_packet(pull.peer, &Header::new(Kind::Pulled, 0, pull.operation), &[]);
        self.arrived(pull.peer, pull.arrival);
    }
}
