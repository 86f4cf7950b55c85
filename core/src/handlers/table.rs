//! Header handlers by index.

use super::{Delivery, Incoming};
use crate::error::{Error, Result};
use crate::sync::blocking::Mutex;
use crate::sync::{AtomicPtr, Ordering};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// Number of entries of the handler table; index 0 is never used.
#[doc(alias = "LOC_ADDRTBL_SZ")]
pub const HANDLER_TABLE_SIZE: usize = 256;

/// Entries behind the program's: for what stands between core and the program.
const SERVICES: usize = 1;

/// Indices below this one are entries of the table; others are addresses of the interface above.
pub(crate) const TABLE_END: u64 = (HANDLER_TABLE_SIZE + SERVICES) as u64;

/// A header handler; `None`: it wants nothing to be stored or run.
pub(crate) type HeaderClosure<C> = Box<dyn Fn(&C, &Incoming<'_>) -> Option<Delivery<C>> + Send + Sync>;

/// An entry of the handler table.
pub(crate) struct Handler<C> {
    pub(crate) call: HeaderClosure<C>,
    /// The address by which the interface above knows it, 0 for none.
    pub(crate) address: u64,
}

impl<C> Handler<C> {
    /// One that answers by a delivery, whatever that wants. Most want nothing, which the compiler
    /// then knows within the closure: its caller need not look for it.
    pub(crate) fn of(f: impl Fn(&C, &Incoming<'_>) -> Delivery<C> + Send + Sync + 'static) -> Self {
        let call = move |context: &C, incoming: &Incoming<'_>| {
            let delivery = f(context, incoming);
            if delivery.wants_something() {
                return Some(delivery);
            }
            // There is nothing in it to drop, which the compiler doesn't see.
            std::mem::forget(delivery);
            None
        };
        Self { call: Box::new(call), address: 0 }
    }
}

/// How long messages wait for a handler to be registered.
const PATIENCE: Duration = Duration::from_secs(2);

/// Header handlers by index. *LAPI Guide, LAPI_Addr_set.*
pub(crate) struct HandlerTable<C> {
    slots: [AtomicPtr<Handler<C>>; HANDLER_TABLE_SIZE + SERVICES],
    /// Replaced entries: a dispatcher may be inside one, so they live until the table goes.
    retired: Mutex<Vec<*mut Handler<C>>>,
    /// Since when messages wait for a handler to be registered.
    awaited: Mutex<Option<Instant>>,
}

// SAFETY: the table owns its entries, which may be called and freed by any thread.
unsafe impl<C> Send for HandlerTable<C> {}
// SAFETY: entries are immutable once published, and freed with the table, when nobody is left to
// call them.
unsafe impl<C> Sync for HandlerTable<C> {}

impl<C> HandlerTable<C> {
    pub(crate) fn new() -> Self {
        Self {
            slots: std::array::from_fn(|_| AtomicPtr::new(null_mut())),
            retired: Mutex::default(),
            awaited: Mutex::default(),
        }
    }

    pub(crate) fn set(&self, index: usize, handler: Option<Handler<C>>) -> Result<()> {
        if index == 0 || index >= HANDLER_TABLE_SIZE {
            return Err(Error::AddressIndex { index: index as i64, max: HANDLER_TABLE_SIZE - 1 });
        }
        self.publish(index, handler);
        Ok(())
    }

    /// Sets the entry of the layer that makes collectives.
    pub(crate) fn set_service(&self, handler: Handler<C>) {
        self.publish(HANDLER_TABLE_SIZE, Some(handler));
    }

    fn publish(&self, index: usize, handler: Option<Handler<C>>) {
        let new = handler.map_or(null_mut(), |h| Box::into_raw(Box::new(h)));
        // SYNC: Release publishes the entry to `get`'s Acquire.
        let old = self.slots[index].swap(new, Ordering::AcqRel);
        if !old.is_null() {
            self.retired.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(old);
        }
        self.nothing_waits();
    }

    /// No message waits for its handler any more, or those that do get their time anew: the next
    /// one that finds none is the first again.
    #[cold]
    pub(crate) fn nothing_waits(&self) {
        *self.awaited.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    /// Whether something may still be registered at an index.
    #[cold]
    pub(crate) fn may_come(&self, index: u64) -> bool {
        if index == HANDLER_TABLE_SIZE as u64 {
            // A task may make its first team as late as it likes.
            return true;
        }
        let mut awaited = self.awaited.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (1..HANDLER_TABLE_SIZE as u64).contains(&index)
            && awaited.get_or_insert_with(Instant::now).elapsed() < PATIENCE
    }

    /// What the entry calls, if there is one.
    #[inline(always)]
    pub(crate) fn closure(&self, index: u64) -> Option<&HeaderClosure<C>> {
        self.get(index).map(|handler| &handler.call)
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u64) -> Option<&Handler<C>> {
        // SYNC: Acquire pairs with `publish`.
        let entry = self.slots.get(usize::try_from(index).ok()?)?.load(Ordering::Acquire);
        // SAFETY: entries live until the table is dropped.
        unsafe { entry.as_ref() }
    }
}

impl<C> Drop for HandlerTable<C> {
    fn drop(&mut self) {
        let retired =
            std::mem::take(self.retired.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        let present = self.slots.iter().map(|s| s.load(Ordering::Relaxed));
        for entry in present.chain(retired) {
            if !entry.is_null() {
                // SAFETY: each came from `Box::into_raw` and appears once.
                drop(unsafe { Box::from_raw(entry) });
            }
        }
    }
}
