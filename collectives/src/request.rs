//! Operations under way that nobody waits for yet, and operations that are set up once and started
//! many times.

use crate::call::Call;
use crate::combine::{By, Combine};
use crate::element::Element;
use crate::engine::{Held, Op};
use crate::error::{CollectiveError, Result};
use crate::key::Key;
use crate::team::Team;
use lapis_core::{CompletionHandler, Context, Counter};
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Poll;

/// A collective under way. It owns what it works on.
///
/// [Wait](Self::wait) for it, [test](Self::test) it, `.await` it, or let a
/// [counter](Self::count_in) or a [function](Self::then) be told. Members begin operations in the
/// same order; they may wait for them in any. Dropping it waits.
#[must_use = "an operation that nobody waits for may fail unnoticed"]
pub struct Request<B> {
    team: Team,
    op: Option<(NonNull<Op>, Option<Key>)>,
    buffers: Option<B>,
}

// SAFETY: the operation is used under the context's lock.
unsafe impl<B: Send> Send for Request<B> {}

impl Team {
    /// Begins any operation; the buffers come back at its end. What is done in place has an empty
    /// input, as broadcasts and scans have: their data is the output.
    ///
    /// # Errors
    /// Bad arguments.
    #[doc(alias = "lapis_ibcast")]
    #[doc(alias = "lapis_iallreduce")]
    pub fn start<T: Element>(
        &self,
        call: &Call<'_>,
        by: impl Into<Option<Combine<'static, T>>>,
        input: Vec<T>,
        mut output: Vec<T>,
    ) -> Result<Request<(Vec<T>, Vec<T>)>> {
        let (needs_input, _) = call.needs_checked(self.rank(), self.len(), T::TYPE.size())?;
        let in_place = input.is_empty() && needs_input > 0;
        let given = if in_place { output.len() } else { input.len() };
        call.check_buffers(self.rank(), self.len(), T::TYPE.size(), given, output.len())?;
        let by = by.into().map_or(By::Nothing, Combine::of_bytes);
        let (op, key) = self.prepare(call, T::TYPE, by)?;
        let to: *mut u8 = output.as_mut_ptr().cast();
        let from = if in_place { to.cast_const() } else { input.as_ptr().cast() };
        // SAFETY: the request owns the buffers, whose memory stays where it is, until the operation
        // has ended.
        unsafe { self.begin(call, op, from, to) };
        Ok(Request { team: self.clone(), op: Some((op, key)), buffers: Some((input, output)) })
    }

    /// Begins a barrier.
    ///
    /// # Errors
    /// None as yet.
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

    /// Begins an operation on memory of an interface above.
    ///
    /// # Errors
    /// Bad arguments.
    ///
    /// # Safety
    /// `input` and `output` are valid for what [`Call::needs`] says until the operation has ended,
    /// and nobody else's. They are the same for what is done in place. The request is waited for,
    /// or told, before that ends; dropping it waits.
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

    /// Sets an operation up that will be started many times. All members do.
    ///
    /// # Errors
    /// Bad arguments.
    #[doc(alias = "lapis_bcast_init")]
    #[doc(alias = "lapis_allreduce_init")]
    pub fn persistent<T: Element>(
        &self,
        call: &Call<'_>,
        by: impl Into<Option<Combine<'static, T>>>,
        input: Vec<T>,
        mut output: Vec<T>,
    ) -> Result<Persistent<T>> {
        let (needs_input, _) = call.needs_checked(self.rank(), self.len(), T::TYPE.size())?;
        let in_place = input.is_empty() && needs_input > 0;
        let given = if in_place { output.len() } else { input.len() };
        call.check_buffers(self.rank(), self.len(), T::TYPE.size(), given, output.len())?;
        let by = by.into().map_or(By::Nothing, Combine::of_bytes);
        let to: *mut u8 = output.as_mut_ptr().cast();
        let from = if in_place { to.cast_const() } else { input.as_ptr().cast() };
        // SAFETY: the vectors are kept beside the operation, whose end comes before theirs, and
        // their memory stays where it is. Nobody gets at them while it is under way.
        let raw = unsafe { self.persistent_raw(call, T::TYPE, by, from, to) }?;
        Ok(Persistent { raw, input, output })
    }

