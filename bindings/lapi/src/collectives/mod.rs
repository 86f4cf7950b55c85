//! Teams and collectives for C programs: `lapis.h` over the crate `lapis_collectives`.
//!
//! * [`table`]: numbers for teams, requests and operators;
//! * [`teams`], [`operations`], [`layouts`], [`requests`]: the calls, whose symbols `own_exports`
//!   has;
//! * [`values`]: types and operators;
//! * [`state`]: what a context has of them, and why a call fails;
//! * `places`: buffers that are NULL or LAPIS_IN_PLACE;
//! * here: running a call in one of its forms.

mod layouts;
pub(crate) mod operations;
mod outcome;
mod places;
pub(crate) mod requests;
pub(crate) mod state;
mod table;
pub(crate) mod teams;
mod values;

pub(crate) use places::IN_PLACE;

use crate::abi::*;
use crate::handles::{self, Entered};
use lapis_collectives::{By, Call, RawPersistent, Request, Team, Type};
use outcome::{Outcome, exhausted, failed, failure};
use state::{Collectives, Pending};
use std::ffi::{c_int, c_ulong};
use table::Absent;
use values::Operators;

/// How a collective is called.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// It is waited for.
    Wait,
    /// It is begun; where the request goes.
    Start(*mut lapis_request_t),
    /// It is set up; where the request goes.
    Keep(*mut lapis_request_t),
}

/// The instance that a handle names, for a call that begins.
fn instance(hndl: lapi_handle_t) -> Outcome<Entered> {
    // A call amid another one keeps no text: memory may be in the midst of being allocated.
    handles::get(hndl).map_err(|code| match code {
        LAPI_ERR_HNDL_INVALID => failure(code, format!("hndl {hndl} is no handle of a context that is open")),
        _ => code,
    })
}

/// Does a call; what it gives goes to C.
fn answer(outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => LAPI_SUCCESS,
        Err(code) => code,
    }
}

/// What is written through a pointer of the program's.
///
/// # Safety
/// `place` is NULL or can be written.
unsafe fn give<T>(place: *mut T, what: &str) -> Outcome<&'static mut std::mem::MaybeUninit<T>> {
    // SAFETY: the caller's promise; it may hold anything.
    unsafe { place.cast::<std::mem::MaybeUninit<T>>().as_mut() }
        .ok_or_else(|| failure(LAPI_ERR_RET_PTR_NULL, format!("{what} is NULL")))
}

/// A list of the program's; NULL if it has no entries.
///
/// # Safety
/// `list` is NULL or has so many entries, which don't change during the call.
unsafe fn list<'a, T>(list: *const T, len: usize, what: &str) -> Outcome<&'a [T]> {
    if list.is_null() && len > 0 {
        return Err(failure(LAPIS_ERR_COUNT, format!("{what} is NULL, and has {len} entries")));
    }
    // SAFETY: the caller's promise.
    Ok(if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(list, len) } })
}

/// A list with an entry for each member.
///
/// # Safety
/// It is NULL or has as many.
unsafe fn by_rank<'a>(team: &Team, given: *const c_ulong, what: &str) -> Outcome<&'a [usize]> {
    // SAFETY: the caller's promise; both are as wide as an address.
    unsafe { list(given.cast::<usize>(), team.len(), what) }
}

/// What a collective works on.
struct Work<'a> {
    call: Call<'a>,
    of: Type,
    by: By<'static>,
    input: *const u8,
    output: *mut u8,
}

/// Does a collective in one of its forms. `describe` says what is to be done.
///
/// # Safety
/// What the work names is valid as the manual says.
unsafe fn run<'a>(
    hndl: lapi_handle_t,
    team: lapis_team_t,
    form: Form,
    describe: impl FnOnce(&Team, &Operators) -> Outcome<Work<'a>>,
) -> c_int {
    let run = || {
        let instance = instance(hndl)?;
        let all = &instance.collectives;
        // SAFETY: by the manual, nobody frees a team that is in use.
        let team = unsafe { all.team(&instance.context, team) }?;
        let work = describe(team, &all.operators)?;
        let Work { call, of, by, input, output } = work;
        let (mut input, mut output) = (input, output);
        if places::may_be(input) || places::may_be(output) {
            (input, output) = places::found(team, &call, of, (input, output))?;
        }
        // SAFETY: the caller's promise; lengths are those that the call implies.
        unsafe {
            in_form(
                all,
                form,
                by,
                |by| team.call_raw(&call, of, by, input, output),
                |by| team.start_raw(&call, of, by, input, output),
                |by| team.persistent_raw(&call, of, by, input, output),
            )
        }
    };
    answer(run())
}

/// Waits for work, begins it or sets it up, and tells the request's number.
///
/// # Safety
/// Where the form wants the request, it is NULL or can be written.
#[inline]
unsafe fn in_form<W>(
    all: &Collectives,
    form: Form,
    work: W,
    wait: impl FnOnce(W) -> lapis_collectives::Result<()>,
    start: impl FnOnce(W) -> lapis_collectives::Result<Request<()>>,
    keep: impl FnOnce(W) -> lapis_collectives::Result<RawPersistent>,
) -> Outcome {
    let place = match form {
        Form::Wait => return wait(work).map_err(failed),
        Form::Start(place) | Form::Keep(place) => place,
    };
    // SAFETY: the caller's promise.
    let place = unsafe { give(place, "request") }?;
    let pending = match form {
        Form::Keep(_) => Pending::Persistent(keep(work).map_err(failed)?),
        _ => Pending::Once(start(work).map_err(failed)?),
    };
    place.write(all.requests.insert(pending).ok_or_else(|| exhausted("requests"))?);
    Ok(())
}

/// Why a request can't be had.
fn absent(number: lapis_request_t, why: Absent) -> c_int {
    match why {
        Absent::Unknown => {
            failure(LAPIS_ERR_REQUEST, format!("request {number} is none of this context's, or is over"))
        }
        Absent::InUse => failure(LAPIS_ERR_BUSY, format!("another thread uses request {number}")),
    }
}
