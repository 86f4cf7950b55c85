//! Outgoing messages: how they are cut into packets and numbered, and what happens if there is no
//! room.
//!
//! The size of a message's first packet and the number of the message are decided with each attempt
//! to send it. Both may change while a call waits for room: the MTU may shrink, and others may send
//! meanwhile. So a call that fails has used no number, for which a fence would wait in vain. What a
//! handler sends can't wait; it is stored as a message, not as packets, and cut when its turn
//! comes.

use super::packet::Submitted;
use super::{Outgoing, Share, TrustedSource};
use crate::context::Locked;
use crate::context::Notify;
use crate::context::State;
use crate::error::Result;
use crate::state::Head;
use crate::transport::PeerId;
use crate::wire::{Header, Kind, MAX_HEADER};

/// Whether a packet has left, or is left to calls that make progress.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Posted {
    Sent,
    NoRoom,
}

impl Locked<'_> {
    /// Sends a message with data, whatever its length. Returns as soon as it is on its way. The
    /// header is as if one packet carried the message; number, completion and lengths are filled in
    /// when it is sent.
    ///
    /// # Errors
    /// The peer is gone, or can't be reached. Nothing has been sent then.
    #[inline]
    pub(super) fn send_message(
        &mut self,
        mut header: Header,
        user_header: &[u8],
        mut out: Outgoing,
        completion: Notify,
    ) -> Result<()> {
        let target = out.peer;
        header.user_header = user_header.len() as u16;
        if completion.is_none() {
            // Nothing in it to drop, which the compiler doesn't see.
            std::mem::forget(completion);
        } else {
            out.completion = self.expect_completion(target, completion)?;
            header = header.with_completion(out.completion);
        }
        let mut first = 0;
        let posted = self.post(target, out.completion, |locked, number| {
            header.message = number;
            first = locked.cut_first(target, &mut header, &out.source);
            let submitted;
            (submitted, out.past) = locked.try_first(target, (&header, user_header), &mut out.source, first);
            submitted
        });
        match posted {
            Ok(Posted::Sent) if first == out.source.len() => {
                self.sending.count_end(&out.source);
                out.origin.notify(self, target, Ok(()));
                Ok(())
            }
            Ok(posted) => {
                (out.message, out.rail) = (header.message, header.rail());
                match posted {
                    Posted::Sent => out.position = first,
                    Posted::NoRoom => {
                        out.head = Some(Box::new(Head { header, user_header: user_header.into() }));
                        self.sending.heads += 1;
                    }
                }
                if self.must_free_buffer(&out, first, user_header.len()) {
                    self.go_on_from_copy(out);
                } else if !self.pushed_at_once(&mut out) {
                    self.queue_outgoing(out);
                }
                Ok(())
            }
            Err(e) => {
                self.operations.remove(out.completion);
                Err(e)
            }
        }
    }

    /// Whether the buffer of a message that is not all out is to be free when the call returns.
    /// `first`: how much its first packet took, or would have taken.
    #[inline(always)]
    fn must_free_buffer(&mut self, out: &Outgoing, first: u64, user_header: usize) -> bool {
        let len = out.source.len();
        // Whoever sends what fits one packet finds the buffer free.
        let fits = out.head.is_some() && first == len;
        // A call that waits for its buffer, and can't wait in a handler.
        let at_once = matches!(out.origin, Notify::Raise(_)) && self.dispatching > 0;
        fits || at_once || self.may_copy(len, user_header, &out.origin)
    }

    /// Goes on with a message from a copy of what is not out, and says that its buffer is free.
    #[inline(never)]
    fn go_on_from_copy(&mut self, mut out: Outgoing) {
        out.copy = Some(self.copy_out(&mut out.source));
        let (target, told) = (out.peer, std::mem::take(&mut out.origin));
        self.begin_outgoing(out);
        // Only now: whoever is told may wait for this very message.
        told.notify(self, target, Ok(()));
    }

    /// Sends a packet without data that asks for something: `operation` waits for the answer, and
    /// is forgotten if nothing is sent.
    ///
    /// # Errors
    /// As for [`send_message`](Self::send_message).
    pub(super) fn send_request(
        &mut self,
        target: PeerId,
        mut header: Header,
        user_header: &[u8],
        operation: u64,
    ) -> Result<()> {
        let posted = self.post(target, operation, |locked, number| {
            header.message = number;
            locked.try_packet(target, &header, user_header, &[][..])
        });
        let state = &mut **self;
        match posted {
            Ok(Posted::Sent) => Ok(()),
            Ok(Posted::NoRoom) => {
                state.defer(target, &header, user_header, &[]);
                Ok(())
            }
            Err(e) => {
                if let Some(operation) = state.operations.remove(operation) {
                    state.peers[target].answered.done(operation.sequence);
                    state.take_back(&operation);
                }
                Err(e)
            }
        }
    }

    /// Tries to send the packet that `attempt` makes of a message's number, until there is room for
    /// it. Inside a handler, and where a wait might last until the peer resumes this task, it tries
    /// once: without room the number is the message's all the same, and the packet is still to be
    /// sent. `operation`: the one that waits for the answer, 0 for none.
    #[inline]
    fn post(
        &mut self,
        target: PeerId,
        operation: u64,
        mut attempt: impl FnMut(&mut Self, u32) -> Submitted,
    ) -> Result<Posted> {
        loop {
            let number = self.peers[target].next_number();
            let posted = match attempt(self, number) {
                Submitted::Sent => Posted::Sent,
                Submitted::NoRoom if self.may_not_wait(target) => Posted::NoRoom,
                Submitted::NoRoom => {
                    self.wait_untold(target, operation)?;
                    continue;
                }
                Submitted::Refused(status) => return Err(self.link_failed(target, status)),
            };
            self.peers[target].take_number();
            return Ok(posted);
        }
    }

    /// Waits for room for what begins an operation. If that fails, the call says so, and nobody
    /// else is told: whoever gives up the operation meanwhile finds nobody.
    #[cold]
    fn wait_untold(&mut self, target: PeerId, operation: u64) -> Result<()> {
        let told = self.operations.get_mut(operation);
        let told = told.map(|op| (std::mem::take(&mut op.origin), std::mem::take(&mut op.completion)));
        self.wait_for_room(target)?;
        if let (Some(op), Some(told)) = (self.operations.get_mut(operation), told) {
            (op.origin, op.completion) = told;
        }
        Ok(())
    }

    /// Tries to send a message's first packet of `len` bytes. Says, too, whether it went past the
    /// datagrams of its link: the others then follow it there.
    #[inline(always)]
    fn try_first(
        &mut self,
        peer: PeerId,
        (header, user_header): (&Header, &[u8]),
        source: &mut TrustedSource,
        len: u64,
    ) -> (Submitted, bool) {
        if self.links.has_engines()
            && matches!(header.kind, Kind::AmFirst | Kind::PutFirst)
            && let Some(submitted) = self.try_packet_past(peer, (header, user_header), source, 0, len)
        {
            return (submitted, submitted == Submitted::Sent);
        }
        (self.try_packet_of(peer, (header, user_header), source, 0, len), false)
    }

    /// Sends the first packet of a message that had to wait.
    pub(super) fn send_head(&mut self, out: &mut Outgoing) -> Submitted {
        let Some(head) = &mut out.head else { return Submitted::Sent };
        let n = self.cut_first(out.peer, &mut head.header, &out.source);
        let Head { header, user_header } = &**head;
        let (submitted, past) = self.try_first(out.peer, (header, user_header), &mut out.source, n);
        if submitted == Submitted::Sent {
            out.position = n;
            out.past = past;
            out.head = None;
            self.sending.heads -= 1;
        }
        submitted
    }
}

impl State {
    /// How many bytes of a message its first packet takes, as the way to its target is now; the
    /// header says whether others follow.
    #[inline(always)]
    fn cut_first(&self, peer: PeerId, header: &mut Header, source: &TrustedSource) -> u64 {
        let room = self.room_to(peer).saturating_sub(MAX_HEADER + usize::from(header.user_header)) as u64;
        let len = source.len();
        let whole = len <= room;
        let first = if whole { len } else { self.first_part(peer, source, room) };
        header.total = len;
        header.kind = match (header.kind, whole) {
            (Kind::Am | Kind::AmFirst, true) => Kind::Am,
            (Kind::Am | Kind::AmFirst, false) => Kind::AmFirst,
            (_, true) => Kind::Put,
            (_, false) => Kind::PutFirst,
        };
        let share = source.share();
        if share != Share::All {
            *header = header.with_control(share.control(0, first));
        }
        first
    }
}
