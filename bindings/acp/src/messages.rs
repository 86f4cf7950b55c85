//! Sending messages between the libraries of two processes, and dispatching them on arrival,
//! whatever their contents.

use crate::error::{Result, of_core};
use crate::process::Process;
use lapis_core::message::{AmSend, Destination};
use lapis_core::{CompletionHandler, Delivery, HandlerId, Incoming, Notify, Run, Source};
use std::ptr::{NonNull, null};

/// The words of a header. `None`: there are fewer.
pub(crate) fn words_of<const N: usize>(header: &[u8]) -> Option<[u64; N]> {
    let mut words = [0; N];
    for (at, place) in words.iter_mut().enumerate() {
        *place = u64::from_le_bytes(header.get(at * 8..at * 8 + 8)?.try_into().ok()?);
    }
    Some(words)
}

/// Sends words alone. May be called from completion handlers.
pub(crate) fn send_words<const N: usize>(
    process: &Process,
    task: u32,
    handler: HandlerId,
    words: [u64; N],
) -> Result {
    send_header(process, task, handler, words.map(u64::to_le_bytes).as_flattened())
}

/// Sends a header alone, of a multiple of 4 bytes. May be called from completion handlers.
pub(crate) fn send_header(process: &Process, task: u32, handler: HandlerId, header: &[u8]) -> Result {
    // SAFETY: there is no data.
    unsafe { send_all(process, task, handler, header, (null(), 0), Notify::None, None) }
}

/// Sends words alone, for an access of a colour. May be called from completion handlers.
pub(crate) fn send_words_by<const N: usize>(
    process: &Process,
    task: u32,
    handler: HandlerId,
    words: [u64; N],
    colour: Option<u8>,
) -> Result {
    // SAFETY: there is no data.
    unsafe { send(process, task, handler, words, (null(), 0), Notify::None, colour) }
}

/// Sends words and bytes, for an access of a colour if there is one.
///
/// # Safety
/// The bytes stay valid until `origin` is told.
pub(crate) unsafe fn send<const N: usize>(
    process: &Process,
    task: u32,
    handler: HandlerId,
    words: [u64; N],
    bytes: (*const u8, u64),
    origin: Notify,
    colour: Option<u8>,
) -> Result {
    let words = words.map(u64::to_le_bytes);
    // SAFETY: the bytes stay readable until `origin` is told, as this function demands.
    unsafe { send_all(process, task, handler, words.as_flattened(), bytes, origin, colour) }
}

/// # Safety
/// As for [`send`].
unsafe fn send_all(
    process: &Process,
    task: u32,
    handler: HandlerId,
    user_header: &[u8],
    (data, len): (*const u8, u64),
    origin: Notify,
    colour: Option<u8>,
) -> Result {
    let message = AmSend {
        target: task,
        handler: u64::from(handler.0),
        user_header,
        source: Source::Contiguous(data, len),
        target_counter: 0,
        origin,
        completion: Notify::None,
    };
    // SAFETY: the bytes stay readable until `origin` is told, the contract says; handlers come from
    // the table.
    unsafe { process.context.am_send_over(message, colour) }.map_err(of_core)
}

/// Sends words, and bytes that are kept as long as they are needed.
pub(crate) fn send_owned<const N: usize>(
    process: &Process,
    task: u32,
    handler: HandlerId,
    words: [u64; N],
    bytes: Vec<u8>,
) -> Result {
    if bytes.is_empty() {
        return send_words(process, task, handler, words);
    }
    let place = (bytes.as_ptr(), bytes.len() as u64);
    let kept =
        Notify::Dyn(Box::new(move |_: u32, _: std::result::Result<(), lapis_core::Error>| drop(bytes)));
    // SAFETY: the notification owns the bytes, which stay where they are.
    unsafe { send(process, task, handler, words, place, kept, None) }
}

/// Hands over a message's bytes when all of them are here; not in a header handler.
pub(crate) fn with_bytes(message: &Incoming<'_>, f: impl FnOnce(Vec<u8>) + Send + 'static) -> Delivery {
    if let Some(data) = message.data() {
        let bytes = data.to_vec();
        return then(move || f(bytes));
    }
    let mut bytes = vec![0; message.len as usize];
    // The bytes of a vector stay where they are when the vector moves into the closure.
    let into = Destination::Contiguous(NonNull::from(bytes.as_mut_slice()).cast());
    Delivery { into, ..then(move || f(bytes)) }
}

/// Handles one kind of message; `None` from `f`: it is malformed.
pub(crate) fn on(
    process: &'static Process,
    id: HandlerId,
    f: fn(&'static Process, &Incoming<'_>) -> Option<Delivery>,
) -> lapis_core::Result<()> {
    process.context.set_handler(id, move |_, message| {
        f(process, message).unwrap_or_else(|| {
            tracing::warn!(target: "lapis::acp", source = message.source, handler = id.0, "malformed message buried");
            Delivery::bury()
        })
    })
}

/// Runs `f` when the message is here: at once if it may send something, else on a handler thread.
pub(crate) fn then(f: impl FnOnce() + Send + 'static) -> Delivery {
    let completion = Some(CompletionHandler::Closure(Box::new(move |context| {
        f();
        context.wake();
    })));
    Delivery { completion, run: Run::InlineReply, ..Delivery::bury() }
}
