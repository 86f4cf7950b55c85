//! Messages on their way out: from the call to their end.

use crate::abi::{FAST_MAX, SEND_TOKENS, Status, kind};
use crate::events::Pending;
use crate::lane::PART;
use crate::memory::{memory, place};
use crate::net::Bytes;
use crate::port::Port;
use crate::stream::{COPIED, InStream, Link, Op, OutStream, Outgoing, Peer, Teller, task};
use crate::wire::{Head, Kind};
use crate::wish::{Wish, too_long_a_datagram, unsound};
use lapis_core::reliable::Channel;

impl Port {
    /// Takes a send token for a call. False: there is none, and the program has been told.
    #[inline(always)]
    fn take_token(&mut self, teller: Teller, message: u64, to: (u32, u32)) -> bool {
        if self.tokens_out < SEND_TOKENS {
            self.tokens_out += 1;
            return true;
        }
        self.lacks_token(teller, message, to);
        false
    }

    #[cold]
    fn lacks_token(&mut self, teller: Teller, message: u64, to: (u32, u32)) {
        tracing::error!(
            target: "lapis::gm",
            "port {}: a send without a send token: all {SEND_TOKENS} are in use",
            self.number
        );
        self.events.push_back(Pending::Violation(kind::SEND_TOKEN_VIOLATION));
        self.tell(teller, Status::Failure, message, to);
    }

    /// Takes a message.
    pub(crate) fn send(&mut self, wish: Wish) {
        let Wish { op, local, len, priority, node, port, teller } = wish;
        if !self.take_token(teller, local, (node, port)) {
            return;
        }
        if let Some(status) = unsound(&wish).or_else(|| self.is_over().then_some(Status::SendPortClosed)) {
            return self.complete(teller, status, local, (node, port));
        }
        let peer = self.peer(node, port);
        self.send_other_bundle(peer, priority as usize);
        if self.net.outlets.is_closed_at(peer) {
            // What its program had sent is read first: it may have delivered something, and so may
            // the next program that has the port, which is then found. This message is not there
            // yet: it would be pumped into the window that is closed.
            self.poll();
            if self.net.outlets.is_closed_at(peer) {
                self.peer_closed(peer);
            }
        }
        let token = self.net.token();
        let stream = &mut self.peers[peer].out[priority as usize];
        let sequence = stream.next;
        stream.next += 1;
        stream.messages.push_back(Outgoing {
            sequence,
            op,
            local,
            len,
            teller,
            token,
            wanted: false,
            moved: 0,
        });
        self.counters.sent += 1;
        if stream.paused {
            return;
        }
        self.approach(peer);
        if self.joins_bundle(peer, priority as usize) {
            return;
        }
        if !self.submit_last(peer, priority as usize) {
            self.pump(peer);
            let now = self.net.now();
            self.net.flush_unless_close(now, self.peers[peer].task());
        }
    }

    /// Hands the message that was just taken to the engine if it is short and nothing waits in
    /// front of it.
    #[inline]
    fn submit_last(&mut self, peer: usize, priority: usize) -> bool {
        let Peer { link, node, port, out, ins, .. } = &mut self.peers[peer];
        let (task, stream) = (task(*node, *port), &mut out[priority]);
        let Some(message) = stream.messages.back() else { return false };
        let Op::Message { size } = message.op else { return false };
        let first = stream.announced + 1 == stream.messages.len();
        let still = stream.messages.front().is_none_or(|front| !front.wanted);
        // What was found out about the peer a moment ago may have stopped the stream.
        if stream.paused || *link != Link::Up || !first || !still || message.len as usize > COPIED {
            return false;
        }
        let head = message_head(size, (priority, stream.generation), message.sequence, &ins[priority]);
        // SAFETY: the program's message is readable until its send has completed.
        let bytes = unsafe { memory(message.local, message.len as usize) };
        let may = stream.may_go_by_lane(message.len);
        let by_lane = if may { self.net.submit_to_lane((task, peer), &head, bytes) } else { None };
        let taken = by_lane.unwrap_or_else(|| self.net.submit_next((task, peer), &head, bytes));
        if taken {
            let sequence = message.sequence;
            stream.has_told(sequence, by_lane.is_some());
            ins[priority].tell_with_message(self.polls);
        }
        taken
    }

