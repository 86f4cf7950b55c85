//! A transport that gives every datagram back, for tests of what stands above and below one.

use lapis_core::transport::{
    Attributes, Caps, DatagramBatch, Event, EventKind, Host, Limits, NoWaiter, OpenParams, PeerId, Transport,
    TransportError,
};
use std::collections::VecDeque;

/// Its datagrams, those that wait and those that were shown last.
pub(crate) struct Mirror {
    queue: VecDeque<Vec<u8>>,
    shown: Vec<Vec<u8>>,
}

impl Transport for Mirror {
    const NAME: &'static str = "mirror";
    const VERSION: &'static str = "0.0.1";
    const CAPS: Caps = Caps::DATAGRAM.union(Caps::SELF_ONLY);
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self { queue: VecDeque::new(), shown: Vec::new() }, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_packed: 9000, paths: 2, max_peers: 1, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: "mirror".to_owned() }
    }

    fn address(&self) -> Vec<u8> {
        b"mirror".to_vec()
    }

    fn connect(&mut self, _: PeerId, address: &[u8]) -> Result<(), TransportError> {
        if address == b"mirror" { Ok(()) } else { Err(TransportError::Invalid("no mirror".to_owned())) }
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        for b in batches {
            // SAFETY: the caller's promise.
            let slices = unsafe { std::slice::from_raw_parts(b.slices, b.count as usize) };
            let mut bytes = Vec::new();
            for s in slices {
                // SAFETY: each slice is readable, as the caller promises of a batch.
                bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(s.ptr, s.len) });
            }
            self.queue.extend(bytes.chunks(b.segment as usize).map(<[u8]>::to_vec));
        }
        batches.len()
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.shown.clear();
        for (n, event) in events.iter_mut().enumerate() {
            let Some(mut bytes) = self.queue.pop_front() else { return n };
            let (data, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
            *event = Event { kind: EventKind::Datagram as u32, data, len, ..Event::EMPTY };
            self.shown.push(bytes);
        }
        events.len()
    }
}

lapis_core::export_transport!(Mirror, "mirror", "0.0.1");
