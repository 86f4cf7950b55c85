//! Messages of several packets on the receiving side, in whatever order the packets come.

use super::{Reassembly, TrustedDestination};
use crate::context::{Arrival, Locked, State};
use crate::state::{Key, Receiving};
use crate::transport::PeerId;
use crate::wire::{Header, Kind};

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
    /// Keeps a packet of a message whose first one has not come, or waits for its handler.
    #[cold]
    fn fragment_too_early(&mut self, (source, message): Key, position: u64, data: &[u8]) {
        let Receiving { reassemblies, dropped, .. } = &mut self.receiving;
        let is_put_off = || dropped.iter().any(|(from, packet)| *from == source && begins(packet, message));
        if !reassemblies.keep_early((source, message), position, data, is_put_off) {
            tracing::warn!(
                source,
                message,
                position,
                "too many fragments without their first packet; dropped"
            );
        }
    }
}

/// Whether a packet is the first one of this message of several.
fn begins(packet: &[u8], message: u32) -> bool {
    let first = |header: &Header| header.kind == Kind::AmFirst && header.message == message;
    Header::parse(packet).is_ok_and(|(header, _)| first(&header))
}

#[cold]
fn beyond((source, message): Key, position: u64, len: usize, total: u64) {
    tracing::warn!(source, message, position, len, total, "fragment beyond its message dropped");
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::context::{Context, ContextBuilder, Delivery};
    use crate::stats::Path;
    use crate::sync::{AtomicBool, Ordering};
    use crate::wire::Encoded;
    use std::sync::{Arc, mpsc};

    /// Hands a packet to the dispatcher.
    fn arrives(context: &Context, header: &Header, data: &[u8]) {
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        let mut locked = context.locked();
        locked.dispatching += 1;
        locked.packet_arrived(Path::Local, 0, &[head.bytes(n), data].concat());
        locked.dispatching -= 1;
    }

    #[test]
    fn long_messages_that_their_handler_puts_off_are_whole_when_it_takes_them() {
        const PACKETS: usize = 6_000;
        const MESSAGES: [u32; 2] = [7, 8];
        let job = crate::bootstrap::singleton(0).unwrap();
        let context = ContextBuilder::default().without_transports(job, Config::default()).unwrap();
        let (tell, told) = mpsc::channel();
        let ready = Arc::new(AtomicBool::new(false));
        let is_ready = Arc::clone(&ready);
        let collect = move |_: &Context, message: &crate::handlers::Incoming<'_>| {
            if !is_ready.load(Ordering::Relaxed) {
                return Delivery::later();
            }
            let tell = tell.clone();
            Delivery::collect(message, move |data| tell.send(data).unwrap())
        };
        context.set_handler(crate::HandlerId(1), collect).unwrap();

        let piece = |message: u32, n: usize| (message as usize * PACKETS + n).to_le_bytes();
        for message in MESSAGES {
            let mut first = Header::new(Kind::AmFirst, message, 1);
            first.total = (PACKETS * size_of::<usize>()) as u64;
            arrives(&context, &first, &piece(message, 0));
        }
        for n in 1..PACKETS {
            for message in MESSAGES {
                let position = (n * size_of::<usize>()) as u64;
                arrives(&context, &Header::new(Kind::Fragment, message, position), &piece(message, n));
            }
        }
        ready.store(true, Ordering::Relaxed);
        context.locked().progress();
        for message in MESSAGES {
            let data: Vec<u8> = (0..PACKETS).flat_map(|n| piece(message, n)).collect();
            assert!(told.try_recv().expect("it has come") == data, "message {message}");
        }
        assert_eq!(context.locked().receiving.ended, MESSAGES.len() as u64);
    }
}
