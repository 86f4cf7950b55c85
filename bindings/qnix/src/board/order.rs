//! The two halves of a memory barrier between who shows something and who is about to rely on
//! being asked to look.
//!
//! Who shows stores a word and then looks whether the others look; who stops looking says so and
//! then looks once more. One of both must see the other's word. Processes that poll stop looking
//! seldom, just before they sleep: they pay for both halves, by a system call. A process whose
//! doorbells ring without calls stops with each call that ends; where there is one, both halves
//! are fences.

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
