//! Long messages on their way in: how their bytes come. By a lane or through the window, as parts
//! that their sender is asked for; or copied out of its memory, past the window and without its
//! help. And what gets want of this process.

use crate::abi::Status;
use crate::busy::Busy;
use crate::direct::{Remote, SLICE};
use crate::incoming::Outcome;
use crate::memory::{memory, place};
use crate::net::Bytes;
use crate::port::Port;
use crate::stream::{Current, Target};
use crate::wire::{Head, Kind};
use lapis_core::reliable::{Channel, Nanos};
use lapis_core::transport::copy::copy_long;

/// For so long a long message's next bytes are waited for that its sender is to bring by a lane. A
/// program that calls brings them in a microsecond.
const PATIENCE: Nanos = 50_000;

impl Port {
    /// Where a long message of a peer's can be copied from, past the window.
    pub(crate) fn copies_from(&self, peer: usize, said: &[u8]) -> Option<Remote> {
        let may = self.settings.copies && !self.peers[peer].refuses_copies;
        if may { Remote::parse(said) } else { None }
    }

    /// A message that takes several units, at its beginning.
    pub(crate) fn begun(&mut self, peer: usize, target: Target, len: u64, from: Option<Remote>) -> Current {
        let awaited = from.and_then(|_| self.awaited(peer));
        let asked = from.is_none() || awaited.is_some();
        Current { target, len, moved: 0, from, copied: 0, awaited, asked }
    }

    /// Until when a long message's bytes are waited for that its sender brings by a lane: both
    /// programs then copy at the same time. `None`: they are copied out of its memory at once.
    fn awaited(&mut self, peer: usize) -> Option<Nanos> {
        if self.peers[peer].busy.copies_at_once() {
            return None;
        }
        self.net.outlets.near(peer)?;
        Some(self.net.now() + PATIENCE)
    }

    /// Bytes of a long message.
    pub(crate) fn part(&mut self, peer: usize, head: &Head, bytes: &[u8]) {
        let (priority, now) = (usize::from(head.priority), self.net.now());
        let stream = &mut self.peers[peer].ins[priority];
        let is_current = head.generation == stream.generation && head.sequence == stream.next;
        let Some(current) = stream.current.as_mut().filter(|_| is_current) else { return };
        if let Some(awaited) = &mut current.awaited {
            *awaited = now + PATIENCE;
        }
        let fits = head.a.checked_add(bytes.len() as u64).is_some_and(|end| end <= current.len);
        if !fits {
            return;
        }
        let current = *current;
        if matches!(current.target, Target::Source { .. }) {
            return;
        }
        let Some(to) = self.place_of(&current) else {
            // The program has taken the memory back meanwhile.
            self.peers[peer].ins[priority].current = None;
            return self.ended(peer, priority, Outcome::Refused(Status::MemoryFault));
        };
        // SAFETY: within the buffer that the program has provided, or within registered memory.
        unsafe { copy_long(bytes.as_ptr(), place(to + head.a), bytes.len()) };
        let moved = current.moved + bytes.len() as u64;
        let peer_of = &mut self.peers[peer];
        if moved < current.len {
            peer_of.ins[priority].current = Some(Current { moved, ..current });
            return;
        }
        if current.awaited.is_some() {
            peer_of.busy = Busy::default();
        }
        self.is_there(peer, priority, &current);
    }

    /// Where a message goes. `None`: that memory is not registered any more.
    fn place_of(&self, current: &Current) -> Option<u64> {
        match current.target {
            Target::Buffer { buffer, .. } => Some(buffer.at),
            Target::Memory { address } | Target::Source { address } => {
                self.regions.find(address, current.len)
            }
        }
    }

    /// All bytes of a long message have come.
    fn is_there(&mut self, peer: usize, priority: usize, current: &Current) {
        let stream = &mut self.peers[peer].ins[priority];
        stream.current = None;
        // The sender has lent its memory: it hears at once that this is over.
        stream.answers = false;
        if let Target::Buffer { buffer, size } = current.target {
            self.received(peer, (priority as u8, size), buffer, current.len, None);
        }
        self.ended(peer, priority, Outcome::Delivered);
    }

    /// Copies a part of a long message out of its sender's memory.
    pub(crate) fn copy_part(&mut self, peer: usize, priority: usize) {
        let Some(mut current @ Current { from: Some(from), len, copied, .. }) =
            self.peers[peer].ins[priority].current
        else {
            return;
        };
        if let Some(until) = current.awaited {
            if self.net.now() < until {
                return;
            }
            self.peers[peer].busy.has_brought_nothing();
            current.awaited = None;
        }
        let Some(to) = self.place_of(&current) else {
            self.peers[peer].ins[priority].current = None;
            return self.ended(peer, priority, Outcome::Refused(Status::MemoryFault));
        };
        let step = SLICE.min(len - copied);
        // SAFETY: within the buffer that the program has provided, or within registered memory.
        if let Err(why) = unsafe { from.read(to + copied, copied, step) } {
            let (node, number) = (self.peers[peer].node, self.peers[peer].port);
            tracing::info!(
                target: "lapis::gm",
                "port {}: a message of port {number} of node {node} comes through the window: {why}",
                self.number
            );
            // A sender that has given this port up lends no more of what it told before: that is no
            // reason to refuse what it tells next.
            self.peers[peer].refuses_copies |= why.raw_os_error().is_some();
            let stream = &mut self.peers[peer].ins[priority];
            stream.current = Some(Current { from: None, asked: true, ..current });
            stream.owes_go |= !current.asked;
            return;
        }
        if copied + step < len {
            self.peers[peer].ins[priority].current = Some(Current { copied: copied + step, ..current });
        } else {
            self.is_there(peer, priority, &current);
        }
    }

    /// Sends what a get wants, as far as there is room.
    pub(crate) fn serve_get(&mut self, peer: usize, priority: usize) {
        if !matches!(
            self.peers[peer].ins[priority].current,
            Some(Current { target: Target::Source { .. }, .. })
        ) {
            return;
        }
        let task = self.peers[peer].task();
        let room = (self.net.room(task) - Kind::Got.head()) as u64;
        loop {
            let stream = &self.peers[peer].ins[priority];
            let Some(current @ Current { target: Target::Source { address }, len, moved, .. }) =
                stream.current
            else {
                return;
            };
            let Some(from) = self.regions.find(address, len) else {
                self.peers[peer].ins[priority].current = None;
                return self.ended(peer, priority, Outcome::Refused(Status::MemoryFault));
            };
            let head = Head { a: moved, ..Head::new(Kind::Got, priority, stream.generation, stream.next) };
            let step = room.min(len - moved);
            // SAFETY: within memory that the program has registered and opened to others.
            let bytes = unsafe { memory(from + moved, step as usize) };
            if !self.net.submit(task, Channel::Reply, &head, Bytes::Copy(bytes)) {
                return;
            }
            let stream = &mut self.peers[peer].ins[priority];
            if moved + step < len {
                stream.current = Some(Current { moved: moved + step, ..current });
            } else {
                stream.current = None;
                self.ended(peer, priority, Outcome::Delivered);
            }
        }
    }
}

impl Current {
    /// Whether the sender is to be asked for the bytes.
    pub(crate) fn asks(&self) -> bool {
        !matches!(self.target, Target::Source { .. }) && self.asked
    }
}