    /// Sets an operation up on memory of an interface above. All members do.
    ///
    /// # Errors
    /// Bad arguments.
    ///
    /// # Safety
    /// `input` and `output` are valid for what [`Call::needs`] says as long as the operation is
    /// kept, and nobody else's while it is under way. They are the same for what is done in place.
    pub unsafe fn persistent_raw(
        &self,
        call: &Call<'_>,
        of: crate::Type,
        by: By<'static>,
        input: *const u8,
        output: *mut u8,
    ) -> Result<RawPersistent> {
        let (op, key) = self.prepare(call, of, by)?;
        let copies = std::ptr::eq(input, output) && call.reads_while_writing();
        let copied = if copies { call.needs(self.rank(), self.len()).0 * of.size() } else { 0 };
        Ok(RawPersistent { team: self.clone(), op, key, input, output, copied, started: false })
    }
}

impl Request<()> {
    /// Of an operation that has been begun.
    pub(crate) fn of(team: &Team, op: NonNull<Op>, key: Option<Key>) -> Self {
        Self { team: team.clone(), op: Some((op, key)), buffers: Some(()) }
    }
}

impl Call<'_> {
    fn needs_checked(&self, me: usize, n: usize, size: usize) -> Result<(usize, usize)> {
        self.check(me, n, size)?;
        Ok(self.needs(me, n))
    }
}

impl<B> Request<B> {
    /// Waits for the end; gives the buffers back.
    ///
    /// # Errors
    /// Calls that don't match; a member that is gone or silent; a call from within a handler, after
    /// which the operation goes on.
    #[doc(alias = "lapis_wait")]
    pub fn wait(mut self) -> Result<B> {
        self.team.context().may_block("a collective's wait")?;
        self.settle()?;
        self.take()
    }

    /// Whether it has ended. Makes progress.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    #[doc(alias = "lapis_test")]
    pub fn test(&mut self) -> Result<bool> {
        let Some((op, _)) = self.op else { return Ok(true) };
        let inner = &*self.team.0;
        // SAFETY: the request keeps operation and team.
        match unsafe { inner.engine.test(&inner.context, inner.members, op) } {
            None => Ok(false),
            Some(ended) => {
                self.release();
                ended.map(|()| true)
            }
        }
    }

    /// Lets `tell` be called when it has ended, on a handler thread, with the buffers or why it
    /// failed. Arrivals then carry the operation on, in whatever call makes progress.
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

    /// Lets a counter count when it has ended well. Failures go to the context's error handler.
    /// Arrivals then carry the operation on, in whatever call makes progress.
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
            return tell(&context, buffers.ok_or(gone().into()));
        };
        let address = op.as_ptr().expose_provenance();
        let kept = team.clone();
        let end = move |context: &Context, ended: Result<()>| {
            let op = NonNull::new(std::ptr::with_exposed_provenance_mut::<Op>(address));
            if let Some(op) = op {
                // SAFETY: the operation has ended, and nobody else has it.
                unsafe { kept.give_back(op, key) };
            }
            tell(context, ended.and_then(|()| buffers.ok_or(gone().into())));
        };
        let held = Held::new(&context);
        // SAFETY: the lock is held; the operation lives until `end` gives it back.
        unsafe {
            if (*op.as_ptr()).running {
                (*op.as_ptr()).ending = Some(Box::new(end));
                // It may have been possible to go on for a while.
                team.0.engine.advance_all(&context);
            } else {
                let ended = (*op.as_ptr()).failure.take().map_or(Ok(()), Err);
                drop(held);
                end(&context, ended);
            }
        }
    }

    fn settle(&mut self) -> Result<()> {
        let Some((op, _)) = self.op else { return Ok(()) };
        let inner = &*self.team.0;
        // SAFETY: the request keeps operation and team.
        let ended = unsafe { inner.engine.wait(&inner.context, inner.members, op) };
        self.release();
        ended
    }

    fn release(&mut self) {
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
            unsafe { (*op.as_ptr()).waker = Some(cx.waker().clone()) };
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
        // Its memory goes with it.
        let _ = self.settle();
    }
}

impl<B> std::fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("ended", &self.op.is_none()).finish_non_exhaustive()
    }
}

