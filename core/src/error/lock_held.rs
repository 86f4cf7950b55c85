//! A call that another thread keeps from the context.

/// A call has waited in vain for the context's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{call} waited {seconds} s for the context's lock, which thread {holder:#x} holds (a debugger names it so): that \
     thread has to give it back first"
)]
pub struct LockHeld {
    /// The call.
    pub call: &'static str,
    /// Who holds the lock, as `pthread_self` names it.
    pub holder: usize,
    /// How long the call waited.
    pub seconds: u64,
}
