//! The subroutines of `module lapis`. Written by `cargo xtask codegen` from
//! bindings/lapi/api/lapis. Edit that.
#![allow(clippy::too_many_arguments, reason = "collectives have many")]

use super::arguments::{Address, Argument, Buffer, Object, Procedure, Value};
use super::subroutine;
use crate::abi::*;
use crate::own_exports as c;
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

subroutine! {
    own "Allocates zeroed memory that every task reaches as directly as the transports allow."
    lapis_alloc lapis_alloc_
    (
        hndl: Value<lapi_handle_t>,
        len: Value<c_ulong>,
        addr: Object<*mut c_void>,
    )
}

subroutine! {
    own "Frees memory of lapis_alloc; NULL does nothing."
    lapis_free lapis_free_
    (
        hndl: Value<lapi_handle_t>,
        addr: Address<c_void>,
    )
}

subroutine! {
    own "Registers memory of the program, so that tasks reach it as directly as the transports allow."
    lapis_register lapis_register_
    (
        hndl: Value<lapi_handle_t>,
        addr: Buffer<c_void>,
        len: Value<c_ulong>,
    )
}

subroutine! {
    own "Ends a registration of lapis_register; NULL does nothing."
    lapis_unregister lapis_unregister_
    (
        hndl: Value<lapi_handle_t>,
        addr: Buffer<c_void>,
    )
}

subroutine! {
    own "Creates the team of these tasks, in this order. Only the members call this."
    lapis_team_of lapis_team_of_
    (
        hndl: Value<lapi_handle_t>,
        count: Value<c_uint>,
        tasks: Object<c_uint>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Creates the team of the tasks first, first + stride, ... Only the members call this."
    lapis_team_strided lapis_team_strided_
    (
        hndl: Value<lapi_handle_t>,
        first: Value<c_uint>,
        stride: Value<c_long>,
        count: Value<c_uint>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Creates the team of the members with these ranks, in this order."
    lapis_team_include lapis_team_include_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        count: Value<c_uint>,
        ranks: Object<c_uint>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Creates the team of all members but those with these ranks."
    lapis_team_exclude lapis_team_exclude_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        count: Value<c_uint>,
        ranks: Object<c_uint>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Creates the team of the members at ranks first, first + stride, and so on up to last."
    lapis_team_range lapis_team_range_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        first: Value<c_uint>,
        last: Value<c_uint>,
        stride: Value<c_long>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Creates the team of the members of either team."
    lapis_team_union lapis_team_union_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        other: Value<lapis_team_t>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Creates the team of the members of the first team that the second one does not have."
    lapis_team_difference lapis_team_difference_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        other: Value<lapis_team_t>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Creates the team of the members of both teams."
    lapis_team_intersection lapis_team_intersection_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        other: Value<lapis_team_t>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Collective: splits a team by colour; each team is ordered by key."
    lapis_team_split lapis_team_split_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        colour: Value<c_int>,
        key: Value<c_long>,
        made: Object<lapis_team_t>,
    )
}

subroutine! {
    own "Frees a team. Local."
    lapis_team_free lapis_team_free_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
    )
}

subroutine! {
    own "Returns the number of a team's members."
    lapis_team_size lapis_team_size_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        size: Object<c_uint>,
    )
}

subroutine! {
    own "Returns the calling task's rank."
    lapis_team_rank lapis_team_rank_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        rank: Object<c_uint>,
    )
}

subroutine! {
    own "Returns the task with a rank."
    lapis_team_task lapis_team_task_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        rank: Value<c_uint>,
        task: Object<c_uint>,
    )
}

subroutine! {
    own "Returns a member's rank in another team; -1 if it is no member there."
    lapis_team_translate lapis_team_translate_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        rank: Value<c_uint>,
        other: Value<lapis_team_t>,
        there: Object<c_int>,
    )
}

subroutine! {
    own "Sets whether reductions give the same bits whatever their length, the hosts and the transport."
    lapis_team_reproducible lapis_team_reproducible_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        on: Value<c_int>,
    )
}

subroutine! {
    own "Barrier: returns when all members have called."
    lapis_barrier lapis_barrier_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
    )
}

