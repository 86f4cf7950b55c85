//! Lapis for Rust programs: active messages, one-sided transfers and remote atomics between the
//! tasks of a parallel job.
//!
//! Start the tasks with `lapirun -n 4 program`; each calls [`init`] and addresses the others by
//! number. A program outside of the installed tree finds the transports' plugins by
//! `LAPIS_TRANSPORT_PATH`.
//!
//! ```
//! use lapis::{Delivery, HandlerId};
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::sync::Arc;
//!
//! const ADD: HandlerId = HandlerId(1);
//!
//! let context = lapis::init()?; // A program that nobody launched is a job of one task.
//! let sum = Arc::new(AtomicU64::new(0));
//! let here = sum.clone();
//! context.set_handler(ADD, move |_, message| {
//!     here.fetch_add(message.data().map_or(0, |d| d[0].into()), Ordering::Relaxed);
//!     Delivery::bury()
//! })?;
//! context.gfence()?; // All tasks have registered.
//! for task in 0..context.tasks() {
//!     context.send(task, ADD, &[], &[task as u8 + 1])?;
//! }
//! context.gfence()?; // Everything has arrived everywhere.
//! let tasks = u64::from(context.tasks());
//! assert_eq!(sum.load(Ordering::Relaxed), tasks * (tasks + 1) / 2);
//! # Ok::<(), lapis::Error>(())
//! ```
//!
//! Other tasks reach memory of [`Context::alloc`] directly if they share it:
//!
//! ```
//! let context = lapis::init()?;
//! let memory = context.alloc(8)?;
//! let next = (context.task() + 1) % context.tasks();
//! let all = context.all_gather(&memory.remote().to_bytes())?;
//! let theirs = lapis::RemoteMemory::from_bytes(all.chunks_exact(20).nth(next as usize).unwrap().try_into().unwrap());
//! let ticket = context.fetch_add(theirs, 1)?;
//! assert_eq!(ticket, 0);
//! # Ok::<(), lapis::Error>(())
//! ```
//!
//! Operations that own their data can be awaited, by any executor:
//!
//! ```
//! # use std::task::{Context as Polled, Poll, Waker};
//! # fn block_on<T>(future: impl Future<Output = T>) -> T {
//! #     let mut future = std::pin::pin!(future);
//! #     loop {
//! #         if let Poll::Ready(value) = future.as_mut().poll(&mut Polled::from_waker(Waker::noop())) {
//! #             return value;
//! #         }
//! #     }
//! # }
//! use lapis::{Delivery, HandlerId};
//!
//! let context = lapis::init()?;
//! context.set_handler(HandlerId(1), |_, _| Delivery::bury())?;
//! context.gfence()?;
//! block_on(async {
//!     let next = (context.task() + 1) % context.tasks();
//!     let buffer = context.send_and_confirm(next, HandlerId(1), &[], vec![7; 5000])?.await?; // It has been handled.
//!     assert_eq!(buffer.len(), 5000);
//!     Ok::<(), lapis::Error>(())
//! })?;
//! context.gfence()?;
//! # Ok::<(), lapis::Error>(())
//! ```
//!
//! `examples/rust/src/bin/awaiting.rs` is a whole program. Data that is not contiguous is sent and
//! received through [`layouts`].

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod layouts;

/// Everything else: transports, configuration, bootstrap, the raw operations.
pub use lapis_core as core;
pub use lapis_core::{
    Attached, Completion, CompletionHandler, Context, ContextBuilder, Counter, Delivery, Destination, Error,
    HandlerId, Incoming, LapiCode, Memory, MemoryRegion, Notify, Pending, RegisteredMemory, RemoteMemory,
    Result, Run, Source,
};

/// Joins the job that the environment announces, with the configuration that the environment gives.
/// A program that no launcher started is a job of one task.
///
/// # Errors
/// See [`ContextBuilder::init`].
pub fn init() -> Result<Context> {
    builder().init()
}

/// Begins to set up a context that knows the transports of Lapis. Messages of a task to itself go
/// over the built-in one.
pub fn builder() -> ContextBuilder {
    Context::builder().transport(lapis_loopback::table()).know(lapis_standard::TRANSPORTS)
}

/// A registry that knows the transports of Lapis, as [`builder`]'s contexts do: for programs that
/// inspect transports without joining a job.
pub fn registry() -> core::transport::Registry {
    let mut registry = core::transport::Registry::new();
    registry.register(lapis_loopback::table()).know(lapis_standard::TRANSPORTS);
    registry
}
