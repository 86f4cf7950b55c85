//! Batches of datagrams of which a part has been sent when there is no more room.

use super::types::{DatagramBatch, RawSlice};

/// The batch of several datagrams that a transport has sent a part of, if the last one found no
/// room for all. For transports that send the datagrams of a batch one by one: core offers the
/// batch again, at another place perhaps, or gives it up and offers another one.
#[derive(Debug)]
pub struct Interrupted {
    sent: usize,
    name: [u8; DatagramBatch::NAMED_BY],
}

impl Interrupted {
    /// There is none.
    pub const NONE: Self = Self { sent: 0, name: [0; DatagramBatch::NAMED_BY] };

    /// How many datagrams of the batch that is offered have been sent already. Whatever was
    /// [kept](Self::keep) is forgotten.
    ///
    /// # Safety
    /// The batch's slices are readable.
    #[inline]
    pub unsafe fn resume(&mut self, batch: &[RawSlice]) -> usize {
        let sent = std::mem::take(&mut self.sent);
        // SAFETY: the batch is one that core offers, so its slices are readable during the call.
        if sent > 0 && self.name == unsafe { name_of(batch) } { sent } else { 0 }
    }

    /// So many datagrams of a batch have been sent, and no others at present.
    ///
    /// # Safety
    /// The batch's slices are readable.
    #[cold]
    pub unsafe fn keep(&mut self, batch: &[RawSlice], sent: usize) {
        self.sent = sent;
        // SAFETY: as the transport has just read these slices, they are readable.
        self.name = unsafe { name_of(batch) };
    }
}

/// The first bytes of a batch, by which it is told from others.
///
/// # Safety
/// Its slices are readable.
#[cold]
unsafe fn name_of(batch: &[RawSlice]) -> [u8; DatagramBatch::NAMED_BY] {
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
