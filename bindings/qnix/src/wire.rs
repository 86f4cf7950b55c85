//! Messages between the libraries of two processes: what they carry, and how they are sent and
//! taken in.
//!
//! | message | user header | data |
//! |---|---|---|
//! | whole | number, tag | the message |
//! | offer | number, tag, the sender's command | |
//! | clear | the sender's command, the receiver's | |
//! | data | the receiver's command | the message |
//! | tree | tag, root, receivers, the forward | receivers, then the message |
//! | confirm | the forward | |
//! | join | group, size | |
//! | formed | group, error or 0 | members |
//! | notice | group, round | |
//! | entered | group | |
//! | broken | group, barrier | |
//! | look | | |
//! | end | messages to this process | |

use crate::error::{Result, of_core};
use crate::matching::Bytes;
use lapis_core::message::{AmSend, Destination, Gather};
use lapis_core::{CompletionHandler, Context, Delivery, HandlerId, Incoming, Notify, Run, Source};
use std::ptr::NonNull;

pub(crate) const WHOLE: HandlerId = HandlerId(1);
pub(crate) const OFFER: HandlerId = HandlerId(2);
pub(crate) const CLEAR: HandlerId = HandlerId(3);
pub(crate) const DATA: HandlerId = HandlerId(4);
pub(crate) const TREE: HandlerId = HandlerId(5);
pub(crate) const JOIN: HandlerId = HandlerId(6);
pub(crate) const FORMED: HandlerId = HandlerId(7);
pub(crate) const NOTICE: HandlerId = HandlerId(8);
pub(crate) const END: HandlerId = HandlerId(9);
pub(crate) const ENTERED: HandlerId = HandlerId(10);
pub(crate) const LOOK: HandlerId = HandlerId(11);
pub(crate) const BROKEN: HandlerId = HandlerId(12);
pub(crate) const CONFIRM: HandlerId = HandlerId(13);

/// Longer messages are offered first, so that they wait at their sender for a Receive Context.
pub(crate) const WHOLE_MAX: usize = 16 << 10;

/// The words of a header. `None`: there are fewer.
#[inline]
pub(crate) fn words_of<const N: usize>(header: &[u8]) -> Option<[u32; N]> {
    let words: &[[u8; 4]; N] = header.as_chunks().0.first_chunk()?;
    Some(words.map(u32::from_le_bytes))
}

/// A header of some words.
pub(crate) fn header<const N: usize>(words: [u32; N]) -> [[u8; 4]; N] {
    words.map(u32::to_le_bytes)
}

/// Sends words alone. May be called from completion handlers.
pub(crate) fn send_words<const N: usize>(
    context: &Context,
    task: u32,
    handler: HandlerId,
    words: [u32; N],
) -> Result {
    let words = header(words);
    let message = AmSend {
        target: task,
        handler: u64::from(handler.0),
        user_header: words.as_flattened(),
        source: Source::Contiguous(std::ptr::null(), 0),
        target_counter: 0,
        origin: Notify::None,
        completion: Notify::None,
    };
    // SAFETY: there is no data, and handlers come from the table.
    unsafe { context.am_send(message) }.map_err(of_core)
}

/// Sends bytes that the message owns. May be called from completion handlers. `delivered` is told
/// when they have arrived.
pub(crate) fn send_owned(
    context: &Context,
    task: u32,
    handler: HandlerId,
    words: &[u32],
    (head, body): (Vec<u8>, Bytes),
    delivered: Notify,
) -> Result {
    let words: Vec<[u8; 4]> = words.iter().map(|word| word.to_le_bytes()).collect();
    let len = (head.len() + body.get().len()) as u64;
    let message = AmSend {
        target: task,
        handler: u64::from(handler.0),
        user_header: words.as_flattened(),
        source: Source::Gather(Box::new(Owned { head, body }), len),
        target_counter: 0,
        origin: Notify::None,
        completion: delivered,
    };
    // SAFETY: the source owns its bytes, and handlers come from the table.
    unsafe { context.am_send(message) }.map_err(of_core)
}

/// Bytes in two pieces.
pub(crate) struct Owned {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Bytes,
}

impl Gather for Owned {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let position = position as usize;
        let head = self.head.get(position..).unwrap_or_default();
        let split = head.len().min(out.len());
        let (first, second) = out.split_at_mut(split);
        first.copy_from_slice(&head[..split]);
        let from = position + split - self.head.len().min(position + split);
        if !second.is_empty() {
            second.copy_from_slice(&self.body.get()[from..from + second.len()]);
        }
    }
}

/// Runs `then` when the message is here: at once if it may send something, else on a handler
/// thread.
pub(crate) fn then(f: impl FnOnce(&Context) + Send + 'static) -> Delivery {
    let completion = Some(CompletionHandler::Closure(Box::new(f)));
    Delivery { completion, run: Run::InlineReply, ..Delivery::bury() }
}

/// The same with all of the message's data.
pub(crate) fn with_data(
    message: &Incoming<'_>,
    f: impl FnOnce(&Context, Vec<u8>) + Send + 'static,
) -> Delivery {
    if let Some(data) = message.data() {
        let data = data.to_vec();
        return then(move |context| f(context, data));
    }
    let mut data = vec![0; message.len as usize];
    // The bytes of a vector stay where they are when the vector moves into the closure.
    let into = Destination::Contiguous(NonNull::from(data.as_mut_slice()).cast());
    Delivery { into, ..then(move |context| f(context, data)) }
}
