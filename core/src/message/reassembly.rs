//! Messages of several packets on the receiving side, in whatever order the packets come.

use super::{Reassembly, TrustedDestination};
use crate::context::{Arrival, Locked, State};
use crate::state::{Key, Receiving};
use crate::transport::PeerId;
use crate::wire::{Header, Kind};
use std::collections::VecDeque;

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
        let key = (source, message);
        if !reassemblies.keep_early(key, position, data, || is_put_off(dropped, key)) {
            tracing::warn!(
                source,
                message,
                position,
                "too many fragments without their first packet; dropped"
            );
        }
    }
}

impl<C> Receiving<C> {
    /// Whether the first packet of a message has come, so that its length bounds what is kept of
    /// it. A handler that puts it off may wait for a message whose packets come behind it.
    #[inline]
    pub(crate) fn knows(&self, key: Key) -> bool {
        self.reassemblies.has_begun(key) || is_put_off(&self.dropped, key)
    }
}

/// Whether the first packet of a message is among those that their handlers put off.
fn is_put_off(dropped: &VecDeque<(PeerId, Box<[u8]>)>, (source, message): Key) -> bool {
    dropped.iter().any(|(from, packet)| *from == source && begins(packet, message))
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
    use crate::datagrams::tests::poll;
    use crate::handlers::Incoming;
    use crate::message::two_tasks;
    use crate::stats::Path;
    use crate::sync::{AtomicBool, Ordering};
    use crate::transport::Status;
    use crate::wire::Encoded;
    use lapis_patience::Patience;
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    /// Hands a packet to the dispatcher.
    fn arrives(context: &Context, header: &Header, data: &[u8]) {
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        let mut locked = context.locked();
        locked.dispatching += 1;
        locked.packet_arrived(Path::Local, 0, &[head.bytes(n), data].concat());
        locked.dispatching -= 1;
    }

    /// The other task's handler waits for a message that is under way with the buffer that the next
    /// one is for, of which more comes than is kept of messages that have not begun.
    #[test]
    fn a_message_that_its_handler_puts_off_stops_none_that_is_under_way() {
        const PACKETS: usize = 7_000;
        let (context, mut link, mut far) = two_tasks::pair();
        let (first_ended, both_ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&first_ended);
        let first = move |_: &Context, message: &Incoming<'_>| {
            let ends = Arc::clone(&ends);
            Delivery::collect(message, move |_| ends.store(true, Ordering::Relaxed))
        };
        let (is_free, ends) = (Arc::clone(&first_ended), Arc::clone(&both_ended));
        let second = move |_: &Context, message: &Incoming<'_>| {
            if !is_free.load(Ordering::Relaxed) {
                return Delivery::later();
            }
            let ends = Arc::clone(&ends);
            Delivery::collect(message, move |_| ends.store(true, Ordering::Relaxed))
        };
        context.set_handler(crate::HandlerId(1), first).unwrap();
        context.set_handler(crate::HandlerId(2), second).unwrap();

        let piece = |header: &Header| {
            let mut head = Encoded::new();
            let n = header.encode(&mut head);
            [head.bytes(n), &[7; 8]].concat()
        };
        let begins = |message: u32, pieces: usize| {
            let mut header = Header::new(Kind::AmFirst, message, (message + 1).into());
            header.total = (pieces * 8) as u64;
            piece(&header)
        };
        let goes_on = |message, n: usize| piece(&Header::new(Kind::Fragment, message, (n * 8) as u64));
        let mut packets = VecDeque::from([begins(0, 2), begins(1, PACKETS)]);
        packets.extend((1..PACKETS).map(|n| goes_on(1, n)));
        packets.push_back(goes_on(0, 1));
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while !both_ended.load(Ordering::Relaxed) {
            while let Some(packet) = packets.front()
                && far.send(&mut link, 0, packet, &[], true) == Status::Done
            {
                packets.pop_front();
            }
            let now = far.now();
            far.flush(&mut link, now);
            context.progress().unwrap();
            poll(&mut link, &mut far);
            assert!(
                !patience.is_over(),
                "of the first message, all is {first_ended:?}; {} to go",
                packets.len()
            );
        }
        context.purge(1).unwrap();
        context.terminate().unwrap();
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
        let collect = move |_: &Context, message: &Incoming<'_>| {
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
