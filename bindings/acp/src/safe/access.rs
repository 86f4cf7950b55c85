//! Copies and atomic operations, the order among them, and values that say when they have ended.

use super::{Global, GlobalSlice, Job, Plain, global};
use crate::error::{Error, Result};
use crate::operation::{Atomic, Operator};
use crate::order::{ALL, CONT, NULL};
use crate::process::Process;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What an access waits for before it starts.
#[doc(alias = "acp_handle_t")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum After {
    /// Nothing.
    #[doc(alias = "ACP_HANDLE_NULL")]
    Nothing,
    /// All accesses that this process has started.
    #[doc(alias = "ACP_HANDLE_ALL")]
    All,
    /// The previous access, and what that one waited for.
    #[doc(alias = "ACP_HANDLE_CONT")]
    Previous,
    /// The access with this number, and all before it: see [`Access::after`].
    Access(u64),
}

impl After {
    fn handle(self) -> u64 {
        match self {
            Self::Nothing => NULL,
            Self::All => ALL,
            Self::Previous => CONT,
            Self::Access(handle) => handle,
        }
    }
}

/// An access that has been requested. [`wait`](Self::wait) for it, `.await` it, start others
/// [`after`](Self::after) it, or drop it: it continues in all cases.
///
/// Accesses end in the order in which they were requested: when one has ended, all earlier ones
/// have. Awaiting works with any executor.
#[must_use = "an access that nobody waits for may fail unnoticed"]
pub struct Access<'job> {
    process: &'static Process,
    handle: u64,
    marker: PhantomData<&'job Job>,
}

impl std::fmt::Debug for Access<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Access").field(&self.handle).finish()
    }
}

impl Access<'_> {
    /// The order for accesses that are to start when this one has ended.
    pub fn after(&self) -> After {
        After::Access(self.handle)
    }

    /// Whether this access and all before it have ended.
    #[doc(alias = "acp_inquire")]
    pub fn is_complete(&self) -> bool {
        self.process.order.complete(self.handle)
    }

    /// Waits until this access and all before it have ended.
    ///
    /// # Errors
    /// An error of one of them that has not been returned yet.
    #[doc(alias = "acp_complete")]
    pub fn wait(self) -> Result {
        self.process.complete(self.handle)
    }
}

impl Future for Access<'_> {
    type Output = Result;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result> {
        if self.process.order.wake_after(self.handle, context.waker()) {
            Poll::Ready(self.process.complete(self.handle))
        } else {
            self.process.probe_for_awaited();
            Poll::Pending
        }
    }
}

/// An atomic operation that has been requested; it returns the previous value.
#[must_use = "an operation that nobody waits for may fail unnoticed"]
pub struct Fetch<'job, T: Word> {
    access: Access<'job>,
    /// The place of the result, in this process's heap.
    result: u64,
    /// It ended in the call that began it, so that the handle is that of an earlier access.
    ended: bool,
    marker: PhantomData<fn() -> T>,
}

impl<T: Word> std::fmt::Debug for Fetch<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Fetch").field(&self.access.handle).finish()
    }
}

impl<T: Word> Fetch<'_, T> {
    /// The order for accesses that are to start when this operation has ended.
    pub fn after(&self) -> After {
        self.access.after()
    }

    /// Waits until this operation and all accesses before it have ended.
    ///
    /// # Errors
    /// An error of one of them that has not been returned yet.
    pub fn wait(self) -> Result<T> {
        self.access.process.complete(self.access.handle)?;
        self.value()
    }

    fn value(&self) -> Result<T> {
        global::from_bytes(&self.access.process.read_bytes(self.result, size_of::<T>() as u64)?)
    }
}

