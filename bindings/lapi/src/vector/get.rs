//! Gets between vectors: a request with the target's blocks, and an answer with their bytes.

use super::description::{plainly, shape_of, shape_word, words};
use super::layout::Layout;
use super::pending::Get;
use super::put::description_len;
use crate::abi::compl_hndlr_t;
use crate::copying::Bytes;
use crate::failure::{self, Outcome};
use crate::handlers::internal::{ANSWER, GET};
use crate::handlers::notify::{get_notify, raw};
use crate::handles::{self, Instance};
use crate::sync::lock;
use lapis_core::handlers::{Incoming, Verdict};
use lapis_core::message::{AmSend, Destination, Direction, GetArgs, Share, Source};
use lapis_core::transport::copy::copy_watched;
use lapis_core::{CompletionHandler, Context, Counter, Delivery, Notify, Run};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// What is told when the data is here.
pub(crate) struct Told {
    pub(crate) counter: *mut crate::abi::lapi_cntr_t,
    pub(crate) handler: Option<compl_hndlr_t>,
    pub(crate) argument: *mut c_void,
}

/// Fetches the bytes of `target` to the places of `origin`, which are as many.
///
/// # Safety
/// The memory of both layouts and the counters are valid as the guide demands.
pub(crate) unsafe fn send(
    instance: &Instance,
    tgt: u32,
    (vec_type, count): (c_int, u32),
    mut origin: Layout,
    target: Layout,
    tgt_cntr: u64,
    told: Told,
) -> Outcome {
    let context = &instance.context;
    // SAFETY: the caller's promise.
    if unsafe { copy_directly(context, tgt, &mut origin, &target) } {
        // The data is here: what is left is to count.
        let nothing = GetArgs {
            target: tgt,
            remote: 0,
            len: 0,
            destination: Destination::Discard,
            target_counter: tgt_cntr,
            origin: get_notify(told.counter, told.handler, told.argument),
            checked: false,
        };
        // SAFETY: no memory is touched; the counters are the caller's promise.
        return unsafe { context.get(nothing) }.map_err(failure::of);
    }
    let description = target.description()?;
    let completion = told.handler.map(|function| raw(function, told.argument));
    // Before the request goes out: if the target purges this task meanwhile, a fence says so rather
    // than wait for an answer to what is lost.
    let life = context.beginnings_with(tgt);
    let number = instance.gets.add(Get { target: tgt, life, origin: Some(origin), completion });
    let header: Vec<u8> = [shape_word(vec_type, count), number, tgt_cntr, told.counter.addr() as u64]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let len = description.len() as u64;
    let request = Bytes { bytes: description, atom: 1, share: Share::Nothing };
    let message = AmSend {
        target: tgt,
        handler: GET,
        user_header: &header,
        source: Source::Gather(Box::new(request), len),
        target_counter: 0,
        origin: Notify::None,
        completion: Notify::None,
    };
    // SAFETY: the caller's promise; the description is the message's own.
    unsafe { context.am_send(message) }.map_err(|error| {
        instance.gets.remove(number);
        failure::of(error)
    })
}

/// Copies block by block if all of the target's memory can be reached by loads.
///
/// # Safety
/// The memory of both layouts is valid.
unsafe fn copy_directly(context: &Context, tgt: u32, origin: &mut Layout, target: &Layout) -> bool {
    let mut all = true;
    target.each_block(|addr, n| all &= context.direct(tgt, addr, n as u64).is_some());
    if !all {
        return false;
    }
    let mut position = 0;
    target.each_block(|addr, n| {
        if let Some(from) = context.direct(tgt, addr, n as u64) {
            let mut from = from.cast_const();
            origin.pieces(position, n as u64, |addr, n| {
                // SAFETY: the window is mapped as long as the context lives; the rest is the
                // caller's promise.
                unsafe {
                    copy_watched(from, std::ptr::with_exposed_provenance_mut(addr as usize), n);
                    from = from.add(n);
                }
            });
        }
        position += n as u64;
    });
    context.count_direct(tgt, Direction::In, target.len());
    true
}

/// The target's side: a request.
pub(crate) fn requested(incoming: &Incoming<'_>) -> Option<Delivery> {
    let mut header = words(incoming.user_header);
    let (vec_type, count) = shape_of(header.next()?);
    let (number, tgt_cntr, org_cntr) = (header.next()?, header.next()?, header.next()?);
    if description_len(vec_type, count)? != incoming.len {
        return None;
    }
    let mut description = vec![0u8; incoming.len as usize].into_boxed_slice();
    let into = NonNull::new(description.as_mut_ptr()).map_or(Destination::Discard, Destination::Contiguous);
    let origin = incoming.source;
    let answer = move |context: &Context| {
        let Some(layout) = Layout::of_words(vec_type, count, words(&description)) else {
            return Verdict::Met;
        };
        let len = layout.len();
        let message = AmSend {
            target: origin,
            handler: ANSWER,
            user_header: &number.to_le_bytes(),
            source: Source::Gather(Box::new(layout), len),
            // Counted there when the data is in place.
            target_counter: org_cntr,
            // The data may change again once it has been read.
            origin: Notify::counter(tgt_cntr as usize as *const Counter),
            completion: Notify::None,
        };
        // SAFETY: the origin names memory and a counter that this task gave out.
        if let Err(error) = unsafe { context.am_send(message) } {
            tracing::debug!(target: "lapis::vector", origin, "a get is not answered: {error}");
        }
        Verdict::Met
    };
    Some(Delivery { completion: Some(CompletionHandler::Ask(Box::new(answer))), ..plainly(into) })
}

/// The origin's side: the answer.
pub(crate) fn answered(context: &Context, incoming: &Incoming<'_>) -> Option<Delivery> {
    let number = words(incoming.user_header).next()?;
    let instance = handles::of_context(context)?;
    let layout = lock(&instance.gets.0).gets.get_mut(&number)?.origin.take()?;
    let finish = move |context: &Context| {
        let Some(instance) = handles::of_context(context) else { return };
        if let Some(completion) = instance.gets.remove(number).and_then(|get| get.completion) {
            context.run_on_handler_thread(completion);
        }
    };
    let mut delivery = plainly(Destination::Scatter(Box::new(layout)));
    delivery.completion = Some(CompletionHandler::Closure(Box::new(finish)));
    delivery.run = Run::Inline;
    Some(delivery)
}
