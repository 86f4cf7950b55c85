//! The symbols of `lapis.h`. Written by `cargo xtask codegen` from bindings/lapi/api/lapis. Edit
//! that.
//!
//! A collective has three forms, which one function does: `Form` says which.
#![allow(clippy::too_many_arguments, reason = "collectives have many")]

use crate::abi::*;
use crate::collectives::Form;
use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

/// Allocates zeroed memory that every task reaches as directly as the transports allow.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_alloc(hndl: lapi_handle_t, len: c_ulong, addr: *mut *mut c_void) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::memory::alloc(hndl, len, addr) }
}

/// Frees memory of lapis_alloc; NULL does nothing.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_free(hndl: lapi_handle_t, addr: *mut c_void) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::memory::free(hndl, addr) }
}

/// Registers memory of the program, so that tasks reach it as directly as the transports allow.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_register(hndl: lapi_handle_t, addr: *mut c_void, len: c_ulong) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::memory::register(hndl, addr, len) }
}

/// Ends a registration of lapis_register; NULL does nothing.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_unregister(hndl: lapi_handle_t, addr: *mut c_void) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::memory::unregister(hndl, addr) }
}

/// Creates the team of these tasks, in this order. Only the members call this.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_of(
    hndl: lapi_handle_t,
    count: c_uint,
    tasks: *const c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::of(hndl, count, tasks, made) }
}

/// Creates the team of the tasks first, first + stride, ... Only the members call this.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_strided(
    hndl: lapi_handle_t,
    first: c_uint,
    stride: c_long,
    count: c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::strided(hndl, first, stride, count, made) }
}

/// Creates the team of the members with these ranks, in this order.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_include(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    count: c_uint,
    ranks: *const c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::include(hndl, team, count, ranks, made) }
}

/// Creates the team of all members but those with these ranks.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_exclude(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    count: c_uint,
    ranks: *const c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::exclude(hndl, team, count, ranks, made) }
}

/// Creates the team of the members at ranks first, first + stride, and so on up to last.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_range(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    first: c_uint,
    last: c_uint,
    stride: c_long,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::range(hndl, team, first, last, stride, made) }
}

/// Creates the team of the members of either team.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_union(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    other: lapis_team_t,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::union(hndl, team, other, made) }
}

/// Creates the team of the members of the first team that the second one does not have.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_difference(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    other: lapis_team_t,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::difference(hndl, team, other, made) }
}

/// Creates the team of the members of both teams.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_intersection(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    other: lapis_team_t,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::intersection(hndl, team, other, made) }
}

/// Collective: splits a team by colour; each team is ordered by key.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_split(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    colour: c_int,
    key: c_long,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::split(hndl, team, colour, key, made) }
}

/// Frees a team. Local.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_free(hndl: lapi_handle_t, team: lapis_team_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::free(hndl, team) }
}

/// Returns the number of a team's members.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_size(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    size: *mut c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::size(hndl, team, size) }
}

/// Returns the calling task's rank.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_rank(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    rank: *mut c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::rank(hndl, team, rank) }
}

/// Returns the task with a rank.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_task(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    rank: c_uint,
    task: *mut c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::task(hndl, team, rank, task) }
}

/// Returns a member's rank in another team; -1 if it is no member there.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_translate(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    rank: c_uint,
    other: lapis_team_t,
    there: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::translate(hndl, team, rank, other, there) }
}

/// Sets whether reductions give the same bits whatever their length, the hosts and the transport.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_team_reproducible(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    on: c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::teams::reproducible(hndl, team, on) }
}

/// Barrier: returns when all members have called.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_barrier(hndl: lapi_handle_t, team: lapis_team_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::barrier(hndl, team, Form::Wait) }
}

/// A form of \[`lapis_barrier`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ibarrier(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::barrier(hndl, team, Form::Start(request)) }
}

/// A form of \[`lapis_barrier`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_barrier_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::barrier(hndl, team, Form::Keep(request)) }
}

/// Broadcasts the root's data to all members.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_bcast(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::bcast(hndl, team, data, count, of, root, Form::Wait) }
}

