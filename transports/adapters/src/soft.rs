//! A window of a soft adapter: a FIFO in memory of this host, with a bell.

use crate::bell::Bell;
use crate::fifo::{Found, Geometry, NOTES, Outcome};
use crate::lanes::{Incoming, Outgoing, Sent};
use crate::protocol::Place;
use crate::{fifo, memory};
use lapis_copies::Copies;
use rustix::fs::fstat;
use rustix::process::geteuid;
use std::fs::read_link;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// What a window of a soft adapter is made of, as its owner and its senders get it.
#[derive(Debug)]
pub struct Parts {
    /// The FIFO's memory.
    pub memory: OwnedFd,
    /// The owner's bell.
    pub bell: OwnedFd,
    /// How the memory is divided.
    pub geometry: Geometry,
}

impl Parts {
    /// Makes a window's memory and bell. `name` is what `/proc` shows of the memory.
    ///
    /// # Errors
    /// Memory or descriptors are short.
    pub fn make(name: &str, geometry: Geometry) -> io::Result<Self> {
        let memory = memory::sealed(name, geometry.bytes())?;
        Ok(Self { memory, bell: Bell::new()?.into_fd(), geometry })
    }

    /// The same for the window of a place: its memory can be told from that of others.
    ///
    /// # Errors
    /// As for [`make`](Self::make).
    pub fn make_for(place: &Place, geometry: Geometry) -> io::Result<Self> {
        Self::make(&name_for(place), geometry)
    }

    /// Whether a process of this user has [made the memory for](Self::make_for) this place. Nobody
    /// can change its owner or its name.
    pub fn are_for(&self, place: &Place) -> bool {
        let is_ours = fstat(&self.memory).is_ok_and(|file| file.st_uid == geteuid().as_raw());
        let name = format!("/memfd:{} (deleted)", name_for(place));
        let link = read_link(format!("/proc/self/fd/{}", self.memory.as_raw_fd()));
        is_ours && link.is_ok_and(|link| link.as_os_str() == &*name)
    }

    /// The same for another holder.
    ///
    /// # Errors
    /// Descriptors are short.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { memory: self.memory.try_clone()?, bell: self.bell.try_clone()?, geometry: self.geometry })
    }

    /// Tells all who have a sending end that the window is closed. Nothing is told if the memory
    /// can't be written; senders then hear nothing from the window, and ask. It takes as long as
    /// whoever else has the memory makes the kernel allocate or free pages of it.
    pub fn mark_closed(&self) {
        let _ = rustix::io::pwrite(&self.memory, &1u32.to_ne_bytes(), fifo::CLOSED_AT as u64);
    }

    /// Whether these are a window's parts, as far as can be seen from outside.
    ///
    /// # Errors
    /// They are not: what is wrong.
    pub fn check(&self) -> io::Result<()> {
        self.map().map(drop)
    }

    /// Datagrams that the owner took out so far, those that senders gave up, and the owner's notes.
    ///
    /// # Errors
    /// These are not a window's parts.
    pub fn counts(&self) -> io::Result<(u64, u64, [u64; NOTES])> {
        let mut bytes = [0; fifo::COUNTED];
        let len = rustix::io::pread(&self.memory, &mut bytes, 0)?;
        if len < bytes.len() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(fifo::counts(&bytes)) }
    }

    fn map(&self) -> io::Result<memory::Memory> {
        if !self.geometry.is_sound() {
            let why = format!("a FIFO can't be divided into {:?}", self.geometry);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        memory::Memory::map(&self.memory, self.geometry.bytes())
    }
}

/// What the memory of a place's window is called.
fn name_for(place: &Place) -> String {
    format!("lapis-window {place}")
}

/// A window, as its owner sees it.
#[derive(Debug)]
pub struct Window {
    // Before the memory, so that they go first.
    owner: fifo::Owner,
    lanes: Incoming,
    bell: Bell,
    _memory: memory::Memory,
}

impl Window {
    /// Opens the window that is made of these parts. Nobody else may own it.
    ///
    /// # Errors
    /// The parts aren't a window's, or the memory can't be mapped.
    pub fn open(parts: Parts) -> io::Result<Self> {
        let memory = parts.map()?;
        // SAFETY: the geometry is sound, the memory has its length and lives as long as both ends,
        // of which there is one each.
        let (owner, lanes) = unsafe {
            let places = parts.geometry.places(memory.base());
            (fifo::Owner::attach(places), Incoming::attach(places))
        };
        Ok(Self { owner, lanes, bell: Bell::of(parts.bell), _memory: memory })
    }

