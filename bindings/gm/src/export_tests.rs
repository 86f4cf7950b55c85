//! C calls: a callback that closes its port.

use crate::exports::ports::gm_close;
use crate::exports::receive::{gm_receive, gm_unknown};
use crate::exports::send::gm_send_with_callback;
use crate::handle::Handle;
use crate::rubbish_tests::open;
use std::ffi::{c_int, c_void};

unsafe extern "C" fn closes(port: *mut c_void, ran: *mut c_void, _: c_int) {
    // SAFETY: the context of these calls is a number, and the port is open when the first one runs.
    unsafe {
        *ran.cast::<u32>() += 1;
        if *ran.cast::<u32>() == 1 {
            gm_close(port.cast());
        }
    }
}

#[test]
fn a_callback_that_closes_its_port_is_its_last_one() {
    let (port, _daemon) = open("callback-closes");
    let node = port.node;
    let port = Handle::of(port);
    let mut ran = 0_u32;
    let context = (&raw mut ran).cast::<c_void>();
    // SAFETY: the port is open until the callback, and the number outlives it.
    unsafe {
        // Nothing is at NULL: both end in this call, and one event tells of them.
        for _ in 0..2 {
            gm_send_with_callback(port, std::ptr::null_mut(), 10, 8, 0, node, 2, Some(closes), context);
        }
        gm_unknown(port, gm_receive(port));
    }
    assert_eq!(ran, 1, "nobody is handed a port that is closed");
}