subroutine! {
    own "A form of [`lapis_barrier_`]."
    lapis_ibarrier lapis_ibarrier_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_barrier_`]."
    lapis_barrier_init lapis_barrier_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Broadcasts the root's data to all members."
    lapis_bcast lapis_bcast_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_bcast_`]."
    lapis_ibcast lapis_ibcast_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_bcast_`]."
    lapis_bcast_init lapis_bcast_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Broadcasts the root's data, from its layout to those of the others."
    lapis_bcastw lapis_bcastw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_bcastw_`]."
    lapis_ibcastw lapis_ibcastw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_bcastw_`]."
    lapis_bcastw_init lapis_bcastw_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Sends the root's data to the members with these ranks. All members of the team call."
    lapis_mcast lapis_mcast_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        members: Value<c_uint>,
        ranks: Object<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_mcast_`]."
    lapis_imcast lapis_imcast_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        members: Value<c_uint>,
        ranks: Object<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_mcast_`]."
    lapis_mcast_init lapis_mcast_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        data: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        members: Value<c_uint>,
        ranks: Object<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Reduces the inputs of all members at the root."
    lapis_reduce lapis_reduce_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_reduce_`]."
    lapis_ireduce lapis_ireduce_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_reduce_`]."
    lapis_reduce_init lapis_reduce_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Reduces the inputs of all members, for all members."
    lapis_allreduce lapis_allreduce_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allreduce_`]."
    lapis_iallreduce lapis_iallreduce_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allreduce_`]."
    lapis_allreduce_init lapis_allreduce_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Reduces the inputs of all members and gives each its part of the result."
    lapis_reduce_scatter lapis_reduce_scatter_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
    )
}

subroutine! {
    own "A form of [`lapis_reduce_scatter_`]."
    lapis_ireduce_scatter lapis_ireduce_scatter_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_reduce_scatter_`]."
    lapis_reduce_scatter_init lapis_reduce_scatter_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Reduces the inputs of all members and gives each its part of the result: count elements."
    lapis_reduce_scatter_block lapis_reduce_scatter_block_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
    )
}

subroutine! {
    own "A form of [`lapis_reduce_scatter_block_`]."
    lapis_ireduce_scatter_block lapis_ireduce_scatter_block_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_reduce_scatter_block_`]."
    lapis_reduce_scatter_block_init lapis_reduce_scatter_block_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Gathers the inputs of all members at the root, by rank."
    lapis_gather lapis_gather_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_gather_`]."
    lapis_igather lapis_igather_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_gather_`]."
    lapis_gather_init lapis_gather_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Gathers inputs of any lengths at the root."
    lapis_gatherv lapis_gatherv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        count: Value<c_ulong>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_gatherv_`]."
    lapis_igatherv lapis_igatherv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        count: Value<c_ulong>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_gatherv_`]."
    lapis_gatherv_init lapis_gatherv_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        count: Value<c_ulong>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Gathers parts at the root, each in a layout of its own."
    lapis_gatherw lapis_gatherw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_gatherw_`]."
    lapis_igatherw lapis_igatherw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_gatherw_`]."
    lapis_gatherw_init lapis_gatherw_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Scatters the root's input: each member gets its part."
    lapis_scatter lapis_scatter_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_scatter_`]."
    lapis_iscatter lapis_iscatter_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_scatter_`]."
    lapis_scatter_init lapis_scatter_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Scatters the root's input, in parts of any lengths."
    lapis_scatterv lapis_scatterv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_scatterv_`]."
    lapis_iscatterv lapis_iscatterv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_scatterv_`]."
    lapis_scatterv_init lapis_scatterv_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Scatters the root's data, each part in a layout of its own."
    lapis_scatterw lapis_scatterw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_bytes: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        root: Value<c_uint>,
    )
}

subroutine! {
    own "A form of [`lapis_scatterw_`]."
    lapis_iscatterw lapis_iscatterw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_bytes: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_scatterw_`]."
    lapis_scatterw_init lapis_scatterw_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_bytes: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        root: Value<c_uint>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Gathers the inputs of all members at all members, by rank."
    lapis_allgather lapis_allgather_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allgather_`]."
    lapis_iallgather lapis_iallgather_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allgather_`]."
    lapis_allgather_init lapis_allgather_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Gathers inputs of any lengths at all members."
    lapis_allgatherv lapis_allgatherv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allgatherv_`]."
    lapis_iallgatherv lapis_iallgatherv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allgatherv_`]."
    lapis_allgatherv_init lapis_allgatherv_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        counts: Object<c_ulong>,
        starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Gathers parts at all members, each in a layout of its own."
    lapis_allgatherw lapis_allgatherw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allgatherw_`]."
    lapis_iallgatherw lapis_iallgatherw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_allgatherw_`]."
    lapis_allgatherw_init lapis_allgatherw_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        bytes: Value<c_ulong>,
        dgsp: Value<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Exchanges parts of count elements between all members."
    lapis_alltoall lapis_alltoall_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
    )
}

subroutine! {
    own "A form of [`lapis_alltoall_`]."
    lapis_ialltoall lapis_ialltoall_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_alltoall_`]."
    lapis_alltoall_init lapis_alltoall_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Exchanges parts of any lengths between all members."
    lapis_alltoallv lapis_alltoallv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_counts: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        output: Buffer<c_void>,
        get_counts: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
    )
}

subroutine! {
    own "A form of [`lapis_alltoallv_`]."
    lapis_ialltoallv lapis_ialltoallv_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_counts: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        output: Buffer<c_void>,
        get_counts: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_alltoallv_`]."
    lapis_alltoallv_init lapis_alltoallv_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_counts: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        output: Buffer<c_void>,
        get_counts: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Exchanges parts between all members, each in a layout of its own."
    lapis_alltoallw lapis_alltoallw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_bytes: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
    )
}