/// A form of \[`lapis_bcast`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ibcast(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::bcast(hndl, team, data, count, of, root, Form::Start(request)) }
}

/// A form of \[`lapis_bcast`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_bcast_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::bcast(hndl, team, data, count, of, root, Form::Keep(request)) }
}

/// Broadcasts the root's data, from its layout to those of the others.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_bcastw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    root: c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::bcastw(hndl, team, data, bytes, dgsp, root, Form::Wait) }
}

/// A form of \[`lapis_bcastw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ibcastw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::bcastw(hndl, team, data, bytes, dgsp, root, Form::Start(request))
    }
}

/// A form of \[`lapis_bcastw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_bcastw_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::bcastw(hndl, team, data, bytes, dgsp, root, Form::Keep(request))
    }
}

/// Sends the root's data to the members with these ranks. All members of the team call.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_mcast(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    members: c_uint,
    ranks: *const c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::mcast(hndl, team, data, count, of, root, members, ranks, Form::Wait)
    }
}

/// A form of \[`lapis_mcast`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_imcast(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    members: c_uint,
    ranks: *const c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::mcast(
            hndl,
            team,
            data,
            count,
            of,
            root,
            members,
            ranks,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_mcast`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_mcast_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    data: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    members: c_uint,
    ranks: *const c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::mcast(
            hndl,
            team,
            data,
            count,
            of,
            root,
            members,
            ranks,
            Form::Keep(request),
        )
    }
}

/// Reduces the inputs of all members at the root.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_reduce(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    root: c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce(hndl, team, input, output, count, of, op, root, Form::Wait)
    }
}

/// A form of \[`lapis_reduce`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ireduce(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce(
            hndl,
            team,
            input,
            output,
            count,
            of,
            op,
            root,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_reduce`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_reduce_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce(
            hndl,
            team,
            input,
            output,
            count,
            of,
            op,
            root,
            Form::Keep(request),
        )
    }
}

/// Reduces the inputs of all members, for all members.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allreduce(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::allreduce(hndl, team, input, output, count, of, op, Form::Wait) }
}

/// A form of \[`lapis_allreduce`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iallreduce(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allreduce(
            hndl,
            team,
            input,
            output,
            count,
            of,
            op,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_allreduce`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allreduce_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allreduce(
            hndl,
            team,
            input,
            output,
            count,
            of,
            op,
            Form::Keep(request),
        )
    }
}

/// Reduces the inputs of all members and gives each its part of the result.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_reduce_scatter(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce_scatter(hndl, team, input, output, counts, of, op, Form::Wait)
    }
}

/// A form of \[`lapis_reduce_scatter`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ireduce_scatter(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce_scatter(
            hndl,
            team,
            input,
            output,
            counts,
            of,
            op,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_reduce_scatter`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_reduce_scatter_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce_scatter(
            hndl,
            team,
            input,
            output,
            counts,
            of,
            op,
            Form::Keep(request),
        )
    }
}

/// Reduces the inputs of all members and gives each its part of the result: count elements.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_reduce_scatter_block(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce_scatter_block(
            hndl,
            team,
            input,
            output,
            count,
            of,
            op,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_reduce_scatter_block`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ireduce_scatter_block(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce_scatter_block(
            hndl,
            team,
            input,
            output,
            count,
            of,
            op,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_reduce_scatter_block`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_reduce_scatter_block_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::reduce_scatter_block(
            hndl,
            team,
            input,
            output,
            count,
            of,
            op,
            Form::Keep(request),
        )
    }
}

/// Gathers the inputs of all members at the root, by rank.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_gather(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::gather(hndl, team, input, output, count, of, root, Form::Wait) }
}

