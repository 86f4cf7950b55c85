//! Outstanding operations, as values that can be waited for or awaited.

use crate::Context;
use crate::completion::Completion;
use crate::error::{Error, Result};
use crate::transport::PeerId;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// An operation that has been started and owns its data.
///
/// [`wait`](Self::wait) for it, `.await` it, or drop it: it continues in all cases. Awaiting works
/// with any executor. In polling mode each poll of the future makes progress; in interrupt mode the
/// context's progress thread wakes the executor's task.
#[must_use = "an operation that is neither waited for nor awaited may fail unnoticed"]
pub struct Pending<T> {
    context: Context,
    cell: Arc<Mutex<Cell<T>>>,
}

struct Cell<T> {
    /// The operation's data, returned at its end.
    value: Option<T>,
    outcome: Option<Result<()>>,
    waker: Option<Waker>,
}

/// The other end of a [`Pending`].
struct Finish<T>(Arc<Mutex<Cell<T>>>);

impl<T: Send> Completion for Finish<T> {
    fn complete(self: Box<Self>, _peer: PeerId, outcome: Result<(), Error>) {
        let mut cell = lock(&self.0);
        cell.outcome = Some(outcome);
        let waker = cell.waker.take();
        drop(cell);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> Pending<T> {
    /// A pending operation on `value`, and the completion that ends it.
    pub(crate) fn new(context: &Context, value: T) -> (Self, Box<dyn Completion>) {
        let cell = Arc::new(Mutex::new(Cell { value: Some(value), outcome: None, waker: None }));
        (Self { context: context.clone(), cell: Arc::clone(&cell) }, Box::new(Finish(cell)))
    }

    /// Whether it has ended. Makes progress.
    ///
    /// # Errors
    /// The context was terminated.
    pub fn is_done(&self) -> Result<bool> {
        self.context.progress()?;
        Ok(lock(&self.cell).outcome.is_some())
    }

    /// Waits for the end and returns the operation's data.
    ///
    /// # Errors
    /// The operation failed, or the wait did (a call from within a handler, a task that is down).
    pub fn wait(self) -> Result<T> {
        self.context.wait_until(|| lock(&self.cell).outcome.is_some())?;
        self.take()
    }

    fn take(&self) -> Result<T> {
        let mut cell = lock(&self.cell);
        match (cell.outcome.take(), cell.value.take()) {
            (Some(Ok(())), Some(value)) => Ok(value),
            (Some(Err(e)), _) => Err(e),
            _ => Err(Error::Internal { what: "the result of an operation was taken twice".into() }),
        }
    }
}

impl<T: Send + 'static> Future for Pending<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Result<T>> {
        if lock(&self.cell).outcome.is_some() {
            return Poll::Ready(self.take());
        }
        lock(&self.cell).waker = Some(cx.waker().clone());
        if let Err(e) = self.context.progress() {
            return Poll::Ready(Err(e));
        }
        if lock(&self.cell).outcome.is_some() {
            return Poll::Ready(self.take());
        }
        if !self.context.interrupts() || self.context.tasks() == 1 {
            // Nobody else makes progress (a task alone has no thread for it): ask to be polled
            // again.
            cx.waker().wake_by_ref();
        }
        self.context.await_interrupts();
        Poll::Pending
    }
}

impl<T> std::fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

fn lock<T>(cell: &Mutex<Cell<T>>) -> MutexGuard<'_, Cell<T>> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}