    /// Sends a datagram: it arrives, or it does not.
    pub(crate) fn send_datagram(&mut self, wish: &Wish) {
        let Wish { op, local, len, priority, node, port, teller } = *wish;
        if !self.take_token(teller, local, (node, port)) {
            return;
        }
        let unsound = unsound(wish)
            .or_else(|| too_long_a_datagram(len))
            .or_else(|| self.is_over().then_some(Status::SendPortClosed));
        if let Some(status) = unsound {
            return self.complete(teller, status, local, (node, port));
        }
        self.send_bundle();
        let peer = self.peer(node, port);
        if self.peers[peer].link == Link::Down {
            self.seek(peer, false);
        }
        let task = self.peers[peer].task();
        if self.peers[peer].link == Link::Up && !self.net.outlets.is_closed(task) {
            let mut head = Head::new(Kind::Datagram, priority as usize, 0, 0);
            if let Op::Message { size } = op {
                head.size = size;
            }
            // SAFETY: the program's message is readable until its send has completed.
            let bytes = unsafe { memory(local, len as usize) };
            self.net.submit(task, Channel::Request, &head, Bytes::Copy(bytes));
            self.net.flush();
        }
        self.counters.sent += 1;
        self.complete(teller, Status::Success, local, (node, port));
    }

    /// The first message of each stream to a peer has failed, and the others wait for the program's
    /// word. Whoever is there next knows nothing of any of them.
    pub(crate) fn fail_front(&mut self, peer: usize, status: Status) {
        self.fail_streams(peer, status, |_| true);
    }

    /// The same for streams of which the peer has been told. What others hold has nothing to do
    /// with its end: it is for whoever has the port next.
    pub(crate) fn fail_told(&mut self, peer: usize, status: Status) {
        self.fail_streams(peer, status, |stream| stream.announced > 0);
    }

    /// All messages to a peer fail, paused or not.
    pub(crate) fn fail_all(&mut self, peer: usize, status: Status) {
        self.take_heard(peer);
        let (node, port, task) = (self.peers[peer].node, self.peers[peer].port, self.peers[peer].task());
        for priority in 0..2 {
            self.peers[peer].out[priority].restart(0, 0);
            while let Some(message) = self.peers[peer].out[priority].messages.pop_front() {
                self.net.settle(task, message.token);
                self.complete(message.teller, status, message.local, (node, port));
            }
        }
    }

    fn fail_streams(&mut self, peer: usize, status: Status, fails: impl Fn(&OutStream) -> bool) {
        self.take_heard(peer);
        let (node, port, task) = (self.peers[peer].node, self.peers[peer].port, self.peers[peer].task());
        for priority in 0..2 {
            let stream = &mut self.peers[peer].out[priority];
            let failed = if stream.paused || !fails(stream) { None } else { stream.messages.pop_front() };
            if failed.is_some() {
                stream.paused = true;
            }
            stream.restart(0, 0);
            if let Some(message) = failed {
                self.net.settle(task, message.token);
                self.complete(message.teller, status, message.local, (node, port));
            }
        }
    }

    /// Hands to the engine what it has room for.
    pub(crate) fn pump(&mut self, peer: usize) {
        if self.peers[peer].link != Link::Up {
            return;
        }
        // High priority first.
        for priority in [1, 0] {
            while self.peers[peer].out[priority].has_work() {
                if !self.pump_one(peer, priority) {
                    self.stir(peer);
                    break;
                }
            }
        }
    }

    /// Hands one unit to the engine. False: it has no room.
    fn pump_one(&mut self, peer: usize, priority: usize) -> bool {
        let task = self.peers[peer].task();
        let room = self.net.room(task);
        let stream = &mut self.peers[peer].out[priority];
        let generation = stream.generation;
        if let Some(front) = stream.messages.front_mut()
            && front.wanted
            && front.moved < front.len
        {
            let head = Head { a: front.moved, ..Head::new(Kind::Part, priority, generation, front.sequence) };
            let len = (front.len - front.moved).min(PART as u64);
            // SAFETY: the program's message is readable until its send has completed.
            let bytes = unsafe { memory(front.local + front.moved, len as usize) };
            if let Some(taken) = self.net.submit_to_lane((task, peer), &head, bytes) {
                front.moved += if taken { len } else { 0 };
                return taken;
            }
            let len = (front.len - front.moved).min((room - Kind::Part.head()) as u64);
            let bytes = Bytes::Lent { at: front.local + front.moved, len: len as usize, token: front.token };
            let taken = self.net.submit(task, Channel::Request, &head, bytes);
            if taken {
                front.moved += len;
            }
            return taken;
        }
        if let Some(taken) = self.pump_bundle((task, peer), priority) {
            return taken;
        }
        let Peer { out, ins, .. } = &mut self.peers[peer];
        let (stream, back) = (&mut out[priority], &mut ins[priority]);
        let at = stream.announced;
        let Some(message) = stream.messages.get(at) else { return false };
        // Another host's processes have numbers of their own.
        let may = self.settings.copies && !carries(message, room) && !self.net.outlets.is_far(task);
        let said = may.then(|| self.own.tell(message.local));
        let said = said.as_ref().map_or(&[][..], |said| said);
        let (head, bytes) = first_unit(room, (priority, generation), message, (back, said));
        let may = stream.may_go_by_lane(message.len);
        let by_lane = if may { self.net.submit_to_lane((task, peer), &head, bytes.here()) } else { None };
        let taken =
            by_lane.unwrap_or_else(|| self.net.submit_to_engine(task, Channel::Request, &head, bytes));
        if taken {
            if carries(message, room) {
                back.tell_with_message(self.polls);
            }
            let (sequence, is_lent) = (message.sequence, message.len as usize > COPIED);
            stream.has_lent |= is_lent;
            stream.has_told(sequence, by_lane.is_some());
        }
        taken
    }

