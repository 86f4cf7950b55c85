//! The collectives: what each one's arguments come to.
#![allow(clippy::too_many_arguments, reason = "collectives have many")]

pub(crate) use super::layouts::{allgatherw, alltoallw, bcastw, gatherw, neighboursw, scatterw};
use super::outcome::Outcome;
use super::values::type_of;
use super::{Form, Work, by_rank, list, run};
use crate::abi::*;
use lapis_collectives::{By, Call, Edge, Group, Parts, Team, Type};
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::{null, null_mut};

/// # Safety
/// As for [`by_rank`].
unsafe fn parts<'a>(
    team: &Team,
    counts: *const c_ulong,
    starts: *const c_ulong,
    whose: [&str; 2],
) -> Outcome<Parts<'a>> {
    // SAFETY: the caller's promise.
    unsafe {
        Ok(Parts { counts: by_rank(team, counts, whose[0])?, starts: by_rank(team, starts, whose[1])? })
    }
}

/// Parts that mean something at the root only.
///
/// # Safety
/// As for [`by_rank`].
unsafe fn at_root<'a>(
    team: &Team,
    root: c_uint,
    counts: *const c_ulong,
    starts: *const c_ulong,
) -> Outcome<Option<Parts<'a>>> {
    if team.rank() != root as usize {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { parts(team, counts, starts, ["counts", "starts"]).map(Some) }
}

/// Edges in Rust's form.
///
/// # Safety
/// There are so many.
unsafe fn edges(given: *const lapis_edge_t, count: c_uint, what: &str) -> Outcome<Vec<Edge>> {
    // SAFETY: the caller's promise.
    let given = unsafe { list(given, count as usize, what) }?;
    let edge = |edge: &lapis_edge_t| Edge {
        member: edge.rank as usize,
        start: edge.start as usize,
        len: edge.count as usize,
    };
    Ok(given.iter().map(edge).collect())
}

/// A collective that moves data between two places; `call` says how.
///
/// # Safety
/// As for [`run`].
unsafe fn moved<'a>(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    (input, output): (*const c_void, *mut c_void),
    of: lapis_type_t,
    form: Form,
    call: impl FnOnce(&Team) -> Outcome<Call<'a>>,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        run(hndl, team, form, |team, _| {
            let of = type_of(of)?;
            let call = call(team)?;
            Ok(Work { call, of, by: By::Nothing, input: input.cast(), output: output.cast() })
        })
    }
}

/// The same, which folds what it moves by an operator.
///
/// # Safety
/// As for [`run`].
unsafe fn folded<'a>(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    (input, output): (*const c_void, *mut c_void),
    (of, op): (lapis_type_t, lapis_op_t),
    form: Form,
    call: impl FnOnce(&Team) -> Outcome<Call<'a>>,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        run(hndl, team, form, |team, operators| {
            let of = type_of(of)?;
            let call = call(team)?;
            let by = operators.find(op, of)?;
            Ok(Work { call, of, by, input: input.cast(), output: output.cast() })
        })
    }
}

const _: () = assert!(size_of::<c_ulong>() == size_of::<usize>());

pub(crate) unsafe fn barrier(hndl: lapi_handle_t, team: lapis_team_t, form: Form) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        run(hndl, team, form, |_, _| {
            let of = Type::U8;
            Ok(Work { call: Call::Barrier, of, by: By::Nothing, input: null(), output: null_mut() })
        })
    }
}

pub(crate) unsafe fn bcast(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        moved(hndl, team, (data.cast_const(), data), of, form, |_| {
            Ok(Call::Broadcast { root: root as usize, count: count as usize })
        })
    }
}

pub(crate) unsafe fn mcast(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    members: c_uint,
    ranks: *const c_uint,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        let to = match list(ranks, members as usize, "ranks").map(Group::from_list) {
            Ok(Ok(to)) => to,
            Ok(Err(e)) => return super::failed(e.into()),
            Err(code) => return code,
        };
        moved(hndl, team, (data.cast_const(), data), of, form, |_| {
            Ok(Call::Multicast { root: root as usize, to: &to, count: count as usize })
        })
    }
}

