//! The threads that sleep inside a context, and the links that they sleep on.

use super::alarm::Alarm;
use crate::state::Peer;
use crate::sync::blocking::OnceLock;
use crate::sync::futex::{wait_on, wake_all};
use crate::sync::placed::AtomicU32 as Word;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use crate::transport::{Caps, InUse, Link, Sleeper};
use std::time::Duration;

/// Longest sleep of a thread while another one sleeps in the transport.
const BESIDE: Duration = Duration::from_millis(1);

/// Threads of this process that sleep inside the context.
pub(crate) struct Sleepers {
    /// How many: the one that sleeps in the transport and those that wait for it.
    pub(super) count: AtomicU32,
    /// 1 if somebody sleeps in the transport. No lock: a signal handler that comes in between may
    /// sleep here as well.
    asleep: Word,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU32::new(0), asleep: Word::new(0) }
    }

    /// Runs `sleep`, which sleeps in the transport, unless another thread does so: then this one
    /// sleeps for a moment, or until the other one has found something.
    pub(super) fn one_at_a_time(&self, limit: Duration, sleep: impl FnOnce()) {
        // SYNC: Acquire pairs with the Release below: one sleeper comes after the other.
        if self.asleep.swap(1, Ordering::Acquire) != 0 {
            return wait_on(&self.asleep, 1, limit.min(BESIDE));
        }
        sleep();
        // SYNC: pairs with the Acquire above.
        self.asleep.store(0, Ordering::Release);
        self.changed();
    }

    /// Something may have changed for those who wait for the one in the transport.
    pub(super) fn changed(&self) {
        wake_all(&self.asleep);
    }
}

/// How long the end of a context waits for threads that sleep in it.
const SLEEPERS_LEAVE: Duration = Duration::from_secs(1);

/// The longest sleep if arrivals are possible that wake no thread.
pub(super) const NAP: Duration = Duration::from_millis(1);

/// How threads sleep on the links over which something may come. With one of them a thread sleeps
/// as that link has it, with several on their descriptors, which takes longer to begin and to end.
pub(crate) struct LinkSleepers {
    all: Box<[LinkSleeper]>,
    /// Some peer is reached over a link on which threads can't sleep.
    blind: bool,
    /// The number of wake-up calls.
    calls: AtomicU32,
    /// The program's threads, of which one sleeps on the links at a time, and the progress thread.
    threads: [LinkThread; 2],
    /// Ends the progress thread's sleep when a timer is due.
    alarm: OnceLock<Option<Alarm>>,
    /// Some link carries datagrams, whose packet engine has timers.
    pub(super) with_timers: bool,
}

/// Who sleeps on the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Program = 0,
    Progress = 1,
}

/// A thread that has been called before it sleeps does not sleep. A sleeping thread that has been
/// called is woken by the ring of a link, or by another thread that has taken that ring.
struct LinkThread {
    asleep: AtomicBool,
    /// Calls that it had taken notice of before it went to sleep.
    heard: AtomicU32,
}

struct LinkSleeper {
    link: usize,
    sleeper: Sleeper,
    /// Some peer is reached over the link.
    used: AtomicBool,
    /// Nothing of its instance is in use once the context has ended. Windows and flags point into
    /// memory of others.
    closes: bool,
}

/// A link, as something to sleep on.
#[derive(Clone, Copy)]
struct Offer {
    /// It wakes the threads that sleep on it.
    wakes: bool,
    /// It reaches other tasks.
    far: bool,
    /// Some peer is reached over it at present.
    leads: bool,
}

/// Whether something may come of which no link tells those who sleep.
fn is_blind(offers: &[Offer]) -> bool {
    offers.iter().any(|offer| offer.far && offer.leads && !offer.wakes)
}

/// For each link whether somebody sleeps on it from the beginning; `None` for one on which nobody
/// ever will. To a link that leads to this task alone nothing comes while all its threads sleep: it
/// counts only if there is no other. Where no link leads to a peer yet, all may.
fn chosen(offers: &[Offer]) -> Vec<Option<bool>> {
    let some_far = offers.iter().any(|offer| offer.wakes && offer.far);
    let some_lead = offers.iter().any(|offer| offer.wakes && offer.far && offer.leads);
    let used = |o: &Offer| (o.wakes && (o.far || !some_far)).then_some(o.leads || !some_lead);
    offers.iter().map(used).collect()
}

