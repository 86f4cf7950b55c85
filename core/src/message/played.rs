//! A transport whose other end is played by a test.

use super::two_tasks::PEER;
use crate::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, RawSlice, RegionInfo,
    RemoteAddr, Status, Transport, TransportError, Usage,
};
use crate::wire::{Encoded, Header};
use std::cell::RefCell;

thread_local! {
    /// What the other task has been sent.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static SENT: RefCell<Vec<Header>> = const { RefCell::new(Vec::new()) };
}

/// The last packet that the other task has been sent and that is of this kind.
pub(crate) fn last_sent(is: impl Fn(&Header) -> bool) -> Option<Header> {
    SENT.with_borrow(|sent| sent.iter().rfind(|header| is(header)).copied())
}

/// What a poll brings.
pub(crate) enum Coming {
    /// A packet of the other task.
    Packet(Header),
    /// The end of a direct copy, by its token.
    End(u64, Status),
}

/// What a test makes of the transport.
pub(crate) trait Play {
    /// Beside those of every reliable transport.
    const CAPS: Caps;

    /// What the next poll brings.
    fn coming() -> Option<Coming>;

    /// A direct copy from the other task's memory begins, and ends by a poll.
    fn copies(_token: u64) {}

    /// A registration is released.
    fn releases() {}
}

/// See the module.
pub(crate) struct Played<P> {
    /// Keeps what the last poll has brought.
    packet: Option<Vec<u8>>,
    play: std::marker::PhantomData<P>,
}

impl<P: Play + Send + 'static> Transport for Played<P> {
    const NAME: &'static str = "played";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::ORDERED).union(P::CAPS);
    const DECLARATION: Declaration = Declaration { cost_ns: 2, usage: Usage::Always, variables: &[] };
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self { packet: None, play: std::marker::PhantomData }, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits {
            max_short: 1 << 16,
            max_packed: 1 << 16,
            max_zcopy: 1 << 30,
            max_peers: 2,
            zcopy_from: 1,
            ..Limits::default()
        };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_short(&mut self, _: PeerId, head: &[u8], _: &[u8]) -> Status {
        let (header, _) = Header::parse(head).expect("a packet");
        SENT.with_borrow_mut(|sent| sent.push(header));
        Status::Done
    }

    unsafe fn get_zcopy(&mut self, _: PeerId, _: RawSlice, _: RemoteAddr, token: u64) -> Status {
        P::copies(token);
        Status::InProgress
    }

    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        Ok(RegionInfo { addr: range.ptr.addr() as u64, len: range.len as u64, id: 3, key: 9 })
    }

    fn mem_release(&mut self, _: u64) {
        P::releases();
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        events[0] = match P::coming() {
            None => return 0,
            Some(Coming::End(token, status)) => Event::complete(PEER, token, status),
            Some(Coming::Packet(header)) => {
                let mut head = Encoded::new();
                let len = header.encode(&mut head);
                let packet = self.packet.insert(head.bytes(len).to_vec());
                Event::message(PEER, packet.as_mut_ptr(), packet.len() as u32)
            }
        };
        1
    }
}