    /// Copies the next datagram to the beginning of `into`.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Found {
        // SAFETY: the slice can be written.
        unsafe { self.owner.pop(into.as_mut_ptr(), into.len()) }
    }

    /// Whether [`receive`](Self::receive) or the lanes have something to do.
    #[inline]
    pub fn has_arrivals(&self) -> bool {
        self.owner.is_full() || self.lanes.is_full()
    }

    /// The lanes, by which data comes past the FIFO.
    #[inline]
    pub fn lanes(&mut self) -> &mut Incoming {
        &mut self.lanes
    }

    /// Announces sleep: from now on a sender rings the bell. False: something is there already.
    pub fn arm(&mut self) -> bool {
        self.owner.arm() && !self.lanes.is_full()
    }

    /// The FIFO.
    pub fn fifo(&mut self) -> &mut fifo::Owner {
        &mut self.owner
    }

    /// What ends a sleep after [`arm`](Self::arm).
    pub fn bell(&self) -> &Bell {
        &self.bell
    }
}

/// What became of a message for a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InLane {
    /// It is there.
    Sent,
    /// There is no room at present.
    NoRoom,
    /// There is no lane for this sender.
    NoLane,
}

/// A window, as one of its senders sees it.
#[derive(Debug)]
pub struct Sender {
    // Before the memory, so that they go first.
    sender: fifo::Sender,
    lane: Outgoing,
    bell: Bell,
    _memory: memory::Memory,
}

impl Sender {
    /// Opens a sending end to the window that is made of these parts. `limits` say which copies
    /// move what goes by a lane.
    ///
    /// # Errors
    /// The parts aren't a window's, or the memory can't be mapped.
    pub fn open(parts: Parts, limits: Copies) -> io::Result<Self> {
        let memory = parts.map()?;
        // SAFETY: the geometry is sound, the memory has its length and lives as long as both ends.
        let (sender, lane) = unsafe {
            let places = parts.geometry.places(memory.base());
            (fifo::Sender::attach(places), Outgoing::attach(places, limits))
        };
        Ok(Self { sender, lane, bell: Bell::of(parts.bell), _memory: memory })
    }

    /// The longest datagram that it takes, in bytes.
    pub fn longest(&self) -> usize {
        self.sender.longest()
    }

    /// Sends a datagram of `len` bytes that `write` writes to where it is told. False: there was no
    /// room.
    #[inline]
    pub fn send(&mut self, len: usize, write: impl FnOnce(*mut u8)) -> bool {
        let Some(claim) = self.sender.claim(len) else { return false };
        write(claim.bytes);
        if self.sender.publish(claim) == Outcome::Wake {
            self.bell.ring();
        }
        true
    }

    /// Sends a message of two parts by a lane: [`LONGEST`](crate::lanes::LONGEST) bytes together at
    /// most. The first one takes a lane under this name, which is not 0 and below 2^63.
    #[inline]
    pub fn send_in_lane(&mut self, name: u64, head: &[u8], body: &[u8]) -> InLane {
        let sent = self.lane.send(name, head, body);
        self.ended(sent)
    }

    /// The same with a message of at most [`INLINE`](lapis_core::transport::lane::INLINE) bytes,
    /// which `write` writes to where it is told.
    #[inline]
    pub fn write_in_lane(&mut self, name: u64, len: usize, write: impl FnOnce(*mut u8)) -> InLane {
        let sent = self.lane.send_short(name, len, write);
        self.ended(sent)
    }

    #[inline(always)]
    fn ended(&self, sent: Sent) -> InLane {
        match sent {
            Sent::There => InLane::Sent,
            Sent::Wake => {
                self.bell.ring();
                InLane::Sent
            }
            Sent::NoRoom => InLane::NoRoom,
            Sent::NoLane => InLane::NoLane,
        }
    }

    /// Has the window's owner ring this sender's own window when there is room again for a
    /// message that found none in its lane. False: there is room, or nothing waits for it.
    #[inline]
    pub fn await_room(&mut self) -> bool {
        self.lane.await_room()
    }

    /// Whether a message found no room in its lane, and neither has been found since.
    #[inline]
    pub fn is_held_up(&self) -> bool {
        self.lane.is_held_up()
    }

    /// Ends the owner's sleep.
    pub fn wake(&self) {
        self.bell.ring();
    }

    /// The FIFO.
    pub fn fifo(&self) -> &fifo::Sender {
        &self.sender
    }
}

#[cfg(test)]
mod tests;
