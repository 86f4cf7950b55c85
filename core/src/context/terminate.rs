//! The end of a context.

use super::Context;
use crate::error::Result;
use crate::sync::Ordering;
use std::time::{Duration, Instant};

/// How long termination waits for data that peers still fetch from here, or that still goes out.
const LINGER: Duration = Duration::from_secs(5);

/// How long termination waits for peers that don't acknowledge what they were sent.
const UNACKNOWLEDGED: Duration = Duration::from_secs(2);

impl Context {
    /// Ends the context: what was sent still arrives, the threads end, the transports close. A second call does nothing.
    ///
    /// Peers learn that this is no failure. Handlers that are still queued run first.
    ///
    /// *LAPI Guide, LAPI_Term.*
    ///
    /// # Errors
    /// The call was made from one of the context's own threads or handlers.
    #[doc(alias = "LAPI_Term")]
    pub fn terminate(&self) -> Result<()> {
        if !self.shared.alive.here() || self.shared.terminated.load(Ordering::Relaxed) {
            return self.usable();
        }
        self.may_wait("terminate")?;
        self.drain();
        let held = self.guard();
        // Datagrams overtake each other, and a goodbye is to be the last that is heard.
        self.linger(UNACKNOWLEDGED);
        self.say_goodbye();
        self.linger(UNACKNOWLEDGED);
        // SAFETY: the lock is held and nothing below calls out.
        unsafe { self.state() }.forget_lanes();
        // SYNC: Release pairs with the threads' Acquire: they see a state that is complete.
        self.shared.terminated.store(true, Ordering::Release);
        drop(held);
        self.end_threads();
        if let Ok(mut bootstrap) = self.shared.bootstrap.lock()
            && let Err(e) = bootstrap.finalize()
        {
            tracing::debug!("leaving the job's store: {e}");
        }
        let _held = self.guard();
        // SAFETY: the lock is held, the threads have ended and nothing below calls out.
        let state = unsafe { self.state() };
        state.with_engines = false;
        state.datagrams.clear();
        state.links.clear();
        Ok(())
    }

    /// Waits until nothing of ours is under way any more, or it is clear that peers don't take it.
    fn drain(&self) {
        let _held = self.guard();
        self.wait_before(Some(Instant::now() + LINGER), |context| {
            // SAFETY: the lock is held and the reference ends here.
            let state = unsafe { context.state() };
            !(state.has_work() || state.operations.holds_buffers()) && context.shared.completions.is_idle()
        });
    }

    pub(super) fn flush_deferred(&self) {
        // SAFETY: the lock is held and the reference ends here.
        let done = |context: &Self| unsafe { context.state() }.deferred.is_empty();
        self.wait_before(Some(Instant::now() + Duration::from_millis(200)), done);
        self.flush_datagrams();
        // SAFETY: as above.
        for link in &mut unsafe { self.state() }.links {
            link.flush();
        }
    }

    fn end_threads(&self) {
        self.shared.completions.close();
        for s in &self.shared.link_sleepers {
            s.wake();
        }
        let threads = std::mem::take(
            &mut *self.shared.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        for thread in threads {
            thread.thread().unpark();
            if thread.thread().id() != std::thread::current().id() {
                // A handler that panicked has ended its thread already.
                let _ = thread.join();
            }
        }
    }
}
