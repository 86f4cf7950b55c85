//! Memory of the program that a message goes from or to, once its validity has been vouched for.
//!
//! Callers of [`Context::am_send`](crate::Context::am_send) and the like, and header handlers,
//! promise that the memory they name is valid until they are notified. Where core relies on this
//! promise it creates one of these types; code that moves bytes needs no further promise.

use super::{Destination, Gather, Share, Source};
use std::any::Any;
use std::ptr::null_mut;

/// Where the bytes of an outgoing message come from.
pub(crate) struct TrustedSource(Source);

impl TrustedSource {
    /// # Safety
    /// The source's memory is valid, and nobody writes to it, until whoever started the message is
    /// told that it is free, or for as long as the value lives.
    #[inline(always)]
    pub(crate) unsafe fn new(source: Source) -> Self {
        Self(source)
    }

    /// Bytes in all.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.0.len()
    }

    /// See [`Source::packet_bytes`].
    #[inline(always)]
    pub(crate) fn packet_bytes(&self, room: u64, left: u64) -> u64 {
        self.0.packet_bytes(room, left)
    }

    /// Where the source begins if its bytes are consecutive.
    #[inline(always)]
    pub(crate) fn contiguous(&self) -> Option<*const u8> {
        match self.0 {
            Source::Contiguous(from, _) => Some(from),
            Source::Gather(..) => None,
        }
    }

    /// The `len` bytes from `position` on, if the source is consecutive.
    ///
    /// # Panics
    /// Beyond the end.
    #[inline(always)]
    pub(crate) fn bytes(&self, position: u64, len: u64) -> Option<&[u8]> {
        let Source::Contiguous(from, all) = self.0 else { return None };
        assert!(position <= all && len <= all - position, "{len} bytes at {position} of {all}");
        if len == 0 {
            return Some(&[]);
        }
        // SAFETY: within the memory that `new`'s caller vouched for, which nobody writes to
        // meanwhile.
        Some(unsafe { std::slice::from_raw_parts(from.wrapping_add(position as usize), len as usize) })
    }

    /// Copies the bytes from `position` on into `out`. A layout may run functions of the program's.
    ///
    /// # Panics
    /// Beyond the end.
    #[inline]
    pub(crate) fn read(&mut self, position: u64, out: &mut [u8]) {
        let all = self.len();
        assert!(
            position <= all && out.len() as u64 <= all - position,
            "{} bytes at {position} of {all}",
            out.len()
        );
        // SAFETY: within the memory that `new`'s caller vouched for.
        unsafe { self.0.read(position, out) };
    }

    /// Copies all bytes, and has the source be the copy, in which atoms stay whole, and which
    /// counts as the source does.
    ///
    /// # Safety
    /// The copy lives as long as the source.
    pub(crate) unsafe fn become_copy(&mut self) -> Box<[u8]> {
        let mut copy = vec![0; self.len() as usize].into_boxed_slice();
        self.read(0, &mut copy);
        let (from, len) = (copy.as_ptr(), copy.len() as u64);
        self.0 = Source::stretch(from, len, self.atom(), self.share());
        copy
    }

    /// What of the message is the program's.
    #[inline(always)]
    pub(crate) fn share(&self) -> Share {
        match &self.0 {
            Source::Contiguous(..) => Share::All,
            Source::Gather(layout, _) => layout.share(),
        }
    }

    /// Bytes that are not to be separated.
    pub(crate) fn atom(&self) -> u64 {
        match &self.0 {
            Source::Contiguous(..) => 1,
            Source::Gather(layout, _) => layout.atom().max(1),
        }
    }

    /// What a layout of this task can fetch the bytes from, if this is another one that says so.
    pub(crate) fn local(&self) -> Option<&dyn Any> {
        match &self.0 {
            Source::Contiguous(..) => None,
            Source::Gather(layout, _) => layout.local(),
        }
    }
}

/// Where arriving bytes go, and how many there are.
pub(crate) struct TrustedDestination {
    to: Destination,
    len: u64,
}

impl TrustedDestination {
    /// # Safety
    /// The destination's memory is valid for `len` bytes, and nobody reads it, until whoever named
    /// it is told that the bytes are there, or for as long as the value lives.
    #[inline(always)]
    pub(crate) unsafe fn new(to: Destination, len: u64) -> Self {
        Self { to, len }
    }

