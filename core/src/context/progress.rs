//! Making progress: polling the links, and the thread that does it in interrupt mode.

use super::Context;
use crate::error::Result;
use crate::sync::blocking::{Condvar, Mutex};
use crate::sync::{AtomicU32, Ordering};
use crate::transport::{Caps, Status};
use std::time::Duration;

/// Longest sleep in one piece: a bound for what nobody would wake us for.
pub(super) const SLEEP_IN_PIECES: Duration = Duration::from_millis(50);

/// How long the progress thread stays in polling mode.
const RETIRES_AFTER: Duration = Duration::from_millis(20);

/// What one look at the links found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// Packets and completions handled.
    pub events: usize,
}

/// Threads of this process that sleep inside the context.
pub(crate) struct Sleepers {
    /// How many: the one that sleeps in the transport and those that wait for it.
    count: AtomicU32,
    /// Whether somebody sleeps in the transport.
    turn: Mutex<bool>,
    changed: Condvar,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU32::new(0), turn: Mutex::new(false), changed: Condvar::new() }
    }
}

impl Context {
    /// A look at everything, with the lock held.
    #[inline(never)]
    pub(crate) fn progress_locked(&self) -> usize {
        // SAFETY: the lock is held; the reference ends before anything is dispatched.
        let state = unsafe { self.state() };
        if state.dispatching > 0 {
            return 0;
        }
        state.looked_at_everything();
        let (links, engines) = (state.links.len(), state.with_engines);
        let mut handled = 0;
        for index in 0..links {
            // SAFETY: as above.
            if engines && unsafe { self.state() }.datagrams[index].is_some() {
                handled += self.poll_datagrams(index);
            } else {
                handled += self.poll_link(index);
            }
        }
        // SAFETY: as above.
        if unsafe { self.state() }.has_work() {
            self.advance();
        }
        if engines {
            self.flush_datagrams();
        }
        if handled > 0 {
            self.wake_sleepers();
        }
        self.mind_silence_seldom();
        handled
    }

    #[inline(always)]
    fn poll_link(&self, index: usize) -> usize {
        // SAFETY: the lock is held; the reference ends before anything is dispatched.
        let state = unsafe { self.state() };
        let path = state.paths[index];
        let local = path == crate::stats::Path::Local;
        if local && state.self_pending == 0 {
            return 0;
        }
        let n = match state.links[index].poll(&mut state.polled) {
            Ok(0) => return 0,
            Ok(n) => n,
            Err(status) => return self.link_broken(index, status),
        };
        if local {
            state.self_pending = state.self_pending.saturating_sub(n as u32);
        }
        state.dispatching += 1;
        for at in 0..n {
            // While packets are dispatched nobody polls: the array stays as it is.
            // SAFETY: the lock is held and the reference ends here.
            let event = unsafe { self.state() }.polled[at];
            self.dispatch(path, &event);
        }
        // SAFETY: as above.
        unsafe { self.state() }.dispatching -= 1;
        n
    }

    /// A link that answers with an error instead of events: everybody behind it is lost.
    #[cold]
    pub(super) fn link_broken(&self, index: usize, status: Status) -> usize {
        for peer in 0..self.shared.tasks {
            // SAFETY: the lock is held and the reference ends here.
            if unsafe { self.state() }.peers[peer as usize].route.index() == index {
                self.peer_down(peer, &format!("the transport to it failed ({status:?})"));
            }
        }
        0
    }