/// A form of \[`lapis_gather`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_igather(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gather(
            hndl,
            team,
            input,
            output,
            count,
            of,
            root,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_gather`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_gather_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gather(
            hndl,
            team,
            input,
            output,
            count,
            of,
            root,
            Form::Keep(request),
        )
    }
}

/// Gathers inputs of any lengths at the root.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_gatherv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    count: c_ulong,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
    root: c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gatherv(
            hndl,
            team,
            input,
            count,
            output,
            counts,
            starts,
            of,
            root,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_gatherv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_igatherv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    count: c_ulong,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gatherv(
            hndl,
            team,
            input,
            count,
            output,
            counts,
            starts,
            of,
            root,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_gatherv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_gatherv_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    count: c_ulong,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gatherv(
            hndl,
            team,
            input,
            count,
            output,
            counts,
            starts,
            of,
            root,
            Form::Keep(request),
        )
    }
}

/// Gathers parts at the root, each in a layout of its own.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_gatherw(
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
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gatherw(
            hndl,
            team,
            input,
            bytes,
            dgsp,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            root,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_gatherw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_igatherw(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gatherw(
            hndl,
            team,
            input,
            bytes,
            dgsp,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            root,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_gatherw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_gatherw_init(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::gatherw(
            hndl,
            team,
            input,
            bytes,
            dgsp,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            root,
            Form::Keep(request),
        )
    }
}

/// Scatters the root's input: each member gets its part.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scatter(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::scatter(hndl, team, input, output, count, of, root, Form::Wait) }
}

/// A form of \[`lapis_scatter`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iscatter(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatter(
            hndl,
            team,
            input,
            output,
            count,
            of,
            root,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_scatter`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scatter_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatter(
            hndl,
            team,
            input,
            output,
            count,
            of,
            root,
            Form::Keep(request),
        )
    }
}

/// Scatters the root's input, in parts of any lengths.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scatterv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatterv(
            hndl,
            team,
            input,
            counts,
            starts,
            output,
            count,
            of,
            root,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_scatterv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iscatterv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatterv(
            hndl,
            team,
            input,
            counts,
            starts,
            output,
            count,
            of,
            root,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_scatterv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scatterv_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    root: c_uint,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatterv(
            hndl,
            team,
            input,
            counts,
            starts,
            output,
            count,
            of,
            root,
            Form::Keep(request),
        )
    }
}

/// Scatters the root's data, each part in a layout of its own.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scatterw(
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
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatterw(
            hndl,
            team,
            input,
            give_bytes,
            give_starts,
            give_dgsps,
            output,
            bytes,
            dgsp,
            root,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_scatterw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iscatterw(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatterw(
            hndl,
            team,
            input,
            give_bytes,
            give_starts,
            give_dgsps,
            output,
            bytes,
            dgsp,
            root,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_scatterw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scatterw_init(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scatterw(
            hndl,
            team,
            input,
            give_bytes,
            give_starts,
            give_dgsps,
            output,
            bytes,
            dgsp,
            root,
            Form::Keep(request),
        )
    }
}

/// Gathers the inputs of all members at all members, by rank.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allgather(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::allgather(hndl, team, input, output, count, of, Form::Wait) }
}

/// A form of \[`lapis_allgather`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iallgather(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgather(hndl, team, input, output, count, of, Form::Start(request))
    }
}

/// A form of \[`lapis_allgather`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allgather_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgather(hndl, team, input, output, count, of, Form::Keep(request))
    }
}

/// Gathers inputs of any lengths at all members.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allgatherv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgatherv(hndl, team, input, output, counts, starts, of, Form::Wait)
    }
}

/// A form of \[`lapis_allgatherv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iallgatherv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgatherv(
            hndl,
            team,
            input,
            output,
            counts,
            starts,
            of,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_allgatherv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allgatherv_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    counts: *const c_ulong,
    starts: *const c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgatherv(
            hndl,
            team,
            input,
            output,
            counts,
            starts,
            of,
            Form::Keep(request),
        )
    }
}

