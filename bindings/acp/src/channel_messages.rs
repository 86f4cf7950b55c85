//! The messages of channels, and the calls.
//!
//! | message | user header | data |
//! |---|---|---|
//! | short | channel, number, length, the message | |
//! | whole | channel, number | the message |
//! | offer | channel, number, length, request | |
//! | clear | request, receive, length | |
//! | data | receive | the message |
//! | credit | channel, messages taken | |
//! | close | channel, 1 from the sender, messages | |
//! | lane | channel, its place in the receiver's memory for lanes | |
//! | look | channel, 1 if the sender has no room in the lane, position that it waits for | |

use crate::channel::request_of_sent;
use crate::channel_words::{Action, Send, Span};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::messages::{on, send, send_header, send_words, then, words_of};
use crate::process::Process;
use lapis_core::message::Destination;
use lapis_core::{CompletionHandler, Delivery, HandlerId, Incoming, Notify, Run};
use std::ptr::{NonNull, with_exposed_provenance, with_exposed_provenance_mut};

const WHOLE: HandlerId = HandlerId(16);
const OFFER: HandlerId = HandlerId(17);
const CLEAR: HandlerId = HandlerId(18);
const DATA: HandlerId = HandlerId(19);
const CREDIT: HandlerId = HandlerId(20);
const CLOSE: HandlerId = HandlerId(21);
const SHORT: HandlerId = HandlerId(22);
const LANE: HandlerId = HandlerId(23);
const LOOK: HandlerId = HandlerId(24);

/// Messages up to this length travel in the header: they have been copied when the call that sends
/// them returns, so that nobody need be told when their memory is free.
const SHORT_MOST: usize = 128;
const SHORT_HEADER: usize = 3 * 8;

pub(crate) fn install(process: &'static Process) -> lapis_core::Result<()> {
    on(process, SHORT, |process, message| {
        let [channel, number, len] = words_of(message.user_header)?;
        let data = message.user_header.get(SHORT_HEADER..)?.get(..usize::try_from(len).ok()?)?;
        let actions = process.channels().whole(message.source, channel, number, data);
        Some(perform_later(process, actions))
    })?;
    on(process, WHOLE, whole_arrived)?;
    on(process, OFFER, |process, message| {
        let [channel, number, len, request] = words_of(message.user_header)?;
        let actions = process.channels().offered(message.source, channel, number, len, request);
        Some(perform_later(process, actions))
    })?;
    on(process, CLEAR, |process, message| {
        let [request, receive, len] = words_of(message.user_header)?;
        let actions = process.channels().cleared(message.source, request, receive, len);
        Some(perform_later(process, actions))
    })?;
    on(process, DATA, data_arrived)?;
    on(process, CREDIT, |process, message| {
        let [channel, taken] = words_of(message.user_header)?;
        let actions = process.channels().credited(message.source, channel, taken);
        Some(perform_later(process, actions))
    })?;
    on(process, LANE, |process, message| {
        let [channel, at] = words_of(message.user_header)?;
        let writer = process.world().writer(message.source, at)?;
        process.channels().lane_made(message.source, channel, writer);
        Some(Delivery::bury())
    })?;
    on(process, LOOK, |process, message| {
        let [channel, full, awaited] = words_of(message.user_header)?;
        let actions = process.channels().look(message.source, channel, full == 1, awaited);
        Some(perform_later(process, actions))
    })?;
    on(process, CLOSE, |process, message| {
        let [channel, from_sender, messages] = words_of(message.user_header)?;
        let actions = process.channels().closed(message.source, channel, from_sender == 1, messages);
        Some(perform_later(process, actions))
    })
}

fn perform_later(process: &'static Process, actions: Vec<Action>) -> Delivery {
    if actions.is_empty() { Delivery::bury() } else { then(move || process.perform(actions)) }
}

fn whole_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [channel, number] = words_of(message.user_header)?;
    let source = message.source;
    if let Some(data) = message.data() {
        let actions = process.channels().whole(source, channel, number, data);
        return Some(perform_later(process, actions));
    }
    let mut data = vec![0; message.len as usize];
    // The bytes of a vector stay where they are when the vector moves into the closure.
    let into = Destination::Contiguous(NonNull::from(data.as_mut_slice()).cast());
    let keep = then(move || {
        let actions = process.channels().whole(source, channel, number, &data);
        process.perform(actions);
    });
    Some(Delivery { into, ..keep })
}

fn data_arrived(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [receive] = words_of(message.user_header)?;
    let len = message.len;
    let place = process.channels().destination(receive).filter(|(_, room)| len <= *room);
    let into = place.and_then(|(address, _)| NonNull::new(with_exposed_provenance_mut::<u8>(address)));
    let into = into.map_or(Destination::Discard, |to| Destination::Contiguous(to.cast()));
    let completion = Some(CompletionHandler::Closure(Box::new(move |context| {
        let actions = process.channels().ended(receive, Ok(len));
        process.perform(actions);
        context.wake();
    })));
    Some(Delivery { into, completion, run: Run::InlineReply, drop: false })
}

impl Process {
    /// Sends what channels want to be sent.
    pub(crate) fn perform(&'static self, actions: Vec<Action>) {
        let mut later = Vec::new();
        for Action { task, send } in actions {
            let (request, len, short) = match send {
                Send::Whole { request, bytes: (_, len), .. } => {
                    (Some(request), len, len <= SHORT_MOST as u64)
                }
                Send::Data { request, bytes: (_, len), .. } => (Some(request), len, false),
                _ => (None, 0, false),
            };
            let sent = self.perform_one(task, send);
            if let Some(request) = request
                && (short || sent.is_err())
            {
                later.extend(self.channels().ended(request, sent.map(|()| len)));
            }
        }
        if !later.is_empty() {
            self.perform(later);
        }
    }

