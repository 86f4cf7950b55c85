//! Counters that tell whom they wait for (LAPI_Setcntr_wstatus).

use crate::abi::*;
use crate::sync::lock;
use lapis_core::Counter;
use lapis_core::sync::blocking::Mutex;
use lapis_core::sync::{AtomicU32, Ordering};
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;

/// Counters that tell whom they wait for, by address, and who is purged.
#[derive(Default)]
pub(crate) struct Watches {
    pub(super) inner: Mutex<Watched>,
    next_tag: AtomicU32,
}

#[derive(Default)]
pub(super) struct Watched {
    pub(super) counters: HashMap<usize, Watch>,
    pub(super) purged: HashSet<u32>,
}

pub(super) struct Watch {
    pub(super) tag: u32,
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
    /// Ends the watch of a counter that gets another purpose.
    pub(crate) fn forget(&self, counter: &Counter) {
        lock(&self.inner).counters.remove(&std::ptr::from_ref(counter).addr());
    }

    /// # Safety
    /// `status` has as many entries as `list` and lives as long as the counter is watched.
    pub(super) unsafe fn watch(&self, counter: &Counter, list: &[u32], status: *mut c_int) {
        let mut inner = lock(&self.inner);
        let tasks = list.to_vec();
        for (at, task) in tasks.iter().enumerate() {
            //= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_INITIAL and LAPI_MSG_INVALID
            let state = if inner.purged.contains(task) { LAPI_MSG_INVALID } else { LAPI_MSG_INITIAL };
            // SAFETY: the caller's promise.
            unsafe { *status.add(at) = state };
        }
        let tag = self.next_tag.fetch_add(1, Ordering::Relaxed) | 1 << 31;
        let watch = Watch { tag, tasks, status: Status(status) };
        inner.counters.insert(std::ptr::from_ref(counter).addr(), watch);
        counter.set_tag(tag);
    }
}
