//! Calls that make teams and tell about them.

use super::outcome::{Outcome, exhausted, failed, failure};
use super::state::Collectives;
use super::{answer, give, list};
use crate::abi::*;
use lapis_collectives::{Group, Team};
use lapis_core::Context;
use std::ffi::{c_int, c_long, c_uint};
use std::mem::MaybeUninit;

/// Does something with a team.
///
/// # Safety
/// No other thread frees the team meanwhile.
unsafe fn with(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    work: impl FnOnce(&Context, &Collectives, &Team) -> Outcome,
) -> c_int {
    let with = || {
        let instance = super::instance(hndl)?;
        let all = &instance.collectives;
        // SAFETY: the caller's promise.
        let team = unsafe { all.team(&instance.context, team) }?;
        work(&instance.context, all, team)
    };
    answer(with())
}

/// Makes a team of a group, of which the caller is a member or gets LAPIS_NO_TEAM.
fn make(
    context: &Context,
    all: &Collectives,
    group: Group,
    optional: bool,
    made: &mut MaybeUninit<lapis_team_t>,
) -> Outcome {
    made.write(LAPIS_NO_TEAM);
    if optional && group.rank(context.task()).is_none() {
        return Ok(());
    }
    // A task that was restarted ends the team of all tasks, and no others.
    let _ = all.make_world(context);
    keep(all, Team::of(context, group).map_err(failed)?, made)
}

fn keep(all: &Collectives, team: Team, made: &mut MaybeUninit<lapis_team_t>) -> Outcome {
    made.write(all.teams.insert(team).ok_or_else(|| exhausted("teams"))?);
    Ok(())
}

fn grouped(group: Result<Group, lapis_collectives::GroupError>) -> Outcome<Group> {
    group.map_err(|e| failed(e.into()))
}

pub(crate) unsafe fn of(
    hndl: lapi_handle_t,
    count: c_uint,
    tasks: *const c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    let of = || {
        let instance = super::instance(hndl)?;
        // SAFETY: the manual's promise.
        let (made, tasks) = unsafe { (give(made, "made")?, list(tasks, count as usize, "tasks")?) };
        make(&instance.context, &instance.collectives, grouped(Group::from_list(tasks))?, false, made)
    };
    answer(of())
}

pub(crate) unsafe fn strided(
    hndl: lapi_handle_t,
    first: c_uint,
    stride: c_long,
    count: c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    let strided = || {
        let instance = super::instance(hndl)?;
        // SAFETY: the manual's promise.
        let made = unsafe { give(made, "made") }?;
        let group = grouped(Group::strided(first, stride, count))?;
        make(&instance.context, &instance.collectives, group, false, made)
    };
    answer(strided())
}

/// # Safety
/// As the manual says.
unsafe fn some(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    count: c_uint,
    ranks: *const c_uint,
    made: *mut lapis_team_t,
    pick: impl FnOnce(&Group, &[usize]) -> Result<Group, lapis_collectives::GroupError>,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |context, all, team| {
            let (made, ranks) = (give(made, "made")?, list(ranks, count as usize, "ranks")?);
            if let Some(rank) = ranks.iter().find(|rank| **rank as usize >= team.len()) {
                return Err(outside(*rank, team));
            }
            let ranks: Vec<usize> = ranks.iter().map(|rank| *rank as usize).collect();
            make(context, all, grouped(pick(team.group(), &ranks))?, true, made)
        })
    }
}

fn outside(rank: u32, team: &Team) -> c_int {
    failure(LAPIS_ERR_ROOT, format!("rank {rank} of a team of {} members", team.len()))
}

pub(crate) unsafe fn include(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    count: c_uint,
    ranks: *const c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe { some(hndl, team, count, ranks, made, Group::include) }
}

pub(crate) unsafe fn exclude(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    count: c_uint,
    ranks: *const c_uint,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe { some(hndl, team, count, ranks, made, Group::exclude) }
}

pub(crate) unsafe fn range(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    first: c_uint,
    last: c_uint,
    stride: c_long,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |context, all, team| {
            let made = give(made, "made")?;
            if let Some(rank) = [first, last].iter().find(|rank| **rank as usize >= team.len()) {
                return Err(outside(*rank, team));
            }
            let group = grouped(team.group().range(first as usize, last as usize, stride))?;
            make(context, all, group, true, made)
        })
    }
}

/// # Safety
/// As the manual says.
unsafe fn of_two(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    other: lapis_team_t,
    made: *mut lapis_team_t,
    combine: impl FnOnce(&Group, &Group) -> Group,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |context, all, team| {
            let made = give(made, "made")?;
            let other = all.team(context, other)?;
            make(context, all, combine(team.group(), other.group()), true, made)
        })
    }
}

pub(crate) unsafe fn union(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    other: lapis_team_t,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe { of_two(hndl, team, other, made, Group::union) }
}

pub(crate) unsafe fn intersection(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    other: lapis_team_t,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe { of_two(hndl, team, other, made, Group::intersection) }
}

pub(crate) unsafe fn difference(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    other: lapis_team_t,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe { of_two(hndl, team, other, made, Group::difference) }
}

pub(crate) unsafe fn split(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    colour: c_int,
    key: c_long,
    made: *mut lapis_team_t,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |_, all, team| {
            let made = give(made, "made")?;
            made.write(LAPIS_NO_TEAM);
            match team.split(u32::try_from(colour).ok(), key).map_err(failed)? {
                Some(part) => keep(all, part, made),
                None => Ok(()),
            }
        })
    }
}

pub(crate) unsafe fn free(hndl: lapi_handle_t, team: lapis_team_t) -> c_int {
    let free = || {
        let instance = super::instance(hndl)?;
        let all = &instance.collectives;
        let found = match team {
            // Nobody's to free.
            LAPIS_WORLD => None,
            // SAFETY: by the manual, no thread is in a call of the team.
            _ => unsafe { all.teams.remove(team) },
        };
        match found {
            Some(_) => Ok(()),
            None => Err(failure(LAPIS_ERR_TEAM, format!("team {team} is none that can be freed"))),
        }
    };
    answer(free())
}

pub(crate) unsafe fn size(hndl: lapi_handle_t, team: lapis_team_t, size: *mut c_uint) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |_, _, team| {
            give(size, "size")?.write(team.len() as c_uint);
            Ok(())
        })
    }
}

pub(crate) unsafe fn rank(hndl: lapi_handle_t, team: lapis_team_t, rank: *mut c_uint) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |_, _, team| {
            give(rank, "rank")?.write(team.rank() as c_uint);
            Ok(())
        })
    }
}

pub(crate) unsafe fn task(hndl: lapi_handle_t, team: lapis_team_t, rank: c_uint, task: *mut c_uint) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |_, _, team| {
            let found = team.group().task(rank as usize).ok_or_else(|| outside(rank, team))?;
            give(task, "task")?.write(found);
            Ok(())
        })
    }
}

pub(crate) unsafe fn translate(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    rank: c_uint,
    other: lapis_team_t,
    there: *mut c_int,
) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |context, all, team| {
            if rank as usize >= team.len() {
                return Err(outside(rank, team));
            }
            let other = all.team(context, other)?;
            let found = team.group().translate(rank as usize, other.group());
            give(there, "there")?.write(found.map_or(-1, |rank| rank as c_int));
            Ok(())
        })
    }
}

pub(crate) unsafe fn reproducible(hndl: lapi_handle_t, team: lapis_team_t, on: c_int) -> c_int {
    // SAFETY: the manual's promise.
    unsafe {
        with(hndl, team, |_, _, team| {
            team.set_reproducible(on != 0);
            Ok(())
        })
    }
}
