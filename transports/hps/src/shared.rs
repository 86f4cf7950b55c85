//! Windows that all contexts of a process share (MP_MSG_API=mpi_lapi).
//!
//! ```text
//!   a datagram:  │ what the packet engine made of it │ context: 4 │
//!
//!     window ──► whichever context polls ──► its own: handed out at once
//!                                      └───► another one's: into that one's inbox
//! ```
//!
//! Each datagram names its context behind its data, where it costs no alignment. Whoever polls
//! takes out what is there, for all. A context that sleeps is woken by what is put into its inbox;
//! all of them sleep on the windows' bells, too, since nobody else may be polling.
//!
//! Number and length of what lies in an inbox are bounded. What has no room there is lost, as it
//! would be in a full window, and comes again.

use crate::rail::Rail;
use crate::services::{News, Services};
use crate::waiter::Notifier;
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use lapis_core::sync::{Arc, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::{PoisonError, Weak};
use std::time::Duration;

/// Bytes that wait in an inbox at most: what a window holds for its senders.
const MOST: usize = 4 << 20;

/// Bytes that a datagram is counted with beside its own.
const HEAD: usize = 64;

/// Which windows: those of a task, with a key, of a daemon.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) task: u32,
    /// Tells jobs and daemons apart.
    pub(crate) job: String,
}

/// Windows of a process, and the contexts that share them.
pub(crate) struct Shared {
    rails: Mutex<Vec<Rail>>,
    /// Has opened the windows, and shows them to the next daemon.
    keeper: Mutex<(Services, Losses)>,
    inboxes: Mutex<Vec<Weak<Inbox>>>,
}

/// How often a new daemon did not take the windows over, and why it did not last.
#[derive(Default)]
struct Losses {
    count: u64,
    why: String,
}

impl Losses {
    /// Notes what a look at the daemon has found. Answers why the windows were lost last if the
    /// context, which has `heard` of so many losses, has not heard of that one.
    fn news_for(&mut self, heard: &mut u64, found: Option<News>) -> Option<String> {
        if let Some(News::Lost(why)) = found {
            self.count += 1;
            self.why = why;
        }
        let is_new = std::mem::replace(heard, self.count) != self.count;
        is_new.then(|| self.why.clone())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let keeper = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner);
        keeper.0.give_back(self.rails.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What others have taken out for a context.
pub(crate) struct Inbox {
    context: u32,
    notifier: Arc<Notifier>,
    /// How many datagrams wait: a look without the lock.
    waiting: AtomicUsize,
    mail: Mutex<Mail>,
}

#[derive(Default)]
struct Mail {
    datagrams: VecDeque<Box<[u8]>>,
    bytes: usize,
    refused: u32,
    sleeps: bool,
}

/// All shared windows of this process. They are closed with their last context.
static ALL: Mutex<Vec<(Identity, Weak<Shared>)>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The windows of this identity; `open` opens them if no context of this process has.
    pub(crate) fn of<E>(
        identity: Identity,
        open: impl FnOnce() -> Result<(Services, Vec<Rail>), E>,
    ) -> Result<Arc<Self>, E> {
        let mut all = locked(&ALL);
        all.retain(|(_, shared)| shared.strong_count() > 0);
        if let Some(shared) = all.iter().find(|(one, _)| *one == identity).and_then(|(_, s)| s.upgrade()) {
            return Ok(shared);
        }
        let (services, rails) = open()?;
        let (rails, keeper) = (Mutex::new(rails), Mutex::new((services, Losses::default())));
        let shared = Arc::new(Self { rails, keeper, inboxes: Mutex::new(Vec::new()) });
        all.push((identity, Arc::downgrade(&shared)));
        Ok(shared)
    }

    pub(crate) fn rails(&self) -> MutexGuard<'_, Vec<Rail>> {
        locked(&self.rails)
    }