subroutine! {
    own "A form of [`lapis_alltoallw_`]."
    lapis_ialltoallw lapis_ialltoallw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_bytes: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_alltoallw_`]."
    lapis_alltoallw_init lapis_alltoallw_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        give_bytes: Object<c_ulong>,
        give_starts: Object<c_ulong>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        get_bytes: Object<c_ulong>,
        get_starts: Object<c_ulong>,
        get_dgsps: Object<lapi_dg_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Inclusive scan: reduces the inputs of the members up to the caller, in order."
    lapis_scan lapis_scan_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
    )
}

subroutine! {
    own "A form of [`lapis_scan_`]."
    lapis_iscan lapis_iscan_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_scan_`]."
    lapis_scan_init lapis_scan_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Exclusive scan: reduces the inputs of the members before the caller, in order; rank 0's output is unchanged."
    lapis_exscan lapis_exscan_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
    )
}

subroutine! {
    own "A form of [`lapis_exscan_`]."
    lapis_iexscan lapis_iexscan_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_exscan_`]."
    lapis_exscan_init lapis_exscan_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        output: Buffer<c_void>,
        count: Value<c_ulong>,
        of: Value<lapis_type_t>,
        op: Value<lapis_op_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Exchanges along the edges of a graph; each member gives its own edges."
    lapis_neighbours lapis_neighbours_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        outs: Value<c_uint>,
        to: Object<lapis_edge_t>,
        output: Buffer<c_void>,
        ins: Value<c_uint>,
        from: Object<lapis_edge_t>,
        of: Value<lapis_type_t>,
    )
}

subroutine! {
    own "A form of [`lapis_neighbours_`]."
    lapis_ineighbours lapis_ineighbours_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        outs: Value<c_uint>,
        to: Object<lapis_edge_t>,
        output: Buffer<c_void>,
        ins: Value<c_uint>,
        from: Object<lapis_edge_t>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_neighbours_`]."
    lapis_neighbours_init lapis_neighbours_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        outs: Value<c_uint>,
        to: Object<lapis_edge_t>,
        output: Buffer<c_void>,
        ins: Value<c_uint>,
        from: Object<lapis_edge_t>,
        of: Value<lapis_type_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Exchanges along the edges of a graph, each part in a layout of its own."
    lapis_neighboursw lapis_neighboursw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        outs: Value<c_uint>,
        to: Object<lapis_edge_t>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        ins: Value<c_uint>,
        from: Object<lapis_edge_t>,
        get_dgsps: Object<lapi_dg_handle_t>,
    )
}

subroutine! {
    own "A form of [`lapis_neighboursw_`]."
    lapis_ineighboursw lapis_ineighboursw_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        outs: Value<c_uint>,
        to: Object<lapis_edge_t>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        ins: Value<c_uint>,
        from: Object<lapis_edge_t>,
        get_dgsps: Object<lapi_dg_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "A form of [`lapis_neighboursw_`]."
    lapis_neighboursw_init lapis_neighboursw_init_
    (
        hndl: Value<lapi_handle_t>,
        team: Value<lapis_team_t>,
        input: Buffer<c_void>,
        outs: Value<c_uint>,
        to: Object<lapis_edge_t>,
        give_dgsps: Object<lapi_dg_handle_t>,
        output: Buffer<c_void>,
        ins: Value<c_uint>,
        from: Object<lapis_edge_t>,
        get_dgsps: Object<lapi_dg_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Waits for the end of an operation."
    lapis_wait lapis_wait_
    (
        hndl: Value<lapi_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Waits until all of them have ended."
    lapis_waitall lapis_waitall_
    (
        hndl: Value<lapi_handle_t>,
        count: Value<c_uint>,
        requests: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Makes progress, and returns whether an operation has ended."
    lapis_test lapis_test_
    (
        hndl: Value<lapi_handle_t>,
        request: Object<lapis_request_t>,
        ended: Object<c_int>,
    )
}

subroutine! {
    own "Starts a persistent operation of lapis_*_init."
    lapis_start lapis_start_
    (
        hndl: Value<lapi_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Lets a counter be told of the end, by 1, instead of waiting for it."
    lapis_request_count lapis_request_count_
    (
        hndl: Value<lapi_handle_t>,
        request: Object<lapis_request_t>,
        cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    own "Lets a completion handler run at the end, instead of waiting for it."
    lapis_request_then lapis_request_then_
    (
        hndl: Value<lapi_handle_t>,
        request: Object<lapis_request_t>,
        done: Procedure<Option<compl_hndlr_t>>,
        arg: Object<c_void>,
    )
}

subroutine! {
    own "Frees a persistent operation of lapis_*_init."
    lapis_request_free lapis_request_free_
    (
        hndl: Value<lapi_handle_t>,
        request: Object<lapis_request_t>,
    )
}

subroutine! {
    own "Makes an operator of a function."
    lapis_op_create lapis_op_create_
    (
        hndl: Value<lapi_handle_t>,
        fold: Procedure<Option<lapis_fold_t>>,
        commutes: Value<c_int>,
        arg: Object<c_void>,
        op: Object<lapis_op_t>,
    )
}

subroutine! {
    own "Lets go of an operator. Collectives under way keep it."
    lapis_op_free lapis_op_free_
    (
        hndl: Value<lapi_handle_t>,
        op: Value<lapis_op_t>,
    )
}
