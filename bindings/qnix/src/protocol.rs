//! Handling messages from the libraries of other processes (`wire.rs` lists them).

use crate::barrier::course;
use crate::board::Content;
use crate::contexts::Key;
use crate::error::{Error, Result, of_core};
use crate::groups::joining;
use crate::matching::{Arrival, Bytes, Met};
use crate::outbox::{self, Letter, Outbox};
use crate::segments::{Segment, Segments, gathered};
use crate::state::{Shared, State};
use crate::tree::{self, Handed, Up};
use crate::wire::{
    BROKEN, CLEAR, CONFIRM, DATA, END, ENTERED, FORMED, JOIN, LOOK, NOTICE, OFFER, Owned, TREE, WHOLE,
    header, then, with_data, words_of,
};
use lapis_core::message::{AmSend, Destination};
use lapis_core::{CompletionHandler, Context, Delivery, HandlerId, Incoming, Notify, Run, Source};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// Registers what happens when messages arrive. Header handlers only note; what has to be sent is
/// sent by completion handlers.
pub(crate) fn install(context: &Context, shared: &Arc<Shared>) -> lapis_core::Result<()> {
    let on = |id: HandlerId, f: fn(&Context, &Arc<Shared>, &Incoming<'_>) -> Option<Delivery>| {
        let shared = Arc::clone(shared);
        context.set_handler(id, move |context, message| {
            f(context, &shared, message).unwrap_or_else(|| malformed(id, message))
        })
    };
    // By itself, so that it is part of what core calls.
    let of_whole = Arc::clone(shared);
    context.set_handler(WHOLE, move |context, message| whole(context, &of_whole, message))?;
    on(OFFER, offered)?;
    on(CLEAR, cleared)?;
    on(DATA, data)?;
    on(TREE, handed_on)?;
    on(CONFIRM, confirmed)?;
    on(JOIN, joining::join_arrived)?;
    on(FORMED, joining::formed_arrived)?;
    on(NOTICE, course::notice_arrived)?;
    on(ENTERED, course::entered_arrived)?;
    on(BROKEN, course::broken_arrived)?;
    on(LOOK, look)?;
    on(END, ended)
}

#[cold]
fn malformed(handler: HandlerId, message: &Incoming<'_>) -> Delivery {
    tracing::warn!(target: "lapis::qnix", source = message.source, handler = handler.0, "malformed message buried");
    Delivery::bury()
}

