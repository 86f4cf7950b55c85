//! Where the bytes of a message are.

use lapis_core::transport::lane::{INLINE, copy_short};
use std::ops::Deref;

/// Consecutive bytes of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) address: usize,
    pub(crate) len: usize,
}

impl Segment {
    #[inline]
    pub(crate) fn of(bytes: *const [u8]) -> Self {
        Self { address: bytes.cast::<u8>().expose_provenance(), len: bytes.len() }
    }

    /// Writes bytes to its beginning, as many as it has at most.
    ///
    /// # Safety
    /// The memory is lent to a command that is under way.
    #[inline]
    pub(crate) unsafe fn write(&self, bytes: &[u8]) {
        let (from, len) = (bytes.as_ptr(), bytes.len().min(self.len));
        let to = std::ptr::with_exposed_provenance_mut::<u8>(self.address);
        // SAFETY: the caller's promise.
        unsafe {
            if len <= INLINE { copy_short(from, to, len) } else { to.copy_from_nonoverlapping(from, len) }
        }
    }
}

/// The bytes of segments in one piece.
pub(crate) fn gathered(segments: &[Segment]) -> Vec<u8> {
    let mut all = Vec::with_capacity(segments.iter().map(|segment| segment.len).sum());
    for segment in segments {
        // SAFETY: the program has lent the memory to the command that is under way.
        all.extend_from_slice(unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance(segment.address), segment.len)
        });
    }
    all
}

/// Where a command's data is: as a rule in one piece, for which nothing is allocated.
///
/// The kind is a byte of its own: each message asks for it, and one that the compiler hides in the
/// vector takes some instructions to find.
#[repr(u8)]
#[derive(Clone, Debug, Default)]
pub(crate) enum Segments {
    #[default]
    None,
    One(Segment),
    Several(Vec<Segment>),
}

impl Segments {
    /// The bytes of a slice.
    #[inline]
    pub(crate) fn of(bytes: *const [u8]) -> Self {
        if bytes.is_empty() { Self::None } else { Self::One(Segment::of(bytes)) }
    }

    /// These take the place of what was there: several, which own memory, seldom.
    #[inline(always)]
    pub(crate) fn replace_with(&mut self, these: Self) {
        match std::mem::replace(self, these) {
            Self::None | Self::One(_) => {}
            Self::Several(before) => forget_several(before),
        }
    }

    /// Adds a piece behind the others; what follows the last one without a gap is one with it.
    pub(crate) fn push(&mut self, segment: Segment) {
        let last = match self {
            Self::None => None,
            Self::One(one) => Some(one),
            Self::Several(several) => several.last_mut(),
        };
        match last {
            Some(last) if last.address + last.len == segment.address => last.len += segment.len,
            _ => self.push_apart(segment),
        }
    }

    fn push_apart(&mut self, segment: Segment) {
        match self {
            Self::None => *self = Self::One(segment),
            Self::One(one) => *self = Self::Several(vec![*one, segment]),
            Self::Several(several) => several.push(segment),
        }
    }
}

#[cold]
fn forget_several(before: Vec<Segment>) {
    drop(before);
}

impl Deref for Segments {
    type Target = [Segment];

    fn deref(&self) -> &[Segment] {
        match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}