    /// The target has a place for a message.
    pub(crate) fn wanted(&mut self, peer: usize, head: &Head) {
        let priority = usize::from(head.priority);
        if self.peers[peer].out[priority].generation != head.generation {
            return;
        }
        self.delivered(peer, priority, head.sequence);
        // Bytes of a get in front of it may still be on their way.
        let messages = &mut self.peers[peer].out[priority].messages;
        // A get's memory is for bytes that come: nobody may ask for what is in it.
        let has_bytes = |m: &&mut Outgoing| m.sequence == head.sequence && !matches!(m.op, Op::Get { .. });
        if let Some(message) = messages.iter_mut().find(has_bytes) {
            message.wanted = true;
        }
        self.pump(peer);
    }

    /// Deals with what messages have said of the other direction.
    #[inline]
    pub(crate) fn take_heard(&mut self, peer: usize) {
        for priority in [1, 0] {
            let stream = &self.peers[peer].out[priority];
            if stream.heard > stream.done {
                self.delivered(peer, priority, stream.heard);
            }
        }
    }

    /// All messages before this number have been delivered.
    pub(crate) fn delivered(&mut self, peer: usize, priority: usize, before: u64) {
        let (node, port, task) = (self.peers[peer].node, self.peers[peer].port, self.peers[peer].task());
        let stream = &mut self.peers[peer].out[priority];
        stream.done = stream.done.max(before.min(stream.next));
        loop {
            let stream = &mut self.peers[peer].out[priority];
            let done = stream.done;
            let ended = |front: &Outgoing| {
                front.sequence < done && (!matches!(front.op, Op::Get { .. }) || front.moved == front.len)
            };
            let Some(message) = pop_if(stream, ended) else { return };
            stream.announced = stream.announced.saturating_sub(1);
            // What was wanted was lent, however short.
            if message.len as usize > COPIED || message.wanted {
                self.net.settle(task, message.token);
            }
            self.complete(message.teller, Status::Success, message.local, (node, port));
        }
    }

    /// A message was not delivered; all before it were.
    pub(crate) fn failed(&mut self, peer: usize, head: &Head) {
        let priority = usize::from(head.priority);
        if self.peers[peer].out[priority].generation != head.generation {
            return;
        }
        self.delivered(peer, priority, head.sequence);
        let (node, port, task) = (self.peers[peer].node, self.peers[peer].port, self.peers[peer].task());
        let stream = &mut self.peers[peer].out[priority];
        let Some(message) = pop_if(stream, |front| front.sequence == head.sequence) else {
            // Bytes of a get in front of it are still on their way.
            if stream.messages.iter().any(|message| message.sequence == head.sequence) {
                stream.failed_early = Some(*head);
            }
            return;
        };
        stream.paused = true;
        stream.restart(head.generation.wrapping_add(1), head.sequence + 1);
        let status = match head.status {
            6 => Status::MemoryFault,
            11 => Status::PermissionDenied,
            15 => Status::SendTimedOut,
            16 => Status::SendRejected,
            _ => Status::Failure,
        };
        let rest: Vec<u64> = stream.messages.iter().map(|message| message.token).collect();
        for token in rest.into_iter().chain([message.token]) {
            self.net.settle(task, token);
        }
        self.complete(message.teller, status, message.local, (node, port));
    }

