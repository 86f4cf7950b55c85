//! Batches of datagrams of which a part has been sent when there is no more room.

use super::types::{DatagramBatch, RawSlice};

/// A batch by its first bytes.
type Name = [u8; DatagramBatch::NAMED_BY];

/// So many batches are remembered; those of which a part was sent longest ago have been given up.
const MOST: usize = 32;

/// The batches of several datagrams that a transport has sent a part of, when the others found no
/// room. For transports that send the datagrams of a batch one by one: core offers the batch again,
/// at another place perhaps, and others before it, or gives it up.
#[derive(Debug)]
pub struct Interrupted {
    /// How many datagrams of each were sent.
    sent: Vec<(usize, Name)>,
}

impl Interrupted {
    /// There is none.
    pub const NONE: Self = Self { sent: Vec::new() };

    /// How many datagrams of the batch that is offered have been sent already, which is forgotten.
    ///
    /// # Safety
    /// The batch's slices are readable.
    #[inline]
    pub unsafe fn resume(&mut self, batch: &[RawSlice]) -> usize {
        if self.sent.is_empty() {
            return 0;
        }
        // SAFETY: the batch is one that core offers, so its slices are readable during the call.
        let name = unsafe { name_of(batch) };
        let found = self.sent.iter().position(|kept| kept.1 == name);
        found.map_or(0, |at| self.sent.remove(at).0)
    }

    /// So many datagrams of a batch have been sent, and no others at present.
    ///
    /// # Safety
    /// The batch's slices are readable.
    #[cold]
    pub unsafe fn keep(&mut self, batch: &[RawSlice], sent: usize) {
        if sent == 0 {
            return;
        }
        if self.sent.len() == MOST {
            self.sent.remove(0);
        }
        // SAFETY: as the transport has just read these slices, they are readable.
        self.sent.push((sent, unsafe { name_of(batch) }));
    }
}

/// The first bytes of a batch, by which it is told from others.
///
/// # Safety
/// Its slices are readable.
#[cold]
unsafe fn name_of(batch: &[RawSlice]) -> Name {
    let mut name = [0; DatagramBatch::NAMED_BY];
    let mut rest = &mut name[..];
    for slice in batch.iter().filter(|slice| slice.len > 0) {
        let (room, behind) = rest.split_at_mut(slice.len.min(rest.len()));
        // SAFETY: within the slice, which is readable.
        room.copy_from_slice(unsafe { std::slice::from_raw_parts(slice.ptr, room.len()) });
        rest = behind;
    }
    name
}
