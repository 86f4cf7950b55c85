//! Mailbox lines, which two tasks write in turns: which pairs of tasks have one, and who knows of
//! it.
//!
//! The line of a pair lies in the segment of the task with the lower number, beside the lane to
//! that task. The other task writes first. Four places point to the line: both ends of our lanes,
//! the peer, and the waiter, which reads it without the context's lock.

use crate::connect::State;
use crate::transport::Shm;
use lapis_ablation::{Optimization, without};
use lapis_core::sync::blocking::Mutex;
use lapis_core::transport::lane::{Mailbox, MailboxLine};
use std::ptr::{NonNull, null_mut};
use std::sync::PoisonError;

/// All mailboxes that an instance ever had: core may hold one that has just ended.
#[derive(Default)]
pub(crate) struct Mailboxes(Vec<NonNull<Mailbox>>);

// SAFETY: mailboxes are used under the context's lock, but for their numbers, which are atomic.
unsafe impl Send for Mailboxes {}

impl Mailboxes {
    fn keep(&mut self, mailbox: Mailbox) -> *mut Mailbox {
        let mailbox = NonNull::from(Box::leak(Box::new(mailbox)));
        self.0.push(mailbox);
        mailbox.as_ptr()
    }
}

impl Drop for Mailboxes {
    fn drop(&mut self) {
        for mailbox in &self.0 {
            // SAFETY: made by `keep`; core forgets lanes and mailboxes before the instance closes.
            drop(unsafe { Box::from_raw(mailbox.as_ptr()) });
        }
    }
}

/// The mailboxes in which something may arrive, for sleepers.
#[derive(Default)]
pub(crate) struct Watched(Mutex<Vec<*const Mailbox>>);

// SAFETY: what the list names is alive while it is in the list, and only read.
unsafe impl Send for Watched {}
// SAFETY: the list is behind a mutex, and what it names is only read.
unsafe impl Sync for Watched {}

impl Watched {
    fn change(&self, what: impl FnOnce(&mut Vec<*const Mailbox>)) {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether a message waits in one of them.
    pub(crate) fn unread(&self) -> bool {
        // Ordered after SLEEP by the fence in `arm`.
        // SAFETY: mailbox and line are alive while the mailbox is in the list.
        let waits = |&mailbox: &*const Mailbox| unsafe { Mailbox::waits(mailbox) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(waits)
    }

    /// The instance closes: the lines' memory goes.
    pub(crate) fn forget_all(&self) {
        self.change(Vec::clear);
    }
}

impl Shm {
    /// Whether this task's segment would have the line that it writes in turns with `peer`.
    pub(crate) fn is_host_of_mailbox_line(&self, peer: u32) -> bool {
        self.me.task < peer
    }

    /// Begins to write a line in turns with the peer at `dense`.
    pub(crate) fn begin_mailbox_line(&mut self, dense: usize, line: *mut MailboxLine, first: bool) {
        self.end_mailbox_line(dense);
        if without(Optimization::MailboxLine) {
            return;
        }
        let mailbox = self.mailboxes.keep(Mailbox::new(line, first));
        self.peers[dense].mailbox = mailbox;
        if self.peers[dense].state == State::Open {
            self.outbox.outs[dense].lane.set_mailbox(mailbox);
        }
        self.inbox.set_mailbox(dense, mailbox);
        self.notifier.mailboxes.change(|list| list.push(mailbox));
    }

    /// From here on nobody looks at the line any more.
    pub(crate) fn end_mailbox_line(&mut self, dense: usize) {
        let Some(peer) = self.peers.get_mut(dense) else { return };
        let mailbox = std::mem::replace(&mut peer.mailbox, null_mut());
        if !mailbox.is_null() {
            self.outbox.outs[dense].lane.set_mailbox(null_mut());
            self.inbox.set_mailbox(dense, null_mut());
            self.notifier.mailboxes.change(|list| list.retain(|&t| !std::ptr::eq(t, mailbox)));
        }
    }
}
