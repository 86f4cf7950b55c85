//! Memory that messages come from and go to: as callers and header handlers name it, and once its
//! validity has been vouched for.

mod trusted;

pub(crate) use trusted::{TrustedDestination, TrustedSource};

use crate::transport::copy::copy_long_watched;
use std::any::Any;
use std::ptr::NonNull;

/// Which way bytes go, seen from this task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the target.
    Out = 0,
    /// From the target.
    In = 1,
}

/// Where arriving bytes go.
pub enum Destination {
    /// Nowhere: the message is counted, but its bytes are discarded.
    Discard,
    /// To consecutive bytes.
    Contiguous(NonNull<u8>),
    /// Wherever the layout puts them.
    Scatter(Box<dyn Scatter>),
}

/// A layout that arriving bytes are written to, restartable at any position.
pub trait Scatter: Send {
    /// Writes `bytes`, which begin at `position` of the message, to their places.
    ///
    /// # Safety
    /// The memory that the layout names is valid and not read meanwhile.
    unsafe fn write(&mut self, position: u64, bytes: &[u8]);

    /// Fetches `len` bytes from `position` on directly from their place in this process's memory.
    /// False: it can't, and nothing has happened.
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
    /// A layout, and its length in bytes.
    Gather(Box<dyn Gather>, u64),
}

/// What of an outgoing message is the program's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    #[default]
    All,
    /// The message, and its data behind so many bytes that an interface has put before them.
    Behind(u64),
    /// Nothing: an interface asks the target for something that the program will hear of.
    Nothing,
}

impl Share {
    /// How many of `len` bytes from `position` on are not the program's.
    pub(crate) fn control(self, position: u64, len: u64) -> u64 {
        match self {
            Self::All => 0,
            Self::Behind(before) => before.saturating_sub(position).min(len),
            Self::Nothing => len,
        }
    }
}

/// A layout that outgoing bytes are read from, restartable at any position.
pub trait Gather: Send {
    /// Fills `out` with the bytes from `position` on. Must make no calls to Lapis: `out` may be a
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

    /// What [`Scatter::fetch`] gets if a task sends the message to itself. Without it, such
    /// messages go in packets like others.
    fn local(&self) -> Option<&dyn Any> {
        None
    }

    /// What of the message counts as the program's: the rest is not in the statistics. Always the
    /// same.
    fn share(&self) -> Share {
        Share::All
    }
}

/// Layouts of several kinds beside each other.
impl<L: Gather + ?Sized> Gather for Box<L> {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        // SAFETY: the boxed layout names the memory that the caller vouches for.
        unsafe { (**self).read(position, out) }
    }

    fn atom(&self) -> u64 {
        (**self).atom()
    }

    fn local(&self) -> Option<&dyn Any> {
        (**self).local()
    }

    fn share(&self) -> Share {
        (**self).share()
    }
}

/// Layouts of several kinds beside each other.
impl<L: Scatter + ?Sized> Scatter for Box<L> {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        // SAFETY: the boxed layout names the memory that the caller vouches for.
        unsafe { (**self).write(position, bytes) }
    }

    unsafe fn fetch(&mut self, position: u64, from: &dyn Any, len: u64) -> bool {
        // SAFETY: the boxed layout names the memory that the caller vouches for.
        unsafe { (**self).fetch(position, from, len) }
    }
}

// SAFETY: the interface's caller promises that the memory is valid until the operation ends, on
// whatever thread.
unsafe impl Send for Destination {}
// SAFETY: whoever starts the operation promises that the memory is valid, on whatever thread.
unsafe impl Send for Source {}

impl Source {
    /// Consecutive bytes, of which packets hold whole multiples of `atom`; 0 and 1 are any number.
    pub fn of_atoms(from: *const u8, len: u64, atom: u64) -> Self {
        Self::stretch(from, len, atom, Share::All)
    }

    fn stretch(from: *const u8, len: u64, atom: u64, share: Share) -> Self {
        match (atom, share) {
            (0 | 1, Share::All) => Self::Contiguous(from, len),
            _ => Self::Gather(Box::new(Stretch { from, atom, share }), len),
        }
    }

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

    /// How many of the `left` bytes fit a packet with room for `room`, in whole atoms: perhaps none
    /// beside a long user header. The last packet takes all that are left.
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

/// Consecutive bytes, of which some are not to be separated or are not the program's.
struct Stretch {
    from: *const u8,
    atom: u64,
    share: Share,
}

// SAFETY: the memory is valid on whatever thread by the promise of whoever starts the operation, as
// for each source.
unsafe impl Send for Stretch {}

impl Gather for Stretch {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let from = self.from.wrapping_add(position as usize);
        // SAFETY: the caller asks for bytes of the message only, which are valid.
        unsafe { from.copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
    }

    fn atom(&self) -> u64 {
        self.atom
    }

    fn share(&self) -> Share {
        self.share
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