    /// Whether another thread waits for the lock.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.shared.lock.is_wanted()
    }

    /// Wakes everybody who sleeps in the context, because something may have changed for them.
    #[inline(always)]
    pub(crate) fn wake_sleepers(&self) {
        // SYNC: Relaxed is enough: whoever goes to sleep checks its condition under the lock after counting itself.
        if self.shared.sleepers.count.load(Ordering::Relaxed) > 0 {
            self.wake_sleepers_slow();
        }
    }

    #[cold]
    fn wake_sleepers_slow(&self) {
        self.shared.sleepers.changed.notify_all();
        for s in &self.shared.link_sleepers {
            s.wake();
        }
    }

    /// Sleeps until something may have changed, at most for `limit`. The lock is held; it is let go meanwhile.
    ///
    /// One thread sleeps in the transport; others wait for it to find something.
    pub(crate) fn sleep(&self, limit: Duration) {
        // SAFETY: the lock is held and the reference ends here.
        if unsafe { self.state() }.dispatching > 0 {
            // Others' polling would take away the packet that is being handled.
            return self.give_core_away();
        }
        let s = &self.shared.sleepers;
        // SYNC: counted under the lock, before `arm` looks once more: whoever changes a condition afterwards sees us.
        s.count.fetch_add(1, Ordering::Relaxed);
        let armed = self.arm();
        let limit = self.until_timers(limit);
        if let (true, Some(limit)) = (armed, limit) {
            self.shared.lock.without(|| self.sleep_unlocked(limit));
        } else {
            // Something is to be done, but nothing comes of doing it: whoever could change that may need the core.
            self.give_core_away();
        }
        s.count.fetch_sub(1, Ordering::Relaxed);
        if !self.shared.attributes.interrupts.load(Ordering::Relaxed) {
            self.disarm();
        }
    }

    fn sleep_unlocked(&self, limit: Duration) {
        let s = &self.shared.sleepers;
        let mut taken = s.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *taken {
            drop(s.changed.wait_timeout(taken, limit.min(Duration::from_millis(1))));
            return;
        }
        *taken = true;
        drop(taken);
        self.sleep_in_transport(limit);
        *s.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = false;
        s.changed.notify_all();
    }

    /// Prepares every link to wake us. False when something is there already.
    pub(crate) fn arm(&self) -> bool {
        // SAFETY: the lock is held and nothing below calls out.
        let state = unsafe { self.state() };
        if state.has_work() || state.self_pending > 0 {
            return false;
        }
        let mut quiet = true;
        for link in &mut state.links {
            if link.caps().contains(Caps::WAIT) && link.arm() == Status::Again {
                quiet = false;
            }
        }
        quiet && (!state.has_engines() || self.until_timers(SLEEP_IN_PIECES).is_some())
    }

    pub(crate) fn disarm(&self) {
        // SAFETY: the lock is held and nothing below calls out.
        for link in &mut unsafe { self.state() }.links {
            if link.caps().contains(Caps::WAIT) {
                link.disarm();
            }
        }
    }

    fn sleep_in_transport(&self, limit: Duration) {
        match &*self.shared.link_sleepers {
            [] => std::thread::sleep(limit.min(Duration::from_millis(1))),
            [only] => only.wait(limit.as_nanos() as u64),
            several => {
                let mut fds: Vec<libc::pollfd> = several
                    .iter()
                    .map(|s| libc::pollfd { fd: s.fd(), events: libc::POLLIN, revents: 0 })
                    .collect();
                // Nothing tells what arrives over a link without a descriptor.
                let blind = fds.iter().any(|fd| fd.fd < 0);
                let limit = if blind { limit.min(Duration::from_millis(1)) } else { limit };
                let time = libc::timespec {
                    tv_sec: limit.as_secs().min(1000) as libc::time_t,
                    tv_nsec: libc::c_long::from(limit.subsec_nanos()),
                };
                // SAFETY: the array and the time are valid for the call.
                unsafe {
                    libc::ppoll(
                        fds.as_mut_ptr(),
                        fds.len() as libc::nfds_t,
                        &raw const time,
                        std::ptr::null(),
                    );
                }
                // Wakes are taken notice of by whoever waits.
                for (s, _) in several.iter().zip(&fds).filter(|(_, fd)| fd.revents != 0) {
                    s.wait(0);
                }
            }
        }
    }

    /// Whether arrivals are served while the program computes.
    #[doc(alias = "INTERRUPT_SET")]
    #[inline(always)]
    pub fn interrupts(&self) -> bool {
        self.shared.attributes.interrupts.load(Ordering::Relaxed)
    }

    /// Turns serving arrivals while the program computes on or off. Costs nanoseconds, except when it is turned on for the first time
    /// or after some hundredths of a second, which starts the progress thread.
    ///
    /// *LAPI Guide, LAPI_Senv, INTERRUPT_SET; "Running in interrupt mode".*
    pub fn set_interrupts(&self, on: bool) -> Result<()> {
        self.usable()?;
        let _held = self.guard();
        if self.shared.attributes.interrupts.swap(on, Ordering::Relaxed) == on {
            return Ok(());
        }
        // SAFETY: the lock is held and nothing below calls out.
        for link in &mut unsafe { self.state() }.links {
            link.set_interrupts(on);
        }
        if on {
            self.ensure_progress_thread()?;
            if !self.arm() {
                self.progress_locked();
                self.arm();
            }
        } else {
            self.disarm();
        }
        Ok(())
    }

    /// Starts the progress thread unless it runs. The lock is held.
    pub(crate) fn ensure_progress_thread(&self) -> Result<()> {
        if self.shared.progress_thread.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let context = self.internal();
        self.start_thread("lapis-progress", move || context.serve())
    }

    pub(super) fn start_thread(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut builder = std::thread::Builder::new().name(name.into());
        if let Some(size) = self.shared.hooks.stack_size {
            builder = builder.stack_size(size);
        }
        let context = self.internal();
        let start = move || {
            if let Some(prepare) = &context.shared.hooks.thread_start {
                prepare();
            }
            drop(context);
            body();
        };
        let thread = crate::threads::spawn(builder, start)
            .map_err(|source| crate::Error::System { what: "starting a thread of the context", source })?;
        let mut threads = self.shared.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// The progress thread: sleeps until something arrives that nobody polls for.
    fn serve(&self) {
        // SYNC: pairs with the Release in `terminate`.
        while !self.shared.terminated.load(Ordering::Acquire) {
            if !self.interrupts() {
                // Polling mode: nobody wakes us; stay in case that the program needs us again soon.
                std::thread::park_timeout(RETIRES_AFTER);
                if self.retires() {
                    return;
                }
                continue;
            }
            if self.shared.polling.load(Ordering::Relaxed) > 0 {
                // A thread of the program polls; it arms the links again when it stops.
                self.doze(Duration::from_millis(20));
                if self.shared.polling.load(Ordering::Relaxed) > 0 {
                    // It sleeps, too, and what woke us has woken it: step aside instead of looking again and again.
                    std::thread::sleep(Duration::from_micros(50));
                }
                continue;
            }
            let held = self.guard();
            // Again, now that nobody can change it: in polling mode nothing is served behind the program's back.
            if !self.interrupts() {
                continue;
            }
            let found = self.progress_locked();
            if found == 0 && self.shared.polling.load(Ordering::Relaxed) == 0 {
                self.mind_silence();
                if self.arm()
                    && let Some(limit) = self.until_timers(SLEEP_IN_PIECES)
                {
                    drop(held);
                    self.doze(limit);
                    continue;
                }
                // Something advances that needs no arrival: let the program have the lock in between.
                drop(held);
                std::thread::yield_now();
            }
        }
    }

    /// Whether the progress thread shall end, because the program polls. With a second thread in the process each system call has
    /// to count who uses its descriptor, which lengthens a message over sockets by a fiftieth.
    fn retires(&self) -> bool {
        if !self.shared.lock.try_acquire() {
            return false;
        }
        // Again, now that nobody can change it.
        let polls = !self.interrupts();
        if polls {
            self.shared.progress_thread.store(false, Ordering::Relaxed);
        }
        self.shared.lock.release();
        polls
    }

    /// The progress thread's sleep.
    fn doze(&self, limit: Duration) {
        let until = self.shared.clock.elapsed() + limit;
        self.shared.sleeping_until.store(until.as_nanos() as u64, Ordering::Relaxed);
        self.sleep_in_transport(limit);
        self.shared.sleeping_until.store(0, Ordering::Relaxed);
    }
}
