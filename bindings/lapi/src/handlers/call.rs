//! Calling a program's header handler.

use super::notify::raw;
use crate::abi::*;
use crate::dgsp::layout;
use lapis_core::handlers::Incoming;
use lapis_core::message::{Destination, MAX_USER_HEADER};
use lapis_core::{Context, Delivery, Run};
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::{NonNull, null_mut};

/// What `MAGIC` of a `lapi_return_info_t` holds: "LAPI".
const MAGIC: c_int = 0x4c41_5049;

/// What a header handler looks at and may change, and what is wanted after it. All of it is one
/// place that the handler knows, so that no register has to be saved for the time of the handler.
#[repr(C)]
struct Asked<'a> {
    /// First: newer handlers find it where older ones find the length.
    info: lapi_return_info_t,
    completion: Option<compl_hndlr_t>,
    argument: *mut c_void,
    user_len: c_uint,
    context: &'a Context,
    incoming: &'a Incoming<'a>,
    /// As for [`call`].
    atom: u64,
}

/// Calls a header handler by its address, for a message whose packets hold whole atoms of so many
/// bytes, or anything with 0. `None`: it wants nothing to be stored or run.
///
/// # Safety
/// `handler` is the address of a header handler of this program, and `handle` what handlers of the
/// context are given.
#[inline(always)]
pub(crate) unsafe fn call(
    context: &Context,
    handle: *mut lapi_handle_t,
    handler: u64,
    incoming: &Incoming<'_>,
    atom: u64,
) -> Option<Delivery> {
    let header = incoming.user_header;
    // SAFETY: the caller's promise.
    unsafe {
        // Programs lay structures over the user header, so it begins at a multiple of eight, as
        // packets of most transports do. Messages that share a datagram lie close together.
        if header.is_empty() || header.as_ptr().addr().is_multiple_of(8) {
            ask(context, handle, handler, incoming, header.as_ptr(), atom)
        } else {
            ask_with_copy(context, handle, handler, incoming, atom)
        }
    }
}

/// The same with a copy of the user header, where any structure may lie.
///
/// # Safety
/// As for [`call`].
#[cold]
#[inline(never)]
unsafe fn ask_with_copy(
    context: &Context,
    handle: *mut lapi_handle_t,
    handler: u64,
    incoming: &Incoming<'_>,
    atom: u64,
) -> Option<Delivery> {
    let mut room = [0u64; MAX_USER_HEADER / 8];
    let header = incoming.user_header;
    let len = header.len().min(MAX_USER_HEADER);
    let to = room.as_mut_ptr().cast::<u8>();
    // SAFETY: the room is that long, and nobody else's; the rest is the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(header.as_ptr(), to, len);
        ask(context, handle, handler, incoming, to, atom)
    }
}

/// # Safety
/// As for [`call`]; `user` is where the handler finds the user header.
#[inline(always)]
unsafe fn ask(
    context: &Context,
    handle: *mut lapi_handle_t,
    handler: u64,
    incoming: &Incoming<'_>,
    user: *const u8,
    atom: u64,
) -> Option<Delivery> {
    let info = return_info(incoming.len, incoming.source, incoming.data());
    let user_len = incoming.user_header.len() as c_uint;
    let mut asked = Asked { info, completion: None, argument: null_mut(), user_len, context, incoming, atom };
    let all = &raw mut asked;
    // SAFETY: the caller's promise: the address of a function of this type. All pointers are valid
    // during the call.
    let buffer = unsafe {
        let call = std::mem::transmute::<usize, hdr_hndlr_t>(handler as usize);
        let (length, completion) = (&raw mut (*all).user_len, &raw mut (*all).completion);
        context.lend_held();
        let buffer =
            call(handle, user.cast_mut().cast(), length, all.cast(), completion, &raw mut (*all).argument);
        (*all).context.unlend_held();
        buffer
    };
    let completes = asked.completion.map_or(0, |function| function as usize);
    let wants = buffer.addr() | completes | asked.info.dgsp_handle.addr();
    if wants == 0 && asked.info.ctl_flags != LAPI_DROP_PKT {
        return None;
    }
    Some(delivery(&asked, buffer))
}

/// What a header handler learns and may change.
#[inline(always)]
pub(crate) fn return_info(len: u64, source: u32, data: Option<&[u8]>) -> lapi_return_info_t {
    lapi_return_info_t {
        msg_len: len as c_ulong,
        MAGIC,
        ret_flags: LAPI_NORMAL,
        ctl_flags: LAPI_DELIVER_MSG,
        dgsp_handle: null_mut(),
        bytes: len as c_ulong,
        src: source as c_int,
        udata_one_pkt_ptr: data.map_or(null_mut(), |data| data.as_ptr().cast_mut().cast()),
    }
}

/// Where a header handler wants the completion handler to run.
#[inline(always)]
pub(crate) fn run_of(info: &lapi_return_info_t) -> Run {
    match info.ret_flags {
        LAPI_LOCAL_STATE => Run::Inline,
        LAPI_SEND_REPLY => Run::InlineReply,
        _ => Run::Thread,
    }
}

/// What a handler asked for that wants more than a look at the message.
//= LAPI Guide, The enhanced header handler interface, ret_flags and ctl_flags
#[inline(never)]
fn delivery(asked: &Asked<'_>, buffer: *mut c_void) -> Delivery {
    let &Asked { ref info, completion, argument, context, incoming, atom, .. } = asked;
    let into = match NonNull::new(buffer.cast::<u8>()) {
        _ if info.ctl_flags == LAPI_BURY_MSG => Destination::Discard,
        _ if !info.dgsp_handle.is_null() => layout::destination(context, incoming, info, buffer, atom),
        Some(buffer) => Destination::Contiguous(buffer),
        None => Destination::Discard,
    };
    Delivery {
        into,
        drop: info.ctl_flags == LAPI_DROP_PKT,
        completion: completion.map(|function| raw(function, argument)),
        run: run_of(info),
    }
}
