//! Messages of several packets on the receiving side, in whatever order the packets come.

use super::{Reassembly, TrustedDestination};
use crate::context::{Arrival, Locked, State};
use crate::state::Key;
use crate::transport::PeerId;

impl Locked<'_> {
    /// The first packet's handler has answered: take its data, then whatever came early.
    pub(crate) fn begin_reassembly(
        &mut self,
        source: PeerId,
        mut destination: TrustedDestination,
        arrival: Arrival,
        data: &[u8],
    ) {
        let received = (data.len() as u64).min(destination.len());
        self.out(|_| destination.write(0, &data[..received as usize]));
        let key = (source, arrival.message);
        if received == destination.len() {
            // Whatever came early is beyond its end.
            self.receiving.reassemblies.take_early(key);
            return self.arrived(source, arrival);
        }
        self.receiving.reassemblies.begin(key, Reassembly { destination, received, arrival });
        if self.receiving.reassemblies.has_early() {
            self.add_early(key);
        }
    }

    /// Goes on with what has come of a message before its first packet.
    #[cold]
    fn add_early(&mut self, key: Key) {
        for (position, bytes) in self.receiving.reassemblies.take_early(key) {
            self.fragment(key, position, &bytes);
        }
    }

    /// A further packet of a message.
    pub(crate) fn fragment(&mut self, key: Key, position: u64, data: &[u8]) {
        let state = &mut **self;
        let Some(reassembly) = state.receiving.reassemblies.get_mut(key) else {
            return state.fragment_too_early(key, position, data);
        };
        if !reassembly.destination.holds(position, data.len()) {
            return beyond(key, position, data.len(), reassembly.destination.len());
        }
        reassembly.received += data.len() as u64;
        if reassembly.destination.is_layout() {
            let layout = reassembly.destination.take();
            return self.scatter(key, position, data, layout);
        }
        reassembly.destination.write(position, data);
        self.finish_if_complete(key);
    }

    /// A layout may run functions of the program's: it is taken out of our state meanwhile.
    #[inline(never)]
    fn scatter(&mut self, key: Key, position: u64, data: &[u8], mut layout: TrustedDestination) {
        self.out(|_| layout.write(position, data));
        if let Some(reassembly) = self.receiving.reassemblies.get_mut(key) {
            reassembly.destination = layout;
        }
        self.finish_if_complete(key);
    }

    #[inline(always)]
    fn finish_if_complete(&mut self, key: Key) {
        if let Some(arrival) = self.receiving.reassemblies.end_if_complete(key) {
            self.arrived(key.0, arrival);
        }
    }
}

impl State {
    /// Keeps a packet of a message whose first one has not come.
    #[cold]
    fn fragment_too_early(&mut self, (source, message): Key, position: u64, data: &[u8]) {
        if !self.receiving.reassemblies.keep_early((source, message), position, data) {
            tracing::warn!(
                source,
                message,
                position,
                "too many fragments without their first packet; dropped"
            );
        }
    }
}

#[cold]
fn beyond((source, message): Key, position: u64, len: usize, total: u64) {
    tracing::warn!(source, message, position, len, total, "fragment beyond its message dropped");
}
