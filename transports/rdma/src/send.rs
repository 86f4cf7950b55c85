//! Sending: messages are written into buffers of ours and stay there until libfabric is done with
//! them.

use crate::buffers::Buffers;
use crate::endpoint::{Access, Endpoint, is_busy};
use crate::ffi::fi_addr_t;
use crate::header::{self, Header, Kind, Mark, padded};
use lapis_core::transport::{PeerId, TransportError};
use std::collections::VecDeque;
use std::ffi::c_void;

/// Bytes of a send buffer, and so the longest message with its header.
pub(crate) const SIZE: usize = 8192;
/// Longest payload.
pub(crate) const LONGEST: usize = SIZE - header::LEN;
const COUNT: usize = 256;
/// The longest message that is injected, whatever the provider's limit.
const LONGEST_INJECTED: usize = 256;

/// A message on its way.
#[derive(Clone, Copy)]
struct Way {
    peer: PeerId,
    /// As in its header, which tells the peer from a process that takes its place.
    cookie: u64,
    to: fi_addr_t,
    len: usize,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Poll, then try again.
    Busy,
    /// libfabric's error number.
    Failed(i32),
}

/// See the module.
pub(crate) struct Sender {
    buffers: Buffers,
    free: Vec<usize>,
    ways: Box<[Way]>,
    /// Buffers that each peer's messages have.
    taken: Box<[u16]>,
    /// Written, but not taken by libfabric yet: at most one for each peer, so that one that takes
    /// nothing leaves room for the others.
    waiting: VecDeque<usize>,
    inject: usize,
    /// Where injected messages are put together; longer ones take a buffer.
    scratch: Box<[u8; LONGEST_INJECTED]>,
    /// Whether injected messages have the short form of the header.
    short: bool,
    /// What libfabric has taken so far.
    pub(crate) sent: Traffic,
}

