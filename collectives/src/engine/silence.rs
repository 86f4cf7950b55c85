//! For how long nothing has come for an operation that no call waits for.

use super::{Engine, Members, Op};
use crate::board::Reach;
use crate::engine::search::Found;
use crate::error::CollectiveError;
use lapis_core::Context;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// How far an operation has come: its number, its steps, messages that are open, and its rounds.
pub(crate) type Stand = (u32, usize, u32, u32, Option<(Reach, usize, usize)>);

/// Looks that are further apart than this part of TIMEOUT say nothing of the time between them:
/// the others may have waited for this task.
const APART: u32 = 4;

/// The time in which nothing has come, as far as somebody has looked.
#[derive(Clone, Copy, Default)]
pub(crate) struct Silence(Option<(Stand, Instant, Instant)>);

impl Silence {
    /// Whether it has lasted that long `now`.
    fn has_lasted(&mut self, limit: Duration, stand: Stand, now: Instant) -> bool {
        let since = match self.0 {
            Some((before, since, last)) if before == stand && now - last <= limit / APART => since,
            _ => now,
        };
        self.0 = Some((stand, since, now));
        now - since >= limit
    }
}

impl Engine {
    /// An operation waits for a member, which can be reached. It fails if nothing has come for as
    /// long as TIMEOUT allows.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn note_silence(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
        task: u32,
    ) {
        if *context.config().notimeout.get() {
            return;
        }
        // SAFETY: the caller's promise; nothing below calls out.
        unsafe {
            let memory = &(*team.as_ptr()).memory;
            // In memory it waits for the head of the queue, which may wait for the search.
            let stand = match &memory.found {
                Found::Looking(search) if std::ptr::eq(search.op().as_ptr(), op) => return,
                Found::Looking(search) if (&(*op).rounds).is_some() => (&*search.op().as_ptr()).stand(),
                _ if (&(*op).rounds).is_some() => {
                    let head = memory.queue.front().map_or(op, |head| head.as_ptr());
                    (&*head).stand()
                }
                _ => (&*op).stand(),
            };
            let limit = context.timeout();
            if (&mut (*op).silence).has_lasted(limit, stand, Instant::now()) {
                let (call, seconds) = ((*op).name, limit.as_secs());
                (*op).failure.get_or_insert(CollectiveError::Silent { task, call, seconds });
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn silence_lasts_while_nothing_comes_and_somebody_looks() {
        let (limit, start) = (Duration::from_secs(8), Instant::now());
        let stand = |number| (number, 0, 1, 0, None);
        let mut silence = Silence::default();
        let mut at =
            |number, seconds| silence.has_lasted(limit, stand(number), start + Duration::from_secs(seconds));
        assert!((0..8).all(|second| !at(1, second)) && at(1, 8));
        // Something has come.
        assert!((9..17).all(|second| !at(2, second)) && at(2, 17));
        // Nobody has looked meanwhile.
        assert!(!at(2, 100) && !at(2, 102) && !at(2, 107) && !at(2, 108));
    }
}
