//! Calling the header handler of a message: one of the table, or one that its address names.

use crate::context::{Delivery, Handler, Locked};
use crate::error::Error;
use crate::handlers::{Incoming, TABLE_END};
use crate::transport::PeerId;

impl Locked<'_> {
    /// Calls the header handler of a message.
    pub(super) fn call_header_handler(&mut self, handler: u64, incoming: &Incoming<'_>) -> Delivery {
        let wanted = match self.shared().handlers.get(handler) {
            Some(Handler::Closure(f)) => return self.out(|context| f(context, incoming)),
            Some(Handler::Address(address)) => self.call_raw_handler(*address, incoming),
            None => self.call_unlisted_handler(handler, incoming),
        };
        wanted.unwrap_or(Delivery::bury())
    }

    /// Calls a header handler that is not in the table: by its address. `None`: it wants nothing to
    /// be stored or run.
    #[inline(always)]
    pub(super) fn call_unlisted_handler(
        &mut self,
        handler: u64,
        incoming: &Incoming<'_>,
    ) -> Option<Delivery> {
        if handler >= TABLE_END {
            return self.call_raw_handler(handler, incoming);
        }
        if self.shared().handlers.may_come(handler) {
            return Some(Delivery::later());
        }
        self.handler_missing(handler, incoming.source)
    }

    /// Calls a header handler by its address; the rest is as above.
    #[inline(always)]
    pub(super) fn call_raw_handler(&mut self, address: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
        let Some(call) = self.shared().hooks.header else {
            return self.handler_missing(address, incoming.source);
        };
        // SAFETY: the interface that set the hook knows what its addresses are; tasks of a job
        // trust each other's.
        self.out(|context| unsafe { call(context, address, incoming) })
    }

    #[cold]
    fn handler_missing(&mut self, handler: u64, origin: PeerId) -> Option<Delivery> {
        self.report(Error::HeaderHandlerNull { origin, handler }, origin);
        None
    }
}
