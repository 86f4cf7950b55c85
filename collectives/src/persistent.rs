//! Persistent operations, which are set up once and started many times.

use crate::call::Call;
use crate::combine::{By, Combine};
use crate::element::Element;
use crate::engine::Op;
use crate::error::{CollectiveError, Result};
use crate::key::Key;
use crate::team::Team;
use std::ptr::NonNull;
use std::sync::Arc;

impl Team {
    /// Sets up a persistent operation, which can be started many times. Collective: all members
    /// call.
    ///
    /// # Errors
    /// Invalid arguments.
    #[doc(alias = "lapis_bcast_init")]
    #[doc(alias = "lapis_allreduce_init")]
    pub fn persistent<T: Element>(
        &self,
        call: &Call<'_>,
        by: impl Into<Option<Combine<'static, T>>>,
        input: Vec<T>,
        mut output: Vec<T>,
    ) -> Result<Persistent<T>> {
        let in_place = self.check_owned(call, &input, &output)?;
        let by = by.into().map_or(By::Nothing, Combine::of_bytes);
        let to: *mut u8 = output.as_mut_ptr().cast();
        let from = if in_place { to.cast_const() } else { input.as_ptr().cast() };
        // SAFETY: the vectors are kept beside the operation, whose end comes before theirs, and
        // their memory stays where it is. Nobody gets at them while it is under way.
        let raw = unsafe { self.persistent_raw(call, T::TYPE, by, from, to) }?;
        Ok(Persistent { raw, input, output })
    }

    /// Sets up a persistent operation on memory of a layer above. Collective: all members call.
    ///
    /// # Errors
    /// Invalid arguments.
    ///
    /// # Safety
    /// `input` and `output` are valid for the lengths that [`Call::needs`] gives as long as the
    /// operation exists, and not used otherwise while it is in progress; one that is dropped in a
    /// handler that runs in line exists until it has ended. They are equal for calls in place.
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

/// A persistent operation: set up once and started any number of times, without lookups,
/// allocations or choices. It owns its buffers.
pub struct Persistent<T> {
    // Before the buffers, as it waits for what is under way.
    raw: RawPersistent,
    input: Vec<T>,
    output: Vec<T>,
}

impl<T: Element> Persistent<T> {
    /// Starts it.
    ///
    /// # Errors
    /// It has been started and not waited for.
    pub fn start(&mut self) -> Result<()> {
        self.raw.start()
    }

    /// Waits for the end of the started operation.
    ///
    /// # Errors
    /// As for [`Request::wait`](crate::Request::wait).
    pub fn wait(&mut self) -> Result<()> {
        self.raw.wait()
    }

    /// Whether it has ended, or was not started. Makes progress.
    ///
    /// # Errors
    /// As for [`Request::wait`](crate::Request::wait).
    pub fn test(&mut self) -> Result<bool> {
        self.raw.test()
    }

    /// The input of the next start; calls in place have their data in the output. `None` while it
    /// is in progress.
    pub fn input(&mut self) -> Option<&mut [T]> {
        (!self.raw.started).then_some(&mut self.input)
    }

    /// The output. `None` while it is in progress.
    pub fn output(&mut self) -> Option<&mut [T]> {
        (!self.raw.started).then_some(&mut self.output)
    }
}

impl<T> Drop for Persistent<T> {
    fn drop(&mut self) {
        if self.raw.started && self.raw.team.runs_handler() {
            // The operation goes on, and may use its buffers until the team is over.
            std::mem::forget((std::mem::take(&mut self.input), std::mem::take(&mut self.output)));
        }
    }
}

impl<T> std::fmt::Debug for Persistent<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Persistent").field("started", &self.raw.started).finish_non_exhaustive()
    }
}

/// A persistent operation on memory of a layer above, or on layouts.
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
    /// The persistent form of an operation on layouts.
    pub(crate) fn of_layouts(team: &Team, op: NonNull<Op>) -> Self {
        let (input, output) = (std::ptr::null(), std::ptr::null_mut());
        Self { team: team.clone(), op, key: None, input, output, copied: 0, started: false }
    }

    /// Starts it.
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

    /// Waits for the end of the started operation.
    ///
    /// # Errors
    /// As for [`Request::wait`](crate::Request::wait).
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

    /// Whether it has ended, or was not started. Makes progress.
    ///
    /// # Errors
    /// As for [`Request::wait`](crate::Request::wait).
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
        if !self.team.context().is_of_this_process() {
            return;
        }
        let inner = Arc::clone(&self.team.0);
        // SAFETY: operation and team are kept until here; nobody uses them after.
        unsafe {
            if self.started && self.team.runs_handler() {
                return self.team.let_go(self.op, self.key.take(), |_, _| {});
            }
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