/// Gathers parts at all members, each in a layout of its own.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allgatherw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    output: *mut c_void,
    get_bytes: *const c_ulong,
    get_starts: *const c_ulong,
    get_dgsps: *const lapi_dg_handle_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgatherw(
            hndl,
            team,
            input,
            bytes,
            dgsp,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_allgatherw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iallgatherw(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    output: *mut c_void,
    get_bytes: *const c_ulong,
    get_starts: *const c_ulong,
    get_dgsps: *const lapi_dg_handle_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgatherw(
            hndl,
            team,
            input,
            bytes,
            dgsp,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_allgatherw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_allgatherw_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    bytes: c_ulong,
    dgsp: lapi_dg_handle_t,
    output: *mut c_void,
    get_bytes: *const c_ulong,
    get_starts: *const c_ulong,
    get_dgsps: *const lapi_dg_handle_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::allgatherw(
            hndl,
            team,
            input,
            bytes,
            dgsp,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            Form::Keep(request),
        )
    }
}

/// Exchanges parts of count elements between all members.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_alltoall(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::alltoall(hndl, team, input, output, count, of, Form::Wait) }
}

/// A form of \[`lapis_alltoall`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ialltoall(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoall(hndl, team, input, output, count, of, Form::Start(request))
    }
}

/// A form of \[`lapis_alltoall`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_alltoall_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoall(hndl, team, input, output, count, of, Form::Keep(request))
    }
}

/// Exchanges parts of any lengths between all members.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_alltoallv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    give_counts: *const c_ulong,
    give_starts: *const c_ulong,
    output: *mut c_void,
    get_counts: *const c_ulong,
    get_starts: *const c_ulong,
    of: lapis_type_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoallv(
            hndl,
            team,
            input,
            give_counts,
            give_starts,
            output,
            get_counts,
            get_starts,
            of,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_alltoallv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ialltoallv(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    give_counts: *const c_ulong,
    give_starts: *const c_ulong,
    output: *mut c_void,
    get_counts: *const c_ulong,
    get_starts: *const c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoallv(
            hndl,
            team,
            input,
            give_counts,
            give_starts,
            output,
            get_counts,
            get_starts,
            of,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_alltoallv`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_alltoallv_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    give_counts: *const c_ulong,
    give_starts: *const c_ulong,
    output: *mut c_void,
    get_counts: *const c_ulong,
    get_starts: *const c_ulong,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoallv(
            hndl,
            team,
            input,
            give_counts,
            give_starts,
            output,
            get_counts,
            get_starts,
            of,
            Form::Keep(request),
        )
    }
}

/// Exchanges parts between all members, each in a layout of its own.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_alltoallw(
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
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoallw(
            hndl,
            team,
            input,
            give_bytes,
            give_starts,
            give_dgsps,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_alltoallw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ialltoallw(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoallw(
            hndl,
            team,
            input,
            give_bytes,
            give_starts,
            give_dgsps,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_alltoallw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_alltoallw_init(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::alltoallw(
            hndl,
            team,
            input,
            give_bytes,
            give_starts,
            give_dgsps,
            output,
            get_bytes,
            get_starts,
            get_dgsps,
            Form::Keep(request),
        )
    }
}

/// Inclusive scan: reduces the inputs of the members up to the caller, in order.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scan(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::scan(hndl, team, input, output, count, of, op, Form::Wait) }
}

/// A form of \[`lapis_scan`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iscan(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scan(hndl, team, input, output, count, of, op, Form::Start(request))
    }
}

/// A form of \[`lapis_scan`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_scan_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::scan(hndl, team, input, output, count, of, op, Form::Keep(request))
    }
}

/// Exclusive scan: reduces the inputs of the members before the caller, in order; rank 0's output is unchanged.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_exscan(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::operations::exscan(hndl, team, input, output, count, of, op, Form::Wait) }
}

/// A form of \[`lapis_exscan`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_iexscan(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::exscan(hndl, team, input, output, count, of, op, Form::Start(request))
    }
}

/// A form of \[`lapis_exscan`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_exscan_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    output: *mut c_void,
    count: c_ulong,
    of: lapis_type_t,
    op: lapis_op_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::exscan(hndl, team, input, output, count, of, op, Form::Keep(request))
    }
}

/// Exchanges along the edges of a graph; each member gives its own edges.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_neighbours(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    outs: c_uint,
    to: *const lapis_edge_t,
    output: *mut c_void,
    ins: c_uint,
    from: *const lapis_edge_t,
    of: lapis_type_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::neighbours(
            hndl,
            team,
            input,
            outs,
            to,
            output,
            ins,
            from,
            of,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_neighbours`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ineighbours(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    outs: c_uint,
    to: *const lapis_edge_t,
    output: *mut c_void,
    ins: c_uint,
    from: *const lapis_edge_t,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::neighbours(
            hndl,
            team,
            input,
            outs,
            to,
            output,
            ins,
            from,
            of,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_neighbours`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_neighbours_init(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    input: *const c_void,
    outs: c_uint,
    to: *const lapis_edge_t,
    output: *mut c_void,
    ins: c_uint,
    from: *const lapis_edge_t,
    of: lapis_type_t,
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::neighbours(
            hndl,
            team,
            input,
            outs,
            to,
            output,
            ins,
            from,
            of,
            Form::Keep(request),
        )
    }
}

/// Exchanges along the edges of a graph, each part in a layout of its own.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_neighboursw(
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
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::neighboursw(
            hndl,
            team,
            input,
            outs,
            to,
            give_dgsps,
            output,
            ins,
            from,
            get_dgsps,
            Form::Wait,
        )
    }
}

/// A form of \[`lapis_neighboursw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_ineighboursw(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::neighboursw(
            hndl,
            team,
            input,
            outs,
            to,
            give_dgsps,
            output,
            ins,
            from,
            get_dgsps,
            Form::Start(request),
        )
    }
}

/// A form of \[`lapis_neighboursw`\].
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_neighboursw_init(
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
    request: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe {
        crate::collectives::operations::neighboursw(
            hndl,
            team,
            input,
            outs,
            to,
            give_dgsps,
            output,
            ins,
            from,
            get_dgsps,
            Form::Keep(request),
        )
    }
}

/// Waits for the end of an operation.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_wait(hndl: lapi_handle_t, request: *mut lapis_request_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::wait(hndl, request) }
}

/// Waits until all of them have ended.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_waitall(
    hndl: lapi_handle_t,
    count: c_uint,
    requests: *mut lapis_request_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::waitall(hndl, count, requests) }
}

/// Makes progress, and returns whether an operation has ended.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_test(
    hndl: lapi_handle_t,
    request: *mut lapis_request_t,
    ended: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::test(hndl, request, ended) }
}

