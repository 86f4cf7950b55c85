//! Nonblocking operations.

use crate::call::Call;
use crate::combine::{By, Combine};
use crate::element::Element;
use crate::engine::{Care, Held, Op};
use crate::error::{Cause, Result};
use crate::key::Key;
use crate::team::Team;
use lapis_core::{CompletionHandler, Context, Counter};
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Poll;

/// A nonblocking collective in progress, which owns its buffers.
///
/// [Wait](Self::wait) for it, [test](Self::test) it, `.await` it, or have a
/// [counter](Self::count_in) or a [function](Self::then) notified. Members start operations in the
/// same order; they may wait for them in any order. Dropping it waits, except in a handler that
/// runs in line: there the operation goes on by itself, and its buffers are never freed.
#[must_use = "an operation that nobody waits for may fail unnoticed"]
pub struct Request<B> {
    team: Team,
    op: Option<(NonNull<Op>, Option<Key>)>,
    buffers: Option<B>,
    /// Why it has failed.
    failure: Option<Cause>,
}

// SAFETY: the operation is used under the context's lock.
unsafe impl<B: Send> Send for Request<B> {}

impl Team {
    /// Checks the buffers of a call that owns them. Returns whether it is in place, without input.
    pub(crate) fn check_owned<T: Element>(&self, call: &Call<'_>, input: &[T], output: &[T]) -> Result<bool> {
        let (needs_input, _) = call.needs_checked(self.rank(), self.len(), T::TYPE.size())?;
        let in_place = input.is_empty() && needs_input > 0;
        let given = if in_place { output.len() } else { input.len() };
        call.check_buffers(self.rank(), self.len(), T::TYPE.size(), given, output.len())?;
        Ok(in_place)
    }

    /// Starts any operation; its end returns the buffers. Calls in place, including broadcasts and
    /// scans, have an empty input: their data is the output.
    ///
    /// # Errors
    /// Invalid arguments.
    #[doc(alias = "lapis_ibcast")]
    #[doc(alias = "lapis_iallreduce")]
    pub fn start<T: Element>(
        &self,
        call: &Call<'_>,
        by: impl Into<Option<Combine<'static, T>>>,
        input: Vec<T>,
        mut output: Vec<T>,
    ) -> Result<Request<(Vec<T>, Vec<T>)>> {
        let in_place = self.check_owned(call, &input, &output)?;
        let by = by.into().map_or(By::Nothing, Combine::of_bytes);
        let (op, key) = self.prepare(call, T::TYPE, by)?;
        let to: *mut u8 = output.as_mut_ptr().cast();
        let from = if in_place { to.cast_const() } else { input.as_ptr().cast() };
        // SAFETY: the request owns the buffers, whose memory stays where it is, until the operation
        // has ended.
        unsafe { self.begin(call, op, from, to) };
        Ok(Request { team: self.clone(), op: Some((op, key)), buffers: Some((input, output)), failure: None })
    }

    /// Starts a barrier.
    ///
    /// # Errors
    /// None at present.
    #[doc(alias = "lapis_ibarrier")]
    pub fn start_barrier(&self) -> Result<Request<()>> {
        // SAFETY: a barrier has no buffers.
        unsafe {
            self.start_raw(
                &Call::Barrier,
                crate::Type::U8,
                By::Nothing,
                std::ptr::null(),
                std::ptr::null_mut(),
            )
        }
    }

    /// Starts an operation on memory of a layer above.
    ///
    /// # Errors
    /// Invalid arguments.
    ///
    /// # Safety
    /// `input` and `output` are valid for the lengths that [`Call::needs`] gives, and not used
    /// otherwise, until the operation has ended. They are equal for calls in place. The request is
    /// waited for, or notified, before the memory becomes invalid; dropping it waits, except in a
    /// handler that runs in line: then the memory stays until the operation has ended.
    pub unsafe fn start_raw(
        &self,
        call: &Call<'_>,
        of: crate::Type,
        by: By<'static>,
        input: *const u8,
        output: *mut u8,
    ) -> Result<Request<()>> {
        let (op, key) = self.prepare(call, of, by)?;
        // SAFETY: the caller's promise.
        unsafe { self.begin(call, op, input, output) };
        Ok(Request::of(self, op, key))
    }
}

