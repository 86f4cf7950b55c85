//! Active messages from a vector to a vector.

use super::description::{Described, behind, plainly, shape_of, shape_word, source, words};
use super::layout::{Layout, Side, Stream, View, in_bytes};
use crate::abi::*;
use crate::failure::{self, Outcome};
use crate::handlers::address::{handler_address, raise_later};
use crate::handlers::call::{return_info, run_of};
use crate::handlers::internal::AMV;
use crate::handlers::notify::raw;
use crate::handles::{self, Instance};
use crate::sync::lock;
use lapis_core::handlers::{Incoming, Verdict};
use lapis_core::message::{AmSend, Destination, Scatter};
use lapis_core::sync::blocking::Mutex;
use lapis_core::{CompletionHandler, Context, Delivery, Error, LapiCode, Notify, Run};
use std::ffi::{c_int, c_uint, c_ulong};
use std::sync::Arc;

/// An active message whose data a vector gives.
pub(crate) struct Message<'a> {
    pub(crate) tgt: u32,
    pub(crate) handler: u64,
    pub(crate) user_header: &'a [u8],
    pub(crate) vec_type: c_int,
    pub(crate) count: u32,
    pub(crate) layout: Layout,
    pub(crate) tgt_cntr: u64,
    pub(crate) origin: Notify,
    pub(crate) completion: Notify,
}

/// # Safety
/// The layout's memory and the counters are valid as the guide demands.
pub(crate) unsafe fn send(instance: &Instance, message: Message<'_>) -> Outcome {
    let description = match told_by_total(message.vec_type, message.count) {
        true => Vec::new(),
        false => in_bytes(message.layout.lengths())?,
    };
    let shape = shape_word(message.vec_type, message.count).to_le_bytes();
    // Behind the program's user header, whose alignment it leaves alone.
    let header = [message.user_header, &shape].concat();
    let stream = Stream { description, layout: message.layout };
    // SAFETY: the caller's promise.
    let source = unsafe { source(&instance.context, stream, message.user_header.len()) }?;
    let send = AmSend {
        target: message.tgt,
        handler: AMV | message.handler,
        user_header: &header,
        source,
        target_counter: message.tgt_cntr,
        origin: message.origin,
        completion: message.completion,
    };
    // SAFETY: the caller's promise.
    unsafe { instance.context.am_send(send) }.map_err(failure::of)
}

/// Whether the length of a vector's data tells those of its blocks: there is one block, or all are
/// alike. Then no list of lengths travels, and a packet holds as much as one of a message without.
fn told_by_total(vec_type: c_int, count: u32) -> bool {
    count == 1 || vec_type == LAPI_GEN_STRIDED_XFER && count > 0
}

/// Bytes of the list of lengths that travels before a vector's data.
fn list_len(vec_type: c_int, count: u32) -> u64 {
    match vec_type {
        _ if told_by_total(vec_type, count) => 0,
        LAPI_GEN_STRIDED_XFER => 8,
        _ => u64::from(count) * 8,
    }
}

/// The program's header handler with what it is given.
#[derive(Clone)]
struct Call {
    handle: lapi_handle_t,
    /// Address that handlers are given.
    pointer: usize,
    function: vhdr_hndlr_t,
    user_header: Vec<u8>,
    source: u32,
    vec_type: c_int,
    count: u32,
    /// Bytes of data.
    len: u64,
}

/// What the program's header handler requests in addition to the data.
#[derive(Default)]
struct Requested {
    completion: Option<(compl_hndlr_t, usize)>,
    run: Run,
    drop: bool,
}

/// The target's side.
//= LAPI Guide, LAPI_Amsendv, the header handler returns a vector
pub(crate) fn arrived(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
    let (user, shape) = incoming.user_header.split_at_checked(incoming.user_header.len().checked_sub(8)?)?;
    let (vec_type, count) = shape_of(words(shape).next()?);
    let need = list_len(vec_type, count);
    if need > incoming.len {
        return None;
    }
    let address = match handler_address(context, handler, incoming.source) {
        Ok(address) => address,
        Err(delivery) => return Some(delivery),
    };
    let pointer = handles::for_handlers(context);
    let call = Call {
        // SAFETY: a handle of the static table.
        handle: unsafe { *pointer },
        pointer: pointer.expose_provenance(),
        // SAFETY: tasks of a job name header handlers of this type by addresses that they were
        // given.
        function: unsafe { std::mem::transmute::<usize, vhdr_hndlr_t>(address as usize) },
        user_header: user.to_vec(),
        source: incoming.source,
        vec_type,
        count,
        len: incoming.len - need,
    };
    if incoming.first.len() as u64 >= need {
        // The usual case: the handler runs now, so its request is known now.
        let in_packet = incoming.data().and_then(|data| data.get(need as usize..));
        let (layout, asked) = context.lending_held(|| call.run(&incoming.first[..need as usize], in_packet));
        let mut delivery = plainly(behind(need, layout));
        (delivery.completion, delivery.run, delivery.drop) = (asked.completion(), asked.run, asked.drop);
        return Some(delivery);
    }
    Some(late(need, call))
}

