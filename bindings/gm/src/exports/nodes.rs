//! Nodes: identities, host names, addresses.

use super::{answer, with};
use crate::abi::{MAX_HOST_NAME_LEN, NO_SUCH_NODE_ID, Status};
use crate::handle::{Handle, Inner};
use crate::port::Port;
use lapis_adapters::protocol::Node;
use std::ffi::{CStr, c_char, c_int, c_uint};

/// # Safety
/// `p` is NULL or a port that is open; `to` is NULL or can be written.
pub(super) unsafe fn store<T>(
    p: *mut Handle,
    to: *mut T,
    f: impl FnOnce(&mut Port) -> Result<T, Status>,
) -> c_int {
    if to.is_null() {
        return Status::InvalidParameter as c_int;
    }
    let run = |inner: &mut Inner| f(&mut inner.port);
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), run).map(|value| to.write(value)) })
}

pub(super) fn node(port: &mut Port, id: u32) -> Result<&Node, Status> {
    port.find_node(|node| node.node == id)?.ok_or(Status::NoMatch)
}

/// Six bytes, written as 12 digits.
fn bytes(digits: &str) -> [u8; 6] {
    let number = u64::from_str_radix(digits, 16).unwrap_or(0).to_be_bytes();
    [number[2], number[3], number[4], number[5], number[6], number[7]]
}

/// A name as C has it, within so many bytes.
pub(super) fn c_name(name: &str, room: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = name.bytes().take(room - 1).collect();
    bytes.push(0);
    bytes
}

/// The identity of the node of this name. A host has one on each of its boards: a name without a
/// board's number means the one that this port's network reaches.
pub(super) fn find(port: &mut Port, name: &str) -> Result<u32, Status> {
    let own = port.node;
    let network = node(port, own)?.network;
    if name.contains(':') {
        let exact = port.find_node(|node| node.name == name)?;
        return exact.map(|node| node.node).ok_or(Status::NoMatch);
    }
    let host = |node: &Node| node.name.split(':').next().unwrap_or_default().to_owned();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let exact = port.find_node(|node| node.network == network && host(node) == name)?;
    if let Some(node) = exact {
        return Ok(node.node);
    }
    let found = port.find_node(|node| node.network == network && short(&host(node)) == short(name))?;
    found.map(|node| node.node).ok_or(Status::NoMatch)
}

/// The identity of the port's own node.
///
/// # Safety
/// `p` is NULL or a port that is open; `n` can be written.
//= GM, gm_get_node_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_get_node_id(p: *mut Handle, n: *mut c_uint) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { store(p, n, |port| Ok(port.node)) }
}

/// The kind of the port's board: there is one.
///
/// # Safety
/// `p` is NULL or a port that is open; `kind` can be written.
//= GM, gm_get_node_type
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_get_node_type(p: *mut Handle, kind: *mut c_int) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { store(p, kind, |_| Ok(0)) }
}

/// The port's own host name.
///
/// # Safety
/// `p` is NULL or a port that is open; `name` has room for GM_MAX_HOST_NAME_LEN bytes.
//= GM, gm_get_host_name
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_get_host_name(p: *mut Handle, name: *mut c_char) -> c_int {
    // SAFETY: `p` is NULL or open, and the name has room: this call asks for that itself.
    unsafe { host_name(p, None, name) }
}

/// # Safety
/// `p` is NULL or a port that is open; `name` has room for GM_MAX_HOST_NAME_LEN bytes.
unsafe fn host_name(p: *mut Handle, id: Option<u32>, name: *mut c_char) -> c_int {
    if name.is_null() {
        return Status::InvalidParameter as c_int;
    }
    let run = |inner: &mut Inner| {
        let id = id.unwrap_or(inner.port.node);
        let text = c_name(&node(&mut inner.port, id)?.name, MAX_HOST_NAME_LEN);
        // SAFETY: the text with its end is no longer than the room that the program has there.
        unsafe { name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        Ok(())
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), run) })
}

/// The host name of a node, within so many microseconds.
///
/// # Safety
/// `p` is NULL or a port that is open; `name` has room for GM_MAX_HOST_NAME_LEN bytes.
//= GM, gm_node_id_to_host_name_ex
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_node_id_to_host_name_ex(
    p: *mut Handle,
    _timeout_usecs: c_uint,
    node_id: c_uint,
    name: *mut c_char,
) -> c_int {
    // SAFETY: `p` is NULL or open, and the name has room: this call asks for that itself.
    unsafe { host_name(p, Some(node_id), name) }
}

