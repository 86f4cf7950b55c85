//! Non-contiguous data: sent from any layout, received into any layout, combined on arrival.
//!
//! A [`Layout`] says which bytes, in which order; [`Registered`] is its compiled form, created once
//! and used often. The layouts of sender and receiver need not be equal: the bytes of a message are
//! read in the order of the sender's layout, and stored in the order of the receiver's.
//!
//! ```
//! use lapis::HandlerId;
//! use lapis::layouts::{self, Layout, Layouts, Registered};
//! use std::sync::{Arc, mpsc};
//!
//! const COLUMN: HandlerId = HandlerId(1);
//!
//! // A row of 4 × 4 numbers becomes a column there.
//! let number = Layout::bytes(8)?;
//! let row = Registered::new(Layout::contiguous(4, &number)?.compile()?)?;
//! let column = Arc::new(Registered::new(Layout::vector(4, 1, 4, &number)?.compile()?)?);
//!
//! let context = lapis::init()?;
//! let (keep, kept) = mpsc::channel();
//! context.set_handler(COLUMN, move |context, message| {
//!     let keep = keep.clone();
//!     layouts::receive(context, message, &column, vec![0u64; 16], 1, move |matrix| {
//!         let _ = keep.send(matrix);
//!     })
//! })?;
//! context.gfence()?;
//! let matrix: Vec<u64> = (0..16).collect();
//! context.send_layout(context.task(), COLUMN, &[], &row, &matrix, 4, 32)?;
//! context.gfence()?;
//! assert_eq!(kept.try_recv()?, [0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use lapis_dgsp::ddm::{Accumulate, Ddm, Operand, Operation};
pub use lapis_dgsp::{Density, Descriptor, Dim, Distribution, Layout, Order, Registered};

use lapis_core::message::{Destination, Gather, MAX_MESSAGE, Scatter, Source};
use lapis_core::transport::PeerId;
use lapis_core::{
    CompletionHandler, Context, Delivery, Error, HandlerId, Incoming, LapiCode, Memory, Result, Run,
};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Sending from layouts.
pub trait Layouts {
    /// Sends an active message with the first `len` bytes that `layout` selects, applied to
    /// `memory` at element `origin`. Returns when `memory` may be changed.
    ///
    /// If the layout repeats, all of its applications, including a complete last one, must lie in
    /// the memory.
    ///
    /// # Errors
    /// As for [`Context::send`]; the layout exceeds the memory, or can't be sent because it has
    /// CONTROL.
    #[allow(clippy::too_many_arguments, reason = "a message and a layout")]
    fn send_layout<T: IntoBytes + Immutable>(
        &self,
        target: PeerId,
        handler: HandlerId,
        user_header: &[u8],
        layout: &Registered,
        memory: &[T],
        origin: usize,
        len: u64,
    ) -> Result<()>;

    /// The same from memory that other tasks can reach; `origin` is an offset in bytes.
    ///
    /// # Errors
    /// As for [`send_layout`](Self::send_layout).
    #[allow(clippy::too_many_arguments, reason = "a message and a layout")]
    fn send_layout_of(
        &self,
        target: PeerId,
        handler: HandlerId,
        user_header: &[u8],
        layout: &Registered,
        memory: &Memory,
        origin: usize,
        len: u64,
    ) -> Result<()>;
}

impl Layouts for Context {
    fn send_layout<T: IntoBytes + Immutable>(
        &self,
        target: PeerId,
        handler: HandlerId,
        user_header: &[u8],
        layout: &Registered,
        memory: &[T],
        origin: usize,
        len: u64,
    ) -> Result<()> {
        let at = origin.saturating_mul(size_of::<T>());
        let source = source(layout, memory.as_ptr().cast(), size_of_val(memory), at, len)?;
        // SAFETY: layout and memory are borrowed for as long as the call takes, and the layout was
        // found to keep within.
        unsafe { self.send_source(target, handler, user_header, source) }
    }

    fn send_layout_of(
        &self,
        target: PeerId,
        handler: HandlerId,
        user_header: &[u8],
        layout: &Registered,
        memory: &Memory,
        origin: usize,
        len: u64,
    ) -> Result<()> {
        let source = source(layout, memory.as_ptr(), memory.len(), origin, len)?;
        // SAFETY: layout and memory are borrowed for as long as the call takes, and the layout was
        // found to keep within.
        unsafe { self.send_source(target, handler, user_header, source) }
    }
}

