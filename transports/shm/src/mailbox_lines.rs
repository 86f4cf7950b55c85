//! Mailbox lines, which two tasks write alternately: the mailboxes of this task, and those that
//! must be checked before sleeping.
//!
//! The line of a pair lies in the segment of the task with the lower number, beside the lane to
//! that task. The other task writes first. Four places point to the line: both ends of our lanes,
//! the peer, and the waiter, which reads it without the context's lock.

mod pairs;

use lapis_core::sync::blocking::Mutex;
use lapis_core::transport::lane::Mailbox;
use std::ptr::NonNull;
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
