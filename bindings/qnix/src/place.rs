//! The location of a message's data as the program gives it: the buffer pool, pages named by a
//! table, or memory that is copied into a context.

use crate::abi::{SEND_MAX, SHORT_MAX};
use crate::contexts::Slot;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::segments::Segments;
use std::ffi::{c_int, c_long, c_ulong};

/// Tables hold 64-bit words: the library is for machines whose `long` has as many.
const _: () = assert!(size_of::<c_ulong>() == size_of::<u64>());

/// Where a program says that a message's data is.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) len: usize,
    pub(crate) pool_index: c_int,
    /// NULL, or as many elements as `len` bytes take pages.
    pub(crate) table: *const u64,
}

impl Place {
    /// Lends a context the memory behind the pool's index or the table of pages, and tells how many
    /// pages it takes.
    ///
    /// # Safety
    /// `table` is as its comment says.
    #[inline(always)]
    pub(crate) unsafe fn lend(&self, memory: &mut Memory, slot: &mut Slot) -> Result<usize> {
        if self.len > 0 && self.pool_index == -1 {
            // SAFETY: the caller's promise.
            let first = *unsafe { self.table.as_ref() }.ok_or(Error::Null)?;
            if memory.in_one_page(first, self.len) {
                slot.lend(Segments::One(memory.of_token(first, self.len)?));
                return Ok(1);
            }
        }
        // SAFETY: the caller's promise.
        let segments = unsafe { self.segments(memory) }?;
        let pages = segments.first().map_or(0, |first| memory.pages_of(first.address, self.len));
        slot.lend(segments);
        Ok(pages)
    }

    /// The memory, wherever it is.
    ///
    /// # Safety
    /// `table` is as its comment says.
    #[inline(never)]
    unsafe fn segments(self, memory: &mut Memory) -> Result<Segments> {
        if self.len == 0 {
            return Ok(Segments::None);
        }
        if self.pool_index >= 0 {
            return Ok(Segments::One(memory.in_pool(self.pool_index as usize, self.len)?));
        }
        if self.pool_index != -1 {
            return Err(Error::Pool);
        }
        // SAFETY: the caller's promise.
        let first = *unsafe { self.table.as_ref() }.ok_or(Error::Null)?;
        let pages = memory.pages_of(first as usize, self.len);
        // SAFETY: not null; the caller's promise.
        memory.resolve(unsafe { std::slice::from_raw_parts(self.table, pages) }, self.len)
    }
}

/// The length of a message.
pub(crate) fn length(len: c_long) -> Result<usize> {
    usize::try_from(len).ok().filter(|len| *len <= SEND_MAX).ok_or(Error::Length)
}

/// Data for a context's registers.
///
/// # Safety
/// `data` is NULL or has `len` bytes.
pub(crate) unsafe fn registers<'a>(data: *const u8, len: usize) -> Result<&'a [u8]> {
    if len > SHORT_MAX {
        return Err(Error::Length);
    }
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::Null);
    }
    // SAFETY: not null; the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}
