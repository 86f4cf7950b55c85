//! Messages of several packets on the receiving side, in whatever order the packets come.

use super::{Reassembly, TrustedDestination};
use crate::context::Locked;
use crate::transport::PeerId;

impl Locked<'_> {
    /// The first packet's handler has answered: take its data, then whatever came early.
    pub(crate) fn begin_reassembly(&mut self, source: PeerId, mut reassembly: Reassembly, data: &[u8]) {
        let n = (data.len() as u64).min(reassembly.destination.len()) as usize;
        self.out(|_| reassembly.destination.write(0, &data[..n]));
        reassembly.received = n as u64;
        let key = (source, reassembly.arrival.message);
        let early = self.receiving.reassemblies.take_early(key);
        if reassembly.is_complete() {
            return self.arrived(source, reassembly.arrival);
        }
        self.receiving.reassemblies.started.insert(key, reassembly);
        for (position, bytes) in early {
            self.fragment(source, key.1, position, &bytes);
        }
    }

    /// A further packet of a message.
    pub(crate) fn fragment(&mut self, source: PeerId, message: u32, position: u64, data: &[u8]) {
        let key = (source, message);
        let state = &mut **self;
        let Some(reassembly) = state.receiving.reassemblies.started.get_mut(&key) else {
            if !state.receiving.reassemblies.keep_early(key, position, data) {
                tracing::warn!(
                    source,
                    message,
                    position,
                    "too many fragments without their first packet; dropped"
                );
            }
            return;
        };
        if !reassembly.destination.holds(position, data.len()) {
            tracing::warn!(
                source,
                message,
                position,
                len = data.len(),
                total = reassembly.destination.len(),
                "fragment beyond its message dropped"
            );
            return;
        }
        reassembly.received += data.len() as u64;
        if reassembly.destination.is_layout() {
            let layout = reassembly.destination.take();
            return self.scatter(source, message, position, data, layout);
        }
        reassembly.destination.write(position, data);
        if reassembly.is_complete()
            && let Some(reassembly) = state.receiving.reassemblies.started.remove(&key)
        {
            self.arrived(source, reassembly.arrival);
        }
    }

    /// A layout may run functions of the program's: it is taken out of our state meanwhile.
    #[inline(never)]
    fn scatter(
        &mut self,
        source: PeerId,
        message: u32,
        position: u64,
        data: &[u8],
        mut layout: TrustedDestination,
    ) {
        self.out(|_| layout.write(position, data));
        if let Some(reassembly) = self.receiving.reassemblies.started.get_mut(&(source, message)) {
            reassembly.destination = layout;
        }
        self.finish_if_complete(source, message);
    }

    fn finish_if_complete(&mut self, source: PeerId, message: u32) {
        let key = (source, message);
        let started = &mut self.receiving.reassemblies.started;
        if started.get(&key).is_some_and(Reassembly::is_complete)
            && let Some(reassembly) = started.remove(&key)
        {
            self.arrived(source, reassembly.arrival);
        }
    }
}
