//! What GM's mapper was asked for: the yellow pages, its address, routes.

use super::{answer, with};
use crate::abi::{MAX_YP_STRING_LEN, NO_SUCH_NODE_ID, Status};
use crate::exports::nodes;
use crate::handle::{Handle, Inner};
use crate::port::Port;
use std::ffi::{CStr, c_char, c_int, c_uint};

/// The one thing that the pages say of each node.
const HOST_NAME: &str = "hostname";

/// The node that is asked for, and its host's name.
fn look_up(port: &mut Port, wanted: u32, key: &str, value: Option<&str>) -> Result<(u32, String), Status> {
    if key != HOST_NAME {
        return Err(Status::YpNoMatch);
    }
    let found = match (wanted, value) {
        (NO_SUCH_NODE_ID, None) => return Err(Status::InvalidParameter),
        (NO_SUCH_NODE_ID, Some(name)) => nodes::find(port, name),
        (node, None) => Ok(node),
        (node, Some(name)) => nodes::find(port, name).and_then(|found| match found == node {
            true => Ok(node),
            false => Err(Status::YpNoMatch),
        }),
    };
    let no_match = |status| if status == Status::NoMatch { Status::YpNoMatch } else { status };
    let node = found.map_err(no_match)?;
    let name = nodes::node(port, node).map_err(no_match)?.name.clone();
    Ok((node, name))
}

/// Looks a node up by what is known of it. With GM_NO_SUCH_NODE_ID at `node_id` the node whose
/// `key` is `value` is looked for, and its identity is stored there; with an identity that node is
/// asked, and `value` is NULL or must be its own. What the node has under `key` is stored at
/// `answer`, unless that is NULL. The key that nodes have is `hostname`.
///
/// # Safety
/// `p` is NULL or a port that is open; `node_id` is NULL or can be read and written; `key` and
/// `value` are NULL or strings; `reply` is NULL or has room for GM_MAX_YP_STRING_LEN bytes.
//= GM, gm_yp
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_yp(
    p: *mut Handle,
    _timeout_usecs: c_uint,
    node_id: *mut c_uint,
    key: *const c_char,
    value: *const c_char,
    reply: *mut c_char,
) -> c_int {
    if node_id.is_null() || key.is_null() {
        return Status::InvalidParameter as c_int;
    }
    // SAFETY: the program gives strings, which end.
    let (wanted, key) = unsafe { (node_id.read(), CStr::from_ptr(key).to_string_lossy()) };
    // SAFETY: the program gives strings, which end.
    let value = (!value.is_null()).then(|| unsafe { CStr::from_ptr(value).to_string_lossy() });
    let run = |inner: &mut Inner| {
        let (node, name) = look_up(&mut inner.port, wanted, &key, value.as_deref())?;
        // SAFETY: not NULL, and then it can be written: this call asks for that itself.
        unsafe { node_id.write(node) };
        if !reply.is_null() {
            let text = nodes::c_name(&name, MAX_YP_STRING_LEN);
            // SAFETY: a reply has room for the longest name, as this call asks for, and the text is
            // no longer.
            unsafe { reply.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        }
        Ok(())
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), run) })
}

/// The address of the board that the mapper works at: each host's daemon maps for its own, so it is
/// the address of the port's board.
///
/// # Safety
/// As for gm_get_unique_board_id.
//= GM, gm_get_mapper_unique_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_get_mapper_unique_id(p: *mut Handle, unique: *mut c_char) -> c_int {
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { nodes::gm_get_unique_board_id(p, unique) }
}

/// The switches on the way to a node, one byte for each: there are none that senders would have to
/// know of, so 0 is stored at `len`, and nothing at `route`.
///
/// # Safety
/// `p` is NULL or a port that is open; `len` is NULL or can be written.
//= GM, _gm_get_route
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gm_get_route(
    p: *mut Handle,
    node_id: c_uint,
    _route: *mut c_char,
    len: *mut c_uint,
) -> c_int {
    let route = |port: &mut Port| {
        let own = port.node;
        let here = nodes::node(port, own)?.network;
        let there = nodes::node(port, node_id)?.network;
        if here == there { Ok(0) } else { Err(Status::SendTargetNodeUnreachable) }
    };
    // SAFETY: `p` is NULL or open, and what is stored has its place: this call's own terms.
    unsafe { nodes::store(p, len, route) }
}
