//! The guide's pack and unpack calls (*LAPI Guide, LAPI_Util, LAPI_DGSP_PACK and
//! LAPI_DGSP_UNPACK*).
//!
//! Unlike the positions of [`Registered`], the position here is one in the packed buffer; each call
//! starts the program again.
#![allow(unsafe_code, reason = "the calls take the user's raw pointers")]

use crate::error::{Error, ErrorCode, Fault};
use crate::registered::Registered;

impl Registered {
    /// `LAPI_DGSP_PACK`: gathers `bytes` bytes to `packed[*position..]` and advances the position.
    /// On an error nothing is packed and the position stays.
    ///
    /// # Safety
    /// As [`Registered::pack_into`].
    pub unsafe fn pack_at(
        &self,
        base: *const u8,
        bytes: usize,
        packed: &mut [u8],
        position: &mut usize,
    ) -> Result<(), Error> {
        let end = end(bytes, *position, packed.len())?;
        // SAFETY: the caller's promise.
        let n = unsafe { self.pack_into(base, 0, &mut packed[*position..end]) }?;
        *position += n;
        Ok(())
    }

    /// `LAPI_DGSP_UNPACK`: scatters `bytes` bytes of `packed[*position..]` and advances the
    /// position.
    ///
    /// # Safety
    /// As [`Registered::unpack_from`].
    pub unsafe fn unpack_at(
        &self,
        packed: &[u8],
        base: *mut u8,
        bytes: usize,
        position: &mut usize,
    ) -> Result<(), Error> {
        let end = end(bytes, *position, packed.len())?;
        // SAFETY: the caller's promise.
        let n = unsafe { self.unpack_from(base, 0, &packed[*position..end]) }?;
        *position += n;
        Ok(())
    }
}

fn end(bytes: usize, position: usize, size: usize) -> Result<usize, Error> {
    let fault = Fault::PackSize { bytes, position, size };
    position.checked_add(bytes).filter(|&end| end <= size).ok_or(Error::whole(ErrorCode::PackSz, fault))
}
