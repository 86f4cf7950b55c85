//! Bundles: several short messages in one slot of a lane.
//!
//! A place in a lane is cache lines that its reader fetches from the writer's core, and the writer
//! takes back later. So where messages follow each other closely, each line brings several of them.
//! A message of a bundle that has not left yet stays in its stream. All leave when no more of them
//! fit into one slot, or with the program's next call.
//!
//! ```text
//!   │ head, as of a message: the first one's number │ size │ length │ bytes │ size │ length │ …
//! ```

use crate::abi::FAST_MAX;
use crate::lane::EPOCHS;
use crate::memory::memory;
use crate::net::FEW;
use crate::outgoing::message_head;
use crate::port::Port;
use crate::stream::{Bundle, Link, Op, Outgoing};
use crate::wire::{Head, Kind};
use lapis_core::transport::lane::{INLINE, copy_short};

/// Bytes before each message.
const BEFORE: usize = 2;

/// Room for messages, with what is before each.
const ROOM: usize = INLINE - EPOCHS - Kind::Bundle.head();

const _: () = assert!(FAST_MAX <= u8::MAX as usize && BEFORE + FAST_MAX <= ROOM);

/// What a message takes in a bundle. `None`: it goes alone.
#[inline]
fn taken_by(message: &Outgoing) -> Option<(u8, usize)> {
    match message.op {
        Op::Message { size } if message.len as usize <= FAST_MAX => {
            Some((size, BEFORE + message.len as usize))
        }
        _ => None,
    }
}

impl Port {
    /// The program calls: the bundle leaves.
    #[inline(always)]
    pub(crate) fn send_bundle(&mut self) {
        if self.bundle.is_some() {
            self.send_those_waiting();
        }
    }

    /// The same unless what waits is of this stream, to which a message is about to be added.
    #[inline(always)]
    pub(crate) fn send_other_bundle(&mut self, to: usize, of: usize) {
        if let Some(Bundle { peer, priority, .. }) = self.bundle
            && (peer, priority) != (to, of)
        {
            self.send_those_waiting();
        }
    }

    #[inline(never)]
    fn send_those_waiting(&mut self) {
        if let Some(Bundle { peer, .. }) = self.bundle.take() {
            self.pump(peer);
            self.net.flush();
        }
    }

    /// Adds the message that was just taken to the bundle. False: it is to leave at once.
    #[inline]
    pub(crate) fn joins_bundle(&mut self, peer: usize, priority: usize) -> bool {
        let Some(Bundle { bytes: before, .. }) = self.bundle.take().or_else(|| {
            let stream = &self.peers[peer].out[priority];
            let alone = stream.messages.len() <= FEW || stream.announced + 1 != stream.messages.len();
            (!alone
                && self.peers[peer].link == Link::Up
                && stream.may_go_by_lane(0)
                && self.net.has_lane(peer))
            .then_some(Bundle { peer, priority, bytes: 0 })
        }) else {
            return false;
        };
        let Some((_, own)) = self.peers[peer].out[priority].messages.back().and_then(taken_by) else {
            return false;
        };
        let bytes = before + own;
        // Whether there is room for another one like it.
        if bytes + own <= ROOM {
            self.bundle = Some(Bundle { peer, priority, bytes });
            return true;
        }
        false
    }

    /// Hands the next short messages of a stream to the lane of a peer in a bundle. False: there is
    /// no room at present. `None`: the next one goes alone, or another way.
    pub(crate) fn pump_bundle(&mut self, (task, peer): (u32, usize), priority: usize) -> Option<bool> {
        let crate::stream::Peer { out, ins, .. } = &mut self.peers[peer];
        let (stream, back) = (&mut out[priority], &mut ins[priority]);
        if !stream.may_go_by_lane(0) {
            return None;
        }
        let next = stream.messages.range(stream.announced..);
        let (mut count, mut bytes) = (0, 0);
        for own in next.clone().map_while(taken_by).map(|(_, own)| own) {
            if bytes + own > ROOM {
                break;
            }
            (count, bytes) = (count + 1, bytes + own);
        }
        if count < 2 {
            return None;
        }
        let sequence = stream.messages.get(stream.announced)?.sequence;
        let head = message_head(0, (priority, stream.generation), sequence, back);
        let head = Head { kind: Kind::Bundle, ..head };
        let taken = self.net.bundle_to_lane((task, peer), &head, bytes, |mut place| {
            for message in next.take(count) {
                let Some((size, own)) = taken_by(message) else { return };
                let len = own - BEFORE;
                // SAFETY: there is room for the messages that were counted, which have not changed;
                // the program's message is readable until its send has completed.
                unsafe {
                    place.cast::<[u8; 2]>().write([size, len as u8]);
                    copy_short(memory(message.local, len).as_ptr(), place.add(BEFORE), len);
                    place = place.add(own);
                }
            }
        })?;
        if taken {
            stream.announced += count;
            back.tell_with_message(self.polls);
        }
        Some(taken)
    }

    /// Takes the messages of a bundle. True: all were delivered.
    #[inline]
    pub(crate) fn bundle(&mut self, peer: usize, head: &Head, mut bytes: &[u8]) -> bool {
        let mut head = Head { kind: Kind::Message, ..*head };
        let mut plain = true;
        while let Some((&[size, len], rest)) = bytes.split_first_chunk::<BEFORE>()
            && let Some((message, rest)) = rest.split_at_checked(len.into())
            && size < 32
        {
            head.size = size;
            plain &= self.message(peer, &head, message);
            head.sequence = head.sequence.wrapping_add(1);
            bytes = rest;
        }
        plain
    }
}
