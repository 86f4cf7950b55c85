//! The two halves of a memory barrier between a writer of records and a reader that is about to
//! stop polling.
//!
//! The writer stores a word and then checks whether the others poll; a reader that stops polling
//! announces it and then polls once more. At least one of them must see the other's store. Polling
//! processes stop rarely, just before they sleep: they pay for both halves, by a system call. A
//! process whose doorbells ring without calls stops at the end of each call; if there is one, both
//! halves are fences.

#[cfg(any(not(loom), test))]
pub(super) use lapis_core::sync::membarrier::light as settle;
use lapis_core::sync::{Ordering, fence, membarrier};

/// The half of who stops looking, or has been asked to look.
pub(super) fn stop(fences: bool) {
    if fences {
        // SYNC: pairs with the fence in `settle`.
        fence(Ordering::SeqCst);
    } else {
        membarrier::heavy();
    }
}