/// The host name of a node, in memory that stays until the thread asks again. NULL: no such node.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_node_id_to_host_name
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_node_id_to_host_name(p: *mut Handle, node_id: c_uint) -> *mut c_char {
    thread_local! {
        static NAME: std::cell::UnsafeCell<[u8; MAX_HOST_NAME_LEN]> =
            const { std::cell::UnsafeCell::new([0; MAX_HOST_NAME_LEN]) };
    }
    let name: *mut c_char = NAME.with(|name| name.get().cast());
    // SAFETY: `p` is NULL or open, as this call asks for; there is room, and it is this thread's.
    match unsafe { host_name(p, Some(node_id), name) } {
        0 => name,
        _ => std::ptr::null_mut(),
    }
}

/// The identity of the node of a host name, within so many microseconds.
///
/// # Safety
/// `p` is NULL or a port that is open; `host_name` is a string; `node_id` can be written.
//= GM, gm_host_name_to_node_id_ex
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_host_name_to_node_id_ex(
    p: *mut Handle,
    _timeout_usecs: c_uint,
    host_name: *const c_char,
    node_id: *mut c_uint,
) -> c_int {
    if host_name.is_null() {
        return Status::InvalidParameter as c_int;
    }
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe {
        let name = CStr::from_ptr(host_name).to_string_lossy();
        store(p, node_id, |port| find(port, &name))
    }
}

/// The identity of the node of a host name; GM_NO_SUCH_NODE_ID: there is none.
///
/// # Safety
/// `p` is NULL or a port that is open; `host_name` is a string.
//= GM, gm_host_name_to_node_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_host_name_to_node_id(p: *mut Handle, host_name: *const c_char) -> c_uint {
    let mut id = NO_SUCH_NODE_ID;
    // SAFETY: `p` is NULL or open, the name a string, and the identity this function's own.
    unsafe { gm_host_name_to_node_id_ex(p, 0, host_name, &raw mut id) };
    id
}

/// The address of the port's own board: six bytes.
///
/// # Safety
/// `p` is NULL or a port that is open; `unique` has room for six bytes.
//= GM, gm_get_unique_board_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_get_unique_board_id(p: *mut Handle, unique: *mut c_char) -> c_int {
    let own = |port: &mut Port| {
        let id = port.node;
        Ok(bytes(&node(port, id)?.unique))
    };
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { store(p, unique.cast(), own) }
}

/// The same.
///
/// # Safety
/// As for gm_get_unique_board_id.
//= GM, gm_unique_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_unique_id(p: *mut Handle, unique: *mut c_char) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { gm_get_unique_board_id(p, unique) }
}

/// The address of a node.
///
/// # Safety
/// `p` is NULL or a port that is open; `unique` has room for six bytes.
//= GM, gm_node_id_to_unique_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_node_id_to_unique_id(p: *mut Handle, n: c_uint, unique: *mut c_char) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { store(p, unique.cast(), |port| Ok(bytes(&node(port, n)?.unique))) }
}

/// The node of an address.
///
/// # Safety
/// `p` is NULL or a port that is open; `unique` has six bytes; `node_id` can be written.
//= GM, gm_unique_id_to_node_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_unique_id_to_node_id(
    p: *mut Handle,
    unique: *const c_char,
    node_id: *mut c_uint,
) -> c_int {
    if unique.is_null() {
        return Status::InvalidParameter as c_int;
    }
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe {
        let wanted: [u8; 6] = unique.cast::<[u8; 6]>().read_unaligned();
        store(p, node_id, |port| {
            let found = port.find_node(|node| bytes(&node.unique) == wanted)?;
            found.map(|node| node.node).ok_or(Status::NoMatch)
        })
    }
}

/// The greatest identity of a node that is known.
///
/// # Safety
/// `p` is NULL or a port that is open; `n` can be written.
//= GM, gm_max_node_id_in_use
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_max_node_id_in_use(p: *mut Handle, n: *mut c_uint) -> c_int {
    let greatest = |port: &mut Port| Ok(port.all_nodes()?.iter().map(|node| node.node).max().unwrap_or(0));
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { store(p, n, greatest) }
}

/// The same under its former name.
///
/// # Safety
/// As for gm_max_node_id_in_use.
//= GM, gm_max_node_id_inuse
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_max_node_id_inuse(p: *mut Handle, n: *mut c_uint) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { gm_max_node_id_in_use(p, n) }
}

/// The global identity of a node: here the same number.
///
/// # Safety
/// `p` is NULL or a port that is open; `global_id` can be written.
//= GM, gm_node_id_to_global_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_node_id_to_global_id(
    p: *mut Handle,
    node_id: c_uint,
    global_id: *mut c_uint,
) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { store(p, global_id, |port| Ok(node(port, node_id)?.node)) }
}

/// The node of a global identity.
///
/// # Safety
/// `p` is NULL or a port that is open; `node_id` can be written.
//= GM, gm_global_id_to_node_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_global_id_to_node_id(
    p: *mut Handle,
    global_id: c_uint,
    node_id: *mut c_uint,
) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { store(p, node_id, |port| Ok(node(port, global_id)?.node)) }
}
