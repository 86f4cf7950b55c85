//! Messages between the libraries of two processes. Numbers are 64-bit words.
//!
//! | message | user header | data |
//! |---|---|---|
//! | put | origin, handle, destination | the bytes |
//! | fetch | handle, destination, source, length | |
//! | done | handle, error or 0 | |
//! | atomic | handle, variable, operator and width, operand, comparand | |
//! | result | handle, previous value, error or 0 | |
//! | allocate | question, size | |
//! | free | question, address | |
//! | answer | question, value, error or 0 | |
//!
//! and those of tables (`data/table_messages.rs`), segmented buffers (`segbuf.rs`), channels
//! (`channel_messages.rs`) and of who waits for long (`waits.rs`). Header handlers only note; what
//! has to be sent is sent by completion handlers.

use crate::error::{Error, Result, of_core};
use crate::messages::{on, send, send_words, send_words_by, then, words_of};
use crate::operation::{Atomic, Operator, Place, apply, move_bytes, store};
use crate::process::Process;
use crate::regions::Region;
use lapis_core::message::{AmSend, Destination};
use lapis_core::{CompletionHandler, Delivery, HandlerId, Incoming, Notify, Source};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

const PUT: HandlerId = HandlerId(1);
pub(crate) const FETCH: HandlerId = HandlerId(2);
const DONE: HandlerId = HandlerId(3);
pub(crate) const ATOMIC: HandlerId = HandlerId(4);
const RESULT: HandlerId = HandlerId(5);
const ALLOCATE: HandlerId = HandlerId(6);
const FREE: HandlerId = HandlerId(7);
const ANSWER: HandlerId = HandlerId(8);

/// Sends bytes to where they belong, for an operation of this process. `memory` is what they are
/// in, if it was registered: it is kept until nothing is sent again from there, which may be after
/// the operation has ended.
///
/// # Safety
/// The bytes stay valid as long as `memory` is, or until the job ends.
pub(crate) unsafe fn put(
    process: &Process,
    task: u32,
    handle: u64,
    dst: u64,
    bytes: (*const u8, u64),
    memory: Option<Arc<Region>>,
) -> Result {
    let origin = u64::from(process.context.task());
    let kept = memory.map_or(Notify::None, |memory| {
        Notify::Dyn(Box::new(move |_: u32, _: std::result::Result<(), lapis_core::Error>| drop(memory)))
    });
    // SAFETY: the notification owns what the bytes are in; a block lasts until the job ends.
    unsafe {
        send(process, task, PUT, [origin, handle, dst], bytes, kept, process.colours.preferred_rail(dst))
    }
}

/// Sends bytes to where they belong, for an operation of another process. It is told if they don't
/// come there: nothing else tells it that these two have lost each other.
///
/// # Safety
/// The bytes stay valid as long as `kept` is.
unsafe fn put_for(
    process: &'static Process,
    task: u32,
    (origin, handle, dst): (u32, u64, u64),
    (data, len): (*const u8, u64),
    colour: Option<u8>,
    kept: impl Send + 'static,
) -> Result {
    let ended = move |_: u32, outcome: std::result::Result<(), lapis_core::Error>| {
        drop(kept);
        if outcome.is_err() {
            // A notification sends nothing itself.
            process.context.run_on_handler_thread(CompletionHandler::Closure(Box::new(move |_| {
                tell(process, origin, handle, Err(Error::Peer));
            })));
        }
    };
    let words = [u64::from(origin), handle, dst].map(u64::to_le_bytes);
    let message = AmSend {
        target: task,
        handler: u64::from(PUT.0),
        user_header: words.as_flattened(),
        source: Source::Contiguous(data, len),
        target_counter: 0,
        origin: Notify::None,
        completion: Notify::Dyn(Box::new(ended)),
    };
    // SAFETY: the bytes stay readable until the notification is called, which owns `kept`, and that
    // is when nothing reads them any more; handlers come from the table.
    unsafe { process.context.am_send_over(message, colour) }.map_err(of_core)
}

/// Registers what happens when these messages arrive.
pub(crate) fn install(process: &'static Process) -> lapis_core::Result<()> {
    on(process, PUT, put_arrived)?;
    on(process, FETCH, fetch_arrived)?;
    on(process, DONE, done_arrived)?;
    on(process, ATOMIC, atomic_arrived)?;
    on(process, RESULT, result_arrived)?;
    on(process, ALLOCATE, allocate_arrived)?;
    on(process, FREE, free_arrived)?;
    on(process, ANSWER, answer_arrived)
}