/// Messages and their bytes, headers included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Traffic {
    /// One more.
    #[inline]
    pub(crate) fn count(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

impl Sender {
    /// `tasks`: how many the job has.
    pub(crate) fn new(endpoint: &mut Endpoint, tasks: u32, key: u64) -> Result<Self, TransportError> {
        let buffers = Buffers::new(endpoint, COUNT, SIZE, (Access::Messages, key))?;
        Ok(Self {
            buffers,
            free: (0..COUNT).rev().collect(),
            ways: vec![Way { peer: 0, cookie: 0, to: 0, len: 0 }; COUNT].into(),
            taken: vec![0; tasks as usize].into(),
            waiting: VecDeque::with_capacity(COUNT),
            inject: endpoint.inject_size().min(LONGEST_INJECTED),
            scratch: Box::new([0; LONGEST_INJECTED]),
            short: endpoint.carries_marks() && tasks as usize <= Mark::TASKS,
            sent: Traffic::default(),
        })
    }

    /// Whether a message to a peer must wait for another one.
    #[inline]
    pub(crate) fn waits_for(&self, peer: PeerId) -> bool {
        !self.waiting.is_empty() && self.waiting.iter().any(|&index| self.ways[index].peer == peer)
    }

    /// Whether a message to a peer would be given a buffer now.
    pub(crate) fn has_room_for(&self, peer: PeerId) -> bool {
        self.has_buffer_for(peer) && !self.waits_for(peer)
    }

    /// Whether one with a payload of so many bytes may be taken without a buffer.
    pub(crate) fn may_inject(&self, peer: PeerId, len: usize) -> bool {
        header::LEN + padded(len) <= self.inject && !self.waits_for(peer)
    }

    /// A peer has at most as many buffers as it leaves to others: however many peers take nothing,
    /// there are some for one more.
    #[inline]
    fn has_buffer_for(&self, peer: PeerId) -> bool {
        usize::from(self.taken[peer as usize]) < self.free.len()
    }

    /// A buffer is free again.
    #[inline]
    fn put_back(&mut self, index: usize) -> PeerId {
        let peer = self.ways[index].peer;
        self.taken[peer as usize] -= 1;
        self.free.push(index);
        peer
    }

    /// The endpoint, to which the registration is bound, closes for good.
    pub(crate) fn unregister(&mut self) {
        self.buffers.unregister();
    }

    #[cfg(test)]
    pub(crate) fn is_registered(&self) -> bool {
        self.buffers.registration().is_some()
    }

    /// Whether nothing is under way as far as we can tell.
    pub(crate) fn is_idle(&self) -> bool {
        self.free.len() == COUNT
    }

    /// Whether something waits for libfabric to take it.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends a message of parts. What libfabric doesn't take now waits here, if there is room.
    #[inline]
    pub(crate) fn send(
        &mut self,
        endpoint: &mut Endpoint,
        way: (PeerId, fi_addr_t),
        head: &Header,
        parts: [&[u8]; 2],
    ) -> Result<(), Refused> {
        match self.inject(endpoint, way, head, parts) {
            // It is long, or a connection is being made, for example.
            Err(Refused::Busy) => self.write(endpoint, way, head, |out| join(out, parts)),
            outcome => outcome,
        }
    }

    /// Sends a short message that none to the same peer waits before.
    #[inline]
    fn inject(
        &mut self,
        endpoint: &mut Endpoint,
        (peer, to): (PeerId, fi_addr_t),
        head: &Header,
        parts: [&[u8]; 2],
    ) -> Result<(), Refused> {
        let short = self.short && head.kind == Kind::Message;
        let before = if short { header::SHORT_LEN } else { header::LEN };
        let len = before + padded(head.length as usize);
        if len > self.inject || self.waits_for(peer) {
            return Err(Refused::Busy);
        }
        let scratch = &mut self.scratch;
        let injected = if short {
            let (mark, word) = head.encode_short();
            endpoint.inject_marked(assemble(scratch, &word, parts), mark.encode(), to)
        } else {
            endpoint.inject(assemble(scratch, &head.encode(), parts), to)
        };
        if short && injected == Err(libc::ENOSYS) {
            // This provider carries marks beside writes alone.
            self.short = false;
            return Err(Refused::Busy);
        }
        self.injected(len, injected)
    }

    /// libfabric's answer to a message of so many bytes.
    #[inline]
    fn injected(&mut self, len: usize, answer: Result<(), i32>) -> Result<(), Refused> {
        match answer {
            Ok(()) => {
                self.sent.count(len);
                Ok(())
            }
            Err(code) if is_busy(code) => Err(Refused::Busy),
            Err(code) => Err(Refused::Failed(code)),
        }
    }

    /// Sends a header alone, which libfabric takes or does not: it never waits here.
    pub(crate) fn slip_header(
        &mut self,
        endpoint: &mut Endpoint,
        to: fi_addr_t,
        head: Header,
    ) -> Result<(), Refused> {
        // Without injecting, what is not taken at once must wait here.
        if header::LEN > self.inject { Ok(()) } else { self.slip(endpoint, to, head, &[]) }
    }

    /// Sends a short message past those that wait, or not at all.
    pub(crate) fn slip(
        &mut self,
        endpoint: &mut Endpoint,
        to: fi_addr_t,
        head: Header,
        payload: &[u8],
    ) -> Result<(), Refused> {
        let len = header::LEN + padded(payload.len());
        if len > self.inject {
            return Err(Refused::Busy);
        }
        let message = assemble(&mut self.scratch, &head.encode(), [payload, &[]]);
        let injected = endpoint.inject(message, to);
        self.injected(len, injected)
    }

    /// Writes a message into a buffer and sends it; what libfabric doesn't take now waits here.
    /// `fill` is called only where there is room: none waits before it, and a buffer is free.
    pub(crate) fn write(
        &mut self,
        endpoint: &mut Endpoint,
        (peer, to): (PeerId, fi_addr_t),
        head: &Header,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Refused> {
        if !self.has_room_for(peer) {
            return Err(Refused::Busy);
        }
        let Some(index) = self.free.pop() else { return Err(Refused::Busy) };
        self.taken[peer as usize] += 1;
        // SAFETY: a free buffer is nobody else's; it has SIZE bytes.
        let out = unsafe { std::slice::from_raw_parts_mut(self.buffers.at(index), SIZE) };
        let length = head.length as usize;
        out[..header::LEN].copy_from_slice(&head.encode());
        fill(&mut out[header::LEN..header::LEN + length]);
        let len = header::LEN + padded(length);
        out[header::LEN + length..len].fill(0);
        self.ways[index] = Way { peer, cookie: head.cookie, to, len };
        match self.post(endpoint, index) {
            Err(code) if is_busy(code) => {
                self.waiting.push_back(index);
                Ok(())
            }
            Err(code) => {
                self.put_back(index);
                Err(Refused::Failed(code))
            }
            Ok(()) => Ok(()),
        }
    }

    fn post(&mut self, endpoint: &mut Endpoint, index: usize) -> Result<(), i32> {
        let Way { to, len, .. } = self.ways[index];
        let context = self.buffers.context(index);
        // SAFETY: the buffer and its context are left alone until `ended` frees them.
        unsafe { endpoint.send(self.buffers.at(index), len, self.buffers.registration(), to, context) }?;
        self.sent.count(len);
        Ok(())
    }

    /// Sends what waits, up to a message whose peer can't be reached: that peer, and libfabric's
    /// error number.
    pub(crate) fn send_waiting(&mut self, endpoint: &mut Endpoint) -> Result<(), (PeerId, i32)> {
        for _ in 0..self.waiting.len() {
            let Some(index) = self.waiting.pop_front() else { break };
            let posted = self.post(endpoint, index);
            if posted.is_err_and(is_busy) {
                self.waiting.push_back(index);
            } else if let Err(code) = posted {
                return Err((self.put_back(index), code));
            }
        }
        Ok(())
    }

    /// Messages to a peer that libfabric has not taken yet are not sent any more.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        let Self { waiting, ways, .. } = self;
        let mut ours = Vec::new();
        waiting.retain(|&index| {
            let other = ways[index].peer != peer;
            if !other {
                ours.push(index);
            }
            other
        });
        for index in ours {
            self.put_back(index);
        }
    }

    /// Whether libfabric has messages to a peer that have not ended.
    pub(crate) fn has_in_flight(&self, peer: PeerId) -> bool {
        let mine = |&index: &usize| self.ways[index].peer == peer && !self.free.contains(&index);
        (0..COUNT).filter(mine).any(|index| !self.waiting.contains(&index))
    }

    /// No buffer is left from now on.
    #[cfg(test)]
    pub(crate) fn exhaust(&mut self) {
        self.free.clear();
    }

    /// The endpoint is closed, and has left all buffers alone.
    pub(crate) fn reset(&mut self) {
        self.free = (0..COUNT).rev().collect();
        self.taken.fill(0);
        self.waiting.clear();
    }

    /// Whether questions about paths, with an address of so many bytes, can be sent past messages
    /// that wait.
    pub(crate) fn can_slip(&self, address: usize) -> bool {
        header::LEN + padded(header::RailLife::LEN + address) <= self.inject
    }

    /// A send has ended, well or not: whose it was, and its cookie.
    pub(crate) fn ended(&mut self, context: *mut c_void) -> Option<(PeerId, u64)> {
        let index = self.buffers.index_of(context)?;
        let cookie = self.ways[index].cookie;
        Some((self.put_back(index), cookie))
    }
}

/// Puts a message together.
#[inline]
fn assemble<'a>(message: &'a mut [u8; LONGEST_INJECTED], header: &[u8], parts: [&[u8]; 2]) -> &'a [u8] {
    let message = &mut message[..header.len() + padded(parts[0].len() + parts[1].len())];
    let (before, payload) = message.split_at_mut(header.len());
    // What follows the payload within its last word is zeros.
    if let Some(word) = payload.last_chunk_mut::<8>() {
        *word = [0; 8];
    }
    before.copy_from_slice(header);
    join(payload, parts);
    message
}

/// Writes two parts one behind the other.
pub(crate) fn join(out: &mut [u8], [a, b]: [&[u8]; 2]) {
    out[..a.len()].copy_from_slice(a);
    out[a.len()..a.len() + b.len()].copy_from_slice(b);
}