impl Team {
    /// Lets an operation go on with arrivals, and calls `tell` at its end, or now if it has ended.
    ///
    /// # Safety
    /// The operation is the team's, and was begun; nobody else has it; its buffers stay until then.
    pub(crate) unsafe fn let_go(
        &self,
        op: NonNull<Op>,
        key: Option<Key>,
        tell: impl FnOnce(&Context, Result<()>) + Send + 'static,
    ) {
        let (address, kept) = (op.as_ptr().expose_provenance(), self.clone());
        let end = move |context: &Context, ended: Result<()>| {
            let op = NonNull::new(std::ptr::with_exposed_provenance_mut::<Op>(address));
            if let Some(op) = op {
                // SAFETY: the operation has ended, and nobody else has it.
                unsafe { kept.give_back(op, key) };
            }
            tell(context, ended);
        };
        let held = Held::new(self.context());
        // SAFETY: the lock is held; the operation lives until `end` gives it back.
        unsafe {
            if (*op.as_ptr()).running {
                (*op.as_ptr()).ending = Some(Box::new(end));
                (*op.as_ptr()).care = Care::Arrivals;
                self.0.engine.attend();
            } else {
                let ended = (*op.as_ptr()).failure.take().map_or(Ok(()), Err);
                drop(held);
                end(self.context(), ended);
            }
        }
    }

    /// Whether this thread can't wait for an operation, because it runs a handler.
    pub(crate) fn runs_handler(&self) -> bool {
        self.context().is_usable() && self.context().may_block("a collective's wait").is_err()
    }
}

impl Request<()> {
    /// The request of an operation that has been started.
    pub(crate) fn of(team: &Team, op: NonNull<Op>, key: Option<Key>) -> Self {
        Self { team: team.clone(), op: Some((op, key)), buffers: Some(()), failure: None }
    }
}

impl Call<'_> {
    fn needs_checked(&self, me: usize, n: usize, size: usize) -> Result<(usize, usize)> {
        self.check(me, n, size)?;
        Ok(self.needs(me, n))
    }
}

impl<B> Request<B> {
    /// Waits for the end and returns the buffers.
    ///
    /// # Errors
    /// Calls that don't match; a member that is gone or silent; a call from within a handler (the
    /// operation then continues, and its buffers are never freed).
    #[doc(alias = "lapis_wait")]
    pub fn wait(mut self) -> Result<B> {
        self.team.context().may_block("a collective's wait")?;
        self.settle()?;
        self.take()
    }

    /// Whether it has ended. Makes progress.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait). Once it has failed, further tests and waits fail as well.
    #[doc(alias = "lapis_test")]
    pub fn test(&mut self) -> Result<bool> {
        let Some((op, _)) = self.op else { return self.ended().map(|()| true) };
        let inner = &*self.team.0;
        // SAFETY: the request keeps operation and team.
        match unsafe { inner.engine.test(&inner.context, inner.members, op) } {
            None => Ok(false),
            Some(ended) => {
                self.release(&ended);
                ended.map(|()| true)
            }
        }
    }