/// Tells an operation's origin how it ended.
fn tell(process: &'static Process, origin: u32, handle: u64, outcome: Result) {
    if origin == process.context.task() {
        let mut next = VecDeque::new();
        process.order.end(handle, outcome, |_, _| {}, &mut next);
        process.work(next);
        return;
    }
    // An origin that is gone needs no answer.
    let _ = send_words(process, origin, DONE, [handle, outcome.map_or_else(Error::code, |()| 0)]);
}

fn put_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [origin, handle, dst] = words_of(message.user_header)?;
    let origin = u32::try_from(origin).ok().filter(|task| *task < process.context.tasks())?;
    let (to, region) = match process.place(dst, message.len) {
        Ok(Place::Near(to, region)) => (to, region),
        Ok(Place::Far(_)) | Err(_) => {
            refused(process, "the destination of a copy", dst, message.len, origin);
            return Some(then(move || tell(process, origin, handle, Err(Error::Address))));
        }
    };
    if let Some(data) = message.data() {
        // SAFETY: the place has this length, and the region is kept until the end of this.
        unsafe { move_bytes(to, data.as_ptr(), data.len()) };
        return Some(then(move || tell(process, origin, handle, Ok(()))));
    }
    let into = NonNull::new(to).map_or(Destination::Discard, |to| Destination::Contiguous(to.cast()));
    let ended = then(move || {
        drop(region);
        tell(process, origin, handle, Ok(()));
    });
    Some(Delivery { into, ..ended })
}

fn refused(process: &Process, what: &str, address: u64, len: u64, origin: u32) {
    let position = process.world().space.position(address);
    tracing::error!(target: "lapis::acp", origin, position, len, "{what} is not registered here: nothing is done");
}

fn fetch_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [handle, dst, src, len] = words_of(message.user_header)?;
    let origin = message.source;
    Some(then(move || {
        if let Err(error) = serve_fetch(process, origin, handle, dst, (src, len)) {
            tell(process, origin, handle, Err(error));
        }
    }))
}

/// Copies that are no longer are made here, not by core: the library's own structures are shorter,
/// and are read while others write them.
const READ_HERE: u64 = 1024;

/// Reads global memory for others, while whoever may write it does: whoever asked finds that out.
/// Nothing else is done here, for ThreadSanitizer leaves out what is (`tests/tsan`).
///
/// # Safety
/// As for [`move_bytes`].
#[inline(never)]
unsafe fn read_for_others(to: *mut u8, from: *const u8, len: u64) {
    // SAFETY: both are valid for `len` bytes, as the caller promises.
    unsafe { move_bytes(to, from, len as usize) };
}

fn serve_fetch(
    process: &'static Process,
    origin: u32,
    handle: u64,
    dst: u64,
    (src, len): (u64, u64),
) -> Result {
    let Ok(Place::Near(from, region)) = process.place(src, len) else {
        refused(process, "the source of a copy", src, len, origin);
        return Err(Error::Address);
    };
    // Of the memory that is remote to the origin.
    let colour = |task| process.colours.preferred_rail(if task == origin { src } else { dst });
    match process.place(dst, len) {
        Ok(Place::Near(to, _region)) => {
            // SAFETY: both places have this length and are kept meanwhile.
            unsafe { read_for_others(to, from, len) };
            tell(process, origin, handle, Ok(()));
            Ok(())
        }
        Ok(Place::Far(task)) if len <= READ_HERE => {
            // Words, so that those of the source are read in one piece.
            let mut words = vec![0_u64; len.div_ceil(8) as usize];
            let (to, bytes) = (words.as_mut_ptr().cast(), (words.as_ptr().cast(), len));
            // SAFETY: the vector has room for the bytes, and the region is kept meanwhile.
            unsafe { read_for_others(to, from, len) };
            // SAFETY: the words stay where they are when the vector moves, and live as long as it.
            unsafe { put_for(process, task, (origin, handle, dst), bytes, colour(task), words) }
        }
        // SAFETY: the message keeps the region; a block lasts.
        Ok(Place::Far(task)) => unsafe {
            put_for(process, task, (origin, handle, dst), (from, len), colour(task), region)
        },
        Err(error) => {
            refused(process, "the destination of a copy", dst, len, origin);
            Err(error)
        }
    }
}

