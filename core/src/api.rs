//! The safe interface: active messages to closures, transfers between
//! [`Memory`](crate::context::Memory) of tasks, remote atomics. An operation either borrows its
//! data and returns when the borrow can end, or owns it and returns a [`Pending`].

use crate::Context;
use crate::completion::Flag;
use crate::context::Notify;
use crate::context::{HandlerId, RemoteMemory};
use crate::error::{Access, Error, Reason, Refusal, Result};
use crate::message::{AmSend, Aside, Attempt, Bulk, Destination, GetArgs, PutArgs, RmwArgs, Short, Source};
use crate::pending::Pending;
use crate::transport::copy::copy_watched;
use crate::transport::rmw::local_rmw;
use crate::transport::{PeerId, RmwOp};
use std::ptr::NonNull;

impl Context {
    /// Sends an active message to handler `handler` of task `target`. Returns when `data` may be
    /// reused, which for small messages is at once.
    ///
    /// The length of `user_header` is a multiple of 4 bytes and at most
    /// [`MAX_USER_HEADER`](crate::message::MAX_USER_HEADER).
    ///
    /// # Errors
    /// `target` is no task of the job, or is down; the user header's length is invalid.
    #[inline(always)] // The compiler's heuristics would count the slow path as well.
    pub fn send(&self, target: PeerId, handler: HandlerId, user_header: &[u8], data: &[u8]) -> Result<()> {
        let message = Short::to_table(target, handler, user_header, data);
        match self.send_at_once(&message) {
            Attempt::Sent => Ok(()),
            attempt => self.send_any(&message.aside(), handler, attempt),
        }
    }

    #[inline(never)]
    fn send_any(&self, message: &Aside<'_>, handler: HandlerId, attempt: Attempt) -> Result<()> {
        let (target, user_header, data) = message.parts();
        if attempt != Attempt::Unfit {
            self.usable()?;
            self.check_target(target)?;
            if self.locked().send_short(&message.short(), attempt)? {
                return Ok(());
            }
        }
        // SAFETY: the data is borrowed for as long as this call takes.
        unsafe {
            self.send_source(
                target,
                handler,
                user_header,
                Source::Contiguous(data.as_ptr(), data.len() as u64),
            )
        }
    }

    /// Sends an active message whose data comes from any [`Source`]. Returns when the source is no
    /// longer needed.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    ///
    /// # Safety
    /// The source's memory is valid and unchanged until this returns, and a layout makes no calls
    /// to Lapis.
    pub unsafe fn send_source(
        &self,
        target: PeerId,
        handler: HandlerId,
        user_header: &[u8],
        source: Source,
    ) -> Result<()> {
        let done = Flag::new();
        let message = AmSend {
            target,
            handler: u64::from(handler.0),
            user_header,
            source,
            target_counter: 0,
            origin: done.notify(),
            completion: Notify::None,
        };
        let bulk = self.bulk_of_borrowed();
        // SAFETY: this call waits until the flag says that the source is free. Handlers come from
        // the table.
        unsafe { self.am_send_by(message, bulk)? };
        self.settle(&done, target)
    }

    /// How a call sends data that it has borrowed. A handler that runs in line can't wait until
    /// they are fetched: it sends a copy, in packets.
    fn bulk_of_borrowed(&self) -> Bulk {
        if self.may_wait("send").is_ok() { Bulk::AsConfigured } else { Bulk::Avoid }
    }

