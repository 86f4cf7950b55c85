//! What a port keeps for another port: two streams out, two in.

use crate::busy::Busy;
use crate::direct::Remote;
use crate::wire::Head;
use lapis_core::reliable::Nanos;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};

/// Longer messages are sent from where they lie.
pub(crate) const COPIED: usize = 2 << 10;

/// The program's function that runs when a send has completed.
///
/// GM's `gm_send_completion_callback_t`.
pub type Callback = Option<unsafe extern "C" fn(*mut c_void, *mut c_void, c_int)>;

/// Whom to tell of a send's end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Teller {
    /// A function of the program's.
    Call { callback: Callback, context: *mut c_void },
    /// The sent event, as the calls without callbacks have it.
    Event,
}

/// What a message does at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// It goes into a buffer of this size class.
    Message { size: u8 },
    /// It goes into the memory at this address.
    Put { address: u64 },
    /// It brings the memory at this address.
    Get { address: u64 },
}

/// A message on its way.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) sequence: u64,
    pub(crate) op: Op,
    /// The message here: read, or for a get written.
    pub(crate) local: u64,
    pub(crate) len: u64,
    pub(crate) teller: Teller,
    /// The name of its memory for the packet engine.
    pub(crate) token: u64,
    /// The target has asked for its bytes.
    pub(crate) wanted: bool,
    /// Bytes that were handed to the engine, or for a get have arrived.
    pub(crate) moved: u64,
}

/// A bundle that has not left yet: the last messages of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bundle {
    /// The stream, by its peer's place and its priority.
    pub(crate) peer: usize,
    pub(crate) priority: usize,
    /// What they take in a lane, with what is before each.
    pub(crate) bytes: usize,
}

/// So many messages are delivered before their sender is told, or hears it, unless there is time: a
/// quarter of its tokens.
const DONE_EVERY: u64 = crate::abi::SEND_TOKENS as u64 / 4;

/// Messages of one priority to one port, in order.
#[derive(Debug, Default)]
pub(crate) struct OutStream {
    pub(crate) generation: u32,
    /// The number of the next message.
    pub(crate) next: u64,
    /// Messages before this number have been delivered.
    pub(crate) done: u64,
    /// The same as messages of the other direction have told: it is dealt with when there is time.
    pub(crate) heard: u64,
    pub(crate) messages: VecDeque<Outgoing>,
    /// So many of them the target has been told of.
    pub(crate) announced: usize,
    /// Messages from this number on have not been handed to the packet engine.
    pub(crate) past_engine: u64,
    /// Some message here has lent its memory at some time: most streams never do.
    pub(crate) has_lent: bool,
    /// One has failed, and the program has not said what is to become of the others.
    pub(crate) paused: bool,
    /// What failed before the bytes of a get in front of it had come.
    pub(crate) failed_early: Option<Head>,
}

impl OutStream {
    /// The messages that are left are to be sent anew, to who knows nothing of them: with these
    /// numbers.
    pub(crate) fn restart(&mut self, generation: u32, first: u64) {
        self.generation = generation;
        self.failed_early = None;
        self.announced = 0;
        self.past_engine = first;
        self.done = first;
        self.heard = first;
        self.next = first;
        for message in &mut self.messages {
            message.sequence = self.next;
            message.wanted = false;
            message.moved = 0;
            self.next += 1;
        }
    }

    /// The target has been told of the next message, which has this number: by the lane, or by the
    /// packet engine.
    #[inline]
    pub(crate) fn has_told(&mut self, sequence: u64, by_lane: bool) {
        self.announced += 1;
        if !by_lane {
            self.past_engine = sequence + 1;
        }
    }

    /// Whether a message of so many bytes overtakes nothing on its way if it goes by the lane. One
    /// that takes time anyway may: it is put into its place where it arrives.
    #[inline]
    pub(crate) fn may_go_by_lane(&self, len: u64) -> bool {
        self.done >= self.past_engine || len as usize > COPIED
    }