    /// Joins a context.
    pub(crate) fn join(&self, context: u32, notifier: Arc<Notifier>) -> Arc<Inbox> {
        let (waiting, mail) = (AtomicUsize::new(0), Mutex::new(Mail::default()));
        let inbox = Arc::new(Inbox { context, notifier, waiting, mail });
        let mut inboxes = locked(&self.inboxes);
        inboxes.retain(|inbox| inbox.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        inbox
    }

    /// Puts a datagram where its context finds it. One for a context that is not there is lost.
    pub(crate) fn deliver(&self, context: u32, datagram: &[u8]) {
        let inboxes = locked(&self.inboxes);
        let to = inboxes.iter().filter_map(Weak::upgrade).find(|inbox| inbox.context == context);
        if let Some(inbox) = to {
            inbox.put(datagram);
        }
    }

    /// Losses of windows so far: a context that joins now has not heard of later ones.
    pub(crate) fn losses(&self) -> u64 {
        locked(&self.keeper).1.count
    }

    /// As [`Services::shows_after`], of the windows' own connection.
    pub(crate) fn shows_after(&self) -> Option<Duration> {
        locked(&self.keeper).0.shows_after()
    }

    /// Looks whether the daemon is there that has given these windows, and shows them to the next.
    /// Answers why that one did not take them over, to each context that has not heard of it:
    /// `heard` counts.
    pub(crate) fn look_at_daemon(&self, heard: &mut u64) -> Option<String> {
        let rails = self.rails();
        let (services, losses) = &mut *locked(&self.keeper);
        let found = services.look(&rails);
        losses.news_for(heard, found)
    }
}

impl Inbox {
    fn put(&self, datagram: &[u8]) {
        let mut mail = locked(&self.mail);
        let bytes = mail.bytes + datagram.len() + HEAD;
        if bytes > MOST {
            mail.refused += 1;
            return;
        }
        mail.bytes = bytes;
        mail.datagrams.push_back(datagram.into());
        self.waiting.store(mail.datagrams.len(), Ordering::Relaxed);
        let sleeps = std::mem::take(&mut mail.sleeps);
        drop(mail);
        if sleeps {
            self.notifier.wake();
        }
    }

    /// Hands datagrams to `take`, in their order, until it has no room for one.
    #[inline]
    pub(crate) fn empty(&self, mut take: impl FnMut(&[u8]) -> bool) {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut mail = locked(&self.mail);
        while let Some(datagram) = mail.datagrams.front() {
            if !take(datagram) {
                break;
            }
            mail.bytes -= datagram.len() + HEAD;
            mail.datagrams.pop_front();
        }
        self.waiting.store(mail.datagrams.len(), Ordering::Relaxed);
    }

    /// What comes from now on wakes. False: something is there already.
    pub(crate) fn arm(&self) -> bool {
        let mut mail = locked(&self.mail);
        mail.sleeps = mail.datagrams.is_empty();
        mail.sleeps
    }

    /// Datagrams that found no room since the last call.
    pub(crate) fn take_refused(&self) -> u32 {
        std::mem::take(&mut locked(&self.mail).refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_core::transport::Waiter;

    fn inbox() -> Inbox {
        let notifier = Arc::new(Notifier::new().expect("descriptors"));
        Inbox { context: 1, notifier, waiting: AtomicUsize::new(0), mail: Mutex::default() }
    }

    #[test]
    fn an_inbox_keeps_order_and_is_bounded() {
        let inbox = inbox();
        (0..3).for_each(|n| inbox.put(&[n; 10]));
        let mut got = Vec::new();
        inbox.empty(|datagram| {
            got.push(datagram[0]);
            got.len() < 2
        });
        assert_eq!(got, [0, 1], "the second one was offered and stays");
        inbox.empty(|datagram| {
            got.push(datagram[0]);
            true
        });
        assert_eq!(got, [0, 1, 1, 2]);
        let large = vec![0; MOST / 4];
        (0..5).for_each(|_| inbox.put(&large));
        assert_eq!((inbox.take_refused(), inbox.take_refused()), (2, 0));
    }

    #[test]
    fn each_context_hears_once_of_each_loss() {
        let mut losses = Losses::default();
        let (mut first, mut second) = (0, 0);
        assert_eq!(losses.news_for(&mut first, Some(News::Gone)), None);
        let lost = losses.news_for(&mut first, Some(News::Lost("taken".to_owned())));
        assert_eq!(lost.as_deref(), Some("taken"));
        assert_eq!(losses.news_for(&mut first, None), None);
        assert_eq!(losses.news_for(&mut second, None).as_deref(), Some("taken"));
        assert_eq!(losses.news_for(&mut second, None), None);
    }

    #[test]
    fn who_sleeps_is_woken_by_mail_and_does_not_sleep_over_it() {
        let inbox = inbox();
        let waiter = crate::waiter::HpsWaiter(Arc::clone(&inbox.notifier));
        assert!(inbox.arm());
        inbox.put(&[1]);
        inbox.notifier.take_stirred();
        // Returns, because it has been woken.
        waiter.wait(u64::MAX);
        assert!(inbox.notifier.take_stirred());
        assert!(!inbox.arm(), "something is there");
    }
}
