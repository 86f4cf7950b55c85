//! Calling the header handler of a message: one of the table, or one that its address names. And
//! asking it once more when all data is there, if it has left open whether it accepts the message.

use crate::context::{Arrival, CompletionHandler, Context, Delivery, Locked};
use crate::error::Error;
use crate::handlers::{Ask, Incoming, TABLE_END, Verdict};
use crate::transport::PeerId;
use crate::wire::Header;

/// How a line about a panic names it.
const HEADER_HANDLER: &str = "a header handler";

impl Locked<'_> {
    /// Calls the header handler of a message. `None`: it wants nothing to be stored or run.
    #[inline(always)]
    pub(super) fn call_header_handler(&mut self, handler: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
        match self.shared().handlers.closure(handler) {
            Some(f) => self.out_to(HEADER_HANDLER, |context| f(context, incoming)),
            None => self.call_handler_by_address(handler, incoming),
        }
    }

    /// The same for one that is not in the table: its address names it in the message.
    #[inline(always)]
    fn call_handler_by_address(&mut self, handler: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
        if handler >= TABLE_END {
            return self.call_address(handler, incoming);
        }
        self.reborrow().handler_missing(handler, incoming.source)
    }

    #[inline(always)]
    fn call_address(&mut self, address: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
        let Some(call) = self.shared().hooks.header else {
            return self.reborrow().handler_missing(address, incoming.source);
        };
        // SAFETY: the interface that set the hook knows what its addresses are; tasks of a job
        // trust each other's.
        self.out_to(HEADER_HANDLER, |context| unsafe { call(context, address, incoming) })
    }

    /// All data of a message is there: asks whether it is accepted.
    #[cold]
    pub(super) fn ask_for_acceptance(
        &mut self,
        source: PeerId,
        arrival: Arrival,
        mut ask: Box<Ask<Context>>,
    ) {
        // As for any header handler.
        self.dispatching += 1;
        let answer = self.out(|context| ask(context));
        self.dispatching -= 1;
        match answer {
            Verdict::Received(completion, run) => {
                self.arrived(source, Arrival { completion, run, ..arrival })
            }
            Verdict::Met => self.done_here(source, arrival.message),
            Verdict::Later if self.is_of_former_life(source) => {}
            Verdict::Later => {
                let completion = Some(CompletionHandler::Ask(ask));
                self.receiving.unaccepted.push_back((source, Arrival { completion, ..arrival }));
            }
        }
    }

    /// Gives packets that header handlers dropped another chance.
    pub(crate) fn redeliver_dropped(&mut self) {
        for _ in 0..self.receiving.dropped.len() {
            let Some((source, packet)) = self.receiving.dropped.pop_front() else { return };
            if let Ok((header, rest)) = Header::parse(&packet) {
                self.dispatching += 1;
                self.other_arrived(source, &header, rest, &packet);
                self.dispatching -= 1;
            }
        }
        if self.receiving.dropped.is_empty() {
            self.shared().handlers.nothing_waits();
        }
    }

    /// Gives messages that were not accepted another chance.
    #[cold]
    pub(super) fn ask_again(&mut self) {
        for _ in 0..self.receiving.unaccepted.len() {
            let Some((source, arrival)) = self.receiving.unaccepted.pop_front() else { return };
            self.arrived(source, arrival);
        }
    }

    /// The table has no such entry, or nobody calls addresses.
    #[cold]
    fn handler_missing(&mut self, handler: u64, origin: PeerId) -> Option<Delivery> {
        if self.shared().handlers.may_come(handler) {
            return Some(Delivery::later());
        }
        self.report(Error::HeaderHandlerNull { origin, handler }, origin);
        None
    }
}