/// An operation that was set up once and is started as often as one likes: nothing is looked up,
/// allocated or chosen then. It owns what it works on.
pub struct Persistent<T> {
    // Before the buffers, as it waits for what is under way.
    raw: RawPersistent,
    input: Vec<T>,
    output: Vec<T>,
}

impl<T: Element> Persistent<T> {
    /// Begins it.
    ///
    /// # Errors
    /// It has been started and not waited for.
    pub fn start(&mut self) -> Result<()> {
        self.raw.start()
    }

    /// Waits for the end of what was started.
    ///
    /// # Errors
    /// As for [`Request::wait`].
    pub fn wait(&mut self) -> Result<()> {
        self.raw.wait()
    }

    /// Whether it is not under way. Makes progress.
    ///
    /// # Errors
    /// As for [`Request::wait`].
    pub fn test(&mut self) -> Result<bool> {
        self.raw.test()
    }

    /// What goes in next time; what is done in place has its data in the output. `None` while it is
    /// under way.
    pub fn input(&mut self) -> Option<&mut [T]> {
        (!self.raw.started).then_some(&mut self.input)
    }

    /// What came out. `None` while it is under way.
    pub fn output(&mut self) -> Option<&mut [T]> {
        (!self.raw.started).then_some(&mut self.output)
    }
}

impl<T> std::fmt::Debug for Persistent<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Persistent").field("started", &self.raw.started).finish_non_exhaustive()
    }
}

/// The same on memory of an interface above, or in layouts.
pub struct RawPersistent {
    team: Team,
    op: NonNull<Op>,
    key: Option<Key>,
    input: *const u8,
    output: *mut u8,
    /// Bytes of the input that are copied first, because the operation writes them while it reads.
    copied: usize,
    started: bool,
}

// SAFETY: the operation is used under the context's lock; who set it up vouches for the memory.
unsafe impl Send for RawPersistent {}

impl RawPersistent {
    /// Of an operation on layouts.
    pub(crate) fn of_layouts(team: &Team, op: NonNull<Op>) -> Self {
        let (input, output) = (std::ptr::null(), std::ptr::null_mut());
        Self { team: team.clone(), op, key: None, input, output, copied: 0, started: false }
    }

    /// Begins it.
    ///
    /// # Errors
    /// It has been started and not waited for.
    pub fn start(&mut self) -> Result<()> {
        if self.started {
            return Err(CollectiveError::Busy);
        }
        // SAFETY: it is not under way; who set it up vouches for the memory.
        unsafe { self.team.begin_prepared(self.op, self.copied, self.input, self.output) };
        self.started = true;
        Ok(())
    }

    /// Waits for the end of what was started.
    ///
    /// # Errors
    /// As for [`Request::wait`].
    pub fn wait(&mut self) -> Result<()> {
        if !self.started {
            return Ok(());
        }
        let inner = &*self.team.0;
        inner.context.may_block("a collective's wait")?;
        self.started = false;
        // SAFETY: operation and team are kept.
        unsafe { inner.engine.wait(&inner.context, inner.members, self.op) }
    }

    /// Whether it is not under way. Makes progress.
    ///
    /// # Errors
    /// As for [`Request::wait`].
    pub fn test(&mut self) -> Result<bool> {
        if !self.started {
            return Ok(true);
        }
        let inner = &*self.team.0;
        // SAFETY: operation and team are kept.
        let ended = unsafe { inner.engine.test(&inner.context, inner.members, self.op) };
        self.started = ended.is_none();
        ended.map_or(Ok(false), |ended| ended.map(|()| true))
    }

    /// Whether it has been started and not waited for.
    pub fn is_started(&self) -> bool {
        self.started
    }
}

impl Drop for RawPersistent {
    fn drop(&mut self) {
        let inner = Arc::clone(&self.team.0);
        // SAFETY: operation and team are kept until here; nobody uses them after.
        unsafe {
            if self.started {
                let _ = inner.engine.wait(&inner.context, inner.members, self.op);
            }
            self.team.give_back(self.op, self.key);
        }
    }
}

impl std::fmt::Debug for RawPersistent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawPersistent").field("started", &self.started).finish_non_exhaustive()
    }
}
