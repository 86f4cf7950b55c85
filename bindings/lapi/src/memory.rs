//! `lapis.h`: memory that peers reach directly, for C programs.

use crate::abi::*;
use crate::failure::{self, cold};
use crate::handles;
use lapis_core::Error;
use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::{NonNull, null_mut};

/// Allocates memory that every task reaches as directly as the transports allow.
///
/// # Safety
/// `addr` is NULL or can be written.
pub(crate) unsafe fn alloc(hndl: lapi_handle_t, len: c_ulong, addr: *mut *mut c_void) -> c_int {
    cold("lapis_alloc", || {
        // SAFETY: the caller's promise.
        let Some(addr) = (unsafe { addr.as_mut() }) else { return Err(LAPI_ERR_RET_PTR_NULL) };
        *addr = null_mut();
        let instance = handles::get(hndl)?;
        let memory = instance.context.alloc(len as usize).map_err(refused)?;
        *addr = memory.as_ptr().cast();
        instance.blocks.locked().insert(memory.as_ptr().addr(), memory);
        Ok(())
    })
}

/// Gives back what [`alloc`] gave.
///
/// # Safety
/// No operation uses the memory any more, at any task.
pub(crate) unsafe fn free(hndl: lapi_handle_t, addr: *mut c_void) -> c_int {
    cold("lapis_free", || {
        let instance = handles::get(hndl)?;
        // It goes when the list is free again: that takes the context's lock, whose holder may run
        // a handler that wants the list.
        let memory = instance.blocks.locked().remove(&addr.addr());
        if memory.is_some() || addr.is_null() { Ok(()) } else { Err(LAPI_ERR_TGT_ADDR_NULL) }
    })
}

/// Registers memory of the program's own.
///
/// # Safety
/// The range stays mapped until it is unregistered or the context ends.
pub(crate) unsafe fn register(hndl: lapi_handle_t, addr: *mut c_void, len: c_ulong) -> c_int {
    cold("lapis_register", || {
        let Some(base) = NonNull::new(addr.cast::<u8>()).filter(|_| len > 0) else {
            return Err(LAPI_ERR_TGT_ADDR_NULL);
        };
        let instance = handles::get(hndl)?;
        // SAFETY: the caller's promise.
        let registered = unsafe { instance.context.register(base, len as usize) };
        let registered = registered.map_err(failure::of)?;
        instance.blocks.registered().entry(addr.addr()).or_default().push(registered);
        Ok(())
    })
}

/// Ends what [`register`] began.
///
/// # Safety
/// No operation uses the memory any more, at any task.
pub(crate) unsafe fn unregister(hndl: lapi_handle_t, addr: *mut c_void) -> c_int {
    cold("lapis_unregister", || {
        let instance = handles::get(hndl)?;
        // As in `free`: it goes when the list is free again.
        let last = instance.blocks.registered().get_mut(&addr.addr()).and_then(Vec::pop);
        if last.is_some() || addr.is_null() { Ok(()) } else { Err(LAPI_ERR_TGT_ADDR_NULL) }
    })
}

/// Whatever the memory was to be made of, there is not enough of it.
fn refused(error: Error) -> c_int {
    match error {
        Error::SharedMemory { .. } | Error::MemoryExhausted { .. } => {
            tracing::warn!("lapis_alloc: {}", error.with_causes());
            LAPI_ERR_MEMORY_EXHAUSTED
        }
        other => failure::of(other),
    }
}