/// The result of a header handler that scatters the message into `memory`, to which `layout` is
/// applied at element `origin`. When all data has arrived, `memory` is passed to `keep`, in the
/// receiving thread: `keep` should be short and must make no calls to Lapis.
///
/// A message that does not fit is discarded and reported to the error handler: `keep` never runs.
pub fn receive<T>(
    context: &Context,
    message: &Incoming<'_>,
    layout: &Arc<Registered>,
    mut memory: Vec<T>,
    origin: usize,
    keep: impl FnOnce(Vec<T>) + Send + 'static,
) -> Delivery
where
    T: IntoBytes + FromBytes + Send + 'static,
{
    let at = origin.saturating_mul(size_of::<T>());
    // The elements of a vector stay where they are when the vector moves.
    let base = memory.as_mut_ptr().cast();
    let size = size_of_val(&*memory);
    let Some(target) = target(context, message, layout, (base, size), at, None, None) else {
        return Delivery::bury();
    };
    Delivery {
        into: Destination::Scatter(Box::new(target)),
        drop: false,
        completion: Some(CompletionHandler::Closure(Box::new(move |_| keep(memory)))),
        run: Run::Inline,
    }
}

/// The result of a header handler that scatters the message in place into memory that other tasks
/// can reach; `origin` is an offset in bytes. [`Delivery::then`] adds a completion handler.
///
/// The context owns its handlers and the memory refers to its context: the handler should hold the
/// memory by a weak reference.
///
/// A message that does not fit is discarded and reported to the error handler.
pub fn receive_into(
    context: &Context,
    message: &Incoming<'_>,
    layout: &Arc<Registered>,
    memory: &Arc<Memory>,
    origin: usize,
) -> Delivery {
    into_memory(context, message, layout, memory, origin, None)
}

/// Like [`receive_into`], but data that `layout` has under CONTROL goes through `combine`, for
/// instance [`Accumulate`]. The layout comes from [`Descriptor::under_control`], and the
/// sender's [`Descriptor`] must have the same `atom_size`.
pub fn combine_into(
    context: &Context,
    message: &Incoming<'_>,
    layout: &Arc<Registered>,
    memory: &Arc<Memory>,
    origin: usize,
    combine: impl Ddm + Send + 'static,
) -> Delivery {
    into_memory(context, message, layout, memory, origin, Some(Box::new(combine)))
}

type Combine = Box<dyn Ddm + Send>;

fn into_memory(
    context: &Context,
    message: &Incoming<'_>,
    layout: &Arc<Registered>,
    memory: &Arc<Memory>,
    origin: usize,
    combine: Option<Combine>,
) -> Delivery {
    let place = (memory.as_ptr(), memory.len());
    let keep = Some(Arc::clone(memory));
    let Some(target) = target(context, message, layout, place, origin, keep, combine) else {
        return Delivery::bury();
    };
    Delivery { into: Destination::Scatter(Box::new(target)), ..Delivery::bury() }
}

fn source(layout: &Registered, base: *const u8, size: usize, origin: usize, len: u64) -> Result<Source> {
    if len > MAX_MESSAGE {
        return Err(Error::DataLength { len, max: MAX_MESSAGE });
    }
    if layout.has_control() {
        return Err(refusal(LapiCode::ERR_DGSP_CTL, "CONTROL has no meaning at the origin".into()));
    }
    check_range(layout, size, origin, len)?;
    // Within the memory, which the range says unless there are no bytes at all.
    let base = base.wrapping_add(origin);
    match layout.contiguous(len) {
        Some(offset) if layout.descriptor().atom_size == 0 => {
            Ok(Source::Contiguous(base.wrapping_offset(offset as isize), len))
        }
        _ => Ok(Source::Gather(Box::new(Borrowed { layout: NonNull::from(layout), base }), len)),
    }
}

/// Whether the applications that `len` bytes concern lie in memory of `size` bytes.
fn check_range(layout: &Registered, size: usize, origin: usize, len: u64) -> Result<()> {
    let (Some(span), Some((lo, hi))) = (layout.span(), layout.reach(len)) else {
        let problem = "the program's control flow is not sound; Registered::verified says where".into();
        return Err(refusal(LapiCode::ERR_DGSP_OTHER, problem));
    };
    if span.size == 0 && len > 0 {
        let problem = format!("the layout moves no bytes, but the message has {len}");
        return Err(refusal(LapiCode::ERR_DGSP_OTHER, problem));
    }
    let (lo, hi) = (lo + origin as i128, hi + origin as i128);
    if len > 0 && (lo < 0 || hi > size as i128) {
        let problem = format!("{len} bytes reach from byte {lo} to {hi} of memory of {size} bytes");
        return Err(refusal(LapiCode::ERR_DGSP_OTHER, problem));
    }
    Ok(())
}