    fn perform_one(&'static self, task: u32, what: Send) -> Result {
        match what {
            Send::Whole { channel, number, bytes, .. } if bytes.1 <= SHORT_MOST as u64 => {
                self.send_short(task, channel, number, bytes)
            }
            Send::Whole { channel, number, bytes: (address, len), request } => {
                let bytes = (with_exposed_provenance(address), len);
                // SAFETY: the program has lent the memory until the request ends.
                unsafe { send(self, task, WHOLE, [channel, number], bytes, self.ends(request, len), None) }
            }
            Send::Data { receive, bytes: (address, len), request } => {
                let bytes = (with_exposed_provenance(address), len);
                // SAFETY: the program has lent the memory until the request ends.
                unsafe { send(self, task, DATA, [receive], bytes, self.ends(request, len), None) }
            }
            Send::Offer { channel, number, len, request } => {
                send_words(self, task, OFFER, [channel, number, len, request])
            }
            Send::Clear { request, receive, len } => send_words(self, task, CLEAR, [request, receive, len]),
            Send::Lane { channel, at } => send_words(self, task, LANE, [channel, at]),
            Send::Look { channel, full, awaited } => {
                send_words(self, task, LOOK, [channel, u64::from(full), awaited])
            }
            Send::Credit { channel, taken } => send_words(self, task, CREDIT, [channel, taken]),
            Send::Close { channel, from_sender, messages } => {
                send_words(self, task, CLOSE, [channel, u64::from(from_sender), messages])
            }
        }
    }

    /// Sends a message of [`SHORT_MOST`] bytes at most.
    fn send_short(&self, task: u32, channel: u64, number: u64, (address, len): (usize, u64)) -> Result {
        let mut header = [0; SHORT_HEADER + SHORT_MOST];
        let (words, data) = header.split_at_mut(SHORT_HEADER);
        words.copy_from_slice([channel, number, len].map(u64::to_le_bytes).as_flattened());
        let len = (len as usize).min(data.len());
        if len > 0 {
            // SAFETY: the program has lent the memory until the request ends, which is not yet.
            unsafe { with_exposed_provenance::<u8>(address).copy_to_nonoverlapping(data.as_mut_ptr(), len) };
        }
        // Headers are multiples of 4 bytes.
        send_header(self, task, SHORT, &header[..SHORT_HEADER + len.next_multiple_of(4)])
    }

    /// Ends a request when its memory may be used again.
    fn ends(&'static self, request: u64, len: u64) -> Notify {
        Notify::Dyn(Box::new(move |_: u32, outcome: std::result::Result<(), lapis_core::Error>| {
            let outcome = outcome.map(|()| len).map_err(|_| Error::Peer);
            let actions = self.channels().ended(request, outcome);
            if !actions.is_empty() {
                // A notification sends nothing itself.
                self.context.run_on_handler_thread(CompletionHandler::Closure(Box::new(move |context| {
                    self.perform(actions);
                    context.wake();
                })));
            }
        }))
    }

    /// Makes this process's end of a channel.
    pub(crate) fn create_channel(&'static self, sender: i32, receiver: i32) -> Result<u64> {
        let world = self.world();
        let rank = |name, given: i32| u32::try_from(given).map_err(|_| Error::Rank).of(name, given);
        let block = |name, rank: u32| world.blocks.get(rank as usize).ok_or(Error::Rank).of(name, rank);
        let (sender, receiver) = (rank("sender", sender)?, rank("receiver", receiver)?);
        let (from, to) = (block("sender", sender)?, block("receiver", receiver)?);
        // One of them is the caller.
        if sender == receiver || !(sender == world.rank || receiver == world.rank) {
            return Err(Error::Ends).of("receiver", receiver);
        }
        let sending = sender == world.rank;
        let (name, rank, other) = if sending { ("receiver", receiver, to) } else { ("sender", sender, from) };
        let (channel, actions) = {
            let mut channels = self.channels();
            // With the lock held: a death that is not seen here finds the end and ends it.
            if self.is_gone(other.task) {
                return Err(Error::Peer).of(name, rank);
            }
            channels.create(sending, other.task, other.is_near())?
        };
        self.perform(actions);
        Ok(channel)
    }

    /// As [`post`](Self::post), where nothing special is to be thought of. It cannot panic, but for
    /// what wakes a receiver that sleeps.
    #[inline(always)]
    pub(crate) fn post_at_once(&'static self, channel: u64, sending: bool, bytes: Span) -> Option<u64> {
        if bytes.0 == 0 && bytes.1 > 0 {
            return None;
        }
        if !sending {
            return self.channels().receive_at_once(channel, bytes);
        }
        if self.channels().send_at_once(channel, bytes)? {
            self.wake_receiver(channel);
        }
        Some(request_of_sent(bytes.1))
    }

    #[cold]
    #[inline(never)]
    fn wake_receiver(&'static self, channel: u64) {
        let actions = self.channels().wake(channel);
        self.perform(actions);
    }

    /// Begins to send a message or to receive one.
    pub(crate) fn post(&'static self, channel: u64, sending: bool, bytes: Span) -> Result<u64> {
        if bytes.0 == 0 && bytes.1 > 0 {
            return Err(Error::Null).at("buf", 0);
        }
        let (request, actions) = self.channels().post(channel, sending, bytes).at("ch", channel)?;
        if !actions.is_empty() {
            self.perform(actions);
        }
        Ok(request)
    }

    /// Begins to free this process's end of a channel.
    pub(crate) fn free_channel(&'static self, channel: u64) -> Result<u64> {
        let (request, actions) = self.channels().free(channel).at("ch", channel)?;
        self.perform(actions);
        Ok(request)
    }
}
