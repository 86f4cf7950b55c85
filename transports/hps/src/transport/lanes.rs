//! Packets between the tasks of one host by lanes of their windows: those of long messages, which
//! both tasks copy at the same time, and short messages that travel alone.

use super::{Hps, Rails};
use crate::way::{Link, Way};
use lapis_adapters::lanes::{Arrival, LONGEST};
use lapis_adapters::soft::{InLane, Sender};
use lapis_core::transport::{Event, PeerId, Status};

/// Messages that one poll takes from lanes: while they are handled, their senders fill the next
/// places.
const AT_ONCE: usize = 4;

/// So often a message finds no room before its target is looked after: each look costs a system
/// call.
const HELD_UP: u32 = 1 << 12;

/// The name under which a process of a task takes lanes: one that is started anew has another name,
/// so that its lanes stay when those of the former one are taken away.
fn name_of(task: PeerId, process: i32) -> u64 {
    (u64::from(process.cast_unsigned()) << 32 | u64::from(task)) + 1
}

/// The task behind a name, which anybody can have made up.
fn task_of(name: u64) -> PeerId {
    name.wrapping_sub(1) as PeerId
}

/// The sending end of the first way through memory: the one whose lane is used, so that what goes
/// by it stays in order whichever adapters are up.
fn through_memory(ways: &mut [Way]) -> Option<&mut Sender> {
    ways.iter_mut().find_map(|way| match &mut way.link {
        Link::Memory(sender) => Some(sender),
        Link::Wire(_) => None,
    })
}

impl Hps {
    /// Whether long messages may go by lanes. They name no context: where contexts share windows
    /// there are none.
    pub(super) fn has_lanes(&self) -> bool {
        self.windows_only.is_none() && matches!(self.rails, Rails::Own(_))
    }

    /// Sends a packet by the lane to a task.
    #[inline]
    pub(super) fn send_by_lane(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        let Some(ways) = self.ways.get_mut(peer as usize).and_then(Option::as_deref_mut) else {
            return Status::Invalid;
        };
        if head.len() + body.len() > LONGEST {
            return Status::Invalid;
        }
        // Without a way that is up there is no connection, though memory could still be reached.
        let is_up = ways.iter().any(|way| way.up);
        let Some(sender) = through_memory(ways).filter(|_| self.windows_only.is_none()) else {
            return Status::Unsupported;
        };
        if !is_up {
            return Status::Again;
        }
        match sender.send_in_lane(name_of(self.task, self.card.landmark.pid), head, body) {
            InLane::Sent => {
                self.held_up = 0;
                Status::Done
            }
            InLane::NoRoom => self.no_room_in_lane(peer),
            InLane::NoLane => Status::Unsupported,
        }
    }

    /// A task that has ended makes no room any more.
    #[cold]
    fn no_room_in_lane(&mut self, peer: PeerId) -> Status {
        self.held_up = self.held_up.wrapping_add(1);
        let ended = self.held_up.is_multiple_of(HELD_UP)
            && self.processes[peer as usize].as_ref().is_some_and(|process| process.has_ended());
        if ended { Status::PeerDown } else { Status::Again }
    }

    /// Makes events of what has come by lanes. It stays in place until the next poll.
    #[inline]
    pub(super) fn take_from_lanes(&mut self, events: &mut [Event]) -> usize {
        let Rails::Own(rails) = &mut self.rails else { return 0 };
        let (ways, tasks) = (&mut self.ways, self.tasks);
        let known = |ways: &[Option<Box<[Way]>>], sender: u64| {
            let task = task_of(sender);
            (task < tasks && ways[task as usize].is_some()).then_some(task)
        };
        let (mut n, count) = (0, rails.len());
        for i in 0..count {
            // As for datagrams: a stream in one window keeps nobody out who has lanes of another.
            let at = self.turn + i;
            let lanes = rails[if at < count { at } else { at - count }].window.lanes();
            lanes.begin(|sender| {
                if let Some(task) = known(ways, sender)
                    && let Some(sender) = ways[task as usize].as_deref_mut().and_then(through_memory)
                {
                    sender.wake();
                }
            });
            while n < events.len().min(AT_ONCE)
                && let Some(Arrival { sender, data, len }) = lanes.take()
            {
                // Whoever can send can take a lane under any name.
                if let Some(task) = known(ways, sender) {
                    events[n] = Event::message(task, data, len as u32);
                    n += 1;
                }
            }
        }
        n
    }

    /// Whether there is room again for what found none. If not, the sleep that is about to begin
    /// ends when there is.
    pub(super) fn lanes_have_room(&mut self) -> bool {
        let senders = self.ways.iter_mut().flatten().filter_map(|ways| through_memory(ways));
        let mut has_room = false;
        senders.filter(|sender| sender.is_held_up()).for_each(|sender| has_room |= !sender.await_room());
        has_room
    }

    /// A task is not listened to any more. Once its process has ended, its lanes are for others.
    pub(super) fn close_lanes_of(&mut self, peer: PeerId) {
        if let Some(process) = self.processes[peer as usize].take() {
            self.parted.add(name_of(peer, process.pid()), process);
            self.free_lanes_of_ended();
        }
    }

    /// Has others take the lanes of processes that were parted from, and have ended by now.
    pub(super) fn free_lanes_of_ended(&mut self) {
        for name in self.parted.take_ended() {
            if let Rails::Own(rails) = &mut self.rails {
                rails.iter_mut().for_each(|rail| rail.window.lanes().sender_ended(name));
            }
        }
    }

    /// A task's process sends, or will: that it was parted from before is over.
    pub(super) fn keep_lanes_of(&mut self, peer: PeerId) {
        // One that has ended may have had the same number.
        self.free_lanes_of_ended();
        if let Some(process) = &self.processes[peer as usize] {
            self.parted.forget(name_of(peer, process.pid()));
        }
    }
}
