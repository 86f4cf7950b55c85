//! Sending.

use super::with;
use crate::handle::Handle;
use crate::stream::{Callback, Op, Teller};
use crate::wish::Wish;
use std::ffi::{c_int, c_uint, c_ulong, c_void};

/// # Safety
/// `p` is NULL or a port that is open.
unsafe fn send(p: *mut Handle, wish: Wish) {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, (), |inner| inner.port.send(wish)) }
}

fn address(memory: *mut c_void) -> u64 {
    memory.expose_provenance() as u64
}

fn message(
    local: *mut c_void,
    size: c_uint,
    len: c_ulong,
    priority: c_uint,
    (node, port): (c_uint, c_uint),
    teller: Teller,
) -> Wish {
    // A size that can't be is refused like any other that the message does not fit.
    let op = Op::Message { size: u8::try_from(size).unwrap_or(0) };
    Wish { op, local: address(local), len, priority, node, port, teller }
}

/// Sends a message of `len` bytes to a port of a node, into a buffer of this size class and
/// priority. It may not change until `callback` has run inside gm_unknown.
///
/// # Safety
/// `p` is NULL or a port that is open; the message can be read until the callback has run.
//= GM, gm_send_with_callback
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_send_with_callback(
    p: *mut Handle,
    message_at: *mut c_void,
    size: c_uint,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    let teller = Teller::Call { callback, context };
    let wish = message(message_at, size, len, priority, (target_node_id, target_port_id), teller);
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe { send(p, wish) }
}

/// The same to the port of the same number.
///
/// # Safety
/// As for gm_send_with_callback.
//= GM, gm_send_to_peer_with_callback
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_send_to_peer_with_callback(
    p: *mut Handle,
    message_at: *mut c_void,
    size: c_uint,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    let teller = Teller::Call { callback, context };
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe {
        let port = super::ports::gm_get_port_id(p);
        send(p, message(message_at, size, len, priority, (target_node_id, port), teller));
    }
}

/// The same without a callback: a GM_SENT_EVENT tells of its end.
///
/// # Safety
/// As for gm_send_with_callback.
//= GM, gm_send
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_send(
    p: *mut Handle,
    message_at: *mut c_void,
    size: c_uint,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
) {
    let wish = message(message_at, size, len, priority, (target_node_id, target_port_id), Teller::Event);
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe { send(p, wish) }
}

/// The same to the port of the same number.
///
/// # Safety
/// As for gm_send_with_callback.
//= GM, gm_send_to_peer
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_send_to_peer(
    p: *mut Handle,
    message_at: *mut c_void,
    size: c_uint,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
) {
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe {
        let port = super::ports::gm_get_port_id(p);
        send(p, message(message_at, size, len, priority, (target_node_id, port), Teller::Event));
    }
}

/// Sends a message of at most gm_mtu bytes that may get lost. It may change when the call returns.
///
/// # Safety
/// `p` is NULL or a port that is open; the message can be read.
//= GM, gm_datagram_send
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_datagram_send(
    p: *mut Handle,
    message_at: *mut c_void,
    size: c_uint,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    let teller = Teller::Call { callback, context };
    let wish = message(message_at, size, len, priority, (target_node_id, target_port_id), teller);
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe { with(p, (), |inner| inner.port.send_datagram(&wish)) }
}

/// The same with the first `len` of four bytes.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_datagram_send_4
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_datagram_send_4(
    p: *mut Handle,
    bytes: c_uint,
    size: c_uint,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    let at = (&raw const bytes).cast_mut().cast();
    let to = (target_node_id, target_port_id);
    // SAFETY: `p` is NULL or open; no more than the four bytes are read, and within this call.
    unsafe { gm_datagram_send(p, at, size, len.min(4), priority, to.0, to.1, callback, context) }
}

/// Writes to memory of the target's, which has registered it and allowed this, in order with the
/// messages of this priority.
///
/// # Safety
/// As for gm_send_with_callback.
//= GM, gm_directed_send_with_callback
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_directed_send_with_callback(
    p: *mut Handle,
    source_buffer: *mut c_void,
    target_buffer: u64,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    let teller = Teller::Call { callback, context };
    let (op, local) = (Op::Put { address: target_buffer }, address(source_buffer));
    let (node, port) = (target_node_id, target_port_id);
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe { send(p, Wish { op, local, len, priority, node, port, teller }) }
}