impl LinkSleepers {
    /// For links with [`Caps::WAIT`], as far as [`chosen`] takes them.
    pub(super) fn new(links: &[Link], peers: &[Peer]) -> Self {
        let offers: Vec<Offer> = links
            .iter()
            .enumerate()
            .map(|(index, link)| Offer {
                wakes: link.caps().contains(Caps::WAIT),
                far: !link.caps().contains(Caps::SELF_ONLY),
                leads: peers.iter().any(|peer| peer.route.index() == index),
            })
            .collect();
        let of = |((link, open), used): ((usize, &Link), Option<bool>)| {
            let closes = !open.caps().intersects(Caps::ALLOCATE | Caps::WINDOW | Caps::LANES);
            Some(LinkSleeper { link, sleeper: open.sleeper(), used: AtomicBool::new(used?), closes })
        };
        let all = links.iter().enumerate().zip(chosen(&offers)).filter_map(of).collect();
        let thread = || LinkThread { asleep: AtomicBool::new(false), heard: AtomicU32::new(0) };
        let with_timers = links.iter().any(|link| link.caps().contains(Caps::DATAGRAM));
        Self {
            all,
            blind: is_blind(&offers),
            calls: AtomicU32::new(0),
            threads: [thread(), thread()],
            alarm: OnceLock::new(),
            with_timers,
        }
    }

    /// Up to here a thread has been called that is about to look whether it may sleep.
    pub(super) fn heard(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Runs `sleep`, which sleeps on the links, unless the thread has been called since it had
    /// `heard`. Most links end only one of two sleeps when they are rung, and not always the one
    /// that it was meant for: who has been called and sleeps on is called again.
    pub(super) fn sleep_unless_called(&self, who: Who, heard: u32, sleep: impl FnOnce()) {
        let thread = &self.threads[who as usize];
        thread.heard.store(heard, Ordering::Relaxed);
        // SYNC: SeqCst here, in the load, in `wake` and in `is_called`: a thread that does not see
        // a call is seen by whoever is woken by that call's ring.
        thread.asleep.store(true, Ordering::SeqCst);
        // SYNC: pairs as the store above says.
        if self.calls.load(Ordering::SeqCst) == heard {
            sleep();
        }
        // SYNC: pairs as the store above says.
        thread.asleep.store(false, Ordering::SeqCst);
        let other = if who == Who::Program { Who::Progress } else { Who::Program };
        if self.is_called(other) {
            self.ring();
        }
    }

    /// Whether a thread sleeps, or is about to.
    pub(super) fn sleeps(&self, who: Who) -> bool {
        // SYNC: pairs with the stores in `sleep_unless_called`.
        self.threads[who as usize].asleep.load(Ordering::SeqCst)
    }

    fn is_called(&self, who: Who) -> bool {
        let heard = &self.threads[who as usize].heard;
        // SYNC: pairs with the addition in `wake`.
        self.sleeps(who) && heard.load(Ordering::Relaxed) != self.calls.load(Ordering::SeqCst)
    }

    /// How long a sleep may last that is to last so long: what comes over a link on which nobody
    /// can sleep is found by looking.
    pub(super) fn bound(&self, limit: Duration) -> Duration {
        if self.blind { limit.min(NAP) } else { limit }
    }

    /// Those on which something may come.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Sleeper> {
        self.all.iter().filter(|s| s.used.load(Ordering::Relaxed)).map(|s| &s.sleeper)
    }

    /// Some peer is reached over a link from now on. Whoever sleeps finds out when the present
    /// piece of its sleep has ended.
    pub(super) fn begin_to_use(&self, link: usize) {
        for s in self.all.iter().filter(|s| s.link == link) {
            s.used.store(true, Ordering::Relaxed);
        }
    }

    /// Wakes the sleeping threads.
    pub(crate) fn wake(&self) {
        // SYNC: pairs with the loads in `sleep_unless_called` and `is_called`.
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.ring();
    }

