//! Segmented buffers. Their handles are numbers in the guise of pointers.

use super::{call, process};
use crate::error::{Error, Result};
use crate::process::Process;
use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, without_provenance_mut};

/// One end of a segmented buffer.
type Handle = *mut c_void;

fn number(handle: Handle) -> u64 {
    handle.addr() as u64
}

/// A call that gives 0, or 1 if it fails.
fn command(name: &'static str, f: impl FnOnce(&'static Process) -> Result) -> c_int {
    call(name, 1, || f(process()?).map(|()| 0))
}

/// A question: 0 is yes.
fn question(name: &'static str, f: impl FnOnce(&'static Process) -> Result<bool>) -> c_int {
    call(name, 1, || f(process()?).map(|yes| c_int::from(!yes)))
}

fn index(count: u64, segments: u64) -> Result<i64> {
    count.checked_rem(segments).map(u64::cast_signed).ok_or(Error::Internal)
}

/// Makes the source's end of a segmented buffer.
//= ACP 3.0, acp_create_src_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_src_segbuf(
    dst_rank: c_int,
    buf: *mut c_void,
    segsize: usize,
    segnum: usize,
) -> Handle {
    call("acp_create_src_segbuf", null_mut(), || {
        let sizes = (segsize as u64, segnum as u64);
        let made = process()?.create_segbuf(true, dst_rank, buf.expose_provenance(), sizes)?;
        Ok(without_provenance_mut(made as usize))
    })
}

/// Makes the destination's end of a segmented buffer.
//= ACP 3.0, acp_create_dst_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_dst_segbuf(
    src_rank: c_int,
    buf: *mut c_void,
    segsize: usize,
    segnum: usize,
) -> Handle {
    call("acp_create_dst_segbuf", null_mut(), || {
        let sizes = (segsize as u64, segnum as u64);
        let made = process()?.create_segbuf(false, src_rank, buf.expose_provenance(), sizes)?;
        Ok(without_provenance_mut(made as usize))
    })
}

/// Waits until the other end has been made.
//= ACP 3.0, acp_connect_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_connect_segbuf(segbuf: Handle) -> c_int {
    command("acp_connect_segbuf", |process| process.connect_segbuf(number(segbuf)))
}

/// 0 if both ends are connected, else 1; EHOSTDOWN if the other one has died and never will be.
//= ACP 3.0, acp_isconnected_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_isconnected_segbuf(segbuf: Handle) -> c_int {
    question("acp_isconnected_segbuf", |process| process.is_connected_segbuf(number(segbuf)))
}

/// Destination: gives the segment at the head back to the source.
//= ACP 3.0, acp_ready_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_ready_segbuf(segbuf: Handle) -> c_int {
    command("acp_ready_segbuf", |process| process.ready_segbuf(number(segbuf)))
}

/// Source: sends the segment at the tail.
//= ACP 3.0, acp_ack_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_ack_segbuf(segbuf: Handle) -> c_int {
    command("acp_ack_segbuf", |process| process.ack_segbuf(number(segbuf)))
}

/// 0 if a segment may be written, else 1; EHOSTDOWN if the other end has died.
//= ACP 3.0, acp_isready_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_isready_segbuf(segbuf: Handle) -> c_int {
    question("acp_isready_segbuf", |process| process.is_ready_segbuf(number(segbuf)))
}

/// 0 if a segment may be read, else 1; EHOSTDOWN if the other end has died and none will come.
//= ACP 3.0, acp_isacked_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_isacked_segbuf(segbuf: Handle) -> c_int {
    question("acp_isacked_segbuf", |process| process.is_acked_segbuf(number(segbuf)))
}

/// The segment at which data begin, or −1.
//= ACP 3.0, acp_query_segbuf_head
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_head(segbuf: Handle) -> i64 {
    call("acp_query_segbuf_head", -1, || {
        let (head, _, segments) = process()?.indices_of_segbuf(number(segbuf))?;
        index(head, segments)
    })
}

/// The segment before which data end, or −1.
//= ACP 3.0, acp_query_segbuf_tail
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_tail(segbuf: Handle) -> i64 {
    call("acp_query_segbuf_tail", -1, || {
        let (_, tail, segments) = process()?.indices_of_segbuf(number(segbuf))?;
        index(tail, segments)
    })
}

/// Source: the segment before which all data have been copied, or −1.
//= ACP 3.0, acp_query_segbuf_sent
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_sent(segbuf: Handle) -> i64 {
    call("acp_query_segbuf_sent", -1, || {
        let (sent, segments) = process()?.sent_of_segbuf(number(segbuf))?;
        index(sent, segments)
    })
}

/// Ends the use of one end.
//= ACP 3.0, acp_disconnect_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_disconnect_segbuf(segbuf: Handle) -> c_int {
    command("acp_disconnect_segbuf", |process| process.disconnect_segbuf(number(segbuf)))
}

/// Frees one end when the other one is disconnected, too.
//= ACP 3.0, acp_free_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_segbuf(segbuf: Handle) -> c_int {
    command("acp_free_segbuf", |process| process.free_segbuf(number(segbuf)))
}