/// Starts a persistent operation of lapis_*_init.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_start(hndl: lapi_handle_t, request: *mut lapis_request_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::start(hndl, request) }
}

/// Lets a counter be told of the end, by 1, instead of waiting for it.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_request_count(
    hndl: lapi_handle_t,
    request: *mut lapis_request_t,
    cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::request_count(hndl, request, cntr) }
}

/// Lets a completion handler run at the end, instead of waiting for it.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_request_then(
    hndl: lapi_handle_t,
    request: *mut lapis_request_t,
    done: Option<compl_hndlr_t>,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::request_then(hndl, request, done, arg) }
}

/// Frees a persistent operation of lapis_*_init.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_request_free(hndl: lapi_handle_t, request: *mut lapis_request_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::request_free(hndl, request) }
}

/// Makes an operator of a function.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_op_create(
    hndl: lapi_handle_t,
    fold: Option<lapis_fold_t>,
    commutes: c_int,
    arg: *mut c_void,
    op: *mut lapis_op_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::op_create(hndl, fold, commutes, arg, op) }
}

/// Lets go of an operator. Collectives under way keep it.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_op_free(hndl: lapi_handle_t, op: lapis_op_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::op_free(hndl, op) }
}

/// Writes why this thread's last call of this header failed, with the numbers, for people.
///
/// # Safety
/// Pointers are valid for what the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_error_text(text: *mut c_char, size: c_ulong) -> c_int {
    // SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.
    unsafe { crate::collectives::requests::error_text(text, size) }
}