    /// Has `tell` called on a handler thread when it has ended, with the buffers or the error. The
    /// operation then progresses with arrivals, in any call that makes progress.
    #[doc(alias = "lapis_request_then")]
    pub fn then(self, tell: impl FnOnce(&Context, Result<B>) + Send + 'static)
    where
        B: Send + 'static,
    {
        self.detach(move |context, ended| {
            let run = CompletionHandler::Closure(Box::new(move |context: &Context| tell(context, ended)));
            context.run_on_handler_thread(run);
        });
    }

    /// Has a counter incremented when it has succeeded. Failures go to the context's error handler.
    /// The operation then progresses with arrivals, in any call that makes progress.
    ///
    /// # Safety
    /// The counter lives until then.
    #[doc(alias = "lapis_request_count")]
    pub unsafe fn count_in(self, counter: NonNull<Counter>)
    where
        B: Send + 'static,
    {
        let counter = counter.as_ptr().expose_provenance();
        self.detach(move |context, ended: Result<B>| match ended {
            Ok(_) => {
                // SAFETY: the caller's promise.
                let counter = unsafe { &*std::ptr::with_exposed_provenance::<Counter>(counter) };
                context.count(counter, context.task());
            }
            Err(e) => {
                let member = e.member().unwrap_or(context.task());
                context.raise(e.into_core(), member);
            }
        });
    }

    fn detach(mut self, tell: impl FnOnce(&Context, Result<B>) + Send + 'static)
    where
        B: Send + 'static,
    {
        let context = self.team.context().clone();
        let team = self.team.clone();
        let (op, buffers) = (self.op.take(), self.buffers.take());
        let gone = || lapis_core::Error::Internal { what: "a collective was told twice".into() };
        let Some((op, key)) = op else {
            return tell(&context, self.ended().and_then(|()| buffers.ok_or(gone().into())));
        };
        let _held = Held::new(&context);
        let tell = move |context: &Context, ended: Result<()>| {
            tell(context, ended.and_then(|()| buffers.ok_or(gone().into())));
        };
        // SAFETY: nobody else has the operation; what is called has its buffers.
        unsafe {
            team.let_go(op, key, tell);
            // It may have been possible to go on for a while.
            team.0.engine.advance_all(&context);
        }
    }

    fn settle(&mut self) -> Result<()> {
        let Some((op, _)) = self.op else { return self.ended() };
        let inner = &*self.team.0;
        // SAFETY: the request keeps operation and team.
        let ended = unsafe { inner.engine.wait(&inner.context, inner.members, op) };
        self.release(&ended);
        ended
    }

    /// How it has ended, once more.
    fn ended(&self) -> Result<()> {
        self.failure.map_or(Ok(()), |cause| Err(cause.error()))
    }

    fn release(&mut self, ended: &Result<()>) {
        self.failure = ended.as_ref().err().map(|e| e.cause(self.team.context().task()));
        if let Some((op, key)) = self.op.take() {
            // SAFETY: it has ended.
            unsafe { self.team.give_back(op, key) };
        }
    }

    fn take(&mut self) -> Result<B> {
        let taken =
            || lapis_core::Error::Internal { what: "the result of a collective was taken twice".into() };
        self.buffers.take().ok_or_else(|| taken().into())
    }
}

impl<B: Unpin> Future for Request<B> {
    type Output = Result<B>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Result<B>> {
        if let Some((op, _)) = self.op {
            let _held = Held::new(self.team.context());
            // SAFETY: the request keeps the operation; the lock is held.
            unsafe {
                // One that has ended wakes nobody, and is kept for the next call.
                if (*op.as_ptr()).running {
                    (*op.as_ptr()).waker = Some(cx.waker().clone());
                }
            }
        }
        match self.test() {
            Ok(false) => {}
            Ok(true) => return Poll::Ready(self.take()),
            Err(e) => return Poll::Ready(Err(e)),
        }
        let context = self.team.context();
        if !context.interrupts() || context.tasks() == 1 {
            // Nobody else makes progress.
            cx.waker().wake_by_ref();
        }
        context.await_interrupts();
        Poll::Pending
    }
}

impl<B> Drop for Request<B> {
    fn drop(&mut self) {
        // In a forked child it is still the parent's, whose members it would write to.
        if !self.team.context().is_of_this_process() {
            return;
        }
        if self.team.runs_handler()
            && let Some((op, key)) = self.op.take()
        {
            // The operation may use its buffers until the team is over.
            std::mem::forget(self.buffers.take());
            // SAFETY: nobody else has the operation; its buffers stay for ever, and of memory that
            // others vouch for they have promised that it stays.
            return unsafe { self.team.let_go(op, key, |_, _| {}) };
        }
        // Its memory goes with it.
        let _ = self.settle();
    }
}

impl<B> std::fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("ended", &self.op.is_none()).finish_non_exhaustive()
    }
}
