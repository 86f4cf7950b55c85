//! Messages on their way in: their order, the buffers that they go to, and what their senders are
//! told.

use crate::abi::{FAST_MAX, Status, max_length};
use crate::direct::Remote;
use crate::events::{Pending, Received};
use crate::memory::place;
use crate::net::Bytes;
use crate::port::Port;
use crate::stream::{Buffer, COPIED, Current, Held, InStream, Peer, Target};
use crate::wire::{Head, Kind};
use lapis_core::reliable::Channel;

/// What became of a message whose turn it was.
pub(crate) enum Outcome {
    /// It is delivered.
    Delivered,
    /// Its bytes are still to come, or to go.
    Begun(Current),
    /// It waits for a buffer.
    Waits,
    /// It can't be delivered.
    Refused(Status),
}

impl Port {
    /// Takes a unit from a peer, whatever it is. The caller stirs the peer when it is done with its
    /// units; plainly, if all of them were short messages that were delivered: true.
    #[inline]
    pub(crate) fn unit(&mut self, peer: usize, unit: &[u8]) -> bool {
        let Some((head, bytes)) = Head::parse(unit) else {
            tracing::debug!(target: "lapis::gm", "a unit of {} bytes that can't be read", unit.len());
            return false;
        };
        match head.kind {
            Kind::Message => self.message(peer, &head, bytes),
            Kind::Bundle => self.bundle(peer, &head, bytes),
            _ => {
                self.any_unit(peer, head, bytes);
                false
            }
        }
    }

    /// Takes a message that lies in its unit. The answer is that of [`unit`](Self::unit).
    #[inline]
    pub(crate) fn message(&mut self, peer: usize, head: &Head, bytes: &[u8]) -> bool {
        let short = self.short_message(peer, head, bytes);
        if !short {
            self.any_unit(peer, *head, bytes);
        }
        short
    }

    /// Delivers a short message whose turn it is, if there is nothing else to it: what becomes of
    /// most messages, with each thing looked at once. False: nothing has happened.
    #[inline]
    fn short_message(&mut self, peer: usize, head: &Head, bytes: &[u8]) -> bool {
        let (priority, size) = (usize::from(head.priority), usize::from(head.size));
        let Peer { node, port, out, ins, .. } = &mut self.peers[peer];
        let (back, stream) = (&mut out[priority], &mut ins[priority]);
        let in_turn = head.generation == stream.generation
            && head.sequence == stream.next
            && stream.current.is_none()
            && stream.held.is_empty();
        let fits = bytes.len() <= FAST_MAX
            && bytes.len() as u64 <= max_length(head.size.into())
            && self.buffers.acceptable[priority] >> size & 1 == 1;
        if !in_turn || !fits || back.has_lent {
            return false;
        }
        let Some(buffer) = self.buffers.free[priority][size].pop_front() else { return false };
        if back.generation as u8 == head.status {
            back.heard = back.heard.max(head.a.min(back.next));
        }
        stream.next += 1;
        stream.owes_done = true;
        self.urgent |= stream.done_is_due(false) || back.is_urgent();
        self.counters.received += 1;
        let message = Received {
            node: *node,
            port: *port,
            buffer: buffer.at,
            len: bytes.len() as u32,
            size: head.size,
            priority: head.priority,
            tag: buffer.tag,
            fast: Some(self.fast.put(bytes)),
        };
        self.events.push_back(Pending::Received(message));
        true
    }

    fn any_unit(&mut self, peer: usize, head: Head, bytes: &[u8]) {
        match head.kind {
            Kind::Message => {
                let out = &mut self.peers[peer].out[usize::from(head.priority)];
                if out.generation as u8 == head.status {
                    out.heard = out.heard.max(head.a.min(out.next));
                    if out.heard > out.done && out.lends() {
                        // Programs that have the answer may take this for the end of what they
                        // sent, and give its memory back.
                        self.take_heard(peer);
                    }
                }
                self.in_stream(peer, head, bytes);
            }
            Kind::LongMessage | Kind::Put | Kind::LongPut | Kind::Get => {
                self.in_stream(peer, head, bytes);
            }
            Kind::Part => self.part(peer, &head, bytes),
            Kind::Datagram => self.datagram(peer, &head, bytes),
            Kind::Go => self.wanted(peer, &head),
            Kind::Got => self.got(peer, &head, bytes),
            Kind::Done => {
                let priority = usize::from(head.priority);
                // Numbers of a former generation can't lie ahead: this one began behind them.
                if self.peers[peer].out[priority].generation >= head.generation {
                    self.delivered(peer, priority, head.sequence);
                }
            }
            Kind::Failed => self.failed(peer, &head),
            Kind::Bundle => {}
        }
    }

