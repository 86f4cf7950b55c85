//! Counters that tell whom they wait for (LAPI_Setcntr_wstatus).

use crate::abi::*;
use crate::sync::lock;
use lapis_core::sync::blocking::Mutex;
use lapis_core::sync::{AtomicU32, AtomicUsize, Ordering};
use lapis_core::{Context, Counter};
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;

/// Counters that tell whom they wait for, by address, and who is purged.
#[derive(Default)]
pub(crate) struct Watches {
    inner: Mutex<Watched>,
    next_tag: AtomicU32,
    /// How many counters there are, for those who have none.
    count: AtomicUsize,
}

#[derive(Default)]
pub(super) struct Watched {
    pub(super) counters: HashMap<usize, Watch>,
    pub(super) purged: HashSet<u32>,
}

fn address(counter: &Counter) -> usize {
    std::ptr::from_ref(counter).addr()
}

impl Watched {
    /// The watch of a counter. What is left at the address from another counter, whose memory the
    /// program uses again without LAPI_Setcntr, has another tag.
    pub(super) fn of(&mut self, counter: &Counter) -> Option<&mut Watch> {
        self.counters.get_mut(&address(counter)).filter(|watch| watch.tag == counter.tag())
    }
}

/// A counter's list of destinations. It lasts until the counter is set again, or a wait returns
/// that has told all that there will be to tell.
pub(super) struct Watch {
    tag: u32,
    entries: Vec<Entry>,
    /// The program's array, one word for each entry; `None` once no wait needs it any more.
    status: Option<Status>,
}

struct Entry {
    task: u32,
    state: lapi_dest_status_t,
    /// A wait has ended because of the last purge.
    told: bool,
}

/// The program's status array.
struct Status(*mut c_int);

// SAFETY: written under the mutex only; the program reads it when it knows that nothing is under
// way.
unsafe impl Send for Status {}

impl Watch {
    /// A counter counts an operation with a task.
    //= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_RECVD
    pub(super) fn received(&mut self, task: u32) {
        self.change(task, |entry| match entry.state {
            LAPI_MSG_INITIAL => LAPI_MSG_RECVD,
            other => other,
        });
    }

    /// A task is purged.
    //= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_PURGED and LAPI_MSG_PURGED_RCVD
    pub(super) fn purged(&mut self, task: u32) {
        self.change(task, |entry| {
            entry.told = false;
            match entry.state {
                LAPI_MSG_INITIAL => LAPI_MSG_PURGED,
                LAPI_MSG_RECVD => LAPI_MSG_PURGED_RCVD,
                other => other,
            }
        });
    }

    fn change(&mut self, task: u32, change: impl Fn(&mut Entry) -> lapi_dest_status_t) {
        for (at, entry) in self.entries.iter_mut().enumerate().filter(|(_, e)| e.task == task) {
            let new = change(entry);
            if new == std::mem::replace(&mut entry.state, new) {
                continue;
            }
            if let Some(status) = &self.status {
                // SAFETY: by the guide, the array has a word for each entry and lives as long as
                // waits need it.
                unsafe { *status.0.add(at) = new };
            }
        }
    }

    /// Whether a task was purged before anything came from it. Each purge is told once: the next
    /// wait is for those who are left.
    pub(super) fn take_interruption(&mut self) -> bool {
        let mut any = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.is_untold()) {
            entry.told = true;
            any = true;
        }
        any
    }

    /// Whether something is still to come from a task of the list.
    fn awaits(&self) -> bool {
        self.entries.iter().any(|entry| entry.state == LAPI_MSG_INITIAL)
    }
}

impl Entry {
    fn is_untold(&self) -> bool {
        self.state == LAPI_MSG_PURGED && !self.told
    }
}

impl Watches {
    /// Whether any counter is watched.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Runs `with` on what is watched. The context's lock is held meanwhile: a signal handler that
    /// comes in between finds itself amid a call, and does not wait for its own thread.
    pub(super) fn with<R>(&self, context: &Context, with: impl FnOnce(&mut Watched) -> R) -> R {
        context.lock();
        let mut inner = lock(&self.inner);
        let result = with(&mut inner);
        self.count.store(inner.counters.len(), Ordering::Relaxed);
        drop(inner);
        context.unlock();
        result
    }

    /// Whether a counter certainly has no watch. For signal handlers: does not wait.
    pub(super) fn lack(&self, counter: &Counter) -> bool {
        self.inner.try_lock().is_ok_and(|inner| !inner.counters.contains_key(&address(counter)))
    }

    /// Ends the watch of a counter that gets another purpose. Goes by the address: whatever the
    /// program has written to the counter's memory, it is another counter from now on.
    pub(super) fn forget(&self, context: &Context, counter: &Counter) {
        self.with(context, |inner| inner.counters.remove(&address(counter)));
    }

    /// A wait for the counter returns. If nothing is to come from any task of its list, the status
    /// array is the program's again; if no purge is to be told either, the list ends.
    pub(super) fn waited(&self, context: &Context, counter: &Counter) {
        if counter.tag() == 0 {
            return;
        }
        self.with(context, |inner| {
            let Some(watch) = inner.of(counter).filter(|watch| !watch.awaits()) else { return };
            watch.status = None;
            if !watch.entries.iter().any(Entry::is_untold) {
                inner.counters.remove(&address(counter));
                counter.set_tag(0);
            }
        });
    }

    /// # Safety
    /// `status` has as many entries as `list` and lives as long as the counter is watched.
    pub(super) unsafe fn watch(
        &self,
        context: &Context,
        counter: &Counter,
        list: &[u32],
        status: *mut c_int,
    ) {
        let tag = self.next_tag.fetch_add(1, Ordering::Relaxed) | 1 << 31;
        self.with(context, |inner| {
            //= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_INITIAL and LAPI_MSG_INVALID
            let state_of =
                |task| if inner.purged.contains(&task) { LAPI_MSG_INVALID } else { LAPI_MSG_INITIAL };
            let entry = |&task| Entry { task, state: state_of(task), told: false };
            let entries: Vec<_> = list.iter().map(entry).collect();
            for (at, entry) in entries.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { *status.add(at) = entry.state };
            }
            let watch = Watch { tag, entries, status: Some(Status(status)) };
            inner.counters.insert(address(counter), watch);
            counter.set_tag(tag);
        });
    }
}
