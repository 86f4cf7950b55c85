//! Fences, barriers and exchanges of all tasks.

use super::Batch;
use crate::session::Session;

/// Global fences.
pub(super) fn gfence(session: &Session) -> Batch<'_> {
    Box::new(move |count| {
        for _ in 0..count {
            session.context.gfence()?;
        }
        Ok(())
    })
}

/// Exchanges of values: the shorter ones go through memory that tasks share.
pub(super) fn exchange(session: &Session, size: u64) -> Batch<'_> {
    let value = vec![0; size as usize];
    Box::new(move |count| {
        for _ in 0..count {
            session.context.all_gather(&value)?;
        }
        Ok(())
    })
}

/// Contexts that come and go beside the first.
pub(super) fn init(session: &Session) -> Batch<'_> {
    Box::new(move |count| {
        for _ in 0..count {
            session.another_context()?.terminate()?;
        }
        Ok(())
    })
}
