//! Sleeping until a datagram arrives, or an adapter goes up or down.

use lapis_adapters::bell::Bell;
use lapis_core::sync::{Arc, AtomicBool, Ordering};
use lapis_core::transport::Waiter;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// Marks in the watch set.
const ARRIVALS: u64 = 0;
const LOOK: u64 = 1;

/// What the transport and its waiter share.
pub(crate) struct Notifier {
    all: OwnedFd,
    own: Bell,
    /// Ends sleeps now and then while it runs.
    timer: OwnedFd,
    ticks: AtomicBool,
    /// Something other than arrivals ended a sleep since [`take_stirred`](Self::take_stirred).
    stirred: AtomicBool,
}

impl Notifier {
    pub(crate) fn new() -> io::Result<Self> {
        let notifier = Self {
            all: epoll::create(CreateFlags::CLOEXEC)?,
            own: Bell::new()?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?,
            ticks: AtomicBool::new(false),
            stirred: AtomicBool::new(true),
        };
        notifier.watch_to_look(&notifier.own)?;
        notifier.watch_to_look(&notifier.timer)?;
        Ok(notifier)
    }

    /// Counts a descriptor that tells of arrivals among those that end a sleep whenever something
    /// happens to it: nobody needs to quiet a bell for the next sleep.
    pub(crate) fn watch(&self, fd: impl AsFd) -> io::Result<()> {
        self.watch_as(fd, ARRIVALS)
    }

    /// The same for one that is a reason to look at what else there is, the daemon above all.
    pub(crate) fn watch_to_look(&self, fd: impl AsFd) -> io::Result<()> {
        self.watch_as(fd, LOOK)
    }

    fn watch_as(&self, fd: impl AsFd, mark: u64) -> io::Result<()> {
        let when = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        match epoll::add(&self.all, fd, EventData::new_u64(mark), when) {
            // It counts already.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Counts each of these among them. Those that can't be are left out, and `failed` hears why.
    pub(crate) fn watch_each(&self, fds: impl IntoIterator<Item = impl AsFd>, failed: impl FnMut(io::Error)) {
        fds.into_iter().filter_map(|fd| self.watch(fd).err()).for_each(failed);
    }

    /// Counts it among them no more.
    pub(crate) fn unwatch(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.all, fd)?)
    }

    /// Ends sleeps every so often from now on, or no more.
    pub(crate) fn stir_every(&self, pause: Option<Duration>) -> io::Result<()> {
        let nanos = pause.map_or(0, |pause| pause.as_nanos().min(999_999_999));
        let time = Timespec { tv_sec: 0, tv_nsec: nanos as _ };
        let timer = Itimerspec { it_interval: time, it_value: time };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &timer)?;
        self.ticks.store(pause.is_some(), Ordering::Relaxed);
        Ok(())
    }

    /// Ends the sleep of this context.
    pub(crate) fn wake(&self) {
        self.own.ring();
    }

    /// Whether something other than arrivals has ended a sleep since the last call.
    #[inline]
    pub(crate) fn take_stirred(&self) -> bool {
        // SYNC: pairs with the Release store in `wait`. The swap is needed seldom.
        self.stirred.load(Ordering::Relaxed) && self.stirred.swap(false, Ordering::Acquire)
    }
}

/// The sleeping half of [`Hps`](crate::Hps).
pub struct HpsWaiter(pub(crate) Arc<Notifier>);

impl std::fmt::Debug for HpsWaiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HpsWaiter").field(&self.0.all.as_raw_fd()).finish()
    }
}

impl Waiter for HpsWaiter {
    fn wait(&self, timeout_ns: u64) {
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000).min(i64::MAX as u64 / 2).cast_signed(),
            tv_nsec: (timeout_ns % 1_000_000_000) as _,
        };
        let mut events = Vec::with_capacity(16);
        let woken = epoll::wait(&self.0.all, rustix::buffer::spare_capacity(&mut events), Some(&timeout));
        // Sleeps that arrivals end need no look at the daemon, which costs a call of the system.
        if woken.is_ok() && events.iter().any(|event| { event.data }.u64() == LOOK) {
            if self.0.ticks.load(Ordering::Relaxed) {
                // The kernel lets it run on when it has been read. Nobody needs the count.
                let _ = rustix::io::read(&self.0.timer, &mut [0; 8]);
            }
            // SYNC: pairs with the Acquire swap in `take_stirred`.
            self.0.stirred.store(true, Ordering::Release);
        }
    }

    fn wake(&self) {
        self.0.wake();
    }

    fn fd(&self) -> i32 {
        self.0.all.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_watched_keeps_nothing_else_from_ending_sleeps() {
        let notifier = Arc::new(Notifier::new().expect("descriptors"));
        // Files can't be watched.
        let file = || std::fs::File::open("/proc/self/exe").map(OwnedFd::from).expect("it runs");
        let bell = Bell::new().expect("descriptors");
        let of_bell = bell.as_fd().try_clone_to_owned().expect("descriptors");
        let mut why = Vec::new();
        notifier.watch_each([file(), of_bell, file()], |e| why.push(e.kind()));
        assert_eq!(why, [io::ErrorKind::PermissionDenied; 2]);
        notifier.take_stirred();
        bell.ring();
        // Returns at once, because it has been woken.
        HpsWaiter(Arc::clone(&notifier)).wait(600_000_000_000);
        assert!(!notifier.take_stirred(), "arrivals are no reason to look at the daemon");
        notifier.wake();
        HpsWaiter(Arc::clone(&notifier)).wait(600_000_000_000);
        assert!(notifier.take_stirred());
    }

    #[test]
    fn a_clock_ends_every_sleep_and_not_only_the_first() {
        let notifier = Arc::new(Notifier::new().expect("descriptors"));
        notifier.stir_every(Some(Duration::from_millis(1))).expect("a timer");
        for _ in 0..5 {
            notifier.take_stirred();
            HpsWaiter(Arc::clone(&notifier)).wait(600_000_000_000);
            assert!(notifier.take_stirred());
        }
    }
}
