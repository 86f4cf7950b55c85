//! The end of a context.

use super::handler_threads::HANDLER_THREAD;
use super::{Context, Locked, Notify};
use crate::error::{Error, LockHeld, Result};
use crate::status::{Awaiting, NOBODY};
use crate::sync::Ordering;
use crate::trace::EventKind;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long termination waits for data that peers still fetch from here, or that still goes out.
const LINGER: Duration = Duration::from_secs(5);

/// How long termination waits for a thread of the program to give the lock back.
const LOCK_HELD: Duration = Duration::from_secs(5);

/// How long termination waits for peers that don't acknowledge what they were sent.
const UNACKNOWLEDGED: Duration = Duration::from_secs(2);

impl Context {
    /// Ends the context: messages that were sent still arrive, the threads end, the transports
    /// close. A second call does nothing.
    ///
    /// Peers learn that this is no failure. Handlers that are still queued run first.
    ///
    /// *LAPI Guide, LAPI_Term.*
    ///
    /// # Errors
    /// The call was made from a handler that runs with the context's lock held. The calling thread
    /// holds the [lock](Self::lock) itself, or another one holds it and does not release it. The
    /// context then continues.
    #[doc(alias = "LAPI_Term")]
    pub fn terminate(&self) -> Result<()> {
        self.lock_to_end()?;
        let mut locked = self.locked();
        self.unlock();
        locked.drain();
        // Datagrams overtake each other, and a goodbye is to be the last that is heard.
        locked.linger(UNACKNOWLEDGED);
        locked.say_goodbye();
        locked.linger(UNACKNOWLEDGED);
        locked.forget_lanes();
        // SYNC: Release pairs with the threads' Acquire: they see a state that is complete.
        self.shared.terminated.store(true, Ordering::Release);
        // Threads of the program that still wait learn of it.
        self.shared.wake_sleepers();
        drop(locked);
        let handler_threads = self.end_progress_thread();
        let mut locked = self.locked();
        locked.links.close();
        self.shared.closed.store(true, Ordering::Relaxed);
        // Some may hold this context, which would keep itself alive.
        let unanswered = locked.end_what_is_open();
        drop(locked);
        drop(unanswered);
        // Only now: a handler may have waited for what has just been ended.
        handler_threads.into_iter().for_each(join);
        if let Ok(mut bootstrap) = self.shared.bootstrap.lock()
            && let Err(e) = bootstrap.finalize()
        {
            tracing::debug!("leaving the job's store: {e}");
        }
        self.locked().trace_counts();
        if let Some(trace) = &self.shared.trace {
            trace.note(EventKind::End, 0, NOBODY, [0; 2]);
            trace.flush();
        }
        self.shared.link_sleepers.close();
        Ok(())
    }

    /// Takes the [lock](Self::lock) for a call of [`terminate`](Self::terminate) that is to follow:
    /// an interface whose programs name a context by a handle takes the handle out of use
    /// meanwhile. Until then, whoever else holds the lock can go on and give it back.
    ///
    /// # Errors
    /// As for [`terminate`](Self::terminate).
    //= LAPI Guide, Lock sharing, not held when LAPI_Term is called
    pub fn lock_to_end(&self) -> Result<()> {
        self.usable()?;
        self.may_wait("terminate")?;
        let lock = &self.shared.lock;
        if lock.held_by_me() {
            // If it is the library that does, its call goes on with the context afterwards.
            let (place, remedy) = if lock.is_held_by_program_here() {
                ("by a thread that holds the context's lock", "give the lock back first")
            } else {
                (
                    "within a handler that runs with the context's lock held",
                    "let the program do it when the call has returned",
                )
            };
            return Err(Error::NotAllowed { call: "terminate", place, remedy });
        }
        if !lock.acquire_for_program_within(LOCK_HELD) {
            let held = LockHeld { call: "terminate", holder: lock.owner(), seconds: LOCK_HELD.as_secs() };
            return Err(held.into());
        }
        // Another thread may have ended the context meanwhile.
        self.usable().inspect_err(|_| {
            self.unlock();
        })
    }

    /// Ends the threads of the library, and waits for those that run no program's code but handlers
    /// in line: they poll the links. Returns the others.
    fn end_progress_thread(&self) -> Vec<JoinHandle<()>> {
        self.shared.completions.close();
        self.shared.link_sleepers.wake();
        let threads = std::mem::take(
            &mut *self.shared.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        threads.iter().for_each(|thread| thread.thread().unpark());
        let (handlers, others): (Vec<_>, Vec<_>) =
            threads.into_iter().partition(|thread| thread.thread().name() == Some(HANDLER_THREAD));
        others.into_iter().for_each(join);
        handlers
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.thread().id() != std::thread::current().id() {
        // A panic in it would have ended the process.
        let _ = thread.join();
    }
}

impl Locked<'_> {
    /// Waits until nothing of ours is under way any more, or it is clear that peers don't take it.
    fn drain(&mut self) {
        self.ask_for_landings();
        self.wait_before(Awaiting::End, Some(Instant::now() + LINGER), |locked| {
            let to_myself = locked.links.self_pending > 0;
            !(locked.has_work() || to_myself || locked.operations.holds_buffers())
                && locked.shared().completions.is_idle()
        });
    }

    /// Tells calls and futures that wait for what will not end any more: nobody uses their memory,
    /// since the links are closed. Gives back the other notifications.
    fn end_what_is_open(&mut self) -> Vec<Notify> {
        let state = &mut **self;
        let mut open = Vec::new();
        for operation in state.operations.take_all() {
            open.extend([(operation.peer, operation.origin), (operation.peer, operation.completion)]);
        }
        open.extend(state.sending.outgoing.drain(..).map(|out| (out.peer, out.origin)));
        for peer in 0..self.shared().tasks {
            // Calls that wait for room, and answers of handlers that return later, belong to a
            // former life.
            let life = &mut self.peers[peer].life;
            *life = life.wrapping_add(1);
            let origins = self.sending.zero_copy.forget_peer(peer);
            open.extend(origins.into_iter().map(|origin| (peer, origin)));
        }
        let (waiting, others): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|(_, notify)| notify.hears_why());
        for (peer, notify) in waiting {
            notify.notify(self, peer, Err(Error::HandleInvalid { handle: self.shared().number }));
        }
        others.into_iter().map(|(_, notify)| notify).collect()
    }

    pub(super) fn flush_deferred(&mut self) {
        let deadline = Instant::now() + Duration::from_millis(200);
        self.wait_before(Awaiting::End, Some(deadline), |locked| locked.sending.deferred.is_empty());
        self.links.flush_datagrams();
    }
}