#[inline]
fn whole(context: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Delivery {
    let (source, Some([number, tag])) = (message.source, words_of(message.user_header)) else {
        return malformed(WHOLE, message);
    };
    if let Some(data) = message.data() {
        let meets = |state: &mut State| state.met_at_once(source, number, tag as i32, data);
        // SAFETY: header handlers run under the lock.
        if unsafe { shared.in_handler(context, meets) } {
            return Delivery::bury();
        }
    }
    whole_waits(context, shared, message, (number, tag as i32))
}

/// A message that comes in parts, meets no Receive Context yet or lets others meet theirs.
#[inline(never)]
fn whole_waits(
    context: &Context,
    shared: &Arc<Shared>,
    message: &Incoming<'_>,
    (number, tag): (u32, i32),
) -> Delivery {
    let source = message.source;
    let Some(data) = message.data() else {
        let shared = Arc::clone(shared);
        return with_data(message, move |context, data| {
            let arrival = Arrival::Whole(Bytes { all: Arc::new(data), from: 0 });
            shared.arrived(context, source, number, tag, arrival);
        });
    };
    let mut out = Outbox::new();
    shared.lock(context).whole_arrived(source, number, tag, data, &mut out);
    and_send(out)
}

/// What a handler gives that has nothing to do with the data any more.
fn and_send(out: Outbox) -> Delivery {
    if out.is_empty() { Delivery::bury() } else { then(move |context| outbox::send(context, &out)) }
}

/// Somebody has something on its board for this process.
fn look(context: &Context, shared: &Arc<Shared>, _: &Incoming<'_>) -> Option<Delivery> {
    let mut out = Outbox::new();
    let mut state = shared.lock(context);
    state.answer();
    state.look(&mut out);
    drop(state);
    Some(and_send(out))
}

fn offered(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [number, tag, send] = words_of(message.user_header)?;
    let (source, shared) = (message.source, Arc::clone(shared));
    Some(then(move |context| {
        shared.arrived(context, source, number, tag as i32, Arrival::Offered { send });
    }))
}

impl Shared {
    /// A message or an offer is here.
    pub(crate) fn arrived(&self, context: &Context, source: u32, number: u32, tag: i32, arrival: Arrival) {
        let mut out = Outbox::new();
        let mut state = self.lock(context);
        let met = state.matching.arrived(source, number, tag, arrival);
        state.meet(source, met, &mut out);
        drop(state);
        outbox::send(context, &out);
    }

    /// Takes what the boards of this host have for this process.
    pub(crate) fn look(&self, context: &Context) {
        let mut out = Outbox::new();
        let taken = self.lock(context).look(&mut out);
        outbox::send(context, &out);
        if taken {
            // It may be for other threads of this process, which sleep.
            context.wake();
        }
    }
}

impl State {
    /// Takes what the boards of this host have for this process. Says whether there was anything.
    pub(crate) fn look(&mut self, out: &mut Outbox) -> bool {
        let boards = self.board.as_ref().map(|writer| Arc::clone(writer.boards()));
        let Some(boards) = boards else { return false };
        let mut taken = self.look_at_words(out);
        while let Some(record) = boards.take() {
            match record.content {
                Content::Message { root, tag } => self.on_board(root, record.number, tag, record.data, out),
                Content::Entered { task, group } => self.entered(group, task, out),
            }
            boards.done(record.from());
            taken = true;
        }
        taken
    }

    /// A message of a task stands on a board.
    fn on_board(&mut self, root: u32, number: u32, tag: i32, data: &[u8], out: &mut Outbox) {
        self.matching.comes_by_board(root);
        self.whole_arrived(root, number, tag, data, out);
    }

    /// A message is here, whose bytes are the caller's.
    fn whole_arrived(&mut self, source: u32, number: u32, tag: i32, data: &[u8], out: &mut Outbox) {
        if self.met_at_once(source, number, tag, data) {
            return;
        }
        let arrival = Arrival::Whole(Bytes { all: Arc::new(data.to_vec()), from: 0 });
        let met = self.matching.arrived(source, number, tag, arrival);
        self.meet(source, met, out);
    }

    /// Fills the Receive Context of a message, if it is there and that is all there is to do.
    #[inline(always)]
    fn met_at_once(&mut self, source: u32, number: u32, tag: i32, data: &[u8]) -> bool {
        let met = self.matching.meets_at_once(source, number, tag);
        if let Some(at) = met {
            self.receives.fill(at, data);
        }
        met.is_some()
    }

    /// Fills Receive Contexts; what was offered to them is asked for.
    fn meet(&mut self, source: u32, met: Vec<Met>, out: &mut Outbox) {
        for (at, arrival) in met {
            out.extend(self.meet_one(source, at, arrival));
        }
        for at in self.matching.in_vain(source) {
            self.receives.end(at, Err(Error::Peer));
        }
    }

    pub(crate) fn meet_one(&mut self, source: u32, at: usize, arrival: Arrival) -> Option<Letter> {
        match arrival {
            Arrival::Whole(bytes) => {
                self.receives.fill(at, bytes.get());
                None
            }
            Arrival::Offered { send } => {
                Some(Letter::Clear { to: source, send, receive: self.receives.key(at)? })
            }
        }
    }
}

/// The receiver of an offer has a context for it.
fn cleared(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [send, receive] = words_of(message.user_header)?;
    let (task, shared) = (message.source, Arc::clone(shared));
    Some(then(move |context| {
        let key = Key(send);
        let segments = match shared.lock(context).sends.of_key(key) {
            Some((_, slot)) => slot.segments().clone(),
            None => return,
        };
        if let Err(error) = send_data(context, &shared, task, key, receive, &segments) {
            shared.lock(context).sends.end_key(key, Err(error));
        }
    }))
}

fn send_data(
    context: &Context,
    shared: &Arc<Shared>,
    task: u32,
    key: Key,
    receive: u32,
    segments: &Segments,
) -> Result {
    let words = header([receive]);
    let source = match &**segments {
        [one] => Source::Contiguous(std::ptr::with_exposed_provenance(one.address), one.len as u64),
        several => {
            let all = gathered(several);
            let len = all.len() as u64;
            let body = Bytes { all: Arc::new(all), from: 0 };
            Source::Gather(Box::new(Owned { head: Vec::new(), body }), len)
        }
    };
    let message = AmSend {
        target: task,
        handler: u64::from(DATA.0),
        user_header: words.as_flattened(),
        source,
        target_counter: 0,
        origin: Notify::Call {
            call: fetched,
            function: Arc::as_ptr(shared).expose_provenance(),
            argument: std::ptr::without_provenance_mut(key.0 as usize),
        },
        completion: Notify::None,
    };
    // SAFETY: the program has lent the segments to the command until `fetched` ends it; handlers
    // come from the table.
    unsafe { context.am_send(message) }.map_err(of_core)
}

/// The data of a send needs its memory no more: the command, whose key is `argument`, ends.
///
/// # Safety
/// `shared` is what the handlers of the context have.
unsafe fn fetched(context: &Context, _: u32, shared: usize, argument: *mut c_void, ok: bool) {
    // SAFETY: the caller's promise; the context keeps its handlers.
    let shared = unsafe { &*std::ptr::with_exposed_provenance::<Shared>(shared) };
    let outcome = if ok { Ok(0) } else { Err(Error::Peer) };
    shared.lock(context).sends.end_key(Key(argument.addr() as u32), outcome);
}

/// What was offered and asked for.
fn data(context: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [receive] = words_of(message.user_header)?;
    let (key, len) = (Key(receive), message.len as usize);
    let mut state = shared.lock(context);
    let Some((_, slot)) = state.receives.of_key(key) else { return Some(Delivery::bury()) };
    let whole = match &slot.segments()[..] {
        [one] if one.len >= len => NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(one.address)),
        _ => None,
    };
    drop(state);
    let shared = Arc::clone(shared);
    let Some(place) = whole else {
        return Some(with_data(message, move |context, data| {
            let mut state = shared.lock(context);
            if let Some((at, _)) = state.receives.of_key(key) {
                state.receives.fill(at, &data);
            }
        }));
    };
    let end = move |context: &Context| shared.lock(context).receives.end_key(key, Ok(len));
    let completion = Some(CompletionHandler::Closure(Box::new(end)));
    Some(Delivery { into: Destination::Contiguous(place), completion, run: Run::Inline, ..Delivery::bury() })
}

