//! Collectives on data that DGSPs describe.
#![allow(clippy::too_many_arguments, reason = "collectives have many")]

use super::outcome::{Outcome, failed, failure};
use super::places::IN_PLACE;
use super::{Form, answer, by_rank, in_form, list};
use crate::abi::*;
use crate::dgsp::layout::check_gather;
use crate::dgsp::registry::{Program, acquire};
use lapis_collectives::{CollectiveError, Laid, Part, Team};
use lapis_core::message::{Gather, Scatter};
use std::ffi::{c_int, c_uint, c_ulong, c_void};

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

/// What one side of a call names, by rank.
#[derive(Clone, Copy)]
struct Side {
    base: usize,
    bytes: *const c_ulong,
    starts: *const c_ulong,
    dgsps: *const lapi_dg_handle_t,
    /// What the manual calls them.
    names: [&'static str; 4],
}

impl Side {
    fn given(
        input: *const c_void,
        bytes: *const c_ulong,
        starts: *const c_ulong,
        dgsps: *const lapi_dg_handle_t,
    ) -> Self {
        let names = ["input", "give_bytes", "give_starts", "give_dgsps"];
        Self { base: input.expose_provenance(), bytes, starts, dgsps, names }
    }

    fn got(
        output: *mut c_void,
        bytes: *const c_ulong,
        starts: *const c_ulong,
        dgsps: *const lapi_dg_handle_t,
    ) -> Self {
        let names = ["output", "get_bytes", "get_starts", "get_dgsps"];
        Self { base: output.expose_provenance(), bytes, starts, dgsps, names }
    }

    /// Its parts.
    ///
    /// # Safety
    /// Lists have an entry for each member.
    unsafe fn parts(&self, team: &Team) -> Outcome<Vec<Part<Place>>> {
        let [buffer, bytes, starts, dgsps] = self.names;
        // SAFETY: the caller's promise.
        let (lens, starts, handles) = unsafe {
            (
                by_rank(team, self.bytes, bytes)?,
                by_rank(team, self.starts, starts)?,
                list(self.dgsps, team.len(), dgsps)?,
            )
        };
        let mut parts = Vec::with_capacity(lens.len());
        for (rank, ((len, start), handle)) in lens.iter().zip(starts).zip(handles).enumerate() {
            let whose = || format!("{dgsps}[{rank}]");
            parts.push(part((buffer, self.base), *start, *len, *handle, whose)?);
        }
        Ok(parts)
    }

    /// Its parts if the caller is the root; lists mean nothing elsewhere.
    ///
    /// # Safety
    /// As for [`parts`](Self::parts), at the root.
    unsafe fn parts_at(&self, team: &Team, root: usize) -> Outcome<Vec<Part<Place>>> {
        // SAFETY: the caller's promise.
        if team.rank() == root { unsafe { self.parts(team) } } else { Ok(Vec::new()) }
    }
}

/// A part of so many bytes, whose layout begins somewhere in a buffer.
fn part(
    (buffer, base): (&str, usize),
    start: usize,
    len: usize,
    dgsp: lapi_dg_handle_t,
    whose: impl Fn() -> String,
) -> Outcome<Part<Place>> {
    if base == 0 && len > 0 {
        return Err(failure(LAPIS_ERR_BUFFER, format!("{buffer} is NULL, and has {len} bytes")));
    }
    if base == IN_PLACE {
        return Err(failure(LAPIS_ERR_BUFFER, "data in layouts can't be in place"));
    }
    let program = if dgsp.is_null() { None } else { Some(program(dgsp, len, whose)?) };
    Ok(Part { layout: Place { program, base: base.wrapping_add(start) }, len })
}

/// The caller's only part, which begins where its buffer does.
fn only(buffer: (&str, *const c_void), bytes: c_ulong, dgsp: lapi_dg_handle_t) -> Outcome<Part<Place>> {
    part((buffer.0, buffer.1.expose_provenance()), 0, bytes as usize, dgsp, || "dgsp".to_owned())
}

/// A registered program that can move so many bytes without help.
fn program(handle: lapi_dg_handle_t, len: usize, whose: impl Fn() -> String) -> Outcome<Program> {
    let Some(program) = acquire(handle) else {
        return Err(failure(LAPI_ERR_DGSP, format!("{} is not registered", whose())));
    };
    check_gather(&program, len as u64).map_err(|e| failure(e.code().value(), format!("{}: {e}", whose())))?;
    Ok(program)
}

type Described = Outcome<Result<Laid<Place, Place>, CollectiveError>>;

/// Does what `describe` says in one of its forms.
///
/// # Safety
/// Nobody frees the team meanwhile, what the layouts name is valid as the manual says, and where
/// the form wants the request, it is NULL or can be written.
unsafe fn laid(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    form: Form,
    describe: impl FnOnce(&Team) -> Described,
) -> c_int {
    let call = || {
        let instance = super::instance(hndl)?;
        let all = &instance.collectives;
        // SAFETY: the caller's promise; places borrow nothing.
        unsafe {
            let team = all.team(&instance.context, team)?;
            let laid = describe(team)?.map_err(failed)?;
            in_form(all, form, laid, |laid| laid.call(), |laid| laid.start(), |laid| laid.persistent())
        }
    };
    answer(call())
}

pub(crate) unsafe fn bcastw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    root: c_uint,
    form: Form,
) -> c_int {
    let describe = |team: &Team| Ok(team.broadcast_w(only(("data", data), bytes, dgsp)?, root as usize));
    // SAFETY: the manual's promise.
    unsafe { laid(hndl, team, form, describe) }
}

