//! An alarm that ends the progress thread's sleep at a time that other threads set.
//!
//! A thread that sends may start a timer that is due before the progress thread wakes. If it woke
//! the thread to say so, the two would take turns on the lock and the core with each packet.

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// See the module's description.
pub(super) struct Alarm(OwnedFd);

impl Alarm {
    /// `None`: there are no more descriptors, or the system has none of this kind.
    pub(super) fn new() -> Option<Self> {
        if cfg!(miri) {
            return None;
        }
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        timerfd_create(TimerfdClockId::Monotonic, flags).ok().map(Self)
    }

    /// Goes off after this time, and not at the time that was set before. False: it can't be set.
    pub(super) fn set(&self, after: Duration) -> bool {
        // No time at all would turn it off.
        let after = after.max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: after.as_secs() as _, tv_nsec: after.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once).is_ok()
    }

    /// Readable once it has gone off.
    pub(super) fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// It has gone off: it stays quiet until it is set again.
    pub(super) fn quiet(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::context::{Context, ContextBuilder};
    use crate::datagrams::tests::{end, packet, places, poll};
    use crate::stats::Path;
    use crate::sync::Ordering;
    use crate::transport::Status;
    use crate::wire::Kind;

    const LONG: Duration = Duration::from_secs(3600);
    /// As long as a machine may put a thread aside: the engine asks again meanwhile.
    const PUT_ASIDE: Duration = Duration::from_millis(5);

    #[test]
    fn it_goes_off_each_time_it_is_set() {
        let alarm = Alarm::new().expect("descriptors");
        for after in [Duration::ZERO, Duration::from_millis(1)] {
            let mut fd = libc::pollfd { fd: alarm.fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor, valid for the call.
            let mut ready = |wait| unsafe { libc::poll(&raw mut fd, 1, wait) };
            assert_eq!(ready(0), 0);
            assert!(alarm.set(after));
            assert_eq!(ready(-1), 1);
            alarm.quiet();
            assert_eq!(ready(0), 0);
            assert!(alarm.set(LONG));
            assert_eq!(ready(0), 0);
        }
    }

    /// A context in interrupt mode with a link for datagrams, whose progress thread the test plays.
    fn context() -> Context {
        let job = crate::bootstrap::singleton(0).unwrap();
        let context = ContextBuilder::default().without_transports(job, Config::default()).unwrap();
        context.shared.attributes.interrupts.store(true, Ordering::Relaxed);
        context.shared.link_sleepers.provide_alarm();
        let (link, datagrams) = end(0);
        let mut locked = context.locked();
        locked.links.open.push(link);
        locked.links.datagrams.push(Some(Box::new(datagrams)));
        locked.links.paths.push(Path::Network);
        locked.links.with_engines = true;
        drop(locked);
        context
    }

    #[test]
    fn packets_of_a_burst_wake_nobody_for_their_timers() {
        let context = context();
        let mut locked = context.locked();
        let shared = locked.shared();
        let calls = shared.link_sleepers.heard();
        let sleeps_until = || shared.sleeping_until.load(Ordering::Relaxed);
        let mut limit = LONG;
        for number in 0..100 {
            // The progress thread has looked at the timers, and sleeps until the first is due.
            context.announce_sleep(limit);
            let announced = sleeps_until();
            let (link, datagrams) = locked.links.engine_at(0).expect("it was given one");
            assert_eq!(datagrams.send(link, 1, &packet(Kind::Am, number), &[], false), Status::Done);
            datagrams.flush(link, datagrams.now());
            locked.wake_for_timer();
            if number % 10 == 5 {
                std::thread::sleep(PUT_ASIDE);
            }
            assert!(number > 0 || sleeps_until() < announced, "the alarm is set for the first one");
            // Timers that have become due meanwhile are run, and what they send leaves. On a slow
            // machine the next one may be due by then.
            limit = loop {
                let (link, datagrams) = locked.links.engine_at(0).expect("it was given one");
                poll(link, datagrams);
                datagrams.flush(link, datagrams.now());
                if let Some(limit) = locked.links.until_timers(LONG) {
                    break limit;
                }
            };
        }
        assert_eq!(shared.link_sleepers.heard(), calls, "somebody was woken");
        // The job has one task: the context must not hear that the other end does not answer.
        locked.links.datagrams[0] = None;
    }

    #[test]
    fn the_end_of_a_wait_with_an_acknowledgement_put_off_wakes_nobody() {
        let context = context();
        let (mut far_link, mut far) = end(1);
        let mut locked = context.locked();
        let (link, datagrams) = locked.links.engine_at(0).expect("it was given one");
        assert_eq!(datagrams.send(link, 1, &packet(Kind::Am, 1), &[], false), Status::Done);
        poll(&mut far_link, &mut far);
        // The acknowledgement travels with it.
        assert_eq!(far.send(&mut far_link, 0, &packet(Kind::Am, 1), &[], false), Status::Done);
        let calls = locked.shared().link_sleepers.heard();
        locked.begin_polling();
        let (link, datagrams) = locked.links.engine_at(0).expect("it was given one");
        datagrams.poll(link, places(usize::MAX), true).expect("polls");
        let units = datagrams.take_units();
        datagrams.give_back(units);
        assert_eq!(datagrams.until_timer(), Some(Duration::ZERO), "it is put off");
        locked.end_polling();
        assert_eq!(locked.shared().link_sleepers.heard(), calls, "somebody was woken");
    }
}
