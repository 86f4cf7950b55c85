//! Data gather/scatter programs (DGSPs): from C's descriptors and handles to the engine of `lapis-dgsp`.
//!
//! * `registry`: the registered programs of this process, by handle, with their reference counts;
//! * `layout`: a registered program as the source or the destination of a message;
//! * `ddm`: functions that combine arriving data with what is there.
//!
//! # On the wire
//! A DGSP message is an active message like any other: its bytes come in the program's order, and where they go is the target's
//! business. Only if the origin's program has an `atom_size` must the target know that packets hold whole atoms, for CONTROL
//! depends on it: then the message goes to the internal handler [`ATOMS`], with the atom size in eight bytes behind the
//! program's user header.

mod ddm;
mod layout;
mod registry;

pub(crate) use ddm::{Function, Slot as DdmSlot};
pub(crate) use layout::{SHORT, destination, scatter, short, source};
pub(crate) use registry::{Program, acquire, register, reserve, unreserve};

use crate::handlers::INTERNAL;
use crate::vector;
use lapis_core::handlers::Incoming;
use lapis_core::{Context, Delivery, Error, LapiCode};

/// A program's header handler, in the bits below, for a message whose packets hold whole atoms.
pub(crate) const ATOMS: u64 = INTERNAL | 1 << 61;

/// What a message's user header says behind the program's.
pub(crate) fn note(atom: u64) -> [u8; 8] {
    atom.to_le_bytes()
}

/// Takes a message with atoms to the program's header handler.
///
/// # Safety
/// The message comes from a task of the job, which names a header handler that this task gave out.
pub(crate) unsafe fn arrived(context: &Context, handler: u64, incoming: &Incoming<'_>) -> Option<Delivery> {
    let (user_header, note) = incoming.user_header.split_last_chunk()?;
    let atom = u64::from_le_bytes(*note);
    let address = match vector::handler_address(context, handler & !ATOMS, incoming.source) {
        Ok(address) => address,
        Err(delivery) => return Some(delivery),
    };
    let incoming = Incoming { user_header, ..*incoming };
    // SAFETY: the caller's promise.
    Some(unsafe { crate::handlers::call(context, address, &incoming, atom) })
}

/// The error for what the engine refuses.
fn error(error: &lapis_dgsp::Error) -> Error {
    let code = LapiCode::from_i32(error.code as i32).unwrap_or(LapiCode::ERR_DGSP_OTHER);
    Error::Dgsp { problem: error.to_string(), code }
}