fn refusal(code: LapiCode, problem: String) -> Error {
    Error::Dgsp { problem, code }
}

/// A layout and memory that outlive the call that sends from them.
struct Borrowed {
    layout: NonNull<Registered>,
    base: *const u8,
}

// SAFETY: the sender waits until this is gone.
unsafe impl Send for Borrowed {}

impl Gather for Borrowed {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        // SAFETY: the sender waits, and has found the layout to keep within the memory.
        let read = unsafe { self.layout.as_ref().pack_into(self.base, position, out) };
        debug_assert!(read.is_ok_and(|n| n == out.len()), "checked before the message began");
    }

    fn atom(&self) -> u64 {
        // SAFETY: the sender waits, and keeps the layout meanwhile.
        unsafe { self.layout.as_ref() }.descriptor().atom_size.max(1) as u64
    }

    fn local(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// Where a message goes. Whoever made it checked that the message's bytes lie in the memory.
struct Target {
    context: Context,
    source: PeerId,
    layout: Arc<Registered>,
    base: *mut u8,
    /// Keeps the memory, unless the completion handler does.
    _memory: Option<Arc<Memory>>,
    combine: Option<Combine>,
    failed: bool,
}

// SAFETY: the memory is this message's until it has arrived, or is shared by its nature.
unsafe impl Send for Target {}

fn target(
    context: &Context,
    message: &Incoming<'_>,
    layout: &Arc<Registered>,
    (base, size): (*mut u8, usize),
    origin: usize,
    memory: Option<Arc<Memory>>,
    combine: Option<Combine>,
) -> Option<Target> {
    let sound = check_range(layout, size, origin, message.len).and_then(|()| {
        let atom = layout.descriptor().atom_size;
        if layout.has_control() && (combine.is_none() || atom == 0) {
            let problem = "CONTROL needs combine_into and an atom size".into();
            return Err(refusal(LapiCode::ERR_DGSP_CTL, problem));
        }
        Ok(())
    });
    if let Err(error) = sound {
        complain(context, message.source, error);
        return None;
    }
    Some(Target {
        context: context.clone(),
        source: message.source,
        layout: Arc::clone(layout),
        base: base.wrapping_add(origin),
        _memory: memory,
        combine,
        failed: false,
    })
}

impl Scatter for Target {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        if self.failed || bytes.is_empty() {
            return;
        }
        // SAFETY: the bytes were found to lie in the memory, which this value or the completion
        // handler keeps.
        let stored = unsafe {
            match &self.combine {
                Some(combine) => self.layout.unpack_with(self.base, position, bytes, &**combine),
                None => self.layout.unpack_from(self.base, position, bytes),
            }
        };
        self.note(stored);
    }

    unsafe fn fetch(&mut self, position: u64, from: &dyn Any, len: u64) -> bool {
        let Some(origin) = from.downcast_ref::<Borrowed>() else { return false };
        // SAFETY: the sender waits.
        let (src, dst) = (unsafe { origin.layout.as_ref() }, &*self.layout);
        let known = src.is_compiled() && dst.is_compiled() && !self.failed;
        // The memory of both may be the same.
        if !known || !lapis_dgsp::apart(src, origin.base, dst, self.base, position + len) {
            return false;
        }
        // SAFETY: the sender waits and has checked its side, whoever made this checked the other,
        // and they were just found to have no byte in common.
        let stored =
            unsafe { lapis_dgsp::copy(src, origin.base, position, dst, self.base, position, len as usize) };
        self.note(stored);
        true
    }
}

impl Target {
    fn note(&mut self, stored: std::result::Result<usize, lapis_dgsp::Error>) {
        if let Err(error) = stored {
            self.failed = true;
            let code = LapiCode::from_i32(error.code as i32).unwrap_or(LapiCode::ERR_DGSP_OTHER);
            complain(&self.context, self.source, refusal(code, error.to_string()));
        }
    }
}

/// Tells the error handler, but not from within the dispatcher.
fn complain(context: &Context, source: PeerId, error: Error) {
    let raise = move |context: &Context| context.raise(error, source);
    context.run_on_handler_thread(CompletionHandler::Closure(Box::new(raise)));
}
