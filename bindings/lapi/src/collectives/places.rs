//! Buffers that are no addresses: NULL where there is no data, and LAPIS_IN_PLACE where the other
//! buffer has it.

use super::outcome::{Outcome, failed, failure};
use crate::abi::LAPIS_ERR_BUFFER;
use lapis_collectives::{Call, Team, Type};

/// LAPIS_IN_PLACE.
pub(crate) const IN_PLACE: usize = usize::MAX;

/// Whether a buffer may be NULL or LAPIS_IN_PLACE: one comparison for both, because nearly no
/// program has addresses in the upper half.
#[inline(always)]
pub(super) fn may_be(buffer: *const u8) -> bool {
    (buffer.addr() as isize) <= 0
}

/// The buffers that the program means; an error if data has no place.
#[cold]
pub(super) fn found(
    team: &Team,
    call: &Call<'_>,
    of: Type,
    (input, output): (*const u8, *mut u8),
) -> Outcome<(*const u8, *mut u8)> {
    let at = |start: Option<usize>, what: &str| {
        let refused = || {
            let why = format!("{} can't have its {what} in place here", call.name());
            failure(LAPIS_ERR_BUFFER, why)
        };
        start.map(|start| start.wrapping_mul(of.size())).ok_or_else(refused)
    };
    let (input, output) = match (input.addr() == IN_PLACE, output.addr() == IN_PLACE) {
        (false, false) => (input, output),
        (true, false) => {
            (output.wrapping_add(at(input_in_output(team, call), "input")?).cast_const(), output)
        }
        (false, true) => (input, input.wrapping_add(at(output_in_input(team, call), "output")?).cast_mut()),
        (true, true) => return at(None, "buffers").map(|_| (input, output)),
    };
    check_null(team, call, of, input, output)?;
    Ok((input, output))
}

/// The element of the output at which the caller's input begins.
fn input_in_output(team: &Team, call: &Call<'_>) -> Option<usize> {
    let me = team.rank();
    match call {
        Call::Reduce { root, .. } => (*root == me).then_some(0),
        Call::AllReduce { .. }
        | Call::ReduceScatter { .. }
        | Call::ReduceScatterBlock { .. }
        | Call::AllToAll { .. }
        | Call::AllToAllV { .. }
        | Call::Scan { .. }
        | Call::ExScan { .. } => Some(0),
        Call::Gather { root, count } => (*root == me).then(|| me.wrapping_mul(*count)),
        Call::AllGather { count } => Some(me.wrapping_mul(*count)),
        Call::GatherV { parts, .. } => parts.as_ref().map(|parts| parts.starts[me]),
        Call::AllGatherV { parts } => Some(parts.starts[me]),
        _ => None,
    }
}

/// The element of the input at which the caller's output begins: a root's own part.
fn output_in_input(team: &Team, call: &Call<'_>) -> Option<usize> {
    let me = team.rank();
    match call {
        Call::Scatter { root, count } => (*root == me).then(|| me.wrapping_mul(*count)),
        Call::ScatterV { parts, .. } => parts.as_ref().map(|parts| parts.starts[me]),
        _ => None,
    }
}

/// Whether what is NULL needs to be there.
fn check_null(team: &Team, call: &Call<'_>, of: Type, input: *const u8, output: *mut u8) -> Outcome {
    let (needs_input, needs_output) = team.needs(call, of).map_err(failed)?;
    let ends = [("input", needs_input, input.is_null()), ("output", needs_output, output.is_null())];
    match ends.iter().find(|(_, needed, null)| *needed > 0 && *null) {
        Some((what, needed, _)) => Err(failure(
            LAPIS_ERR_BUFFER,
            format!("{} needs {needed} elements of {what}, which is NULL", call.name()),
        )),
        None => Ok(()),
    }
}
