//! Channels. Their handles are numbers, typed as pointers.

use super::{call, command, process};
use crate::diagnostics::Blame as _;
use crate::error::Error;
use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, without_provenance_mut};

/// A channel or a request.
type Handle = *mut c_void;

fn handle(number: u64) -> Handle {
    without_provenance_mut(number as usize)
}

fn number(handle: Handle) -> u64 {
    handle.addr() as u64
}

/// Makes one end of a channel.
//= ACP 1.0, acp_create_ch
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_ch(sender: c_int, receiver: c_int) -> Handle {
    call("acp_create_ch", null_mut(), || process()?.create_channel(sender, receiver).map(handle))
}

/// Frees one end of a channel when the other one is freed.
//= ACP 1.0, acp_free_ch
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_ch(ch: Handle) -> c_int {
    command("acp_free_ch", |process| {
        let request = process.free_channel(number(ch))?;
        process.wait_request(request).map(drop)
    })
}

/// Begins to free one end of a channel.
//= ACP 1.0, acp_nbfree_ch
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbfree_ch(ch: Handle) -> Handle {
    call("acp_nbfree_ch", null_mut(), || process()?.free_channel(number(ch)).map(handle))
}

/// Begins to send or to receive. What usually happens needs no guard against panics, whose way
/// costs as much as all of it.
#[inline(always)]
fn begin(name: &'static str, channel: u64, sending: bool, bytes: (usize, u64)) -> Handle {
    if let Ok(process) = process()
        && let Some(request) = process.post_at_once(channel, sending, bytes)
    {
        return handle(request);
    }
    begin_guarded(name, channel, sending, bytes)
}

#[cold]
#[inline(never)]
fn begin_guarded(name: &'static str, channel: u64, sending: bool, bytes: (usize, u64)) -> Handle {
    call(name, null_mut(), || process()?.post(channel, sending, bytes).map(handle))
}

/// Begins to send a message.
//= ACP 1.0, acp_nbsend_ch
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbsend_ch(ch: Handle, buf: *mut c_void, size: usize) -> Handle {
    begin("acp_nbsend_ch", number(ch), true, (buf.expose_provenance(), size as u64))
}

/// Begins to receive a message.
//= ACP 1.0, acp_nbrecv_ch
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbrecv_ch(ch: Handle, buf: *mut c_void, size: usize) -> Handle {
    begin("acp_nbrecv_ch", number(ch), false, (buf.expose_provenance(), size as u64))
}

/// Waits for a request; gives the bytes received, or −1.
//= ACP 1.0, acp_wait_ch
#[unsafe(no_mangle)]
pub extern "C" fn acp_wait_ch(request: Handle) -> usize {
    if let Ok(process) = process()
        && let Some(size) = process.wait_soon(number(request))
    {
        return size as usize;
    }
    call("acp_wait_ch", usize::MAX, || {
        let size = process()?.wait_request(number(request)).at("request", number(request))?;
        Ok(size as usize)
    })
}

/// Waits for several requests; writes what acp_wait_ch would give of each.
///
/// # Safety
/// `requests` has `count` elements; `sizes` is NULL or has room for as many.
//= ACP 3.0, acp_waitall_ch
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_waitall_ch(requests: *mut Handle, count: c_int, sizes: *mut usize) -> c_int {
    command("acp_waitall_ch", |process| {
        let count = usize::try_from(count).map_err(|_| Error::Size).of("count", count)?;
        if requests.is_null() && count > 0 {
            return Err(Error::Null).at("requests", 0);
        }
        let mut first = Ok(());
        for at in 0..count {
            // SAFETY: `at` is below `count`, and the program's `requests` has so many elements.
            let request = number(unsafe { *requests.add(at) });
            let outcome = process.wait_request(request).at("request", request);
            if !sizes.is_null() {
                // SAFETY: `sizes` is not null, so the program has made room for `count` sizes.
                unsafe { sizes.add(at).write(outcome.map_or(usize::MAX, |size| size as usize)) };
            }
            first = first.and(outcome.map(drop));
        }
        first
    })
}