impl<T: Word> Future for Fetch<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        match Pin::new(&mut self.access).poll(context) {
            Poll::Ready(outcome) => Poll::Ready(outcome.and_then(|()| self.value())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: Word> Drop for Fetch<'_, T> {
    fn drop(&mut self) {
        let Access { process, handle, .. } = self.access;
        // The result may still come: then the few bytes stay as they are until the job ends.
        if self.ended || process.order.has_ended(handle) {
            let _ = process.free(self.result);
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// The types of variables that atomic operations change: `u32` and `u64`.
pub trait Word: Plain + sealed::Sealed + Into<u64> {}

impl Word for u32 {}
impl Word for u64 {}

/// Copies.
impl Job {
    /// Copies values between any two processes, neither of which need be this one. Source and
    /// destination may overlap if they are in one process.
    ///
    /// # Errors
    /// At once: [`Error::Size`] if their lengths differ, [`Error::Address`] for this process's own
    /// places. When it ends: the same for others' places, and [`Error::Peer`].
    #[doc(alias = "acp_copy")]
    pub fn copy<T: Plain>(
        &self,
        to: GlobalSlice<T>,
        from: GlobalSlice<T>,
        after: After,
    ) -> Result<Access<'_>> {
        if to.len != from.len {
            return Err(Error::Size);
        }
        let handle = self.process.copy(to.address, from.address, to.bytes(), after.handle())?;
        Ok(Access { process: self.process, handle, marker: PhantomData })
    }

    /// Waits for all accesses of this process.
    ///
    /// # Errors
    /// An error of one of them that has not been returned yet.
    #[doc(alias = "acp_complete")]
    pub fn complete(&self) -> Result {
        self.process.complete(ALL)
    }

    /// Reads one value, and waits for it. Values of 4 and 8 bytes are read by one load.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Peer`].
    pub fn read<T: Plain>(&self, from: Global<T>) -> Result<T> {
        global::from_bytes(&self.process.read_bytes(from.address, size_of::<T>() as u64)?)
    }

    /// Writes one value, and waits for the end. Values of 4 and 8 bytes are written by one store.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Peer`].
    pub fn write<T: Plain>(&self, to: Global<T>, value: T) -> Result {
        self.process.write_bytes(to.address, global::bytes_of(&value))
    }

    /// Reads values.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Peer`].
    pub fn read_all<T: Plain>(&self, from: GlobalSlice<T>) -> Result<Vec<T>> {
        let bytes = self.process.read_bytes(from.address, from.bytes())?;
        bytes.chunks_exact(size_of::<T>().max(1)).map(global::from_bytes).collect()
    }

    /// Writes values.
    ///
    /// # Errors
    /// [`Error::Size`] if the lengths differ, [`Error::Address`], [`Error::Peer`].
    pub fn write_all<T: Plain>(&self, to: GlobalSlice<T>, values: &[T]) -> Result {
        if to.len != values.len() as u64 {
            return Err(Error::Size);
        }
        // SAFETY: the slice is valid for its size, and all its bytes are initialised.
        unsafe { self.process.write_raw(to.address, values.as_ptr().cast(), size_of_val(values)) }
    }
}

/// Atomic operations.
impl Job {
    fn atomic<T: Word>(
        &self,
        place: Global<T>,
        operator: Operator,
        (operand, compare): (T, T),
        after: After,
    ) -> Result<Fetch<'_, T>> {
        let result = self.process.allocate(8, self.rank())?;
        let width = size_of::<T>() as u32;
        let atomic = Atomic { operator, width, operand: operand.into(), compare: compare.into() };
        let (address, order) = (place.address, after.handle());
        let at_once = self.process.atomic_at_once(result, address, atomic, order);
        let begun = at_once.map_or_else(|| self.process.begin_atomic(result, address, atomic, order), Ok);
        let handle = begun.inspect_err(|_| {
            let _ = self.process.free(result);
        })?;
        let access = Access { process: self.process, handle, marker: PhantomData };
        Ok(Fetch { access, result, ended: at_once.is_some(), marker: PhantomData })
    }
}

macro_rules! operations {
    ($($name:ident $begin:ident $operator:ident $alias:literal: $doc:literal;)*) => {
        impl Job {
            $(
                #[doc = $doc]
                #[doc = ""]
                #[doc = "# Errors"]
                #[doc = "[`Error::Address`], [`Error::Peer`]."]
                #[doc(alias = $alias)]
                pub fn $name<T: Word>(&self, place: Global<T>, operand: T) -> Result<T> {
                    self.$begin(place, operand, After::Nothing)?.wait()
                }

                #[doc = $doc]
                #[doc = "It begins after other accesses."]
                #[doc = ""]
                #[doc = "# Errors"]
                #[doc = "At once: [`Error::Address`] for this process's own place, and [`Error::Memory`]."]
                #[doc(alias = $alias)]
                pub fn $begin<T: Word>(
                    &self,
                    place: Global<T>,
                    operand: T,
                    after: After,
                ) -> Result<Fetch<'_, T>> {
                    self.atomic(place, Operator::$operator, (operand, operand), after)
                }
            )*
        }
    };
}

operations! {
    fetch_add begin_add Add "acp_add8": "Adds to a variable; gives what was there.";
    fetch_xor begin_xor Xor "acp_xor8": "Exclusive or of a variable; gives what was there.";
    fetch_or begin_or Or "acp_or8": "Or of a variable; gives what was there.";
    fetch_and begin_and And "acp_and8": "And of a variable; gives what was there.";
    swap begin_swap Swap "acp_swap8": "Puts another value into a variable; gives what was there.";
}

impl Job {
    /// Compare and swap: stores a new value if the variable equals the old one; returns its
    /// previous value.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Peer`].
    #[doc(alias = "acp_cas8")]
    pub fn compare_and_swap<T: Word>(&self, place: Global<T>, old: T, new: T) -> Result<T> {
        self.begin_compare_and_swap(place, old, new, After::Nothing)?.wait()
    }

    /// Compare and swap, after other accesses.
    ///
    /// # Errors
    /// At once: [`Error::Address`] for this process's own place, and [`Error::Memory`].
    #[doc(alias = "acp_cas8")]
    pub fn begin_compare_and_swap<T: Word>(
        &self,
        place: Global<T>,
        old: T,
        new: T,
        after: After,
    ) -> Result<Fetch<'_, T>> {
        self.atomic(place, Operator::CompareAndSwap, (new, old), after)
    }
}
