//! All to all with a DGSP for each partner.
#![allow(clippy::too_many_arguments, reason = "collectives have many")]

use super::outcome::{Outcome, failure};
use super::{Form, answer, by_rank, in_form, list};
use crate::abi::*;
use crate::dgsp::layout::check_gather;
use crate::dgsp::registry::{Program, acquire};
use crate::handles;
use lapis_collectives::{Part, Team};
use lapis_core::message::{Gather, Scatter};
use std::ffi::{c_int, c_ulong, c_void};

/// Where a part's bytes are: as a program says, or one after the other.
struct Place {
    program: Option<Program>,
    base: usize,
}

impl Gather for Place {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let base = std::ptr::with_exposed_provenance::<u8>(self.base);
        let Some(program) = &self.program else {
            // SAFETY: the caller's promise.
            unsafe { base.add(position as usize).copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
            return;
        };
        // SAFETY: the caller's promise.
        let read = unsafe { program.pack_into(base, position, out) };
        debug_assert!(read.is_ok_and(|n| n == out.len()), "checked before the call began");
    }
}

impl Scatter for Place {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        let base = std::ptr::with_exposed_provenance_mut::<u8>(self.base);
        let Some(program) = &self.program else {
            // SAFETY: the caller's promise.
            unsafe { base.add(position as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            return;
        };
        // SAFETY: the caller's promise.
        let written = unsafe { program.unpack_from(base, position, bytes) };
        debug_assert!(written.is_ok_and(|n| n == bytes.len()), "checked before the call began");
    }
}

/// What one side of the call names, by rank.
struct Side {
    base: usize,
    bytes: *const c_ulong,
    starts: *const c_ulong,
    dgsps: *const lapi_dg_handle_t,
    /// What the manual calls them.
    names: [&'static str; 4],
}

/// The parts of a side.
///
/// # Safety
/// Lists have an entry for each member.
unsafe fn parts(team: &Team, side: &Side) -> Outcome<Vec<Part<Place>>> {
    let [buffer, bytes, starts, dgsps] = side.names;
    // SAFETY: the caller's promise.
    let (lens, starts, handles) = unsafe {
        (
            by_rank(team, side.bytes, bytes)?,
            by_rank(team, side.starts, starts)?,
            list(side.dgsps, team.len(), dgsps)?,
        )
    };
    let mut parts = Vec::with_capacity(lens.len());
    for (rank, ((len, start), handle)) in lens.iter().zip(starts).zip(handles).enumerate() {
        if side.base == 0 && *len > 0 {
            return Err(failure(
                LAPIS_ERR_BUFFER,
                format!("{buffer} is NULL, and rank {rank} has {len} bytes"),
            ));
        }
        let program = if handle.is_null() { None } else { Some(program(*handle, *len, dgsps, rank)?) };
        let layout = Place { program, base: side.base.wrapping_add(*start) };
        parts.push(Part { layout, len: *len });
    }
    Ok(parts)
}

/// A registered program that can move so many bytes without help.
fn program(handle: lapi_dg_handle_t, len: usize, list: &str, rank: usize) -> Outcome<Program> {
    let Some(program) = acquire(handle) else {
        return Err(failure(LAPI_ERR_DGSP, format!("{list}[{rank}] is not registered")));
    };
    check_gather(&program, len as u64)
        .map_err(|e| failure(e.code().value(), format!("{list}[{rank}]: {e}")))?;
    Ok(program)
}

pub(crate) unsafe fn alltoallw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    give_bytes: *const c_ulong,
    give_starts: *const c_ulong,
    give_dgsps: *const lapi_dg_handle_t,
    output: *mut c_void,
    get_bytes: *const c_ulong,
    get_starts: *const c_ulong,
    get_dgsps: *const lapi_dg_handle_t,
    form: Form,
) -> c_int {
    let names = ["input", "give_bytes", "give_starts", "give_dgsps"];
    let given = Side {
        base: input.expose_provenance(),
        bytes: give_bytes,
        starts: give_starts,
        dgsps: give_dgsps,
        names,
    };
    let names = ["output", "get_bytes", "get_starts", "get_dgsps"];
    let got = Side {
        base: output.expose_provenance(),
        bytes: get_bytes,
        starts: get_starts,
        dgsps: get_dgsps,
        names,
    };
    let call = || {
        let instance = handles::get(hndl)?;
        let all = &instance.collectives;
        // SAFETY: by the manual, nobody frees a team that is in use, and lists are as long as it;
        // what the programs name is the program's own memory, and what is given does not lie where
        // something goes. Places borrow nothing.
        unsafe {
            let team = all.team(&instance.context, team)?;
            let layouts = (parts(team, &given)?, parts(team, &got)?);
            in_form(
                all,
                form,
                layouts,
                |(give, get)| team.all_to_all_w(give, get),
                |(give, get)| team.start_all_to_all_w(give, get),
                |(give, get)| team.persistent_all_to_all_w(give, get),
            )
        }
    };
    answer(call())
}
