//! The benches: each gives a closure that does so many operations on this task's side.

mod am;
mod atomic;
mod onesided;
mod sync;
mod team;

use crate::plan::{Figure, Kind};
use crate::session::{COPY, DATA, Session};
use anyhow::{Context, Result};

/// Does so many operations.
pub(crate) type Batch<'s> = Box<dyn FnMut(u64) -> Result<()> + 's>;

/// Sets a bench up. All tasks do it together, and then run batches of the same lengths.
pub(crate) fn prepare<'s>(session: &'s Session, figure: &Figure) -> Result<Batch<'s>> {
    let target = || session.target(figure.memory.context("a bench on memory without its kind")?);
    let size = figure.size;
    let batch = match figure.bench.kind {
        Kind::AmLat => am::ping_pong(session, DATA, size),
        Kind::AmRate | Kind::AmBw => am::stream(session, DATA, size),
        Kind::AmCopyLat => am::ping_pong(session, COPY, size),
        Kind::AmCopyBw => am::stream(session, COPY, size),
        Kind::PutLat => onesided::put_and_know(session, target()?, size),
        Kind::PutSeen => onesided::put_until_seen(session, target()?)?,
        Kind::PutStream | Kind::Goodput => onesided::put_stream(session, target()?, size),
        Kind::GetLat => onesided::get_and_have(session, target()?, size),
        Kind::GetStream => onesided::get_stream(session, target()?, size),
        Kind::FetchAdd => atomic::fetch_add(session, target()?, 1),
        Kind::FetchAddStream => atomic::fetch_add(session, target()?, atomic::WINDOW),
        Kind::CompareSwap => atomic::compare_swap(session, target()?),
        Kind::Gfence => return Ok(sync::gfence(session)),
        Kind::Exchange => return Ok(sync::exchange(session, size)),
        Kind::Team(operation) => return team::prepare(session, operation, size),
        Kind::Init => return Ok(sync::init(session)),
        // These are no batches: `sample` and `single` take them themselves.
        Kind::FirstInit | Kind::Blocked | Kind::Footprint | Kind::RoundTrip { .. } | Kind::Pause => {
            return Ok(idle());
        }
    };
    Ok(if session.plays() { batch } else { idle() })
}

/// What a reader should know of how a figure was taken.
pub(crate) fn note(figure: &Figure) -> Option<&'static str> {
    match figure.bench.kind {
        Kind::FirstInit => Some("once in a process"),
        Kind::Blocked => Some("the message comes after a quarter of a second"),
        Kind::Footprint => Some("anonymous memory of the processes (RssAnon): nothing that tasks share"),
        Kind::Init => Some("in a running process: plugins are loaded, the first context stays open"),
        Kind::PutSeen => Some("each task looks at its memory and puts back"),
        Kind::AmLat | Kind::AmRate | Kind::AmBw => Some("messages of one packet are used in place"),
        Kind::AmCopyLat | Kind::AmCopyBw => Some("the handler copies messages of one packet"),
        _ => None,
    }
}

/// The side that others work on: it makes progress while it waits for the end of the batch.
fn idle<'s>() -> Batch<'s> {
    Box::new(|_| Ok(()))
}
