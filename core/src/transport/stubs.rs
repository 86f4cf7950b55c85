//! What absent operations answer, so that the data path never tests a function pointer.

use super::abi::{ErrorText, PackFn, TransportOps};
use super::lane::{ReceiveLanes, SendLane};
use super::types::{Caps, DatagramBatch, RawSlice, RegionInfo, RemoteAddr, Status, Window};
use std::ffi::c_void;

/// The table with stubs for every operation whose bit is clear in `caps`.
pub(super) fn resolve(table: &TransportOps, caps: Caps) -> TransportOps {
    let mut t = *table;
    macro_rules! stub {
        ($bit:ident: $($entry:ident = $stub:expr),*) => {
            if !caps.contains(Caps::$bit) {
                $(t.$entry = Some($stub);)*
            }
        };
    }
    stub!(AM_SHORT: am_short = am_short);
    stub!(AM_PACKED: am_packed = am_packed);
    stub!(PUT_ZCOPY: put_zcopy = zcopy);
    stub!(GET_ZCOPY: get_zcopy = zcopy);
    stub!(DATAGRAM: send_datagrams = send_datagrams);
    stub!(REGISTER: mem_register = mem_register);
    stub!(ALLOCATE: mem_alloc = mem_alloc);
    stub!(WINDOW: window = window);
    stub!(WAIT: arm = arm, wait = wait, wake = wake, wait_fd = wait_fd);
    stub!(PREFER_RAIL: prefer_rail = prefer_rail);
    stub!(PUT_SHORT: put_short = put_short);
    stub!(LANES: send_lane = send_lane, receive_lanes = receive_lanes, attend = attend);
    t
}

const NO: i32 = Status::Unsupported as i32;

unsafe extern "C" fn am_short(_: *mut c_void, _: u32, _: *const u8, _: u32, _: *const u8, _: u32) -> i32 {
    NO
}
unsafe extern "C" fn am_packed(_: *mut c_void, _: u32, _: usize, _: PackFn, _: *mut c_void) -> i32 {
    NO
}
unsafe extern "C" fn zcopy(_: *mut c_void, _: u32, _: RawSlice, _: RemoteAddr, _: u64) -> i32 {
    NO
}
unsafe extern "C" fn send_datagrams(_: *mut c_void, _: *const DatagramBatch, _: u32) -> i32 {
    NO
}
unsafe extern "C" fn mem_register(_: *mut c_void, _: RawSlice, _: *mut RegionInfo, _: *mut ErrorText) -> i32 {
    NO
}
unsafe extern "C" fn mem_alloc(_: *mut c_void, _: usize, _: *mut RegionInfo, _: *mut ErrorText) -> i32 {
    NO
}
unsafe extern "C" fn window(_: *mut c_void, _: u32, _: *mut Window) -> i32 {
    NO
}
unsafe extern "C" fn arm(_: *mut c_void) -> i32 {
    NO
}
unsafe extern "C" fn send_lane(_: *mut c_void, _: u32) -> *mut SendLane {
    std::ptr::null_mut()
}
unsafe extern "C" fn receive_lanes(_: *mut c_void) -> *const ReceiveLanes {
    std::ptr::null()
}
unsafe extern "C" fn attend(_: *mut c_void, _: u32, _: u32) -> i32 {
    NO
}
unsafe extern "C" fn put_short(_: *mut c_void, _: u32, _: *const u8, _: u32, _: RemoteAddr) -> i32 {
    NO
}
unsafe extern "C" fn prefer_rail(_: *mut c_void, _: u32) {}
unsafe extern "C" fn wait(_: *mut c_void, _: u64) {}
unsafe extern "C" fn wake(_: *mut c_void) {}
unsafe extern "C" fn wait_fd(_: *mut c_void) -> i32 {
    -1
}