    /// The context has ended and its links are gone: what they have queued leaves, and sockets and
    /// registered memory are free again. Threads of the program that sleep here yet are woken.
    pub(super) fn close(&self) {
        self.all.iter().filter(|s| s.closes).for_each(|s| s.sleeper.release(SLEEPERS_LEAVE));
    }

    fn ring(&self) {
        self.used().for_each(Sleeper::wake);
    }

    /// Makes the alarm of the progress thread, which is about to start.
    pub(super) fn provide_alarm(&self) {
        self.alarm.get_or_init(Alarm::new);
    }

    /// Ends the progress thread's sleep after this time. False: it can't, and the thread has to be
    /// woken.
    pub(super) fn set_alarm(&self, after: Duration) -> bool {
        self.alarm.get().and_then(Option::as_ref).is_some_and(|alarm| alarm.set(after))
    }

    /// Sleeps on the links. [`sleep_unless_called`](Self::sleep_unless_called) calls it.
    pub(super) fn sleep(&self, who: Who, limit: Duration) {
        let limit = self.bound(limit);
        let alarm = self.alarm.get().and_then(Option::as_ref).filter(|_| who == Who::Progress);
        let mut used = self.used();
        match (used.next(), used.next()) {
            (None, _) => std::thread::sleep(limit.min(NAP)),
            (Some(only), None) if alarm.is_none() => only.wait(limit.as_nanos() as u64),
            _ => self.sleep_on_descriptors(alarm, limit),
        }
    }

    fn sleep_on_descriptors(&self, alarm: Option<&Alarm>, limit: Duration) {
        // Their descriptors stay theirs meanwhile.
        let links: Vec<InUse<'_>> = self.used().filter_map(Sleeper::enter).collect();
        let fds = links.iter().map(InUse::fd);
        // Nothing tells what arrives over a link without a descriptor.
        let limit = if fds.clone().any(|fd| fd < 0) { limit.min(NAP) } else { limit };
        let mut fds: Vec<libc::pollfd> = fds
            .chain(alarm.map(Alarm::fd))
            .map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
            .collect();
        let time = libc::timespec {
            tv_sec: limit.as_secs().min(1000) as libc::time_t,
            tv_nsec: libc::c_long::from(limit.subsec_nanos()),
        };
        // SAFETY: the array and the time are valid for the call.
        unsafe {
            libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, &raw const time, std::ptr::null());
        }
        // Wakes are taken notice of by whoever waits.
        for (link, _) in links.iter().zip(&fds).filter(|(_, fd)| fd.revents != 0) {
            link.wait(0);
        }
        if let (Some(alarm), Some(true)) = (alarm, fds.last().map(|fd| fd.revents != 0)) {
            alarm.quiet();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Offer = Offer { wakes: true, far: false, leads: true };
    const IDLE: Offer = Offer { wakes: true, far: true, leads: false };
    const LEADS: Offer = Offer { wakes: true, far: true, leads: true };
    const MUTE: Offer = Offer { wakes: false, far: true, leads: true };

    #[test]
    fn threads_sleep_on_links_that_lead_to_a_peer_and_others_can_join_later() {
        assert_eq!(chosen(&[LEADS, IDLE]), [Some(true), Some(false)]);
        assert_eq!(chosen(&[LEADS, LEADS, IDLE]), [Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn a_link_to_oneself_counts_only_where_there_is_no_other() {
        assert_eq!(chosen(&[ALONE, LEADS]), [None, Some(true)]);
        assert_eq!(chosen(&[ALONE, IDLE]), [None, Some(true)]);
        assert_eq!(chosen(&[ALONE]), [Some(true)]);
    }

    #[test]
    fn a_link_that_wakes_nobody_shortens_sleeps_on_others() {
        assert_eq!(chosen(&[ALONE, MUTE]), [Some(true), None]);
        assert!(is_blind(&[ALONE, MUTE]) && !is_blind(&[ALONE, LEADS, IDLE]));
        assert!(!is_blind(&[LEADS, Offer { leads: false, ..MUTE }]), "nothing comes over it");
    }

    #[test]
    fn all_far_links_count_where_none_leads_anywhere_yet() {
        assert_eq!(chosen(&[IDLE, IDLE]), [Some(true), Some(true)]);
        assert_eq!(chosen(&[]), []);
    }
}