/// The same without a callback.
///
/// # Safety
/// As for gm_send_with_callback.
//= GM, gm_directed_send
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_directed_send(
    p: *mut Handle,
    source_buffer: *mut c_void,
    target_buffer: u64,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
) {
    let (op, local) = (Op::Put { address: target_buffer }, address(source_buffer));
    let (node, port) = (target_node_id, target_port_id);
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe { send(p, Wish { op, local, len, priority, node, port, teller: Teller::Event }) }
}

/// The name that GM 2 has for gm_directed_send_with_callback.
///
/// # Safety
/// As for gm_send_with_callback.
//= GM, gm_put
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_put(
    p: *mut Handle,
    local_buffer: *mut c_void,
    remote_buffer: u64,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    let to = (target_node_id, target_port_id);
    // SAFETY: port and memory are as this call asks for, which that one does, too.
    unsafe {
        gm_directed_send_with_callback(
            p,
            local_buffer,
            remote_buffer,
            len,
            priority,
            to.0,
            to.1,
            callback,
            context,
        );
    }
}

/// Reads memory of the target's, which has registered it and allowed this, in order with the
/// messages of this priority.
///
/// # Safety
/// `p` is NULL or a port that is open; `local_buffer` can be written until the callback has run.
//= GM, gm_get
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_get(
    p: *mut Handle,
    remote_buffer: u64,
    local_buffer: *mut c_void,
    len: c_ulong,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    let teller = Teller::Call { callback, context };
    let (op, local) = (Op::Get { address: remote_buffer }, address(local_buffer));
    let (node, port) = (target_node_id, target_port_id);
    // SAFETY: `p` is NULL or open, and the message stays: this call asks for both.
    unsafe { send(p, Wish { op, local, len, priority, node, port, teller }) }
}

/// # Safety
/// `p` is NULL or a port that is open.
unsafe fn after_failure(
    p: *mut Handle,
    (priority, node, port): (c_uint, c_uint, c_uint),
    (callback, context): (Callback, *mut c_void),
    go_on: bool,
) {
    let teller = Teller::Call { callback, context };
    let wish = Wish { op: Op::Message { size: 0 }, local: 0, len: 0, priority, node, port, teller };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, (), |inner| inner.port.settle_failure(&wish, go_on)) }
}

/// After a send has failed: goes on with the messages behind it. Takes a send token, which the
/// callback gives back.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_resume_sending
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_resume_sending(
    p: *mut Handle,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { after_failure(p, (priority, target_node_id, target_port_id), (callback, context), true) }
}

/// After a send has failed: drops the messages behind it, whose callbacks hear GM_SEND_DROPPED.
/// Takes a send token, which the callback gives back.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_drop_sends
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_drop_sends(
    p: *mut Handle,
    priority: c_uint,
    target_node_id: c_uint,
    target_port_id: c_uint,
    callback: Callback,
    context: *mut c_void,
) {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { after_failure(p, (priority, target_node_id, target_port_id), (callback, context), false) }
}

/// # Safety
/// `p` is NULL or a port that is open.
unsafe fn pool<T>(p: *mut Handle, priority: c_uint, other: T, f: impl FnOnce(&mut u32) -> T) -> T {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, other, |inner| f(&mut inner.port.pool[priority as usize & 1])) }
}

/// Takes a send token out of those that the program has left here. 0: there is none.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_alloc_send_token
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_alloc_send_token(p: *mut Handle, priority: c_uint) -> c_int {
    let take = |left: &mut u32| {
        let some = *left > 0;
        *left -= u32::from(some);
        some.into()
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { pool(p, priority, 0, take) }
}

/// Whether gm_alloc_send_token would find one.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_send_token_available
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_send_token_available(p: *mut Handle, priority: c_uint) -> c_int {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { pool(p, priority, 0, |left| (*left > 0).into()) }
}

/// Leaves a send token here.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_free_send_token
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_free_send_token(p: *mut Handle, priority: c_uint) {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { gm_free_send_tokens(p, priority, 1) }
}

/// Leaves several here.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_free_send_tokens
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_free_send_tokens(p: *mut Handle, priority: c_uint, count: c_uint) {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { pool(p, priority, (), |left| *left = left.saturating_add(count)) }
}
