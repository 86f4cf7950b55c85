//! Operations that wait for an answer, and whom to tell when they end.

use super::{TrustedDestination, TrustedSource};
use crate::completion::Notify;
use crate::transport::copy::copy_long_watched;
use crate::transport::{PeerId, Status};
use std::any::Any;
use std::ptr::NonNull;

/// Where arriving bytes go.
pub enum Destination {
    /// Nowhere: the message is counted but its bytes are not wanted.
    Discard,
    /// To consecutive bytes.
    Contiguous(NonNull<u8>),
    /// Wherever the layout puts them.
    Scatter(Box<dyn Scatter>),
}

/// A layout that arriving bytes are written to, restartable at any position.
pub trait Scatter: Send {
    /// Writes `bytes`, which stand at `position` of the message, to their places.
    ///
    /// # Safety
    /// The memory that the layout names is valid and not read meanwhile.
    unsafe fn write(&mut self, position: u64, bytes: &[u8]);

    /// Fetches `len` bytes from `position` on straight from where they are in this process's
    /// memory. False: it does not know how, and nothing has happened.
    ///
    /// # Safety
    /// As for [`write`](Self::write), and as for [`Gather::read`].
    unsafe fn fetch(&mut self, _position: u64, _from: &dyn Any, _len: u64) -> bool {
        false
    }
}

/// Where the bytes of an outgoing message come from.
pub enum Source {
    /// Consecutive bytes (null is allowed for length 0).
    Contiguous(*const u8, u64),
    /// A layout of so many bytes.
    Gather(Box<dyn Gather>, u64),
}

/// A layout that outgoing bytes are read from, restartable at any position.
pub trait Gather: Send {
    /// Fills `out` with the bytes from `position` on. Calls nothing of Lapis: `out` may be a
    /// transport's packet.
    ///
    /// # Safety
    /// The memory that the layout names is valid and not written meanwhile.
    unsafe fn read(&mut self, position: u64, out: &mut [u8]);

    /// Bytes that must not be separated: packets hold whole multiples. At most a few hundred, so
    /// that any packet holds one.
    #[doc(alias = "atom_size")]
    fn atom(&self) -> u64 {
        1
    }

    /// What [`Scatter::fetch`] gets if the message goes to this very task. Without it, such
    /// messages go in packets like others.
    fn local(&self) -> Option<&dyn Any> {
        None
    }
}

// SAFETY: the interface's caller promises that the memory is valid until the operation ends, on
// whatever thread.
unsafe impl Send for Destination {}
// SAFETY: whoever starts the operation promises that the memory is valid, on whatever thread.
unsafe impl Send for Source {}

impl Source {
    /// Bytes in all.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        match self {
            Self::Contiguous(_, len) | Self::Gather(_, len) => *len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of `left` bytes a packet takes that has room for `room`: all that fit, in whole
    /// atoms, perhaps none beside a long user header. The last packet takes what is left.
    #[inline]
    pub(crate) fn packet_bytes(&self, room: u64, left: u64) -> u64 {
        match self {
            Self::Gather(layout, _) if left > room => room - room % layout.atom().max(1),
            _ => room.min(left),
        }
    }

    /// Copies the bytes from `position` on into `out`.
    ///
    /// # Safety
    /// The source's memory is valid, and `position + out.len()` lies within its length.
    #[inline]
    pub(crate) unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        match self {
            // SAFETY: readable by the contract above.
            Self::Contiguous(from, _) => unsafe {
                std::ptr::copy_nonoverlapping(from.add(position as usize), out.as_mut_ptr(), out.len());
            },
            // SAFETY: the layout's memory is valid by the contract above.
            Self::Gather(layout, _) => unsafe { layout.read(position, out) },
        }
    }
}

impl Destination {
    /// Writes `bytes` at `position`.
    ///
    /// # Safety
    /// The destination's memory is valid for the message's length, and `position + bytes.len()`
    /// lies within.
    #[inline]
    pub(crate) unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        match self {
            Self::Discard => {}
            // SAFETY: writable by the contract above. The ranges can't overlap: `bytes` is a
            // transport's packet or a copy.
            Self::Contiguous(to) => unsafe {
                copy_long_watched(bytes.as_ptr(), to.as_ptr().add(position as usize), bytes.len());
            },
            // SAFETY: the layout's memory is valid by the contract above.
            Self::Scatter(layout) => unsafe { layout.write(position, bytes) },
        }
    }
}

/// What an operation waits for.
pub(crate) enum Waiting {
    /// `Complete`: the completion handler of an active message or put.
    Completion,
    /// `Pulled`, then perhaps `Complete`: the target fetches our buffer. The target is this task if
    /// there is a layout.
    Pull(Option<TrustedSource>),
    /// `GetData` until `remaining` is 0.
    Get { destination: TrustedDestination, remaining: u64 },
    /// `RmwReply`.
    Rmw { previous: *mut u64, width: u32, compare: Option<u64> },
    /// The transport's completion event, whose status stays here until whoever waits has read it.
    Transport(Option<Status>),
}

/// One outstanding operation of this task.
pub(crate) struct Operation {
    pub(crate) peer: PeerId,
    pub(crate) waiting: Waiting,
    /// Told when the origin's buffer is free (for gets: when the data is there).
    pub(crate) origin: Notify,
    /// Told when the target says that the completion handler has returned.
    pub(crate) completion: Notify,
    /// The target's counter to count when a one-sided transfer that bypassed the target has ended.
    pub(crate) target_counter: u64,
    /// Number in the sequence of operations with answers to this peer, for fences.
    pub(crate) sequence: u32,
}

/// Outstanding operations by identifier. An identifier is `generation << 32 | index`, so that an
/// answer that comes twice or too late finds nothing.
#[derive(Default)]
pub(crate) struct Operations {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
}

struct Slot {
    generation: u32,
    operation: Option<Operation>,
}

impl Operations {
    pub(crate) fn insert(&mut self, operation: Operation) -> u64 {
        self.live += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 1, operation: None });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.operation = Some(operation);
        u64::from(slot.generation) << 32 | u64::from(index)
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Operation> {
        let slot = self.slots.get_mut(id as u32 as usize)?;
        if u64::from(slot.generation) != id >> 32 {
            return None;
        }
        slot.operation.as_mut()
    }

    /// What an operation waits for.
    pub(crate) fn waiting_mut(&mut self, id: u64) -> Option<&mut Waiting> {
        self.get_mut(id).map(|operation| &mut operation.waiting)
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<Operation> {
        let slot = self.slots.get_mut(id as u32 as usize)?;
        if u64::from(slot.generation) != id >> 32 {
            return None;
        }
        let operation = slot.operation.take()?;
        slot.generation = slot.generation.wrapping_add(1).max(1);
        self.free.push(id as u32);
        self.live -= 1;
        Some(operation)
    }

    /// Takes out every operation with `peer`.
    pub(crate) fn drain_peer(&mut self, peer: PeerId) -> Vec<Operation> {
        let ids: Vec<u64> = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, s)| s.operation.as_ref().is_some_and(|o| o.peer == peer))
            .map(|(i, s)| u64::from(s.generation) << 32 | i as u64)
            .collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Whether a peer may still read a buffer of ours.
    pub(crate) fn holds_buffers(&self) -> bool {
        self.live > 0
            && self
                .slots
                .iter()
                .flat_map(|s| &s.operation)
                .any(|o| matches!(o.waiting, Waiting::Pull(_) | Waiting::Transport(_)))
    }

    /// Operations outstanding.
    pub(crate) fn len(&self) -> usize {
        self.live
    }
}
