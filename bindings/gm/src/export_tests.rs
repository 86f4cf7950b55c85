//! C calls: a callback that closes its port, and arguments that are refused.

use crate::abi::Status;
use crate::exports::ports::gm_close;
use crate::exports::receive::{gm_provide_receive_buffer_with_tag, gm_receive, gm_unknown};
use crate::exports::send::{gm_drop_sends, gm_send_with_callback};
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

#[test]
fn a_buffer_that_no_message_can_be_for_takes_no_token() {
    let (port, _daemon) = open("no-buffer");
    let port = Handle::of(port);
    let mut buffer = [0_u64; 2];
    // SAFETY: the port is open until the end, and the buffer outlives it.
    let mut provided = |size, priority, tag| unsafe {
        let before = (*port).enter().expect("this process's").port.buffers.provided;
        gm_provide_receive_buffer_with_tag(port, buffer.as_mut_ptr().cast(), size, priority, tag);
        (*port).enter().expect("this process's").port.buffers.provided - before
    };
    let tried = [(3, 0, 0), (4, 1, 255), (2, 0, 0), (0, 1, 0), (32, 0, 0), (4, 2, 0), (4, 0, 256)];
    assert_eq!(tried.map(|(size, priority, tag)| provided(size, priority, tag)), [1, 1, 0, 0, 0, 0, 0]);
    // SAFETY: nobody uses it any more.
    unsafe { gm_close(port) };
}

unsafe extern "C" fn keep(_: *mut c_void, context: *mut c_void, status: c_int) {
    // SAFETY: the context of these calls is a list of statuses.
    unsafe { (*context.cast::<Vec<c_int>>()).push(status) };
}

#[test]
fn only_a_port_that_can_be_has_its_sends_dropped() {
    let (port, _daemon) = open("no-port");
    let node = port.node;
    let port = Handle::of(port);
    let mut told = Vec::<c_int>::new();
    let context = (&raw mut told).cast::<c_void>();
    // SAFETY: the port is open until the end, which the list outlives.
    unsafe {
        // Port 4 of the neighbour, as the library numbers ports, or none.
        for (priority, target, number) in [(0, node, 4), (0, node, 0x104), (2, node, 4), (0, 1 << 24, 4)] {
            gm_drop_sends(port, priority, target, number, Some(keep), context);
        }
        gm_unknown(port, gm_receive(port));
        let peers: Vec<u32> =
            (*port).enter().expect("this process's").port.peers.iter().map(|peer| peer.node).collect();
        gm_close(port);
        assert!(peers.iter().all(|at| *at == node), "{peers:?}");
    }
    let (refused, nowhere) = (Status::InvalidParameter as c_int, Status::SendTargetNodeUnreachable as c_int);
    assert_eq!(told, [0, refused, refused, nowhere]);
}
