//! Building datagrams for the caller.

use super::auth::Authenticator;
use super::sent::Sent;
use super::wire::{HEADER_LEN, Header, SIGNED_LEN};

/// Bytes in the caller's memory, which stay there unchanged until the unit is acknowledged or
/// purged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct External {
    pub(super) buffer: u64,
    pub(super) offset: u64,
    pub(super) len: u32,
}

/// A piece of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// Bytes `start..end` of [`Transmit::bytes`].
    Owned {
        /// The first byte.
        start: u32,
        /// One past the last byte.
        end: u32,
    },
    /// Bytes in the caller's memory, named as in [`Body::External`](super::Body::External).
    External {
        /// The caller's name for the memory.
        buffer: u64,
        /// Where the bytes start.
        offset: u64,
        /// How many they are.
        len: u32,
    },
}

/// Datagrams for one path to one peer, all of one size but for the last, which may be smaller: what
/// one `sendmsg` with `UDP_SEGMENT` takes. The caller keeps one and passes it in again and again.
#[derive(Debug, Default)]
pub struct Transmit {
    /// Whom they are for.
    pub peer: u32,
    /// Which rail they take.
    pub path: u8,
    /// The size of every datagram but the last.
    pub segment_size: usize,
    /// All bytes together.
    pub total: usize,
    /// What [`Segment::Owned`] refers to.
    pub bytes: Vec<u8>,
    segments: Vec<Segment>,
    ends: Vec<u32>,
}

impl Transmit {
    /// How many datagrams there are.
    #[must_use]
    pub fn datagrams(&self) -> usize {
        self.ends.len()
    }

    /// The pieces of datagram `index`.
    #[must_use]
    pub fn datagram(&self, index: usize) -> &[Segment] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.segments[start..self.ends[index] as usize]
    }

    /// The pieces of all datagrams, one after the other: the iovecs of one `sendmsg` with
    /// `UDP_SEGMENT`.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Appends datagram `index` to `out`, for transports that send from one buffer.
    pub fn copy_datagram(&self, index: usize, memory: &mut impl Memory, out: &mut Vec<u8>) {
        for segment in self.datagram(index) {
            match *segment {
                Segment::Owned { start, end } => {
                    out.extend_from_slice(&self.bytes[start as usize..end as usize]);
                }
                Segment::External { buffer, offset, len } => {
                    memory.read(buffer, offset, len, &mut |bytes| out.extend_from_slice(bytes));
                }
            }
        }
    }

    /// Copies the external segments, for a caller who keeps the datagrams for longer than their
    /// memory.
    pub fn copy_in(&mut self, memory: &mut impl Memory) {
        for segment in &mut self.segments {
            if let Segment::External { buffer, offset, len } = *segment {
                let start = self.bytes.len() as u32;
                memory.read(buffer, offset, len, &mut |bytes| self.bytes.extend_from_slice(bytes));
                *segment = Segment::Owned { start, end: start + len };
            }
        }
    }

    pub(super) fn clear(&mut self, peer: u32, path: u8) {
        self.peer = peer;
        self.path = path;
        self.segment_size = 0;
        self.total = 0;
        self.bytes.clear();
        self.segments.clear();
        self.ends.clear();
    }
}

/// Where the engine finds the bytes of external bodies when it computes authenticators. It reads
/// nothing else.
pub trait Memory {
    /// Calls `read` with bytes `offset..offset + len` of `buffer`, in one or more pieces.
    fn read(&mut self, buffer: u64, offset: u64, len: u32, read: &mut dyn FnMut(&[u8]));
}

/// For callers that never submit external bodies.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn read(&mut self, _: u64, _: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        // Whoever gets here submitted an external body without having memory for it: the tag will
        // not match what is sent, and the receiver drops it.
        for _ in 0..len {
            read(&[0]);
        }
    }
}

/// A datagram being written at the end of a [`Transmit`].
#[derive(Debug)]
pub(super) struct DatagramBuilder<'a> {
    out: &'a mut Transmit,
    start: usize,
    /// Where the open owned segment starts.
    open: usize,
    first_segment: usize,
    len: usize,
    cap: usize,
    /// Units that were sent before.
    pub(super) resent: u32,
    /// A caller waits for its memory to be released.
    pub(super) lent: bool,
    pub(super) sent: Sent,
}

impl<'a> DatagramBuilder<'a> {
    pub(super) fn new(out: &'a mut Transmit, cap: usize) -> Self {
        let start = out.bytes.len();
        out.bytes.extend_from_slice(&[0; HEADER_LEN]);
        let first_segment = out.segments.len();
        Self {
            out,
            start,
            open: start,
            first_segment,
            len: HEADER_LEN,
            cap,
            resent: 0,
            lent: false,
            sent: Sent::default(),
        }
    }

    #[inline]
    pub(super) fn room(&self) -> usize {
        self.cap - self.len
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.out.bytes.extend_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline]
    pub(super) fn push_external(&mut self, body: External) {
        if body.len == 0 {
            return;
        }
        self.close();
        self.lent = true;
        let External { buffer, offset, len } = body;
        self.out.segments.push(Segment::External { buffer, offset, len });
        self.len += len as usize;
    }

    fn close(&mut self) {
        let end = self.out.bytes.len();
        if end > self.open {
            self.out.segments.push(Segment::Owned { start: self.open as u32, end: end as u32 });
            self.open = end;
        }
    }

    /// Takes the datagram back, numbers and all.
    pub(super) fn abandon(self) {
        self.out.bytes.truncate(self.start);
        self.out.segments.truncate(self.first_segment);
    }

    /// Writes the header and the authenticator.
    pub(super) fn finish<A: Authenticator>(
        mut self,
        header: &Header,
        auth: &A,
        memory: &mut impl Memory,
    ) -> (usize, Sent) {
        self.close();
        let out = self.out;
        let frames = self.len - HEADER_LEN;
        let place = self.start..self.start + HEADER_LEN;
        let head: &mut [u8; HEADER_LEN] = (&mut out.bytes[place.clone()]).try_into().expect("as long");
        // Where it is to be, for what is put together elsewhere and copied waits for its parts.
        header.write(head, frames as u16);
        let (head, rest) = out.bytes[self.start..].split_at(HEADER_LEN);
        let signed = head.first_chunk::<SIGNED_LEN>().expect("HEADER_LEN is greater");
        let tag = if out.segments.len() - self.first_segment == 1 {
            // It starts with the header, so it is ours.
            auth.tag(signed, rest)
        } else {
            let mut state = auth.begin(signed, frames);
            for segment in &out.segments[self.first_segment..] {
                match *segment {
                    Segment::Owned { start, end } => {
                        let start = (start as usize).max(place.end);
                        auth.update(&mut state, &out.bytes[start..end as usize]);
                    }
                    Segment::External { buffer, offset, len } => {
                        memory.read(buffer, offset, len, &mut |bytes| auth.update(&mut state, bytes));
                    }
                }
            }
            auth.finish(state)
        };
        out.bytes[place.start + SIGNED_LEN..place.end].copy_from_slice(&tag);
        if out.ends.is_empty() {
            out.segment_size = self.len;
        }
        out.ends.push(out.segments.len() as u32);
        out.total += self.len;
        (self.len, self.sent)
    }
}
