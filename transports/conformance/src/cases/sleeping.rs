//! Sleeping until something arrives. A wake-up that is lost hangs the case; the watchdog then says
//! so.

use crate::rank::Rank;
use lapis_core::transport::Status;
use std::time::Duration;

/// Longer than the watchdog's patience: the end of a wait by time can't pass for a wake-up.
const FOREVER: u64 = 3_600_000_000_000;

/// Sleeps, as core does, until `there`.
fn sleep_until(r: &mut Rank, what: &str, mut there: impl FnMut(&mut Rank) -> bool) {
    let sleeper = r.link().sleeper();
    r.doing(what);
    while !there(r) {
        match r.link_mut().arm() {
            Status::Done => sleeper.wait(FOREVER),
            Status::Again => {}
            status => panic!("arm answered {status:?}"),
        }
        r.link_mut().disarm();
        r.poll();
    }
}

pub(crate) fn arming_with_something_there_says_again(r: &mut Rank) {
    let next = r.next();
    for _ in 0..50 {
        // Nothing there: ready to sleep, once the transport has done what it does by itself.
        r.doing("arming with nothing there");
        while r.link_mut().arm() == Status::Again {
            r.link_mut().disarm();
            r.poll();
        }
        r.link_mut().disarm();
        r.sync_idle("nobody has sent");
        r.insist("am_short", |l| l.am_short(next, b"knock", &[]));
        r.sync_idle("everybody has sent");
        // What was sent before may take a moment to become visible, but not for ever.
        while r.link_mut().arm() == Status::Done {
            r.link_mut().disarm();
            std::thread::yield_now();
        }
        r.link_mut().disarm();
        assert_eq!(r.receive().bytes, b"knock");
        r.poll();
        r.sync_idle("everybody has received");
    }
}

pub(crate) fn no_wake_up_is_lost(r: &mut Rank) {
    let next = r.next();
    for round in 0..3000u32 {
        // A token goes round; who hasn't got it sleeps. Delays of all kinds around the moment of
        // falling asleep.
        if r.task == 0 || r.tasks == 1 {
            for _ in 0..r.random(300) {
                std::hint::spin_loop();
            }
            r.insist("am_short", |l| l.am_short(next, &round.to_le_bytes(), &[]));
        }
        sleep_until(r, "asleep until the token comes", |r| !r.inbox.is_empty());
        let token = r.inbox.pop_front().expect("just seen").bytes;
        assert_eq!(token, round.to_le_bytes());
        if r.task != 0 {
            if round % 100 == 0 {
                // Long enough for the others to be fast asleep.
                std::thread::sleep(Duration::from_millis(3));
            }
            r.insist("am_short", |l| l.am_short(next, &token, &[]));
        }
    }
}

pub(crate) fn interrupt_mode_wakes_without_arming(r: &mut Rank) {
    let next = r.next();
    r.link_mut().set_interrupts(true);
    r.sync_idle("interrupts are on");
    let sleeper = r.link().sleeper();
    for round in 0..200u32 {
        if r.task == 0 || r.tasks == 1 {
            r.insist("am_short", |l| l.am_short(next, &round.to_le_bytes(), &[]));
        }
        r.doing("asleep in interrupt mode");
        while r.inbox.is_empty() {
            // Without arm: an arrival at any time since the last wait ends this one.
            sleeper.wait(FOREVER);
            r.poll();
        }
        let token = r.inbox.pop_front().expect("just seen").bytes;
        if r.task != 0 {
            r.insist("am_short", |l| l.am_short(next, &token, &[]));
        }
    }
    r.link_mut().set_interrupts(false);
}

pub(crate) fn a_wake_from_another_thread_ends_the_wait(r: &mut Rank) {
    for round in 0..200u64 {
        let (asleep, waker) = (r.link().sleeper(), r.link().sleeper());
        r.doing("asleep until another thread wakes");
        if r.link_mut().arm() == Status::Done {
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    if round % 20 == 0 {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    // Maybe before the wait has begun: then it ends at once.
                    waker.wake();
                });
                asleep.wait(FOREVER);
            });
        }
        r.link_mut().disarm();
        r.poll();
    }
}

pub(crate) fn the_descriptor_becomes_readable(r: &mut Rank) {
    use rustix::event::{PollFd, PollFlags, poll};
    let fd = r.link().wait_fd();
    if fd < 0 {
        // Allowed; the others must not wait for this task's messages.
        r.sync_idle("no descriptor");
        return;
    }
    r.sync_idle("no descriptor");
    let next = r.next();
    // SAFETY: the descriptor belongs to the link, which stays open.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    for _ in 0..100 {
        r.insist("am_short", |l| l.am_short(next, b"ring", &[]));
        r.doing("asleep on the descriptor");
        while r.inbox.is_empty() {
            if r.link_mut().arm() == Status::Done {
                let mut fds = [PollFd::new(&fd, PollFlags::IN)];
                let _ = poll(&mut fds, None);
            }
            r.link_mut().disarm();
            r.poll();
        }
        r.inbox.clear();
        r.sync_idle("rung");
        // Level-triggered for what was consumed would be a busy loop for core.
        assert_eq!(r.link_mut().arm(), Status::Done, "nothing is there any more");
        r.link_mut().disarm();
        // Only now may anybody ring again.
        r.sync_idle("nothing is there any more");
    }
}
