//! Runtime attributes and the handler table, as programs see them.

use super::{Context, Shared};
use super::{Delivery, Handler};
use crate::datagrams::Timing;
use crate::error::Result;
use crate::handlers::{HANDLER_TABLE_SIZE, Incoming};
use crate::sync::Ordering;
use crate::transport::{Limits, PeerId};
use std::time::Duration;

/// The index of a header handler in the target's table (1 to 255): the same in all tasks if all
/// register the same handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandlerId(pub u16);

impl Context {
    /// Registers a closure as header handler `id` (1 to 255), replacing an earlier one.
    ///
    /// It runs in the dispatcher, under the context's lock, in whichever thread makes progress: it
    /// should be short, make no calls to Lapis, and not block. A panic in it ends the process, with
    /// a line that says so.
    ///
    /// # Errors
    /// An id outside the table.
    #[doc(alias = "LAPI_Addr_set")]
    pub fn set_handler(
        &self,
        id: HandlerId,
        handler: impl Fn(&Self, &Incoming<'_>) -> Delivery + Send + Sync + 'static,
    ) -> Result<()> {
        self.usable()?;
        self.shared.handlers.set(usize::from(id.0), Some(Handler::of(handler)))
    }

    /// The same for header handler `index` of a layer that knows its handlers by their addresses;
    /// with the address 0 it clears the entry. The handler answers `None` if it wants nothing to be
    /// stored or run.
    ///
    /// # Errors
    /// An index outside the table.
    pub fn set_handler_address(
        &self,
        index: usize,
        address: u64,
        handler: impl Fn(&Self, &Incoming<'_>) -> Option<Delivery> + Send + Sync + 'static,
    ) -> Result<()> {
        self.usable()?;
        let entry = (address != 0).then(|| Handler { call: Box::new(handler), address });
        self.shared.handlers.set(index, entry)
    }

    /// The address registered at `index`; 0 if there is none or it has no address.
    ///
    /// # Errors
    /// An index outside the table.
    #[doc(alias = "LAPI_Addr_get")]
    pub fn handler_address(&self, index: usize) -> Result<u64> {
        self.usable()?;
        if index == 0 || index >= HANDLER_TABLE_SIZE {
            return Err(crate::Error::AddressIndex { index: index as i64, max: HANDLER_TABLE_SIZE - 1 });
        }
        Ok(self.shared.handlers.get(index as u64).map_or(0, |handler| handler.address))
    }

    /// Whether to wait for a handler at an index without one: the message that names it is
    /// delivered again ([`Delivery::later`]). Tasks that agree on an index need no further
    /// synchronisation, although some start sooner than others. So messages wait for one to two
    /// seconds from the first message that finds no handler, and from each registration.
    ///
    /// *LAPI Guide, LAPI_Amsend, "Use of LAPI_Addr_set".*
    pub fn handler_may_come(&self, index: u64) -> bool {
        self.shared.handlers.may_come(index)
    }

    /// Whether the interfaces check the parameters of every call.
    #[doc(alias = "ERROR_CHK")]
    #[inline(always)]
    pub fn checks(&self) -> bool {
        self.shared.attributes.checks.load(Ordering::Relaxed)
    }

    /// Turns the checking of parameters on or off.
    pub fn set_checks(&self, on: bool) {
        self.shared.attributes.checks.store(on, Ordering::Relaxed);
    }

    /// How long a task may be silent before it counts as unreachable.
    #[doc(alias = "TIMEOUT")]
    pub fn timeout(&self) -> Duration {
        self.shared.timeout()
    }

    /// Sets the timeout, in whole seconds. The interface above checks the range.
    pub fn set_timeout(&self, timeout: Duration) {
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
        self.shared.attributes.timeout_s.store(seconds, Ordering::Relaxed);
        if *self.shared.config.notimeout.get() {
            return;
        }
        for (_, datagrams) in self.locked().links.engines() {
            datagrams.set_timeout(Some(timeout));
        }
    }

    /// Limits of the transport that carries messages to `target`.
    pub fn limits(&self, target: PeerId) -> Option<Limits> {
        let state = &mut *self.locked();
        if target >= self.shared.tasks {
            return None;
        }
        let limits = *state.link_to(target)?.limits();
        Some(Limits { max_packed: state.room_to(target) as u32, ..limits })
    }

    /// Whether messages to `target` go through shared memory (or stay in this task).
    #[doc(alias = "QUERY_SHM_TASKS")]
    pub fn shares_memory_with(&self, target: PeerId) -> bool {
        use crate::transport::Caps;
        let state = &mut *self.locked();
        target < self.shared.tasks
            && state.link_to(target).is_some_and(|l| l.caps().intersects(Caps::LOCAL_ONLY | Caps::SELF_ONLY))
    }
}

impl Shared {
    /// How long a task may be silent before it counts as unreachable.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(u64::from(self.attributes.timeout_s.load(Ordering::Relaxed)))
    }

    /// The timings of packet engines, as the program has set them since.
    pub(super) fn timing(&self) -> Timing {
        let configured = Timing::of(&self.config);
        Timing {
            timeout: configured.timeout.map(|_| self.timeout()),
            ack_threshold: self.attributes.ack_threshold.load(Ordering::Relaxed),
            ..configured
        }
    }
}
