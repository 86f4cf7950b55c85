//! Core's hook for messages: which handler one is for.

use super::address::{handler_address, raise_later};
use super::call::call;
use super::internal::{AMV, ANSWER, ATOMS, GET, INTERNAL, PUT};
use crate::code::{FIRST_ADDRESS, RELATIVE};
use crate::handles;
use crate::vector::{amv, get, put};
use lapis_core::handlers::Incoming;
use lapis_core::{Context, Delivery, Error};
use std::ptr::with_exposed_provenance_mut;

/// Calls the header handler of an active message.
///
/// # Safety
/// `handler` is the address of a header handler of this program, or has [`INTERNAL`] or
/// [`RELATIVE`] set, or is below [`FIRST_ADDRESS`].
//= LAPI Guide, LAPI_Amsend, the header handler
pub(crate) unsafe fn header(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
    if !is_address(handler) {
        // SAFETY: the caller's promise.
        return unsafe { not_by_address(context, handler, incoming) };
    }
    // SAFETY: the caller's promise.
    unsafe { call(context, handles::for_handlers(context), handler, incoming, 0) }
}

/// Whether a header handler is named by an address: one that is neither too low for that nor too
/// high.
#[inline(always)]
fn is_address(handler: u64) -> bool {
    handler.wrapping_sub(FIRST_ADDRESS) < RELATIVE - FIRST_ADDRESS
}

/// Registers a header handler by its address, or removes one with the address 0. What has to be
/// found out for each message that names an address is found out here.
///
/// # Safety
/// As for [`header`].
pub(crate) unsafe fn register(context: &Context, index: usize, address: u64) -> Result<(), Error> {
    if !is_address(address) {
        return context.set_handler_address(index, address, move |context, incoming| {
            // SAFETY: the caller's promise.
            unsafe { not_by_address(context, address, incoming) }
        });
    }
    let handle = handles::for_handlers(context).expose_provenance();
    context.set_handler_address(index, address, move |context, incoming| {
        // SAFETY: the caller's promise; what handlers are given is static.
        unsafe { call(context, with_exposed_provenance_mut(handle), address, incoming, 0) }
    })
}

/// # Safety
/// As for [`header`].
#[inline(never)]
unsafe fn not_by_address(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
    if handler & INTERNAL != 0 {
        // SAFETY: the caller's promise.
        return Some(unsafe { to_internal(context, handler, incoming) });
    }
    if handler < FIRST_ADDRESS {
        raise_later(context, incoming.source, Error::HeaderHandlerNull { origin: incoming.source, handler });
        return Some(Delivery::bury());
    }
    match handler_address(context, handler, incoming.source) {
        // SAFETY: the caller's promise: a function of the program or of an object that the origin
        // has loaded, too.
        Ok(address) => unsafe { call(context, handles::for_handlers(context), address, incoming, 0) },
        Err(delivery) => Some(delivery),
    }
}

/// Takes a message to an internal handler.
///
/// # Safety
/// The message comes from a task of the job, which names addresses that this task gave out.
unsafe fn to_internal(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Delivery {
    let delivery = match handler {
        _ if handler & AMV == AMV => amv::arrived(context, handler & !AMV, incoming),
        // SAFETY: the caller's promise.
        _ if handler & ATOMS == ATOMS => unsafe { with_atoms(context, handler, incoming) },
        PUT => put::arrived(incoming),
        GET => get::requested(incoming),
        ANSWER => get::answered(context, incoming),
        _ => None,
    };
    delivery.unwrap_or_else(|| {
        tracing::warn!(target: "lapis::vector", source = incoming.source, len = incoming.len, "malformed message buried");
        Delivery::bury()
    })
}

/// Takes a message with atoms to the program's header handler.
///
/// # Safety
/// The message comes from a task of the job, which names a header handler that this task gave out.
unsafe fn with_atoms(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
    let (user_header, note) = incoming.user_header.split_last_chunk()?;
    let atom = u64::from_le_bytes(*note);
    let address = match handler_address(context, handler & !ATOMS, incoming.source) {
        Ok(address) => address,
        Err(delivery) => return Some(delivery),
    };
    let incoming = Incoming { user_header, ..*incoming };
    // SAFETY: the caller's promise.
    unsafe { call(context, handles::for_handlers(context), address, &incoming, atom) }
}
