//! Puts between vectors.

use super::description::{described, plainly, shape_of, shape_word, source, words};
use super::layout::{Layout, Stream};
use crate::failure::{self, Outcome};
use crate::handlers::internal::PUT;
use crate::handles::Instance;
use lapis_core::handlers::Incoming;
use lapis_core::message::{AmSend, Direction, PutArgs, Source};
use lapis_core::transport::copy::copy_watched;
use lapis_core::{Context, Delivery, Notify};
use std::ffi::c_int;

/// Sends the bytes of `origin` to the places of `target`, which are as many.
///
/// # Safety
/// The memory of both layouts and the counters are valid as the guide demands.
#[allow(clippy::too_many_arguments, reason = "what a transfer has")]
pub(crate) unsafe fn send(
    instance: &Instance,
    tgt: u32,
    (vec_type, count): (c_int, u32),
    mut origin: Layout,
    target: Layout,
    tgt_cntr: u64,
    told: Notify,
    completion: Notify,
) -> Outcome {
    let context = &instance.context;
    // SAFETY: the caller's promise.
    if unsafe { copy_directly(context, tgt, &mut origin, &target) } {
        // The data is there: what is left is to count.
        let nothing = PutArgs {
            target: tgt,
            remote: 0,
            source: Source::Contiguous(std::ptr::null(), 0),
            target_counter: tgt_cntr,
            origin: told,
            completion,
            checked: false,
        };
        // SAFETY: no memory is touched; the counters are the caller's promise.
        return unsafe { context.put(nothing) }.map_err(failure::of);
    }
    let stream = Stream { description: target.description()?, layout: origin };
    // SAFETY: the caller's promise.
    let source = unsafe { source(context, stream, 0) }?;
    let message = AmSend {
        target: tgt,
        handler: PUT,
        user_header: &shape_word(vec_type, count).to_le_bytes(),
        source,
        target_counter: tgt_cntr,
        origin: told,
        completion,
    };
    // SAFETY: the caller's promise.
    unsafe { context.am_send(message) }.map_err(failure::of)
}

/// Copies block by block if all of the target's memory can be reached by stores.
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
        if let Some(to) = context.direct(tgt, addr, n as u64) {
            let mut to = to;
            origin.pieces(position, n as u64, |from, len| {
                // SAFETY: the window is mapped as long as the context lives, and has room for the
                // block's `n` bytes; the rest is the caller's promise. The target may look at them
                // meanwhile: no reference.
                unsafe {
                    copy_watched(from as usize as *const u8, to, len);
                    to = to.add(len);
                }
            });
        }
        position += n as u64;
    });
    context.count_direct(tgt, Direction::Out, target.len());
    true
}

/// The target's side.
pub(crate) fn arrived(incoming: &Incoming<'_>) -> Option<Delivery> {
    let (vec_type, count) = shape_of(words(incoming.user_header).next()?);
    let need = description_len(vec_type, count)?;
    if need > incoming.len {
        return None;
    }
    let build =
        move |bytes: &[u8]| Layout::of_words(vec_type, count, words(bytes)).unwrap_or_else(Layout::empty);
    Some(plainly(described(need, incoming.first, build)))
}

/// Bytes of the description of a target's vector.
pub(super) fn description_len(vec_type: c_int, count: u32) -> Option<u64> {
    match vec_type {
        crate::abi::LAPI_GEN_STRIDED_XFER => Some(24),
        crate::abi::LAPI_GEN_IOVECTOR => Some(16 * u64::from(count)),
        _ => None,
    }
}
