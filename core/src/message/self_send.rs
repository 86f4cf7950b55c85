//! Non-contiguous messages of a task to itself. Both layouts are in this process, so no packet
//! carries the bytes.
//!
//! The announcement is sent like any message to oneself, and the header handler runs when it
//! arrives. Then the bytes are copied from layout to layout, a slice at a time.

use super::Pull;
use super::{SLICE, TrustedSource, Waiting};
use crate::context::Locked;
use crate::context::Notify;
use crate::stats::Path;
use crate::transport::PeerId;
use crate::wire::{Header, Kind};

/// Bytes that pass through a buffer at a time, where layouts don't know each other: they stay in
/// the cache.
const PIECE: u64 = 32 << 10;
/// Stands for the address of the data in an announcement whose operation has a layout.
pub(super) const LAYOUT: u64 = 0;

impl Locked<'_> {
    /// Whether a message of several packets goes from layout to layout. Not from within a handler,
    /// where a message may have to be out before anything else can move.
    pub(super) fn goes_straight(
        &mut self,
        target: PeerId,
        source: &TrustedSource,
        user_header: usize,
        origin: &Notify,
    ) -> bool {
        target == self.shared().task
            && source.local().is_some()
            && self.dispatching == 0
            && !self.may_copy(source.len(), user_header, origin)
    }

    /// Moves one slice of a message to ourselves.
    pub(super) fn fetch_from_self(&mut self, mut pull: Pull) {
        let source = match self.operations.waiting_mut(pull.operation) {
            Some(Waiting::Pull { layout, .. }) => layout.take(),
            _ => None,
        };
        let Some(mut source) = source else { return };
        let (position, left) = (pull.position, pull.destination.len() - pull.position);
        let atom = source.atom();
        let whole = |most: u64, left: u64| if left > most { most - most % atom } else { left };
        let n = whole(SLICE as u64, left);
        self.dispatching += 1;
        self.out(|_| {
            let straight = pull.destination.fetch(position, &source, n);
            let mut done = if straight { n } else { 0 };
            while done < n {
                let piece = whole(PIECE, n - done);
                pull.bounce.resize(piece as usize, 0);
                source.read(position + done, &mut pull.bounce);
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
        if pull.position < pull.destination.len() && !pull.destination.is_discard() {
            if let Some(Waiting::Pull { layout: place, .. }) = state.operations.waiting_mut(pull.operation) {
                *place = Some(source);
            }
            state.receiving.pulls.push_back(pull);
            return;
        }
        drop(source);
        self.reply_packet(pull.peer, &Header::new(Kind::Pulled, 0, pull.operation), &[]);
        self.arrived(pull.peer, pull.arrival);
    }
}