    /// Sends an active message that owns its data. The result returns the data when the target's
    /// completion handler has ended, or the delivery if there is no completion handler: the guide's
    /// synchronous behaviour.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn send_and_confirm(
        &self,
        target: PeerId,
        handler: HandlerId,
        user_header: &[u8],
        data: Vec<u8>,
    ) -> Result<Pending<Vec<u8>>> {
        let source = Source::Contiguous(data.as_ptr(), data.len() as u64);
        let (pending, finish) = Pending::new(self, data);
        let message = AmSend {
            target,
            handler: u64::from(handler.0),
            user_header,
            source,
            target_counter: 0,
            origin: Notify::None,
            completion: Notify::Dyn(finish),
        };
        // SAFETY: the completion owns the data (a vector's bytes don't move) until the target has
        // confirmed, which follows the fetching of the data.
        unsafe { self.am_send(message)? };
        Ok(pending)
    }

    /// Writes `data` to a task's memory and returns when `data` may be reused.
    ///
    /// A target that does not share this memory [refuses](Error::Refused) the put. If the refusal
    /// arrives after this call has returned, it goes to the
    /// [error handler](crate::ContextBuilder::on_error).
    ///
    /// # Errors
    /// `data` is longer than the memory; the target is down, or refuses.
    #[inline(always)] // The compiler's heuristics would count the slow path as well.
    pub fn put_bytes(&self, to: RemoteMemory, data: &[u8]) -> Result<()> {
        self.usable()?;
        fits(to, data.len())?;
        self.check_own(Access::Put, to, data.len())?;
        if let Some(at) = self.direct(to.task, to.addr, data.len() as u64) {
            // SAFETY: the window is mapped as long as the context lives; its memory is the target's
            // to give out.
            unsafe { copy_watched(data.as_ptr(), at, data.len()) };
            return Ok(());
        }
        self.put_far(to, data)
    }

    #[inline(never)]
    fn put_far(&self, to: RemoteMemory, data: &[u8]) -> Result<()> {
        let done = Flag::new();
        let args = PutArgs {
            target: to.task,
            remote: to.addr,
            source: Source::Contiguous(data.as_ptr(), data.len() as u64),
            target_counter: 0,
            origin: done.notify(),
            completion: Notify::None,
            checked: true,
        };
        // SAFETY: this call waits until the flag says that the data is free; the target checks the
        // range.
        unsafe { self.put_by_transport(args, self.bulk_of_borrowed())? };
        self.settle(&done, to.task)
    }

    /// Writes owned data to a task's memory. The result returns the data when it has arrived, or an
    /// error if the target has [refused](Error::Refused) it.
    ///
    /// # Errors
    /// As for [`put_bytes`](Self::put_bytes).
    pub fn put_owned(&self, to: RemoteMemory, data: Vec<u8>) -> Result<Pending<Vec<u8>>> {
        fits(to, data.len())?;
        self.check_own(Access::Put, to, data.len())?;
        let source = Source::Contiguous(data.as_ptr(), data.len() as u64);
        let (pending, finish) = Pending::new(self, data);
        let args = PutArgs {
            target: to.task,
            remote: to.addr,
            source,
            target_counter: 0,
            origin: Notify::None,
            completion: Notify::Dyn(finish),
            checked: true,
        };
        // SAFETY: the completion owns the data until it is at the target; the target checks the
        // range.
        unsafe { self.put(args)? };
        Ok(pending)
    }

    /// Reads a task's memory into `into`.
    ///
    /// # Errors
    /// `into` is longer than the memory; the target is down, or [refuses](Error::Refused); the call
    /// was made from within a handler that runs inline, and the memory is not mapped here.
    #[inline(always)]
    pub fn get_bytes(&self, from: RemoteMemory, into: &mut [u8]) -> Result<()> {
        self.usable()?;
        fits(from, into.len())?;
        self.check_own(Access::Get, from, into.len())?;
        if let Some(at) = self.direct(from.task, from.addr, into.len() as u64) {
            // SAFETY: the window is mapped as long as the context lives; its memory is the target's
            // to give out.
            unsafe { copy_watched(at, into.as_mut_ptr(), into.len()) };
            return Ok(());
        }
        self.get_far(from, into)
    }

    #[inline(never)]
    fn get_far(&self, from: RemoteMemory, into: &mut [u8]) -> Result<()> {
        self.may_wait("get_bytes")?;
        let done = Flag::new();
        let args = GetArgs {
            target: from.task,
            remote: from.addr,
            len: into.len() as u64,
            destination: Destination::Contiguous(NonNull::from(&mut *into).cast()),
            target_counter: 0,
            origin: done.notify(),
            checked: true,
        };
        // SAFETY: this call waits until the flag says that the data has come; the target checks the
        // range.
        unsafe { self.get_by_transport(args, Bulk::AsConfigured)? };
        self.settle(&done, from.task)
    }

    /// Reads all of a remote memory. The result is an error if the target has
    /// [refused](Error::Refused).
    ///
    /// # Errors
    /// The target is down.
    pub fn get_owned(&self, from: RemoteMemory) -> Result<Pending<Vec<u8>>> {
        self.check_own(Access::Get, from, from.len as usize)?;
        let mut data = vec![0; from.len as usize];
        let destination = Destination::Contiguous(NonNull::from(data.as_mut_slice()).cast());
        let (pending, finish) = Pending::new(self, data);
        let args = GetArgs {
            target: from.task,
            remote: from.addr,
            len: from.len,
            destination,
            target_counter: 0,
            origin: Notify::Dyn(finish),
            checked: true,
        };
        // SAFETY: the completion owns the buffer until the data has come; the target checks the
        // range.
        unsafe { self.get(args)? };
        Ok(pending)
    }

    /// Adds `operand` to the 64-bit variable at the beginning of `variable`, wrapping around;
    /// returns its previous value.
    ///
    /// # Errors
    /// `variable` is shorter than 8 bytes or not aligned to 8; the target is down, or
    /// [refuses](Error::Refused); the call was made from within a handler that runs inline, and the
    /// variable is not mapped here.
    #[doc(alias = "FETCH_AND_ADD")]
    #[inline]
    pub fn fetch_add(&self, variable: RemoteMemory, operand: u64) -> Result<u64> {
        self.atomic(variable, RmwOp::FetchAndAdd, operand, 0)
    }

    /// Replaces the 64-bit variable by its bitwise OR with `operand`; returns its previous value.
    ///
    /// # Errors
    /// As for [`fetch_add`](Self::fetch_add).
    #[doc(alias = "FETCH_AND_OR")]
    pub fn fetch_or(&self, variable: RemoteMemory, operand: u64) -> Result<u64> {
        self.atomic(variable, RmwOp::FetchAndOr, operand, 0)
    }

    /// Replaces the 64-bit variable by `value`; returns its previous value.
    ///
    /// # Errors
    /// As for [`fetch_add`](Self::fetch_add).
    #[doc(alias = "SWAP")]
    pub fn swap(&self, variable: RemoteMemory, value: u64) -> Result<u64> {
        self.atomic(variable, RmwOp::Swap, value, 0)
    }

    /// Replaces the 64-bit variable by `value` if it equals `expected`. Returns its previous value:
    /// the replacement took place if that equals `expected`.
    ///
    /// # Errors
    /// As for [`fetch_add`](Self::fetch_add).
    #[doc(alias = "COMPARE_AND_SWAP")]
    pub fn compare_and_swap(&self, variable: RemoteMemory, expected: u64, value: u64) -> Result<u64> {
        let seen = self.atomic(variable, RmwOp::CompareAndSwap, value, expected)?;
        if seen != expected {
            self.shared.status.swap_failed(variable.task, variable.addr);
        }
        Ok(seen)
    }

    /// Refuses addresses of this task's own memory that it does not share with others, although all
    /// of its memory is mapped. Other tasks check theirs themselves.
    #[inline(always)]
    fn check_own(&self, access: Access, memory: RemoteMemory, len: usize) -> Result<()> {
        if memory.task == self.task() { self.check_given(access, memory, len as u64) } else { Ok(()) }
    }

    #[inline(never)]
    fn check_given(&self, access: Access, memory: RemoteMemory, len: u64) -> Result<()> {
        let RemoteMemory { task, addr, .. } = memory;
        if self.locked().regions.hold(addr, len) {
            return Ok(());
        }
        Err(Refusal { task, access, addr, len, reason: Reason::Outside }.into())
    }

    #[inline]
    fn atomic(&self, variable: RemoteMemory, op: RmwOp, operand: u64, compare: u64) -> Result<u64> {
        self.usable()?;
        fits(variable, 8)?;
        self.check_own(Access::Atomic, variable, 8)?;
        if variable.addr.is_multiple_of(8)
            && let Some(at) = self.direct(variable.task, variable.addr, 8)
        {
            // SAFETY: the window is mapped as long as the context lives, and begins on a page, so
            // that alignment there is alignment here.
            return Ok(unsafe { local_rmw(at, 8, op, operand, compare) });
        }
        self.atomic_far(variable, op, operand, compare)
    }

    #[inline(never)]
    fn atomic_far(&self, variable: RemoteMemory, op: RmwOp, operand: u64, compare: u64) -> Result<u64> {
        self.may_wait("an atomic operation")?;
        let mut previous = 0u64;
        let done = Flag::new();
        let args = RmwArgs {
            target: variable.task,
            op,
            width: 8,
            remote: variable.addr,
            operand,
            compare,
            previous: (&raw mut previous).cast(),
            swap_answers_success: false,
            origin: done.notify(),
            checked: true,
        };
        // SAFETY: this call waits until the flag says that the answer has come; the target checks
        // the variable.
        unsafe { self.rmw_by_message(args)? };
        self.settle(&done, variable.task)?;
        // SAFETY: a local variable, written through the pointer above.
        Ok(unsafe { (&raw const previous).read() })
    }

    /// Waits for the flag of an operation on borrowed memory, whatever happens meanwhile: the
    /// borrow ends with the call.
    #[inline(always)]
    fn settle(&self, done: &Flag, target: PeerId) -> Result<()> {
        if !done.is_raised() {
            self.settle_slow(done, target);
        }
        done.outcome()
    }

    #[cold]
    fn settle_slow(&self, done: &Flag, target: PeerId) {
        while !done.is_raised() {
            // The death of another task does not free the memory; the target's own death raises the
            // flag.
            if self.wait_until_by(target, || done.is_raised()).is_err() {
                let _ = self.progress();
                // Another thread that ends the context raises it when all links are closed.
                std::thread::yield_now();
            }
        }
    }
}

#[inline(always)]
fn fits(memory: RemoteMemory, len: usize) -> Result<()> {
    if len as u64 <= memory.len {
        return Ok(());
    }
    Err(Error::DataLength { len: len as u64, max: memory.len })
}