pub(crate) unsafe fn reduce(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    root: c_uint,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        folded(hndl, team, (input, output), (of, op), form, |_| {
            Ok(Call::Reduce { root: root as usize, count: count as usize })
        })
    }
}

pub(crate) unsafe fn allreduce(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        folded(hndl, team, (input, output), (of, op), form, |_| Ok(Call::AllReduce { count: count as usize }))
    }
}

pub(crate) unsafe fn reduce_scatter(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        folded(hndl, team, (input, output), (of, op), form, |team| {
            let counts = by_rank(team, counts, "counts")?;
            Ok(Call::ReduceScatter { counts })
        })
    }
}

pub(crate) unsafe fn reduce_scatter_block(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        folded(hndl, team, (input, output), (of, op), form, |_| {
            Ok(Call::ReduceScatterBlock { count: count as usize })
        })
    }
}

pub(crate) unsafe fn gather(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        moved(hndl, team, (input, output), of, form, |_| {
            Ok(Call::Gather { root: root as usize, count: count as usize })
        })
    }
}

pub(crate) unsafe fn gatherv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    count: c_ulong,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
    root: c_uint,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        moved(hndl, team, (input, output), of, form, |team| {
            let parts = at_root(team, root, counts, starts)?;
            Ok(Call::GatherV { root: root as usize, mine: count as usize, parts })
        })
    }
}

pub(crate) unsafe fn scatter(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        moved(hndl, team, (input, output), of, form, |_| {
            Ok(Call::Scatter { root: root as usize, count: count as usize })
        })
    }
}

pub(crate) unsafe fn scatterv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        moved(hndl, team, (input, output), of, form, |team| {
            let parts = at_root(team, root, counts, starts)?;
            Ok(Call::ScatterV { root: root as usize, mine: count as usize, parts })
        })
    }
}

pub(crate) unsafe fn allgather(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe { moved(hndl, team, (input, output), of, form, |_| Ok(Call::AllGather { count: count as usize })) }
}

pub(crate) unsafe fn allgatherv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        moved(hndl, team, (input, output), of, form, |team| {
            let parts = parts(team, counts, starts, ["counts", "starts"])?;
            Ok(Call::AllGatherV { parts })
        })
    }
}

pub(crate) unsafe fn alltoall(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe { moved(hndl, team, (input, output), of, form, |_| Ok(Call::AllToAll { count: count as usize })) }
}

pub(crate) unsafe fn alltoallv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    give_counts: *const c_ulong,
    give_starts: *const c_ulong,
    output: *mut c_void,
    get_counts: *const c_ulong,
    get_starts: *const c_ulong,
    of: lapis_type_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        moved(hndl, team, (input, output), of, form, |team| {
            let give = parts(team, give_counts, give_starts, ["give_counts", "give_starts"])?;
            let get = parts(team, get_counts, get_starts, ["get_counts", "get_starts"])?;
            Ok(Call::AllToAllV { give, get })
        })
    }
}

pub(crate) unsafe fn scan(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        folded(hndl, team, (input, output), (of, op), form, |_| Ok(Call::Scan { count: count as usize }))
    }
}

pub(crate) unsafe fn exscan(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        folded(hndl, team, (input, output), (of, op), form, |_| Ok(Call::ExScan { count: count as usize }))
    }
}

pub(crate) unsafe fn neighbours(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    outs: c_uint,
    to: *const lapis_edge_t,
    output: *mut c_void,
    ins: c_uint,
    from: *const lapis_edge_t,
    of: lapis_type_t,
    form: Form,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        let (to, from) = match (edges(to, outs, "to"), edges(from, ins, "from")) {
            (Ok(to), Ok(from)) => (to, from),
            (Err(code), _) | (_, Err(code)) => return code,
        };
        moved(hndl, team, (input, output), of, form, |_| Ok(Call::Neighbours { from: &from, to: &to }))
    }
}
