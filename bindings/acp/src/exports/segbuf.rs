//! Segmented buffers. Their handles are numbers, typed as pointers.

use super::{call, process};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;
use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, without_provenance_mut};

/// One end of a segmented buffer.
type Handle = *mut c_void;

fn number(handle: Handle) -> u64 {
    handle.addr() as u64
}

/// What calls with a segmented buffer share: it is what errors are about.
fn with<T>(
    name: &'static str,
    failed: T,
    segbuf: Handle,
    f: impl FnOnce(&'static Process, u64) -> Result<T>,
) -> T {
    call(name, failed, || f(process()?, number(segbuf)).at("segbuf", number(segbuf)))
}

/// A call that gives 0, or 1 if it fails.
fn command(name: &'static str, segbuf: Handle, f: impl FnOnce(&'static Process, u64) -> Result) -> c_int {
    with(name, 1, segbuf, |process, number| f(process, number).map(|()| 0))
}

/// A question: 0 is yes.
fn question(
    name: &'static str,
    segbuf: Handle,
    f: impl FnOnce(&'static Process, u64) -> Result<bool>,
) -> c_int {
    with(name, 1, segbuf, |process, number| f(process, number).map(|yes| c_int::from(!yes)))
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
    command("acp_connect_segbuf", segbuf, Process::connect_segbuf)
}

/// 0 if both ends are connected, else 1; EHOSTDOWN if the other one has died and never will be.
//= ACP 3.0, acp_isconnected_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_isconnected_segbuf(segbuf: Handle) -> c_int {
    question("acp_isconnected_segbuf", segbuf, Process::is_connected_segbuf)
}

/// Destination: gives the segment at the head back to the source.
//= ACP 3.0, acp_ready_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_ready_segbuf(segbuf: Handle) -> c_int {
    command("acp_ready_segbuf", segbuf, Process::ready_segbuf)
}

/// Source: sends the segment at the tail.
//= ACP 3.0, acp_ack_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_ack_segbuf(segbuf: Handle) -> c_int {
    command("acp_ack_segbuf", segbuf, Process::ack_segbuf)
}

/// 0 if a segment may be written, else 1; EHOSTDOWN if the other end has died.
//= ACP 3.0, acp_isready_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_isready_segbuf(segbuf: Handle) -> c_int {
    question("acp_isready_segbuf", segbuf, Process::is_ready_segbuf)
}

/// 0 if a segment may be read, else 1; EHOSTDOWN if the other end has died and none will come.
//= ACP 3.0, acp_isacked_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_isacked_segbuf(segbuf: Handle) -> c_int {
    question("acp_isacked_segbuf", segbuf, Process::is_acked_segbuf)
}

/// The segment at which data begin, or −1.
//= ACP 3.0, acp_query_segbuf_head
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_head(segbuf: Handle) -> i64 {
    with("acp_query_segbuf_head", -1, segbuf, |process, number| {
        let (head, _, segments) = process.indices_of_segbuf(number)?;
        index(head, segments)
    })
}

/// The segment before which data end, or −1.
//= ACP 3.0, acp_query_segbuf_tail
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_tail(segbuf: Handle) -> i64 {
    with("acp_query_segbuf_tail", -1, segbuf, |process, number| {
        let (_, tail, segments) = process.indices_of_segbuf(number)?;
        index(tail, segments)
    })
}

/// Source: the segment before which all data have been copied, or −1.
//= ACP 3.0, acp_query_segbuf_sent
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_sent(segbuf: Handle) -> i64 {
    with("acp_query_segbuf_sent", -1, segbuf, |process, number| {
        let (sent, segments) = process.sent_of_segbuf(number)?;
        index(sent, segments)
    })
}

/// Ends the use of one end.
//= ACP 3.0, acp_disconnect_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_disconnect_segbuf(segbuf: Handle) -> c_int {
    command("acp_disconnect_segbuf", segbuf, Process::disconnect_segbuf)
}

/// Frees one end when the other one is disconnected, too.
//= ACP 3.0, acp_free_segbuf
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_segbuf(segbuf: Handle) -> c_int {
    command("acp_free_segbuf", segbuf, Process::free_segbuf)
}
