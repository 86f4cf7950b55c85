//! Calling a program's header handler.

use super::notify::raw;
use crate::abi::*;
use crate::dgsp::layout;
use crate::handles;
use lapis_core::handlers::Incoming;
use lapis_core::message::{Destination, MAX_USER_HEADER};
use lapis_core::{Context, Delivery, Run};
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};

/// What `MAGIC` of a `lapi_return_info_t` holds: "LAPI".
const MAGIC: c_int = 0x4c41_5049;

/// Calls a header handler by its address, for a message whose packets hold whole atoms of so many
/// bytes, or anything with 0. `None`: it wants nothing to be stored or run.
///
/// # Safety
/// `handler` is the address of a header handler of this program.
#[inline(always)]
pub(crate) unsafe fn call(
    context: &Context,
    handler: u64,
    incoming: &Incoming<'_>,
    atom: u64,
) -> Option<Delivery> {
    // SAFETY: the caller's promise: the address of a function of this type.
    let call = unsafe { std::mem::transmute::<usize, hdr_hndlr_t>(handler as usize) };
    let mut info = return_info(incoming.len, incoming.source, incoming.data());
    let mut user_len = incoming.user_header.len() as c_uint;
    let mut completion: Option<compl_hndlr_t> = None;
    let mut argument = null_mut();
    let mut room = MaybeUninit::uninit();
    let user = in_place_or_aligned(incoming.user_header, &mut room).cast_mut().cast();
    let handle = handles::for_handlers(context);
    // SAFETY: all pointers are valid during the call; msg_len is the first field of the structure
    // that newer handlers take it for.
    let buffer = context.lending_held(|| unsafe {
        call(handle, user, &mut user_len, (&raw mut info).cast(), &mut completion, &mut argument)
    });
    let completes = completion.map_or(0, |function| function as usize);
    let wants = buffer.addr() | completes | info.dgsp_handle.addr();
    if wants == 0 && info.ctl_flags != LAPI_DROP_PKT {
        return None;
    }
    Some(delivery(context, incoming, &info, buffer, completion, argument, atom))
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

/// Where a handler finds the user header. Programs lay structures over it, so it begins at a
/// multiple of eight, as packets of most transports do. Messages that share a datagram lie close
/// together; theirs are copied.
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

/// What a handler asked for that wants more than a look at the message.
//= LAPI Guide, The enhanced header handler interface, ret_flags and ctl_flags
#[inline(never)]
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
