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

pub(super) struct Watch {
    tag: u32,
    tasks: Vec<u32>,
    /// The program's array, one entry for each of `tasks`.
    status: Status,
}

/// The program's status array.
struct Status(*mut c_int);

// SAFETY: written under the mutex only; the program reads it when it knows that nothing is under
// way.
unsafe impl Send for Status {}

impl Watch {
    pub(super) fn change(&mut self, task: u32, change: impl Fn(lapi_dest_status_t) -> lapi_dest_status_t) {
        for (at, _) in self.tasks.iter().enumerate().filter(|(_, t)| **t == task) {
            // SAFETY: by the guide, the array has an entry for each task and lives as long as the
            // counter is used.
            unsafe {
                let status = self.status.0.add(at);
                *status = change(*status);
            }
        }
    }

    /// Whether a task was purged before anything came from it.
    pub(super) fn interrupted(&self) -> bool {
        // SAFETY: by the guide, the array has an entry for each task and lives as long as the
        // counter is used.
        (0..self.tasks.len()).any(|at| unsafe { *self.status.0.add(at) } == LAPI_MSG_PURGED)
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
            for (at, task) in list.iter().enumerate() {
                //= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_INITIAL and LAPI_MSG_INVALID
                let state = if inner.purged.contains(task) { LAPI_MSG_INVALID } else { LAPI_MSG_INITIAL };
                // SAFETY: the caller's promise.
                unsafe { *status.add(at) = state };
            }
            let watch = Watch { tag, tasks: list.to_vec(), status: Status(status) };
            inner.counters.insert(address(counter), watch);
            counter.set_tag(tag);
        });
    }
}