    fn in_stream(&mut self, peer: usize, head: Head, bytes: &[u8]) {
        let priority = usize::from(head.priority);
        let stream = &mut self.peers[peer].ins[priority];
        if head.generation != stream.generation || head.sequence < stream.next {
            return;
        }
        stream.answers &= bytes.len() <= COPIED;
        let in_turn = head.sequence == stream.next && stream.current.is_none() && stream.held.is_empty();
        if in_turn {
            // What can be delivered at once is not copied in between.
            match self.begin(peer, &head, bytes) {
                Outcome::Waits => {}
                outcome => return self.ended(peer, priority, outcome),
            }
        }
        let held = Held { head, bytes: bytes.into() };
        self.peers[peer].ins[priority].held.insert(head.sequence, held);
        self.advance(peer, priority);
    }

    /// Delivers what is due in a stream.
    pub(crate) fn advance(&mut self, peer: usize, priority: usize) {
        loop {
            let stream = &mut self.peers[peer].ins[priority];
            if stream.current.is_some() {
                return;
            }
            let next = stream.next;
            let Some(held) = stream.held.remove(&next) else { return };
            match self.begin(peer, &held.head, &held.bytes) {
                Outcome::Waits => {
                    let now = self.net.now();
                    let stream = &mut self.peers[peer].ins[priority];
                    stream.held.insert(next, held);
                    if stream.waiting.is_none() {
                        stream.waiting = Some(now);
                        self.counters.waited += 1;
                        self.waiting.push_back((peer, priority));
                    }
                    return;
                }
                outcome => self.step(peer, priority, outcome),
            }
        }
    }

    pub(crate) fn ended(&mut self, peer: usize, priority: usize, outcome: Outcome) {
        self.step(peer, priority, outcome);
        if !self.peers[peer].ins[priority].held.is_empty() {
            self.advance(peer, priority);
        }
    }

    fn step(&mut self, peer: usize, priority: usize, outcome: Outcome) {
        let stream = &mut self.peers[peer].ins[priority];
        if stream.waiting.take().is_some() {
            self.waiting.retain(|at| *at != (peer, priority));
        }
        match outcome {
            Outcome::Delivered => {
                stream.next += 1;
                stream.owes_done = true;
                // Its bytes have come by another way before it was asked for them. What comes next
                // is another message.
                stream.owes_go = false;
            }
            Outcome::Begun(current) => {
                stream.current = Some(current);
                stream.owes_go = current.asks();
            }
            Outcome::Refused(status) => stream.fail(priority, status),
            Outcome::Waits => {}
        }
    }

