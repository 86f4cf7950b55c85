//! Copies of long messages past the windows: the receiver has the kernel copy them out of the
//! sender's memory.
//!
//! A sender on this host says beside a long message where it lies: its process, the address, and a
//! number that lies at another address. Whoever has copied and then finds that number there has
//! copied from the right process. Where the system refuses, the bytes go through the window.

use crate::memory::place;
use lapis_core::sync::{AtomicU64, Ordering, fence};
use lapis_cross_memory::{Access, copy};
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// Bytes that are copied before others are looked after.
pub(crate) const SLICE: u64 = 4 << 20;

/// Bytes of what a sender says.
const LENGTH: usize = 28;

/// This process, and the number that lies in its memory for others to find.
pub(crate) struct Own {
    process: i32,
    nonce: Box<AtomicU64>,
}

impl Own {
    pub(crate) fn new() -> Self {
        let process = rustix::process::getpid().as_raw_nonzero().get();
        Self { process, nonce: Box::new(AtomicU64::new(random())) }
    }

    /// Takes back all that was told: who copies from it now finds another number afterwards, and
    /// does not use what it has copied.
    pub(crate) fn renew(&mut self) {
        let before = self.nonce.load(Ordering::Relaxed);
        self.nonce.store(before.wrapping_add(random() | 1), Ordering::Relaxed);
        // SYNC: the number changes before the program writes to memory that it gets back; pairs
        // with the kernel's copies in `Remote::read`, of which the number's is the last.
        fence(Ordering::SeqCst);
    }

    /// What is said of a message at this address.
    pub(crate) fn tell(&self, address: u64) -> [u8; LENGTH] {
        let at = (&raw const *self.nonce).expose_provenance() as u64;
        let nonce = self.nonce.load(Ordering::Relaxed);
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&self.process.to_le_bytes());
        for (n, word) in [at, nonce, address].into_iter().enumerate() {
            bytes[4 + 8 * n..12 + 8 * n].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // The number may lie there for long after its memory is given back.
        self.renew();
    }
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without random numbers the place alone must tell processes apart.
    let _ = getrandom(&mut bytes, GetRandomFlags::NONBLOCK);
    u64::from_ne_bytes(bytes)
}

/// A message in another process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    process: i32,
    nonce_at: u64,
    nonce: u64,
    address: u64,
}

impl Remote {
    /// What a sender has said, if it has.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let word = |n: usize| bytes[4 + 8 * n..12 + 8 * n].try_into().map(u64::from_le_bytes).ok();
        let process = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let remote = Self { process, nonce_at: word(0)?, nonce: word(1)?, address: word(2)? };
        (process > 0).then_some(remote)
    }

    /// Copies a part of the message to this address.
    ///
    /// # Errors
    /// The system refuses, or it is another process by now: what lies here then is of no value.
    ///
    /// # Safety
    /// `len` bytes can be written there.
    pub(crate) unsafe fn read(&self, to: u64, offset: u64, len: u64) -> io::Result<()> {
        let from = self.address.wrapping_add(offset);
        let mut nonce = 0u64;
        // SAFETY: `to` has room for the bytes, as this asks for, and the word is this function's.
        unsafe {
            copy(Access::Read, self.process, place(to), from, len as usize)?;
            // Afterwards: a process that ended before the copy does not come back.
            copy(Access::Read, self.process, (&raw mut nonce).cast(), self.nonce_at, 8)?;
        }
        if nonce == self.nonce { Ok(()) } else { Err(io::Error::other("that is another process")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_does_not_know_the_number_is_not_believed() {
        let (mut own, from, to) = (Own::new(), vec![5u8; 5000], vec![0u8; 5000]);
        let address = from.as_ptr().expose_provenance() as u64;
        let at = to.as_ptr().expose_provenance() as u64;
        let said = own.tell(address);
        let remote = Remote::parse(&said).expect("whole");
        // SAFETY: memory of this test, which nobody reads meanwhile.
        unsafe { remote.read(at, 1000, 4000).expect("this process") };
        assert!(to[..4000] == from[..4000] && to[4000..] == [0; 1000]);
        let other = Remote { nonce: !remote.nonce, ..remote };
        // SAFETY: memory of this test, which nobody reads meanwhile.
        unsafe { other.read(at, 0, 1).expect_err("another process") };
        let unmapped = Remote { address: 0, ..remote };
        // SAFETY: memory of this test, which nobody reads meanwhile.
        unsafe { unmapped.read(at, 0, 1).expect_err("no memory") };
        own.renew();
        // SAFETY: memory of this test, which nobody reads meanwhile.
        let why = unsafe { remote.read(at, 0, 1).expect_err("it has been taken back") };
        assert_eq!(why.raw_os_error(), None, "no refusal of the system's");
        let anew = Remote::parse(&own.tell(address)).expect("whole");
        // SAFETY: memory of this test, which nobody reads meanwhile.
        unsafe { anew.read(at, 0, 1).expect("told anew") };
        assert_eq!((Remote::parse(&said[1..]), Remote::parse(&[0; LENGTH])), (None, None));
    }
}
