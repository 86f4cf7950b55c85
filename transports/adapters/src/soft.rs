//! A window of a soft adapter: a FIFO in memory of this host, with a bell.

use crate::bell::Bell;
use crate::fifo::{Found, Geometry, NOTES, Outcome};
use crate::{fifo, memory};
use std::io;
use std::os::fd::OwnedFd;

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

    /// The same for another holder.
    ///
    /// # Errors
    /// Descriptors are short.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { memory: self.memory.try_clone()?, bell: self.bell.try_clone()?, geometry: self.geometry })
    }

    /// Tells all who have a sending end that the window is closed. Nothing is told if the memory
    /// can't be written; senders then hear nothing from the window, and ask.
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
        let memory = self.map()?;
        // SAFETY: the geometry is sound, and the memory has its length.
        Ok(unsafe { self.geometry.places(memory.base()).counts() })
    }

    fn map(&self) -> io::Result<memory::Memory> {
        if !self.geometry.is_sound() {
            let why = format!("a FIFO can't be divided into {:?}", self.geometry);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        memory::Memory::map(&self.memory, self.geometry.bytes())
    }
}

/// A window, as its owner sees it.
#[derive(Debug)]
pub struct Window {
    // Before the memory, so that it goes first.
    owner: fifo::Owner,
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
        // SAFETY: the geometry is sound, the memory has its length and lives as long as the owner.
        let owner = unsafe { fifo::Owner::attach(parts.geometry.places(memory.base())) };
        Ok(Self { owner, bell: Bell::of(parts.bell), _memory: memory })
    }

    /// Copies the next datagram to the beginning of `into`.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Found {
        // SAFETY: the slice can be written.
        unsafe { self.owner.pop(into.as_mut_ptr(), into.len()) }
    }

    /// Whether [`receive`](Self::receive) has something to do.
    #[inline]
    pub fn has_arrivals(&self) -> bool {
        self.owner.is_full()
    }

    /// The FIFO.
    pub fn fifo(&mut self) -> &mut fifo::Owner {
        &mut self.owner
    }

    /// What ends a sleep after [`arm`](fifo::Owner::arm).
    pub fn bell(&self) -> &Bell {
        &self.bell
    }
}

/// A window, as one of its senders sees it.
#[derive(Debug)]
pub struct Sender {
    // Before the memory, so that it goes first.
    sender: fifo::Sender,
    bell: Bell,
    _memory: memory::Memory,
}

impl Sender {
    /// Opens a sending end to the window that is made of these parts.
    ///
    /// # Errors
    /// The parts aren't a window's, or the memory can't be mapped.
    pub fn open(parts: Parts) -> io::Result<Self> {
        let memory = parts.map()?;
        // SAFETY: the geometry is sound, the memory has its length and lives as long as the sender.
        let sender = unsafe { fifo::Sender::attach(parts.geometry.places(memory.base())) };
        Ok(Self { sender, bell: Bell::of(parts.bell), _memory: memory })
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

    /// The FIFO.
    pub fn fifo(&self) -> &fifo::Sender {
        &self.sender
    }
}

#[cfg(test)]
mod tests;