pub(crate) unsafe fn gatherw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    output: *mut c_void,
    get_bytes: *const c_ulong,
    get_starts: *const c_ulong,
    get_dgsps: *const lapi_dg_handle_t,
    root: c_uint,
    form: Form,
) -> c_int {
    let (got, root) = (Side::got(output, get_bytes, get_starts, get_dgsps), root as usize);
    let describe = |team: &Team| {
        let give = only(("input", input), bytes, dgsp)?;
        // SAFETY: the manual's promise.
        Ok(team.gather_w(give, unsafe { got.parts_at(team, root) }?, root))
    };
    // SAFETY: the manual's promise.
    unsafe { laid(hndl, team, form, describe) }
}

pub(crate) unsafe fn scatterw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    give_bytes: *const c_ulong,
    give_starts: *const c_ulong,
    give_dgsps: *const lapi_dg_handle_t,
    output: *mut c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    root: c_uint,
    form: Form,
) -> c_int {
    let (given, root) = (Side::given(input, give_bytes, give_starts, give_dgsps), root as usize);
    let describe = |team: &Team| {
        let get = only(("output", output), bytes, dgsp)?;
        // SAFETY: the manual's promise.
        Ok(team.scatter_w(unsafe { given.parts_at(team, root) }?, get, root))
    };
    // SAFETY: the manual's promise.
    unsafe { laid(hndl, team, form, describe) }
}

pub(crate) unsafe fn allgatherw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    output: *mut c_void,
    get_bytes: *const c_ulong,
    get_starts: *const c_ulong,
    get_dgsps: *const lapi_dg_handle_t,
    form: Form,
) -> c_int {
    let got = Side::got(output, get_bytes, get_starts, get_dgsps);
    let describe = |team: &Team| {
        let give = only(("input", input), bytes, dgsp)?;
        // SAFETY: the manual's promise.
        Ok(team.all_gather_w(give, unsafe { got.parts(team) }?))
    };
    // SAFETY: the manual's promise.
    unsafe { laid(hndl, team, form, describe) }
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
    let given = Side::given(input, give_bytes, give_starts, give_dgsps);
    let got = Side::got(output, get_bytes, get_starts, get_dgsps);
    // SAFETY: the manual's promise.
    let describe = |team: &Team| unsafe { Ok(team.all_to_all_w(given.parts(team)?, got.parts(team)?)) };
    // SAFETY: the manual's promise.
    unsafe { laid(hndl, team, form, describe) }
}

/// The parts of edges, and the ranks at their other ends.
///
/// # Safety
/// Both lists have so many entries.
unsafe fn edge_parts(
    buffer: (&str, *const c_void),
    count: c_uint,
    (edges, edges_name): (*const lapis_edge_t, &str),
    (dgsps, dgsps_name): (*const lapi_dg_handle_t, &str),
) -> Outcome<Vec<(usize, Part<Place>)>> {
    // SAFETY: the caller's promise.
    let (edges, dgsps) =
        unsafe { (list(edges, count as usize, edges_name)?, list(dgsps, count as usize, dgsps_name)?) };
    let base = buffer.1.expose_provenance();
    let one = |(at, (edge, dgsp)): (usize, (&lapis_edge_t, &lapi_dg_handle_t))| {
        let whose = || format!("{dgsps_name}[{at}]");
        let part = part((buffer.0, base), edge.start as usize, edge.count as usize, *dgsp, whose)?;
        Ok((edge.rank as usize, part))
    };
    edges.iter().zip(dgsps).enumerate().map(one).collect()
}

pub(crate) unsafe fn neighboursw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    outs: c_uint,
    to: *const lapis_edge_t,
    give_dgsps: *const lapi_dg_handle_t,
    output: *mut c_void,
    ins: c_uint,
    from: *const lapis_edge_t,
    get_dgsps: *const lapi_dg_handle_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    let describe = |team: &Team| unsafe {
        let give = edge_parts(("input", input), outs, (to, "to"), (give_dgsps, "give_dgsps"))?;
        let get = edge_parts(("output", output), ins, (from, "from"), (get_dgsps, "get_dgsps"))?;
        Ok(team.neighbours_w(give, get))
    };
    // SAFETY: the manual's promise.
    unsafe { laid(hndl, team, form, describe) }
}