/// The list of lengths takes more than a packet: the handler runs when it is there. What a handler
/// does not accept yet is kept, and the handler asked again when all of the message is here.
fn late(need: u64, call: Call) -> Delivery {
    let asked: Arc<Mutex<Requested>> = Arc::default();
    let answer = Arc::clone(&asked);
    let build = move |list: &[u8]| {
        // No handler runs before the program has its handle.
        let context = &handles::live_or_ending(call.handle).ok()?.context;
        let (layout, asked) = context.lending_held(|| call.clone().run(list, None));
        let accepted = !asked.drop;
        *lock(&answer) = asked;
        accepted.then_some(layout)
    };
    let data = Arc::new(Mutex::new(Described::new(need, build)));
    let into = Destination::Scatter(Box::new(Late(Arc::clone(&data))));
    let ask = move |_: &Context| {
        // SAFETY: by the guide, the program's handler returns a vector that can be written to until
        // the message has arrived.
        if !unsafe { lock(&data).settle() } {
            return Verdict::Later;
        }
        let asked = std::mem::take(&mut *lock(&asked));
        Verdict::Received(asked.completion(), asked.run)
    };
    Delivery { completion: Some(CompletionHandler::Ask(Box::new(ask))), ..plainly(into) }
}

/// The data of a message whose handler runs late.
struct Late(Arc<Mutex<Described>>);

impl Scatter for Late {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        // SAFETY: the caller's promise.
        unsafe { lock(&self.0).write(position, bytes) };
    }
}

impl Requested {
    fn completion(&self) -> Option<CompletionHandler> {
        let (function, argument) = self.completion?;
        Some(raw(function, std::ptr::with_exposed_provenance_mut(argument)))
    }
}

impl Call {
    /// Calls the header handler with the lengths at the origin, which the description lists or the
    /// length of the data tells, and with the data if it is there; gives where the data goes and
    /// what happens then.
    ///
    /// The guide declares the handler's fourth argument as a pointer to the list, and says
    /// elsewhere that every header handler is given a `lapi_return_info_t`. So it points to such a
    /// structure, whose first word points to the list.
    //= LAPI Guide, The enhanced header handler interface, ret_flags and ctl_flags
    fn run(mut self, description: &[u8], data: Option<&[u8]>) -> (Layout, Requested) {
        let lengths: Vec<u64> = match told_by_total(self.vec_type, self.count) {
            true => vec![self.len / u64::from(self.count)],
            false => words(description).collect(),
        };
        let mut native: Vec<c_ulong> = lengths.iter().map(|len| *len as c_ulong).collect();
        let mut info = return_info(self.len, self.source, data);
        info.msg_len = native.as_mut_ptr().expose_provenance() as c_ulong;
        let mut user_len = self.user_header.len() as c_uint;
        let mut completion: Option<compl_hndlr_t> = None;
        let mut argument = std::ptr::null_mut();
        let handle = std::ptr::with_exposed_provenance_mut(self.pointer);
        let user = self.user_header.as_mut_ptr().cast();
        // SAFETY: all pointers are valid during the call.
        let vector = unsafe {
            (self.function)(
                handle,
                user,
                &mut user_len,
                (&raw mut info).cast(),
                &mut completion,
                &mut argument,
            )
        };
        let asked = Requested {
            completion: completion.map(|function| (function, argument.expose_provenance())),
            run: run_of(&info),
            drop: info.ctl_flags == LAPI_DROP_PKT,
        };
        if vector.is_null() || asked.drop || info.ctl_flags == LAPI_BURY_MSG {
            return (Layout::empty(), asked);
        }
        // SAFETY: by the guide, the handler returns a vector of this task's memory.
        match unsafe { self.check(vector, &lengths) } {
            Ok(layout) => (layout, asked),
            Err(code) => {
                self.complain(code);
                (Layout::empty(), asked)
            }
        }
    }

    /// # Safety
    /// `vector` is a lapi_vec_t.
    unsafe fn check(&self, vector: *const lapi_vec_t, lengths: &[u64]) -> Outcome<Layout> {
        // SAFETY: the caller's promise.
        unsafe {
            let view = View::of(vector, Side::Target)?;
            view.check_type(Side::Target, true)?;
            let layout = view.layout(Side::Target)?;
            view.fits(&layout, self.vec_type, self.count, lengths.iter().copied())?;
            Ok(layout)
        }
    }

    fn complain(&self, code: c_int) {
        let Ok(instance) = handles::live(self.handle) else { return };
        let code = LapiCode::from_i32(code).unwrap_or(LapiCode::ERR_UNKNOWN);
        let what = "the vector that a header handler returned does not fit the origin's";
        raise_later(&instance.context, self.source, Error::Invalid { what, code });
    }
}
