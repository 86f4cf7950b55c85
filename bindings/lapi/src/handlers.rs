//! From core's hooks to the handlers of C programs.

use crate::abi::*;
use crate::code::RELATIVE;
use crate::{dgsp, handles, vector};
use lapis_core::handlers::Incoming;
use lapis_core::message::{Destination, MAX_USER_HEADER};
use lapis_core::{CompletionHandler, Context, Delivery, Notify, Run};
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};

/// What `MAGIC` of a `lapi_return_info_t` holds: "LAPI".
const MAGIC: c_int = 0x4c41_5049;

/// A handler of the internal kind: not an address, for addresses of functions have these bits clear.
pub(crate) const INTERNAL: u64 = 1 << 63;

/// Calls the header handler of an active message.
///
/// # Safety
/// `handler` is the address of a header handler of this program, or has [`INTERNAL`] or [`RELATIVE`] set.
//= LAPI Guide, LAPI_Amsend, the header handler
pub(crate) unsafe fn header(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Delivery {
    if handler & (INTERNAL | RELATIVE) != 0 {
        // SAFETY: the caller's promise.
        return unsafe { not_by_address(context, handler, incoming) };
    }
    // SAFETY: the caller's promise.
    unsafe { call(context, handler, incoming, 0) }
}

/// # Safety
/// As for [`header`].
unsafe fn not_by_address(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Delivery {
    if handler & INTERNAL != 0 {
        // SAFETY: the caller's promise.
        return unsafe { vector::arrived(context, handler, incoming) };
    }
    match vector::handler_address(context, handler, incoming.source) {
        // SAFETY: the caller's promise: a function of the program or of an object that the origin has loaded, too.
        Ok(address) => unsafe { call(context, address, incoming, 0) },
        Err(delivery) => delivery,
    }
}

/// Calls a header handler by its address, for a message whose packets hold whole atoms of so many bytes, or anything with 0.
///
/// # Safety
/// `handler` is the address of a header handler of this program.
#[inline(always)]
pub(crate) unsafe fn call(context: &Context, handler: u64, incoming: &Incoming<'_>, atom: u64) -> Delivery {
    // SAFETY: the caller's promise: the address of a function of this type.
    let call = unsafe { std::mem::transmute::<usize, hdr_hndlr_t>(handler as usize) };
    let mut info = return_info(incoming.len, incoming.source, incoming.data);
    let mut user_len = incoming.user_header.len() as c_uint;
    let mut completion: Option<compl_hndlr_t> = None;
    let mut argument = null_mut();
    let mut room = MaybeUninit::uninit();
    let user = in_place_or_aligned(incoming.user_header, &mut room).cast_mut().cast();
    let handle = handles::for_handlers(context);
    // SAFETY: all pointers are valid during the call; msg_len is the first field of the structure that newer handlers take
    // it for.
    let buffer = context.lending(|| unsafe {
        call(handle, user, &mut user_len, (&raw mut info).cast(), &mut completion, &mut argument)
    });
    delivery(context, incoming, &info, buffer, completion, argument, atom)
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

/// Room for the longest user header, where any structure may lie.
type Room = MaybeUninit<[u64; MAX_USER_HEADER / 8]>;

/// Where a handler finds the user header. Programs lay structures over it, so it begins at a multiple of eight, as packets of most
/// transports do. Messages that share a datagram lie close together; theirs are copied.
#[inline(always)]
fn in_place_or_aligned(header: &[u8], room: &mut Room) -> *const u8 {
    if header.as_ptr().addr().is_multiple_of(8) || header.is_empty() {
        header.as_ptr()
    } else {
        aligned(header, room)
    }
}

#[cold]
fn aligned(header: &[u8], room: &mut Room) -> *const u8 {
    let len = header.len().min(MAX_USER_HEADER);
    let to = room.as_mut_ptr().cast::<u8>();
    // SAFETY: the room is that long, and nobody else's.
    unsafe { std::ptr::copy_nonoverlapping(header.as_ptr(), to, len) };
    to
}

//= LAPI Guide, The enhanced header handler interface, ret_flags and ctl_flags
#[inline(always)]
fn delivery(
    context: &Context,
    incoming: &Incoming<'_>,
    info: &lapi_return_info_t,
    buffer: *mut c_void,
    completion: Option<compl_hndlr_t>,
    argument: *mut c_void,
    atom: u64,
) -> Delivery {
    let into = match NonNull::new(buffer.cast::<u8>()) {
        _ if info.ctl_flags == LAPI_BURY_MSG => Destination::Discard,
        _ if !info.dgsp_handle.is_null() => dgsp::destination(context, incoming, info, buffer, atom),
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

/// A completion handler as core carries it.
#[inline(always)]
pub(crate) fn raw(function: compl_hndlr_t, argument: *mut c_void) -> CompletionHandler {
    CompletionHandler::Raw { function: function as usize, argument }
}

/// Calls a completion handler.
///
/// # Safety
/// `function` is the address of a completion handler and `argument` what its header handler gave for it.
pub(crate) unsafe fn completion(context: &Context, function: usize, argument: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        let call = std::mem::transmute::<usize, compl_hndlr_t>(function);
        context.lending(|| call(handles::for_handlers(context), argument));
    }
}

/// Whom to tell when the origin's buffer is free: a counter, a send completion handler, both or neither.
//= LAPI Guide, The send completion handler, runs when the send-side buffer is available
#[inline(always)]
pub(crate) fn send_notify(
    counter: *mut lapi_cntr_t,
    handler: Option<scompl_hndlr_t>,
    argument: *mut c_void,
) -> Notify {
    let counter = NonNull::new(counter.cast());
    match (counter, handler) {
        (None, None) => Notify::None,
        (Some(counter), None) => Notify::Counter(counter),
        (counter, Some(handler)) => {
            let call = Notify::Call { call: sent, function: handler as usize, argument };
            match counter {
                None => call,
                Some(counter) => Notify::Both(counter, Box::new(call)),
            }
        }
    }
}

unsafe fn sent(context: &Context, peer: u32, function: usize, argument: *mut c_void, ok: bool) {
    let reason = if ok { LAPI_SUCCESS } else { LAPI_ERR_SEND_INCOMP };
    let mut info = lapi_sh_info_t { src: peer, reason: reason as c_uint, reserve: [0; 6] };
    // SAFETY: `send_notify` made the word from a send completion handler.
    unsafe {
        let call = std::mem::transmute::<usize, scompl_hndlr_t>(function);
        context.lending(|| call(handles::for_handlers(context), argument, &mut info));
    }
}

/// Whom to tell when the data of a get is here: a counter, a completion handler, both or neither.
//= LAPI Guide, table 8, the completion handler of a get runs at the origin
#[inline(always)]
pub(crate) fn get_notify(
    counter: *mut lapi_cntr_t,
    handler: Option<compl_hndlr_t>,
    argument: *mut c_void,
) -> Notify {
    let counter = NonNull::new(counter.cast());
    match (counter, handler) {
        (None, None) => Notify::None,
        (Some(counter), None) => Notify::Counter(counter),
        (counter, Some(handler)) => {
            let call = Notify::Call { call: got, function: handler as usize, argument };
            match counter {
                None => call,
                Some(counter) => Notify::Both(counter, Box::new(call)),
            }
        }
    }
}

/// A get's completion handler may block like any other: it runs on a handler thread.
unsafe fn got(context: &Context, _peer: u32, function: usize, argument: *mut c_void, ok: bool) {
    if ok {
        context.run_on_handler_thread(CompletionHandler::Raw { function, argument });
    }
}
