//! What takes more than one unit: long messages, puts and gets. Their bytes come in parts, are
//! copied out of the sender's memory, or go in parts to whom wants them.

use super::Outcome;
use crate::abi::Status;
use crate::direct::{Remote, SLICE};
use crate::memory::{memory, place};
use crate::net::Bytes;
use crate::port::Port;
use crate::stream::{Current, Target};
use crate::wire::{Head, Kind};
use lapis_core::reliable::Channel;

impl Port {
    /// Where a long message of a peer's can be copied from, past the window.
    pub(super) fn copies_from(&self, peer: usize, said: &[u8]) -> Option<Remote> {
        let may = self.settings.copies && !self.peers[peer].refuses_copies;
        if may { Remote::parse(said) } else { None }
    }

    pub(super) fn begin_remote(
        &mut self,
        target: Target,
        (address, len): (u64, u64),
        from: Option<Remote>,
    ) -> Outcome {
        match self.remote_access(address, len) {
            Ok(_) if len == 0 => Outcome::Delivered,
            Ok(_) => Outcome::Begun(Current { target, len, moved: 0, from }),
            Err(status) => Outcome::Refused(status),
        }
    }

    /// Bytes of a long message.
    pub(super) fn part(&mut self, peer: usize, head: &Head, bytes: &[u8]) {
        let priority = usize::from(head.priority);
        let stream = &mut self.peers[peer].ins[priority];
        let is_current = head.generation == stream.generation && head.sequence == stream.next;
        let Some(current) = stream.current.as_mut().filter(|_| is_current) else { return };
        if current.from.is_some() {
            return;
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
        unsafe { place(to + head.a).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let moved = current.moved + bytes.len() as u64;
        let stream = &mut self.peers[peer].ins[priority];
        if moved < current.len {
            stream.current = Some(Current { moved, ..current });
            return;
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
    pub(super) fn copy_part(&mut self, peer: usize, priority: usize) {
        let Some(current @ Current { from: Some(from), len, moved, .. }) =
            self.peers[peer].ins[priority].current
        else {
            return;
        };
        let Some(to) = self.place_of(&current) else {
            self.peers[peer].ins[priority].current = None;
            return self.ended(peer, priority, Outcome::Refused(Status::MemoryFault));
        };
        let step = SLICE.min(len - moved);
        // SAFETY: within the buffer that the program has provided, or within registered memory.
        if let Err(why) = unsafe { from.read(to + moved, moved, step) } {
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
            stream.current = Some(Current { from: None, moved: 0, ..current });
            stream.owes_go = true;
            return;
        }
        if moved + step < len {
            self.peers[peer].ins[priority].current = Some(Current { moved: moved + step, ..current });
        } else {
            self.is_there(peer, priority, &current);
        }
    }

    /// Sends what a get wants, as far as there is room.
    pub(super) fn serve_get(&mut self, peer: usize, priority: usize) {
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
    pub(super) fn asks(&self) -> bool {
        !matches!(self.target, Target::Source { .. }) && self.from.is_none()
    }
}