    /// Whether there is something to hand to the engine.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        let moving = |front: &Outgoing| front.wanted && front.moved < front.len;
        !self.paused && (self.announced < self.messages.len() || self.messages.front().is_some_and(moving))
    }

    /// Whether memory of the program's is lent for a message that has not ended.
    #[inline]
    pub(crate) fn lends(&self) -> bool {
        self.has_lent && self.messages.iter().take(self.announced).any(|m| m.len as usize > COPIED)
    }

    /// Whether there is something to hand to the engine, or many messages have ended.
    #[inline]
    pub(crate) fn is_urgent(&self) -> bool {
        self.heard.saturating_sub(self.done) >= DONE_EVERY || self.has_work()
    }
}

/// A buffer that the program has provided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) at: u64,
    pub(crate) tag: u8,
}

/// What is under way in a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// A message into a buffer.
    Buffer { buffer: Buffer, size: u8 },
    /// A put into memory.
    Memory { address: u64 },
    /// A get out of memory.
    Source { address: u64 },
}

/// A message that takes several units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub(crate) target: Target,
    pub(crate) len: u64,
    /// Bytes that have arrived, or for a get have been sent.
    pub(crate) moved: u64,
    /// Where the bytes can be copied from, and how many have been.
    pub(crate) from: Option<Remote>,
    pub(crate) copied: u64,
    /// Until when the sender's parts are waited for all the same; then the bytes are copied, too,
    /// and whichever is there first counts.
    pub(crate) awaited: Option<Nanos>,
    /// The sender is, or was, to be asked for parts.
    pub(crate) asked: bool,
}

/// A message whose turn has not come, or which waits for a buffer.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) head: Head,
    pub(crate) bytes: Box<[u8]>,
}

/// Messages of one priority from one port.
#[derive(Debug, Default)]
pub(crate) struct InStream {
    pub(crate) generation: u32,
    /// The number of the message whose turn it is.
    pub(crate) next: u64,
    /// The sender knows that all before this number has been delivered.
    pub(crate) told: u64,
    /// The program answers messages at once, with one that tells it: so that can wait.
    pub(crate) answers: bool,
    /// In which poll the sender was told last without such a one.
    paid: u32,
    pub(crate) held: BTreeMap<u64, Held>,
    pub(crate) current: Option<Current>,
    /// Since when the message whose turn it is waits for a buffer.
    pub(crate) waiting: Option<Nanos>,
    /// What the sender is still to be told.
    pub(crate) owes_go: bool,
    pub(crate) owes_done: bool,
    pub(crate) owes_failed: Option<Head>,
}

impl InStream {
    /// A message the other way tells the sender how far the stream has come. `poll`: the last one.
    #[inline]
    pub(crate) fn tell_with_message(&mut self, poll: u32) {
        self.answers |= self.owes_done || self.paid == poll;
        self.told = self.next;
        self.owes_done = false;
    }

    /// A unit of its own tells it. `quiet`: no message came in the way.
    pub(crate) fn tell(&mut self, poll: u32, quiet: bool) {
        self.answers &= !quiet;
        self.paid = poll;
        self.told = self.next;
        self.owes_done = false;
    }

    /// Whether it is time to say so. `quiet`: there is nothing else to do.
    #[inline]
    pub(crate) fn done_is_due(&self, quiet: bool) -> bool {
        self.owes_done && (quiet || !self.answers || self.next.saturating_sub(self.told) >= DONE_EVERY)
    }

    /// Whether a copy out of the sender's memory is to be gone on with.
    pub(crate) fn copies(&self) -> bool {
        matches!(self.current, Some(Current { from: Some(_), .. }))
    }

    pub(crate) fn owes(&self) -> bool {
        self.owes_done || self.is_urgent()
    }

    /// Whether the sender is owed more than the word that its messages have come, or that of many.
    pub(crate) fn is_urgent(&self) -> bool {
        let serves = matches!(self.current, Some(Current { target: Target::Source { .. }, .. }));
        self.owes_go || self.owes_failed.is_some() || serves || self.copies() || self.done_is_due(false)
    }
}

/// How far the way to a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// There is none, and nobody looks for one.
    Down,
    /// The port is not open yet; it is looked for since then, and at that time again.
    Seeking { since: Nanos, again: Nanos },
    /// It can be sent to.
    Up,
}

/// A daemon that leaves so many looks in a row unanswered, and all in the time that a send may
/// take, does not answer.
const LOOKS: u32 = 10;

/// Looks at a peer in a row that its daemon has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    looks: u32,
    since: Nanos,
}