    /// For `len` bytes that nobody wants.
    pub(crate) fn discard(len: u64) -> Self {
        Self { to: Destination::Discard, len }
    }

    /// Bytes in all.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether `len` bytes at `position` lie within.
    #[inline(always)]
    pub(crate) fn holds(&self, position: u64, len: usize) -> bool {
        position <= self.len && len as u64 <= self.len - position
    }

    #[inline(always)]
    pub(crate) fn is_discard(&self) -> bool {
        matches!(self.to, Destination::Discard)
    }

    /// Whether a layout takes the bytes, which may run functions of the program's.
    #[inline(always)]
    pub(crate) fn is_layout(&self) -> bool {
        matches!(self.to, Destination::Scatter(_))
    }

    /// Where the byte at `position` goes if consecutive bytes go to consecutive places; else null.
    pub(crate) fn place_of(&self, position: u64) -> *mut u8 {
        match &self.to {
            Destination::Contiguous(base) => base.as_ptr().wrapping_add(position as usize),
            Destination::Discard | Destination::Scatter(_) => null_mut(),
        }
    }

    /// Takes the value, and leaves one that wants no bytes.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::discard(self.len))
    }

    /// Writes `bytes` at `position`. A layout may run functions of the program's.
    ///
    /// # Panics
    /// Beyond the end.
    #[inline]
    pub(crate) fn write(&mut self, position: u64, bytes: &[u8]) {
        assert!(self.holds(position, bytes.len()), "{} bytes at {position} of {}", bytes.len(), self.len);
        // SAFETY: within the memory that `new`'s caller vouched for.
        unsafe { self.to.write(position, bytes) };
    }

    /// Lets a layout fetch `len` bytes from `position` on straight from where another one of this
    /// task has them. False: nothing has happened.
    ///
    /// # Panics
    /// Beyond the end.
    pub(crate) fn fetch(&mut self, position: u64, from: &TrustedSource, len: u64) -> bool {
        assert!(self.holds(position, len as usize) && len <= from.len(), "{len} bytes at {position}");
        match (&mut self.to, from.local()) {
            (Destination::Discard, _) => true,
            // SAFETY: both sides' memory is vouched for, as `new` of both demands.
            (Destination::Scatter(to), Some(from)) => unsafe { to.fetch(position, from, len) },
            _ => false,
        }
    }

    /// The same place for what stands behind `by` bytes of the message.
    pub(crate) fn behind(self, by: u64) -> Self {
        let len = self.len - by;
        let to = match self.to {
            Destination::Contiguous(base) => {
                // SAFETY: `by` was no more than the length of the memory that `new`'s caller
                // vouched for.
                Destination::Contiguous(unsafe { base.add(by as usize) })
            }
            Destination::Scatter(_) if by > 0 => {
                Destination::Scatter(Box::new(Shifted { layout: self.to, by }))
            }
            all => all,
        };
        Self { to, len }
    }
}

/// A layout whose beginning has arrived already.
struct Shifted {
    layout: Destination,
    by: u64,
}

impl super::Scatter for Shifted {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        // SAFETY: the caller's bytes lie within what is behind `by`, hence within the whole layout.
        unsafe { self.layout.write(position + self.by, bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that count from 0, in atoms of twelve bytes.
    struct Counting;

    impl Gather for Counting {
        unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
            (position as u8..).zip(out).for_each(|(number, to)| *to = number);
        }

        fn atom(&self) -> u64 {
            12
        }

        fn share(&self) -> Share {
            Share::Behind(7)
        }
    }

    #[test]
    fn atoms_stay_whole_in_a_copy_which_counts_as_its_source_does() {
        // SAFETY: it names no memory.
        let mut source = unsafe { TrustedSource::new(Source::Gather(Box::new(Counting), 100)) };
        // SAFETY: the copy lives until the end of the test.
        let _copy = unsafe { source.become_copy() };
        assert_eq!(source.share(), Share::Behind(7));
        assert_eq!(source.packet_bytes(50, 100), 48);
        let mut bytes = [0; 3];
        source.read(48, &mut bytes);
        assert_eq!(bytes, [48, 49, 50]);
        assert_eq!(source.len(), 100);
    }
}
