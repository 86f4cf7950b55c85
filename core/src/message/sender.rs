//! The task whose packets are being handled, found once for all packets of a turn.

use crate::handlers::Incoming;
use crate::state::Peer;
use crate::transport::PeerId;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Who sends what is being handled.
#[derive(Clone, Copy)]
pub(super) struct Sender {
    peer: NonNull<Peer>,
    /// Its number in the job.
    pub(super) task: PeerId,
}

impl Sender {
    /// `peer` is where the state keeps what it knows of the task.
    #[inline(always)]
    pub(super) fn new(peer: NonNull<Peer>, task: PeerId) -> Self {
        Self { peer, task }
    }

    /// Its message `number` is done. Says whether fences wait for that.
    ///
    /// # Safety
    /// The state to which the peer belongs is alive and the caller's, and nothing of the peer is
    /// borrowed.
    #[inline(always)]
    pub(super) unsafe fn done(self, number: u32) -> bool {
        // SAFETY: this function's contract; peers stay where they are.
        unsafe { (*self.peer.as_ptr()).arrived.done(number) }
    }
}

/// Where header handlers find what they are told of a message. What is the same for all messages of
/// a turn is written once.
pub(super) struct Told<'p>(MaybeUninit<Incoming<'p>>);

impl<'p> Told<'p> {
    /// For messages of this task.
    #[inline(always)]
    pub(super) fn of(sender: Sender) -> Self {
        let mut incoming = MaybeUninit::<Incoming<'_>>::uninit();
        // SAFETY: the place of a field, which is only written.
        unsafe { (&raw mut (*incoming.as_mut_ptr()).source).write(sender.task) };
        Self(incoming)
    }

    /// A message all of which has come.
    #[inline(always)]
    pub(super) fn whole(&mut self, user_header: &'p [u8], data: &'p [u8]) -> &Incoming<'p> {
        let incoming = self.0.as_mut_ptr();
        // SAFETY: with the source, which is written, these are all of its fields.
        unsafe {
            (&raw mut (*incoming).user_header).write(user_header);
            (&raw mut (*incoming).first).write(data);
            (&raw mut (*incoming).len).write(data.len() as u64);
            self.0.assume_init_ref()
        }
    }
}