impl Unanswered {
    /// With one more. One alone says nothing: the program may not have called for long before it.
    pub(crate) fn more(before: Option<Self>, now: Nanos) -> Self {
        let Self { looks, since } = before.unwrap_or(Self { looks: 0, since: now });
        Self { looks: looks.saturating_add(1), since }
    }

    /// Whether there are enough of them to give the peer up.
    pub(crate) fn is_enough(self, now: Nanos, timeout: Nanos) -> bool {
        self.looks > LOOKS && now - self.since >= timeout
    }
}

/// Another port, as this one knows it; or this one.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its node and number.
    pub(crate) node: u32,
    pub(crate) port: u32,
    pub(crate) link: Link,
    /// Its port has been open.
    pub(crate) met: bool,
    /// Its port was closed when it was looked at last: its end is dealt with at the next look, when
    /// what it had sent has been read.
    pub(crate) closing: bool,
    /// Its adapter's place in the availability matrix, and since when it has been down.
    pub(crate) board: u32,
    pub(crate) cut_off: Option<Nanos>,
    /// Its life as its daemon told it.
    pub(crate) life: Option<u32>,
    /// The life before, while it is not known which one it is now.
    pub(crate) former: Option<u32>,
    /// Of another host's port: datagrams heard from it, when that was more than before or its
    /// daemon said that it is there, when that daemon is to be asked again, and how often it has
    /// not answered since.
    pub(crate) heard: u64,
    pub(crate) alive: Nanos,
    pub(crate) ask_again: Nanos,
    pub(crate) unanswered: Option<Unanswered>,
    /// Its messages can't be copied from its memory: the system has refused.
    pub(crate) refuses_copies: bool,
    /// Whether its program makes the calls that bring parts of long messages.
    pub(crate) busy: Busy,
    /// It is in the list of those whom the next poll looks after.
    pub(crate) stirred: bool,
    pub(crate) out: [OutStream; 2],
    pub(crate) ins: [InStream; 2],
}

impl Peer {
    pub(crate) fn new(node: u32, port: u32) -> Self {
        Self {
            node,
            port,
            link: Link::Down,
            met: false,
            closing: false,
            board: 0,
            cut_off: None,
            life: None,
            former: None,
            heard: 0,
            alive: 0,
            ask_again: 0,
            unanswered: None,
            refuses_copies: false,
            busy: Busy::default(),
            stirred: false,
            out: Default::default(),
            ins: Default::default(),
        }
    }

    /// It is there: so many datagrams have come from it, or its daemon has said so.
    pub(crate) fn is_heard(&mut self, heard: u64, now: Nanos) {
        (self.heard, self.alive) = (heard, now);
        (self.ask_again, self.unanswered) = (0, None);
    }

    /// Its number for the packet engine.
    #[inline]
    pub(crate) fn task(&self) -> u32 {
        task(self.node, self.port)
    }

    /// Whether something is to be handed to the engine for it that others wait for.
    #[inline]
    pub(crate) fn is_urgent(&self) -> bool {
        self.out.iter().any(OutStream::is_urgent) || self.ins.iter().any(InStream::is_urgent)
    }

    /// Whether something is to be handed to the engine for it.
    pub(crate) fn has_work(&self) -> bool {
        self.out.iter().any(|stream| stream.has_work() || stream.heard > stream.done)
            || self.ins.iter().any(InStream::owes)
    }

    /// Whether some message to it has not ended.
    pub(crate) fn is_owed(&self) -> bool {
        self.out.iter().any(|stream| !stream.messages.is_empty() && !stream.paused)
    }
}

/// The packet engine's number of a port.
pub(crate) fn task(node: u32, port: u32) -> u32 {
    node << 8 | port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_given_up_after_many_unanswered_looks_and_a_time_only() {
        let timeout = 1000;
        let mut unanswered = Unanswered::more(None, 500);
        assert!(!unanswered.is_enough(500, timeout), "one alone, however late it comes");
        assert!(!unanswered.is_enough(5000, timeout));
        for look in 1..=LOOKS {
            unanswered = Unanswered::more(Some(unanswered), 500 + u64::from(look));
        }
        assert!(!unanswered.is_enough(1499, timeout), "the time begins with the first");
        assert!(unanswered.is_enough(1500, timeout));
    }
}
