//! Workspaces.

use super::{call, copied, process};
use crate::data::workspace::Workspace;
use crate::diagnostics::Blame as _;
use std::ffi::c_int;
use std::ptr::without_provenance_mut;

/// `ACP_WSD_NULL`.
fn nothing() -> *mut Workspace {
    without_provenance_mut(usize::MAX)
}

/// Makes a workspace with all other processes.
//= ACP 3.0, acp_create_ws
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_ws(size: usize) -> *mut Workspace {
    call("acp_create_ws", nothing(), || process()?.create_workspace(size as u64).size_of("size", size as u64))
}

/// Says where the next workspace begins, and how long its pieces are.
//= ACP 3.0, acp_setparams_ws
#[unsafe(no_mangle)]
pub extern "C" fn acp_setparams_ws(proc_start: usize, size_default: usize) -> c_int {
    call("acp_setparams_ws", 1, || {
        process()?.workspace_parameters(proc_start as u64, size_default as u64).map(|()| 0)
    })
}

/// Destroys a workspace when all processes do.
//= ACP 3.0, acp_destroy_ws
#[unsafe(no_mangle)]
pub extern "C" fn acp_destroy_ws(wsd: *mut Workspace) {
    call("acp_destroy_ws", (), || process()?.destroy_workspace(wsd).at("WSD", wsd.addr() as u64));
}

/// Copies a part of a workspace to memory of any process.
//= ACP 3.0, acp_read_ws
#[unsafe(no_mangle)]
pub extern "C" fn acp_read_ws(wsd: *mut Workspace, ga: u64, size: usize, offset: usize) -> c_int {
    call("acp_read_ws", 1, || {
        copied(process()?.read_workspace(wsd, ga, size as u64, offset as u64), ga, size).map(|()| 0)
    })
}

/// Copies memory of any process to a part of a workspace.
//= ACP 3.0, acp_write_ws
#[unsafe(no_mangle)]
pub extern "C" fn acp_write_ws(wsd: *mut Workspace, ga: u64, size: usize, offset: usize) -> c_int {
    call("acp_write_ws", 1, || {
        copied(process()?.write_workspace(wsd, ga, size as u64, offset as u64), ga, size).map(|()| 0)
    })
}
