//! Collectives of a team of all tasks, called so that they block.

use super::Batch;
use crate::session::Session;
use anyhow::Result;
use lapis_collectives::{Operator, Team};

pub(super) fn barrier(session: &Session) -> Result<Batch<'_>> {
    let team = Team::world(&session.context)?;
    Ok(Box::new(move |count| {
        for _ in 0..count {
            team.barrier()?;
        }
        Ok(())
    }))
}

/// Roots take turns: a root alone would run ahead of the others.
pub(super) fn broadcast(session: &Session, size: u64) -> Result<Batch<'_>> {
    let team = Team::world(&session.context)?;
    let mut data = vec![1u8; size as usize];
    Ok(Box::new(move |count| {
        for i in 0..count {
            team.broadcast(&mut data, i as usize % team.len())?;
        }
        Ok(())
    }))
}

pub(super) fn all_reduce(session: &Session, size: u64) -> Result<Batch<'_>> {
    let team = Team::world(&session.context)?;
    let values = vec![1.0; (size / 8) as usize];
    let mut sums = vec![0.0; values.len()];
    Ok(Box::new(move |count| {
        for _ in 0..count {
            team.all_reduce_into(&values, &mut sums, Operator::Sum)?;
        }
        Ok(())
    }))
}

pub(super) fn all_to_all(session: &Session, size: u64) -> Result<Batch<'_>> {
    let team = Team::world(&session.context)?;
    let given = vec![1u8; size as usize * team.len()];
    let mut got = given.clone();
    Ok(Box::new(move |count| {
        for _ in 0..count {
            team.all_to_all(&given, &mut got, size as usize)?;
        }
        Ok(())
    }))
}
