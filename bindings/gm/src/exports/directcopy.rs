//! Copies out of the memory of another process of this host, by the kernel.

use super::{answer, with};
use crate::abi::Status;
use crate::handle::{Handle, Inner};
use crate::port::Port;
use lapis_cross_memory::{Access, copy};
use std::ffi::{c_int, c_uint, c_ulong, c_void};

/// The process of this user that has a port of this host open.
fn owner(port: &mut Port, board: u32, number: u32) -> Result<i32, Status> {
    let host = port.settings.node.clone();
    let user = rustix::process::geteuid().as_raw();
    // Ports come and go: what was known before does not count.
    let nodes = port.all_nodes()?;
    let here = nodes.iter().find(|node| node.board == board && node.name.split(':').next() == Some(&*host));
    let open = here.and_then(|node| node.ports.iter().find(|open| open.port == number));
    let open = open.ok_or(Status::NoMatch)?;
    if open.user != user { Err(Status::PermissionDenied) } else { Ok(open.process.cast_signed()) }
}

/// Copies `length` bytes from `source_addr` in the memory of the process that has the port
/// `source_port_id` of the board `source_instance_id` of this host open, to `target_addr` here.
/// GM_NO_MATCH: nobody has that port open; GM_PERMISSION_DENIED: the process is another user's, or
/// the kernel refuses; GM_MEMORY_FAULT: it has no such memory, and some bytes may have been copied.
///
/// # Safety
/// `p` is NULL or a port that is open; `target_addr` has `length` bytes that can be written.
//= GM, gm_directcopy_get
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_directcopy_get(
    p: *mut Handle,
    source_addr: *mut c_void,
    target_addr: *mut c_void,
    length: c_ulong,
    source_instance_id: c_uint,
    source_port_id: c_uint,
) -> c_int {
    if target_addr.is_null() && length > 0 {
        return Status::InvalidParameter as c_int;
    }
    let get = |inner: &mut Inner| {
        let process = owner(&mut inner.port, source_instance_id, source_port_id)?;
        let (to, from) = (target_addr.cast::<u8>(), source_addr.addr() as u64);
        // SAFETY: the program has so many bytes to write at `to`; the kernel checks the other side.
        unsafe { copy(Access::Read, process, to, from, length as usize) }.map_err(|e| {
            tracing::info!(
                target: "lapis::gm",
                "gm_directcopy_get: {length} bytes at {from:#x} of process {process}: {e}"
            );
            match e.raw_os_error() {
                Some(libc::EFAULT) => Status::MemoryFault,
                Some(libc::ESRCH) => Status::NoMatch,
                Some(libc::ENOSYS) => Status::NoDriverSupport,
                _ => Status::PermissionDenied,
            }
        })
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), get) })
}
