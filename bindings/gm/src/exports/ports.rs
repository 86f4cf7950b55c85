//! Beginning and end, and what a port says of itself.

use super::{answer, with};
use crate::abi::{MAX_NODE_ID, MIN_SIZE, MTU, RECEIVE_TOKENS, SEND_TOKENS, Status, max_length, min_size};
use crate::handle::Handle;
use crate::{abi, diagnostics};
use lapis_adapters::protocol::PORTS;
use lapis_core::sync::{AtomicU32, Ordering};
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong};

/// Versions of the API that programs may ask for: 1.0 to 2.1, as GM writes them.
const VERSIONS: [std::ops::RangeInclusive<c_int>; 2] = [0x100..=0x2ff, 0x1_0000..=0x2_ffff];
/// Those of GM 1.
const GM1: [std::ops::RangeInclusive<c_int>; 2] = [0x100..=0x1ff, 0x1_0000..=0x1_ffff];

static STARTED: AtomicU32 = AtomicU32::new(0);

/// Begins with GM; calls are counted.
//= GM, gm_init
#[unsafe(no_mangle)]
pub extern "C" fn gm_init() -> c_int {
    diagnostics::install();
    STARTED.fetch_add(1, Ordering::Relaxed);
    Status::Success as c_int
}

/// Ends with GM, once for each gm_init. Ports stay open until they are closed.
//= GM, gm_finalize
#[unsafe(no_mangle)]
pub extern "C" fn gm_finalize() {
    let less = |n: u32| n.checked_sub(1);
    let _ = STARTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

/// Opens a port of a board; its handle is stored at `p`.
///
/// # Safety
/// `p` can be written; `port_name` is NULL or a string.
//= GM, gm_open
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_open(
    p: *mut *mut Handle,
    unit: c_uint,
    port: c_uint,
    port_name: *const c_char,
    version: c_int,
) -> c_int {
    diagnostics::install();
    if p.is_null() {
        return Status::InvalidParameter as c_int;
    }
    if !VERSIONS.iter().any(|versions| versions.contains(&version)) {
        tracing::error!(target: "lapis::gm", "gm_open: the program was written for GM's API {version:#x}; 1.0 to 2.1 are here");
        return Status::IncompatibleLibAndDriver as c_int;
    }
    let name = if port_name.is_null() {
        String::new()
    } else {
        // SAFETY: the program gives strings, which end.
        unsafe { CStr::from_ptr(port_name) }.to_string_lossy().chars().take(15).collect()
    };
    let is_gm1 = GM1.iter().any(|versions| versions.contains(&version));
    let opened = Handle::open(unit, port, &name, is_gm1);
    // SAFETY: not NULL, and then it can be written: this call asks for that itself.
    answer(opened.map(|handle| unsafe { p.write(handle) }))
}

/// Closes a port. What was received and not read is gone; what was sent goes out if its target
/// answers.
///
/// # Safety
/// `p` is NULL or a port that is open, which nobody uses any more.
//= GM, gm_close
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_close(p: *mut Handle) {
    if !p.is_null() {
        // SAFETY: the port came from gm_open, and the program's time with it is over.
        unsafe { Handle::close(p) };
    }
}

/// The number of ports of a board.
///
/// # Safety
/// None.
//= GM, gm_num_ports
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_num_ports(_p: *mut Handle) -> c_uint {
    PORTS
}

/// The number of this port.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_get_port_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_get_port_id(p: *mut Handle) -> c_uint {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, 0, |inner| inner.port.number) }
}

/// Send tokens of a port, of both priorities together.
///
/// # Safety
/// None.
//= GM, gm_num_send_tokens
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_num_send_tokens(_p: *mut Handle) -> c_uint {
    SEND_TOKENS
}

/// Receive tokens of a port.
///
/// # Safety
/// None.
//= GM, gm_num_receive_tokens
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_num_receive_tokens(_p: *mut Handle) -> c_uint {
    RECEIVE_TOKENS
}

/// Bytes of a packet.
///
/// # Safety
/// None.
//= GM, gm_mtu
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_mtu(_p: *mut Handle) -> c_uint {
    MTU
}

/// The greatest node identity there can be.
///
/// # Safety
/// `n` can be written.
//= GM, gm_max_node_id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_max_node_id(_p: *mut Handle, n: *mut c_uint) -> c_int {
    if n.is_null() {
        return Status::InvalidParameter as c_int;
    }
    // SAFETY: not NULL, and then it can be written: this call asks for that itself.
    unsafe { n.write(MAX_NODE_ID) };
    Status::Success as c_int
}

/// The smallest size class.
///
/// # Safety
/// None.
//= GM, gm_min_message_size
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_min_message_size(_p: *mut Handle) -> c_uint {
    MIN_SIZE
}

/// The smallest size class for so many bytes.
//= GM, gm_min_size_for_length
#[unsafe(no_mangle)]
pub extern "C" fn gm_min_size_for_length(length: c_ulong) -> c_uint {
    min_size(length)
}

/// The most bytes of a message of a size class.
//= GM, gm_max_length_for_size
#[unsafe(no_mangle)]
pub extern "C" fn gm_max_length_for_size(size: c_uint) -> c_ulong {
    max_length(size)
}

/// Says which size classes may come, one bit for each.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_set_acceptable_sizes
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_set_acceptable_sizes(p: *mut Handle, priority: c_uint, mask: c_ulong) -> c_int {
    let set = |inner: &mut crate::handle::Inner| {
        let place = inner.port.buffers.acceptable.get_mut(priority as usize);
        *place.ok_or(Status::InvalidParameter)? = mask;
        Ok(())
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), set) })
}

/// Whether sends to ports that are not open fail at once (`flag` other than 0), or wait a while for
/// them.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_set_enable_nack_down
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_set_enable_nack_down(p: *mut Handle, flag: c_int) -> c_int {
    let set = |inner: &mut crate::handle::Inner| {
        inner.port.nack_down = flag != 0;
        Ok(())
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), set) })
}

/// Half microseconds since the port was opened, as the interface cards counted them.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_ticks
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_ticks(p: *mut Handle) -> u64 {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, 0, |inner| inner.port.net.now() / 500) }
}

const _: () = assert!(abi::MAX_SIZE < 32);
