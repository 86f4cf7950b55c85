//! Header handlers, completion handlers, and the threads that run the latter.
//!
//! Handlers get the context, and the context stores handlers. To avoid a cycle, the types here are
//! generic in the context (`C`); [`crate::context`] instantiates them.

mod queue;
mod table;

pub(crate) use queue::{CompletionQueue, Job, Queued};
pub use table::HANDLER_TABLE_SIZE;
pub(crate) use table::{Handler, HandlerTable, TABLE_END};

use crate::buffers::Destination;
use crate::transport::PeerId;
use std::ffi::c_void;
use std::ptr::NonNull;

/// An active message whose first packet has arrived, as its header handler sees it.
#[doc(alias = "lapi_return_info_t")]
#[derive(Debug)]
pub struct Incoming<'a> {
    /// Who sent it.
    pub source: PeerId,
    /// The user header, in place in the packet: valid during the handler only.
    pub user_header: &'a [u8],
    /// Bytes of data in the whole message.
    pub len: u64,
    /// The beginning of the data, in place, as far as it came with this packet: perhaps nothing,
    /// perhaps all of it.
    pub first: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// The data, in place, if all of it is in this packet.
    #[doc(alias = "udata_one_pkt_ptr")]
    #[inline(always)]
    pub fn data(&self) -> Option<&'a [u8]> {
        (self.first.len() as u64 == self.len).then_some(self.first)
    }
}

/// Where and when a completion handler runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// On a handler thread: it may block and communicate.
    #[default]
    #[doc(alias = "LAPI_NORMAL")]
    Thread,
    /// At once, in the thread that received the message. It must make no calls to Lapis.
    #[doc(alias = "LAPI_LOCAL_STATE")]
    Inline,
    /// At once if a reply can be sent without waiting, otherwise on a handler thread.
    #[doc(alias = "LAPI_SEND_REPLY")]
    InlineReply,
}

/// What runs when a message has arrived completely.
///
/// If it panics on a handler thread, it counts as returned: counters count, the origin is answered,
/// locks of the context that it held are released, and the panic is logged. If it panics [in
/// line](Run::Inline), the process ends, as after a panic in a header handler.
pub enum CompletionHandler<C> {
    /// A function and its argument, for the interface above to call
    /// ([`RawHooks::completion`](crate::context::RawHooks)).
    Raw {
        /// The function's address.
        function: usize,
        /// Its argument.
        argument: *mut c_void,
    },
    /// A closure.
    Closure(Box<dyn FnOnce(&C) + Send>),
    /// In a [`Delivery`]: asked when all data is there, in the thread that received it.
    Ask(Box<Ask<C>>),
}

/// Says what becomes of a message all of whose data is there.
pub type Ask<C> = dyn FnMut(&C) -> Verdict<C> + Send;

/// What becomes of a message all of whose data is there.
pub enum Verdict<C> {
    /// As with [`Delivery::drop`], it is treated as if its last packet had not arrived, and the
    /// question comes again later.
    Later,
    /// It is received: what completes it, and where that runs.
    Received(Option<CompletionHandler<C>>, Run),
    /// It was an interface's request ([`Share::Nothing`](crate::message::Share::Nothing)), which
    /// has just been met. The program has received no message.
    Met,
}

// SAFETY: `Raw` stands for a C function that LAPI's contract runs on a handler thread.
unsafe impl<C> Send for CompletionHandler<C> {}

/// What a header handler returns: what to do with the message.
pub struct Delivery<C> {
    /// Where the data goes. Ignored if there is none.
    pub into: Destination,
    /// Treat the packet as if it had not arrived; it comes again later.
    #[doc(alias = "LAPI_DROP_PKT")]
    pub drop: bool,
    /// What to run when all data is there.
    pub completion: Option<CompletionHandler<C>>,
    /// Where to run it. For [`CompletionHandler::Ask`] the answer gives this.
    pub run: Run,
}

impl<C> Delivery<C> {
    /// Nothing to store, nothing to run: the handler has taken what it needs from the packet, or
    /// discards the message.
    #[doc(alias = "LAPI_BURY_MSG")]
    #[inline(always)]
    pub const fn bury() -> Self {
        Self { into: Destination::Discard, drop: false, completion: None, run: Run::Thread }
    }

    /// Whether anything is to be stored or run, unlike with [`bury`](Self::bury).
    #[inline(always)]
    pub(crate) fn wants_something(&self) -> bool {
        self.drop || self.completion.is_some() || !matches!(self.into, Destination::Discard)
    }

    /// Not now: the packet comes again.
    pub fn later() -> Self {
        Self { drop: true, ..Self::bury() }
    }

    /// Collects the whole message into a vector and passes it to `keep` when it is complete, in the
    /// thread that received it: `keep` should be short and must make no calls to Lapis. A panic in
    /// it ends the process.
    pub fn collect(message: &Incoming<'_>, keep: impl FnOnce(Vec<u8>) + Send + 'static) -> Self {
        if let Some(data) = message.data() {
            keep(data.to_vec());
            return Self::bury();
        }
        let mut data = vec![0; message.len as usize];
        // The bytes of a vector stay where they are when the vector moves into the closure.
        let into = Destination::Contiguous(NonNull::from(data.as_mut_slice()).cast());
        let completion = Some(CompletionHandler::Closure(Box::new(move |_| keep(data))));
        Self { into, drop: false, completion, run: Run::Inline }
    }

    /// Adds a completion handler that runs on a handler thread. If it panics, it counts as
    /// returned, and the panic is logged.
    pub fn then(mut self, f: impl FnOnce(&C) + Send + 'static) -> Self {
        self.completion = Some(CompletionHandler::Closure(Box::new(f)));
        self.run = Run::Thread;
        self
    }
}
