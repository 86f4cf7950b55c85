//! Collectives of a team of all tasks, called so that they block.
//!
//! Sizes are those of a member's data, or of each part where members give or get a part of each.
//! Roots take turns: one alone would run ahead of the others. A batch ends when all members have
//! ended its calls: in a scan, or with few calls, task 0 would have ended before them.

use super::Batch;
use crate::plan::Collective;
use crate::session::Session;
use anyhow::Result;
use lapis_collectives::{Operator, Team};

pub(super) fn prepare(session: &Session, operation: Collective, size: u64) -> Result<Batch<'_>> {
    match operation {
        Collective::Barrier => repeat(session, |team, _| team.barrier()),
        Collective::Reduce | Collective::AllReduce | Collective::ReduceScatter | Collective::Scan => {
            fold(session, operation, (size / 8) as usize)
        }
        _ => exchange(session, operation, size as usize),
    }
}

/// A batch of calls, each with its root.
fn repeat<'s>(
    session: &'s Session,
    mut call: impl FnMut(&Team, usize) -> lapis_collectives::Result<()> + 's,
) -> Result<Batch<'s>> {
    let team = Team::world(&session.context)?;
    Ok(Box::new(move |count| {
        let mut root = 0;
        for _ in 0..count {
            call(&team, root)?;
            root = if root + 1 == team.len() { 0 } else { root + 1 };
        }
        team.barrier()?;
        Ok(())
    }))
}

/// Sums of doubles.
fn fold(session: &Session, operation: Collective, count: usize) -> Result<Batch<'_>> {
    let parts = if operation == Collective::ReduceScatter { session.context.tasks() as usize } else { 1 };
    let mut given = vec![1.0; count * parts];
    let mut sums = vec![0.0; count];
    repeat(session, move |team, root| match operation {
        Collective::Reduce => team.reduce(&given, &mut sums, Operator::Sum, root),
        Collective::AllReduce => team.all_reduce_into(&given, &mut sums, Operator::Sum),
        Collective::Scan => team.scan(&mut given, Operator::Sum),
        _ => team.reduce_scatter_block(&given, &mut sums, Operator::Sum),
    })
}

/// Bytes that are moved.
fn exchange(session: &Session, operation: Collective, size: usize) -> Result<Batch<'_>> {
    let mut given = vec![1u8; size * session.context.tasks() as usize];
    let mut got = vec![1u8; size * session.context.tasks() as usize];
    repeat(session, move |team, root| match operation {
        Collective::Broadcast => team.broadcast(&mut given[..size], root),
        Collective::Gather => team.gather(&given[..size], &mut got, root),
        Collective::Scatter => team.scatter(&given, &mut got[..size], root),
        Collective::AllGather => team.all_gather(&given[..size], &mut got),
        _ => team.all_to_all(&given, &mut got, size),
    })
}