/// Ends an operation of this process, and lets those begin that wait for it.
fn ended(process: &'static Process, handle: u64, outcome: Result, put: impl FnOnce(usize, u32)) -> Delivery {
    let mut next = VecDeque::new();
    process.order.end(handle, outcome, put, &mut next);
    if next.is_empty() { Delivery::bury() } else { then(move || process.work(next)) }
}

fn done_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [handle, code] = words_of(message.user_header)?;
    Some(ended(process, handle, Error::of_code(code), |_, _| {}))
}

fn atomic_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [handle, variable, kind, operand, compare] = words_of(message.user_header)?;
    let (operator, width) = (Operator::of(kind & 0xff)?, (kind >> 8) as u32);
    if !matches!(width, 4 | 8) || !variable.is_multiple_of(u64::from(width)) {
        return None;
    }
    let origin = message.source;
    let (previous, code) = match process.place(variable, u64::from(width)) {
        Ok(Place::Near(at, _region)) => {
            // SAFETY: the place has this width and is aligned as its address is.
            (unsafe { apply(at, Atomic { operator, width, operand, compare }) }, 0)
        }
        Ok(Place::Far(_)) | Err(_) => {
            refused(process, "the variable of an atomic operation", variable, u64::from(width), origin);
            (0, Error::Address.code())
        }
    };
    Some(then(move || {
        let colour = process.colours.preferred_rail(variable);
        let _ = send_words_by(process, origin, RESULT, [handle, previous, code], colour);
    }))
}

fn result_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [handle, previous, code] = words_of(message.user_header)?;
    Some(ended(process, handle, Error::of_code(code), |at, width| {
        // SAFETY: the operation's entry says where, and keeps the memory.
        unsafe { store(std::ptr::with_exposed_provenance_mut(at), width, previous) };
    }))
}

fn allocate_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [question, size] = words_of(message.user_header)?;
    let answer = process.allocate_here(size);
    Some(then_answer(process, message.source, question, answer))
}

fn free_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [question, address] = words_of(message.user_header)?;
    let answer = process.free_here(address).map(|()| 0);
    Some(then_answer(process, message.source, question, answer))
}

fn then_answer(process: &'static Process, to: u32, question: u64, answer: Result<u64>) -> Delivery {
    then(move || {
        let (value, code) = answer.map_or_else(|error| (0, error.code()), |value| (value, 0));
        let _ = send_words(process, to, ANSWER, [question, value, code]);
    })
}

fn answer_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [question, value, code] = words_of(message.user_header)?;
    process.requests.answer(question, Error::of_code(code).map(|()| value));
    Some(Delivery::bury())
}

/// Asks for memory, or gives it back.
impl Process {
    fn allocate_here(&self, size: u64) -> Result<u64> {
        let offset = self.heap().allocate(size).ok_or(Error::Memory)?;
        let world = self.world();
        world.heap_address(world.rank, offset)
    }

    fn free_here(&self, address: u64) -> Result {
        let world = self.world();
        let offset = address.checked_sub(world.heap_address(world.rank, 0)?).ok_or(Error::Address)?;
        if self.heap().free(offset) { Ok(()) } else { Err(Error::Address) }
    }

    /// Takes memory from a process's heap.
    pub(crate) fn allocate(&self, size: u64, rank: u32) -> Result<u64> {
        let world = self.world();
        let task = world.block(rank)?.task;
        if rank == world.rank {
            return self.allocate_here(size);
        }
        self.ask(task, ALLOCATE, size)
    }

    /// Asks another process to do something with its heap, and waits for the answer.
    fn ask(&self, task: u32, what: HandlerId, word: u64) -> Result<u64> {
        let question = self.requests.ask(task);
        if let Err(error) = send_words(self, task, what, [question, word]) {
            self.requests.answer(question, Err(error));
        }
        let mut answer = None;
        self.wait(
            || vec![task],
            || {
                answer = self.requests.take(question);
                answer.is_some()
            },
        )?;
        answer.unwrap_or(Err(Error::Internal))
    }

    /// Gives memory back to the heap that it came from. Whoever has it answers: the memory can be
    /// had again afterwards, and no message that says so comes later and finds it given again.
    pub(crate) fn free(&self, address: u64) -> Result {
        let world = self.world();
        let rank = world.rank_of(address)?;
        if rank == world.rank {
            return self.free_here(address);
        }
        self.ask(world.block(rank)?.task, FREE, address).map(drop)
    }
}
