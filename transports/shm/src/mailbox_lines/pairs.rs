//! Which pairs of tasks have a mailbox line, and who is told of it.

use crate::peer::State;
use crate::transport::Shm;
use lapis_ablation::{Optimization, without};
use lapis_core::transport::lane::{Mailbox, MailboxLine};
use std::ptr::null_mut;

impl Shm {
    /// Whether this task's segment would have the line that it writes alternately with `peer`.
    pub(crate) fn is_host_of_mailbox_line(&self, peer: u32) -> bool {
        self.me.task < peer
    }

    /// Begins to write a line alternately with the peer at `dense`.
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