    /// Begins with a message whose turn it is.
    fn begin(&mut self, peer: usize, head: &Head, bytes: &[u8]) -> Outcome {
        match head.kind {
            Kind::Message => self.begin_message(peer, head, bytes.len() as u64, Ok(bytes)),
            Kind::LongMessage => {
                let from = self.copies_from(peer, bytes);
                self.begin_message(peer, head, head.a, Err(from))
            }
            Kind::Put => match self.remote_access(head.a, bytes.len() as u64) {
                Ok(at) => {
                    // SAFETY: the program has registered this memory and opened it to others.
                    unsafe { place(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                    Outcome::Delivered
                }
                Err(status) => Outcome::Refused(status),
            },
            Kind::LongPut => {
                let from = self.copies_from(peer, bytes);
                self.begin_remote(peer, Target::Memory { address: head.b }, (head.b, head.a), from)
            }
            _ => self.begin_remote(peer, Target::Source { address: head.b }, (head.b, head.a), None),
        }
    }

    fn begin_remote(
        &mut self,
        peer: usize,
        target: Target,
        (address, len): (u64, u64),
        from: Option<Remote>,
    ) -> Outcome {
        match self.remote_access(address, len) {
            Ok(_) if len == 0 => Outcome::Delivered,
            Ok(_) => Outcome::Begun(self.begun(peer, target, len, from)),
            Err(status) => Outcome::Refused(status),
        }
    }

    /// Where the memory lies that others reach at this address, if they may.
    fn remote_access(&self, address: u64, len: u64) -> Result<u64, Status> {
        if !self.is_open_to_writes {
            return Err(Status::PermissionDenied);
        }
        self.regions.find(address, len).ok_or(Status::MemoryFault)
    }

    /// `bytes`: those of the message, or where they can be copied from.
    fn begin_message(
        &mut self,
        peer: usize,
        head: &Head,
        len: u64,
        bytes: Result<&[u8], Option<Remote>>,
    ) -> Outcome {
        let (size, priority) = (head.size, usize::from(head.priority));
        let taken = self.buffers.acceptable[priority] >> size & 1 == 1;
        if !taken || len > max_length(size.into()) {
            return Outcome::Refused(Status::SendRejected);
        }
        let free = &mut self.buffers.free[priority][usize::from(size)];
        // What is copied into memory that was used a moment ago stays in nearer caches.
        let buffer = if bytes.is_err() { free.pop_back() } else { free.pop_front() };
        let Some(buffer) = buffer else { return Outcome::Waits };
        match bytes {
            Ok(bytes) => {
                self.receive_message(peer, head, buffer, bytes);
                Outcome::Delivered
            }
            Err(from) => {
                let target = Target::Buffer { buffer, size };
                Outcome::Begun(self.begun(peer, target, len, from))
            }
        }
    }

    fn receive_message(&mut self, peer: usize, head: &Head, buffer: Buffer, bytes: &[u8]) {
        let fast = if bytes.len() <= FAST_MAX {
            Some(self.fast.put(bytes))
        } else {
            // SAFETY: the program has provided a buffer of this size class, which is longer.
            unsafe { place(buffer.at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            None
        };
        self.received(peer, (head.priority, head.size), buffer, bytes.len() as u64, fast);
    }

    pub(crate) fn received(
        &mut self,
        peer: usize,
        (priority, size): (u8, u8),
        buffer: Buffer,
        len: u64,
        fast: Option<u16>,
    ) {
        let (node, port) = (self.peers[peer].node, self.peers[peer].port);
        self.counters.received += 1;
        let message = Received {
            node,
            port,
            buffer: buffer.at,
            len: len as u32,
            size,
            priority,
            tag: buffer.tag,
            fast,
        };
        self.events.push_back(Pending::Received(message));
    }

    fn datagram(&mut self, peer: usize, head: &Head, bytes: &[u8]) {
        let (size, priority) = (head.size, usize::from(head.priority));
        let fits = self.buffers.acceptable[priority] >> size & 1 == 1
            && bytes.len() as u64 <= max_length(size.into());
        if fits && let Some(buffer) = self.buffers.free[priority][usize::from(size)].pop_front() {
            self.receive_message(peer, head, buffer, bytes);
        }
    }

    /// Goes on with streams that wait for a buffer like the one that has come, the longest waiting
    /// first.
    pub(crate) fn serve_waiting(&mut self, priority: usize, size: usize) {
        let wants = |port: &Self, (peer, of): (usize, usize)| {
            let stream = &port.peers[peer].ins[of];
            let head = stream.held.get(&stream.next).map(|held| usize::from(held.head.size));
            of == priority && head == Some(size)
        };
        let ready: Vec<(usize, usize)> = self.waiting.iter().copied().filter(|at| wants(self, *at)).collect();
        for (peer, of) in ready {
            if self.buffers.free[priority][size].is_empty() {
                return;
            }
            self.advance(peer, of);
            self.pay(peer, true);
            self.stir(peer);
        }
    }

    /// Tells a peer what it is owed. `quiet`: there is nothing else to do.
    pub(crate) fn pay(&mut self, peer: usize, quiet: bool) {
        for priority in [1, 0] {
            self.serve_get(peer, priority);
            self.copy_part(peer, priority);
            let task = self.peers[peer].task();
            let stream = &mut self.peers[peer].ins[priority];
            if let Some(head) = stream.owes_failed {
                if !self.net.submit(task, Channel::Reply, &head, Bytes::Copy(&[])) {
                    return;
                }
                stream.owes_failed = None;
            }
            let (generation, next) = (stream.generation, stream.next);
            let head = |kind| Head::new(kind, priority, generation, next);
            // Go says what Done does.
            if stream.owes_go {
                stream.owes_go = !self.net.submit(task, Channel::Reply, &head(Kind::Go), Bytes::Copy(&[]));
                if !stream.owes_go {
                    stream.tell(self.polls, quiet);
                }
            }
            if stream.done_is_due(quiet)
                && self.net.submit(task, Channel::Reply, &head(Kind::Done), Bytes::Copy(&[]))
            {
                stream.tell(self.polls, quiet);
            }
        }
    }

    /// Forgets what was under way from a peer: who comes next knows nothing of it.
    pub(crate) fn forget_incoming(&mut self, peer: usize) {
        self.waiting.retain(|at| at.0 != peer);
        self.peers[peer].refuses_copies = false;
        for priority in 0..2 {
            let stream = std::mem::take(&mut self.peers[peer].ins[priority]);
            if let Some(Current { target: Target::Buffer { buffer, size }, .. }) = stream.current {
                // It is as good as before, and it was the last.
                self.buffers.free[priority][usize::from(size)].push_back(buffer);
                self.serve_waiting(priority, usize::from(size));
            }
        }
    }
}

impl InStream {
    /// The message whose turn it is can't be delivered: what is behind it is void, too.
    pub(crate) fn fail(&mut self, priority: usize, status: Status) {
        let mut head = Head::new(Kind::Failed, priority, self.generation, self.next);
        head.status = status as u8;
        self.owes_failed = Some(head);
        self.owes_done = false;
        self.owes_go = false;
        self.generation = self.generation.wrapping_add(1);
        self.next += 1;
        self.told = self.next;
        self.held.clear();
        self.current = None;
        self.waiting = None;
    }
}
