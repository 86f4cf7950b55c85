//! Services for layers between core and the program, such as collectives: a header handler outside
//! of the program's numbers, state that lives as long as the context, and facts about other
//! tasks.

use super::{Context, HandlerId, Locked};
use super::{Delivery, Handler};
use crate::error::Result;
use crate::handlers::{HANDLER_TABLE_SIZE, Incoming};
use crate::state::PeerState;
use crate::sync::Ordering;
use crate::transport::PeerId;
use std::any::Any;
use std::sync::Arc;

/// The header handler of the layer that provides collectives; its index is beyond the program's
/// handlers. A message that arrives before the layer has set it waits.
pub const SERVICE: HandlerId = HandlerId(HANDLER_TABLE_SIZE as u16);

impl Context {
    /// Sets the handler of [`SERVICE`]. Rules as for [`set_handler`](Self::set_handler).
    ///
    /// # Errors
    /// The context can't be used.
    pub fn set_service(
        &self,
        handler: impl Fn(&Self, &Incoming<'_>) -> Delivery + Send + Sync + 'static,
    ) -> Result<()> {
        self.usable()?;
        self.shared.handlers.set_service(Handler::of(handler));
        Ok(())
    }

    /// The one value of this type that belongs to the context; `make` creates it at the first
    /// call. It is dropped with the context, so it must not hold the context.
    ///
    /// # Errors
    /// The context can't be used, or `make` fails.
    pub fn extension<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<Arc<T>>) -> Result<Arc<T>> {
        self.usable()?;
        // Before the table of values is locked: `make` takes this lock, and handlers that ask
        // hold it.
        self.locked().out(|context| context.shared.extensions.get_or_make(make))
    }

    /// Has `watch` called for each task that can't be reached any more, or with which everything
    /// starts again: it died, has terminated its context, was purged, has purged this task or was
    /// restarted. It is called under the lock, from the code that noticed, and should leave sends
    /// and waits to [a handler thread](Self::run_on_handler_thread). It is dropped with the
    /// context, so it must not hold the context. A context has one; later calls change nothing.
    pub fn watch_peers(&self, watch: impl Fn(&Self, PeerId) + Send + Sync + 'static) {
        // Under the lock, as it is read: whoever calls it sees what it refers to.
        let _locked = self.locked();
        let _ = self.shared.extensions.watch.set(Box::new(watch));
    }

    /// Has `look` called before a waiting thread sleeps, and now and then by calls that make
    /// progress: for work that no call waits for. It is called under the lock, and may send. It is
    /// dropped with the context, so it must not hold the context. A context has one; later calls
    /// change nothing.
    pub fn look_after(&self, look: impl Fn(&Self) + Send + Sync + 'static) {
        // Under the lock, as it is read: whoever calls it sees what it refers to.
        let _locked = self.locked();
        let _ = self.shared.extensions.look.set(Box::new(look));
    }

    /// Whether messages can be sent to a task, as far as is known.
    ///
    /// # Errors
    /// Why not: it died, was purged, or has terminated its context.
    pub fn reachable(&self, target: PeerId) -> Result<()> {
        self.check_target(target)?;
        let peer = &self.locked().peers[target];
        if peer.state == PeerState::Up { Ok(()) } else { Err(peer.refusal(target)) }
    }

    /// Bytes that have come so far of what a task sends here, of messages whose rest is still to
    /// come: another number than before if more has come since.
    pub fn coming_from(&self, source: PeerId) -> u64 {
        let state = self.locked();
        state.receiving.bytes_from(source).wrapping_add(state.operations.bytes_from(source))
    }

    /// Whether a task has ended its context or its process has ended, as far as is known. One that
    /// fell silent, or was purged, may still be at memory that it has mapped.
    pub fn has_left(&self, target: PeerId) -> bool {
        let peer = &self.locked().peers[target];
        peer.dead || peer.farewell || peer.state == PeerState::Ended
    }

    /// Whether the calling thread may wait.
    ///
    /// # Errors
    /// It runs a handler inline, or the context can't be used.
    #[inline]
    pub fn may_block(&self, call: &'static str) -> Result<()> {
        self.usable()?;
        self.may_wait(call)
    }

    /// Whether calls can be made: the context has not terminated, and this process is not a forked
    /// child.
    #[inline(always)]
    pub fn is_usable(&self) -> bool {
        self.shared.alive.here() && !self.shared.terminated.load(Ordering::Relaxed)
    }

    /// Whether the context has ended and its links are closed: nothing reads or writes memory of
    /// its messages any more, even of those whose end was not reported. Called with the
    /// [lock](Self::lock) held.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Relaxed)
    }

    /// Whether the calling process has created the context. False in a forked child, where nothing
    /// of the context may be freed or closed: it still belongs to the parent.
    #[inline(always)]
    pub fn is_of_this_process(&self) -> bool {
        self.shared.alive.here()
    }

    /// Whether other threads want the cores that this task's threads run on, so that waiting
    /// threads should yield them.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.shared.crowding.is_crowded()
    }

    /// Yields the core to others if they want it and that does not cost a time slice.
    pub fn give_core_away(&self) {
        self.shared.crowding.give_core_to_own_thread(|| false);
    }

    /// The first task of the machine on which `task` runs: the same for all of its tasks, at every
    /// task.
    pub fn host_of(&self, task: PeerId) -> u32 {
        self.shared.hosts.get(task as usize).copied().unwrap_or(task)
    }
}

impl Locked<'_> {
    /// Lets the layer above look after what no call waits for.
    #[cold]
    pub(super) fn look_after_the_rest(&mut self) {
        if let Some(look) = self.shared().extensions.look.get() {
            self.out(|context| look(context));
        }
    }

    /// A peer can't be reached any more, or everything starts again with it.
    #[cold]
    pub(crate) fn tell_watch(&mut self, peer: PeerId) {
        if let Some(watch) = self.shared().extensions.watch.get() {
            self.out(|context| watch(context, peer));
        }
    }
}