    /// Bytes that a get wanted.
    pub(crate) fn got(&mut self, peer: usize, head: &Head, bytes: &[u8]) {
        let priority = usize::from(head.priority);
        let stream = &mut self.peers[peer].out[priority];
        if stream.generation != head.generation {
            return;
        }
        let wants = |m: &&mut Outgoing| m.sequence == head.sequence && matches!(m.op, Op::Get { .. });
        let Some(message) = stream.messages.iter_mut().find(wants) else { return };
        let fits = head.a.checked_add(bytes.len() as u64).is_some_and(|end| end <= message.len);
        if !fits {
            return;
        }
        // SAFETY: the program has lent this memory until its get has completed, and the bytes lie
        // within it.
        unsafe { place(message.local + head.a).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        message.moved += bytes.len() as u64;
        let done = stream.done;
        self.delivered(peer, priority, done);
        if let Some(head) = self.peers[peer].out[priority].failed_early.take() {
            self.failed(peer, &head);
        }
        self.pump(peer);
    }

    /// The program's word after a failure. `go_on`: what was behind it is sent; otherwise it is
    /// dropped.
    pub(crate) fn settle_failure(&mut self, wish: &Wish, go_on: bool) {
        let Wish { priority, node, port, teller, .. } = *wish;
        if !self.take_token(teller, 0, (node, port)) {
            return;
        }
        // What a message without bytes needs to be sound is a target.
        if let Some(status) = unsound(&Wish { op: Op::Put { address: 0 }, local: 0, len: 0, ..*wish }) {
            return self.complete(teller, status, 0, (node, port));
        }
        self.send_bundle();
        let peer = self.peer(node, port);
        let stream = &mut self.peers[peer].out[priority as usize];
        if stream.paused {
            stream.paused = false;
            if !go_on {
                let dropped: Vec<Outgoing> = stream.messages.drain(..).collect();
                let first = dropped.first().map_or(stream.next, |message| message.sequence);
                let generation = stream.generation;
                stream.restart(generation, first);
                for message in dropped {
                    self.complete(message.teller, Status::SendDropped, message.local, (node, port));
                }
            }
        }
        self.complete(teller, Status::Success, 0, (node, port));
        if self.peers[peer].is_owed() {
            self.approach(peer);
            self.pump(peer);
            self.net.flush();
        }
    }
}

/// Takes the first message if it is so.
fn pop_if(stream: &mut OutStream, is_so: impl Fn(&Outgoing) -> bool) -> Option<Outgoing> {
    if stream.messages.front().is_some_and(is_so) { stream.messages.pop_front() } else { None }
}

/// Whether a message is one whose bytes go in its first unit.
fn carries(message: &Outgoing, room: usize) -> bool {
    matches!(message.op, Op::Message { .. }) && message.len as usize + Kind::Message.head() <= room
}

/// The head of a message that fits its unit. It tells how far the other direction has come, too.
#[inline]
pub(crate) fn message_head(
    size: u8,
    (priority, generation): (usize, u32),
    sequence: u64,
    back: &InStream,
) -> Head {
    let (status, a) = (back.generation as u8, back.next);
    Head { size, status, a, ..Head::new(Kind::Message, priority, generation, sequence) }
}

/// A message's first unit. It tells how far the other direction has come, and where a long message
/// lies.
fn first_unit<'a>(
    room: usize,
    (priority, generation): (usize, u32),
    message: &Outgoing,
    (back, said): (&InStream, &'a [u8]),
) -> (Head, Bytes<'a>) {
    let &Outgoing { sequence, op, local, len, token, .. } = message;
    let head = |kind| Head::new(kind, priority, generation, sequence);
    let (head, carries) = match op {
        Op::Message { size } if carries(message, room) => {
            (message_head(size, (priority, generation), sequence, back), true)
        }
        Op::Message { size } => (Head { size, a: len, ..head(Kind::LongMessage) }, false),
        Op::Put { address } if len as usize + Kind::Put.head() <= room => {
            (Head { a: address, ..head(Kind::Put) }, true)
        }
        Op::Put { address } => (Head { a: len, b: address, ..head(Kind::LongPut) }, false),
        Op::Get { address } => (Head { a: len, b: address, ..head(Kind::Get) }, false),
    };
    let bytes = if !carries {
        Bytes::Copy(if matches!(op, Op::Get { .. }) { &[] } else { said })
    } else if len as usize <= COPIED {
        // SAFETY: the program's message is readable until its send has completed.
        Bytes::Copy(unsafe { memory(local, len as usize) })
    } else {
        Bytes::Lent { at: local, len: len as usize, token }
    };
    (head, bytes)
}

const _: () = assert!(FAST_MAX < COPIED);
