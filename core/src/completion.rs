//! What is notified when an operation ends.
//!
//! The types here are generic in the context that callbacks get (`C`); [`crate::context`]
//! instantiates them and delivers the notifications.

use crate::counter::Counter;
use crate::error::Error;
use crate::sync::{AtomicPtr, Ordering};
use crate::transport::PeerId;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Something that wants to know of an operation's end. Counters, send completion handlers and
/// futures are completions.
///
/// Called in the thread that notices the end, often under the context's lock: it should be short,
/// make no calls to Lapis, and not block.
pub trait Completion: Send {
    /// The operation with `peer` has succeeded, or failed with this error.
    fn complete(self: Box<Self>, peer: PeerId, outcome: Result<(), Error>);

    /// Whether anybody learns from it why an operation failed. If not, the error handler is called.
    fn hears_why(&self) -> bool {
        true
    }
}

impl<F: FnOnce(PeerId, Result<(), Error>) + Send> Completion for F {
    fn complete(self: Box<Self>, peer: PeerId, outcome: Result<(), Error>) {
        self(peer, outcome);
    }
}

/// Raised at the end of an operation on memory that a call has borrowed, which waits for it.
#[derive(Debug)]
pub struct Flag(AtomicPtr<Error>);

/// What a flag points to when all went well.
const WELL: *mut Error = std::ptr::dangling_mut();

impl Flag {
    /// Not raised.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The side that raises it.
    pub(crate) fn notify<C>(&self) -> Notify<C> {
        Notify::Raise(NonNull::from(self))
    }

    /// Whether it is raised.
    #[inline(always)]
    pub(crate) fn is_raised(&self) -> bool {
        // SYNC: Acquire pairs with the Release in `raise`.
        !self.0.load(Ordering::Acquire).is_null()
    }

    /// The operation has ended.
    pub(crate) fn raise(&self, outcome: Result<(), Error>) {
        let end = outcome.map_or_else(|error| Box::into_raw(Box::new(error)), |()| WELL);
        // SYNC: Release pairs with the Acquire in `is_raised`: the operation's data precedes the
        // flag.
        self.0.store(end, Ordering::Release);
    }

    /// How the operation has ended, of a flag that is raised. Asked once: an error is handed over.
    #[inline(always)]
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        if self.0.load(Ordering::Relaxed) == WELL { Ok(()) } else { self.failure() }
    }

    #[cold]
    fn failure(&self) -> Result<(), Error> {
        let end = self.0.swap(WELL, Ordering::Relaxed);
        if end.is_null() || end == WELL {
            return Ok(());
        }
        // SAFETY: `raise` made it of a box, which has just been taken out.
        Err(*unsafe { Box::from_raw(end) })
    }
}

/// What is notified, with the cheapest forms first.
#[derive(Default)]
pub enum Notify<C> {
    /// No notification.
    #[default]
    None,
    /// A counter. It counts successes only; its waiters learn of failures from the error handler.
    Counter(NonNull<Counter>),
    /// A function of the interface above, with its own two words (for C handlers, which have a
    /// function and an argument).
    Call {
        /// Called with the context, the peer, both words and the outcome.
        call: unsafe fn(context: &C, peer: PeerId, function: usize, argument: *mut c_void, ok: bool),
        /// First word.
        function: usize,
        /// Second word.
        argument: *mut c_void,
    },
    /// A counter, then another notification.
    Both(NonNull<Counter>, Box<Self>),
    /// A call that waits.
    Raise(NonNull<Flag>),
    /// Anything else.
    Dyn(Box<dyn Completion>),
}

// SAFETY: whoever starts an operation promises that counter and argument stay valid until it ends,
// on whatever thread.
unsafe impl<C> Send for Notify<C> {}

/// A notification that is nothing, or a counter that counts.
#[derive(Clone, Copy)]
pub(crate) struct Plain(pub(crate) Option<NonNull<Counter>>);

impl<C> From<Plain> for Notify<C> {
    #[inline(always)]
    fn from(plain: Plain) -> Self {
        // Not `map_or`, whose default would be dropped, by a call.
        match plain.0 {
            Some(counter) => Self::Counter(counter),
            None => Self::None,
        }
    }
}

impl<C> Notify<C> {
    /// A counter, or no notification for null.
    #[inline(always)]
    pub fn counter(counter: *const Counter) -> Self {
        Plain(NonNull::new(counter.cast_mut())).into()
    }

    /// What telling it comes to, if that is at most a counter that counts: for short ways, which
    /// look at their arguments but don't move them.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<Plain> {
        match self {
            Self::None => Some(Plain(None)),
            Self::Counter(counter) => Some(Plain(Some(*counter))),
            _ => None,
        }
    }

    /// Whether the reason for a failure would be delivered.
    pub(crate) fn hears_why(&self) -> bool {
        match self {
            Self::Raise(_) => true,
            Self::Dyn(completion) => completion.hears_why(),
            Self::Both(_, other) => other.hears_why(),
            Self::None | Self::Counter(_) | Self::Call { .. } => false,
        }
    }

    /// Whether nothing is notified.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}