fn confirmed(context: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [number] = words_of(message.user_header)?;
    let mut out = Outbox::new();
    shared.lock(context).confirmed(number, &mut out);
    Some(and_send(out))
}

fn handed_on(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let (task, shared) = (message.source, Arc::clone(shared));
    let user_header = message.user_header.to_vec();
    Some(with_data(message, move |context, data| {
        let Some(mut part) = tree::parse(&user_header, data) else {
            tracing::warn!(target: "lapis::qnix", "malformed list of receivers");
            return;
        };
        let mut out = Outbox::new();
        let mut state = shared.lock(context);
        if let Some(writer) = &mut state.board {
            let data = [Segment::of(part.data.get())];
            tree::show(writer, part.root, part.tag, &mut part.rest, &data, &mut out);
        }
        let up = part.confirm.map(|number| Arc::new(Up { task, number }));
        let message = Handed { root: part.root, tag: part.tag, data: part.data.clone(), up };
        state.hand_on(message, &part.rest, &mut out);
        drop(state);
        outbox::send(context, &out);
        shared.arrived(context, part.root, part.number, part.tag, Arrival::Whole(part.data));
    }))
}

/// A process has called qx_end.
fn ended(context: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [messages] = words_of(message.user_header)?;
    let mut out = Outbox::new();
    let mut state = shared.lock(context);
    state.peer_ended(message.source, Some(messages), &mut out);
    state.joins_move(message.source, context.tasks(), &mut out);
    drop(state);
    Some(and_send(out))
}
