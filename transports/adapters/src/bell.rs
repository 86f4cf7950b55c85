//! A descriptor that ends a window's sleep: senders ring it, the owner sleeps on it.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An event counter of the kernel's. Ringing it never blocks.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A bell that nobody has rung.
    ///
    /// # Errors
    /// Descriptors are short.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The bell behind a descriptor that another process passed.
    pub fn of(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Makes the descriptor readable. If it can't be, it is so already.
    pub fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable until it is rung again. Answers whether it was readable.
    pub fn quiet(&self) -> bool {
        rustix::io::read(&self.0, &mut [0u8; 8]).is_ok()
    }

    /// The descriptor as it is passed on.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
