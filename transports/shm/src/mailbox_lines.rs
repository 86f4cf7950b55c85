//! Mailbox lines, which two tasks write in turns: which pairs of tasks have one, and who knows of it.
//!
//! A pair's line lies in the segment of the task with the lower number, beside the lane in which the other sends to it, and the
//! other begins. Four places name it: both ends of our lanes, the peer, and the waiter, who looks at it without the context's lock.

use crate::connect::State;
use crate::transport::Shm;
use lapis_core::sync::blocking::Mutex;
use lapis_core::transport::lane::{Line, Turn};
use std::ptr::{NonNull, null_mut};
use std::sync::PoisonError;

/// All turns that an instance ever had: core may hold one that has just ended.
#[derive(Default)]
pub(crate) struct Turns(Vec<NonNull<Turn>>);

// SAFETY: turns are used under the context's lock, but for their numbers, which are atomic.
unsafe impl Send for Turns {}

impl Turns {
    fn keep(&mut self, turn: Turn) -> *mut Turn {
        let turn = NonNull::from(Box::leak(Box::new(turn)));
        self.0.push(turn);
        turn.as_ptr()
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        for turn in &self.0 {
            // SAFETY: made by `keep`; core forgets lanes and turns before the instance closes.
            drop(unsafe { Box::from_raw(turn.as_ptr()) });
        }
    }
}

/// The turns in which something may arrive, for sleepers.
#[derive(Default)]
pub(crate) struct Watched(Mutex<Vec<*const Turn>>);

// SAFETY: what the list names is alive while it is in the list, and only read.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Watched {
    fn change(&self, what: impl FnOnce(&mut Vec<*const Turn>)) {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether a message waits in one of them.
    pub(crate) fn unread(&self) -> bool {
        // Ordered after SLEEP by the fence in `arm`.
        // SAFETY: turn and line are alive while the turn is in the list.
        let waits = |&turn: &*const Turn| unsafe { Turn::waits(turn) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(waits)
    }

    /// The instance closes: the lines' memory goes.
    pub(crate) fn forget_all(&self) {
        self.change(Vec::clear);
    }
}

impl Shm {
    /// Whether this task's segment would have the line that it writes in turns with `peer`.
    pub(crate) fn is_host_of_turn(&self, peer: u32) -> bool {
        self.me.task < peer
    }

    /// Begins to write a line in turns with the peer at `dense`.
    pub(crate) fn begin_turn(&mut self, dense: usize, line: *mut Line, first: bool) {
        self.end_turn(dense);
        let turn = self.turns.keep(Turn::new(line, first));
        self.peers[dense].turn = turn;
        if self.peers[dense].state == State::Open {
            self.outbox.outs[dense].lane.set_turn(turn);
        }
        self.inbox.set_turn(dense, turn);
        self.bell.turns.change(|list| list.push(turn));
    }

    /// From here on nobody looks at the line any more.
    pub(crate) fn end_turn(&mut self, dense: usize) {
        let Some(peer) = self.peers.get_mut(dense) else { return };
        let turn = std::mem::replace(&mut peer.turn, null_mut());
        if !turn.is_null() {
            self.outbox.outs[dense].lane.set_turn(null_mut());
            self.inbox.set_turn(dense, null_mut());
            self.bell.turns.change(|list| list.retain(|&t| !std::ptr::eq(t, turn)));
        }
    }
}
