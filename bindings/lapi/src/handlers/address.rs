//! From what a message names to the address of a handler.

use crate::handles;
use lapis_core::handlers::HANDLER_TABLE_SIZE;
use lapis_core::{CompletionHandler, Context, Delivery, Error};

/// The address of a header handler that a message names by index or address, or what becomes of the
/// message without one. If nothing is worth waiting for, the error handler is told.
pub(crate) fn handler_address(context: &Context, handler: u64, source: u32) -> Result<u64, Delivery> {
    let address = if handler < HANDLER_TABLE_SIZE as u64 {
        context.handler_address(handler as usize).unwrap_or(0)
    } else {
        address_here(context, handler)
    };
    if address != 0 {
        return Ok(address);
    }
    if context.handler_may_come(handler) {
        return Err(Delivery::later());
    }
    raise_later(context, source, Error::HeaderHandlerNull { origin: source, handler });
    Err(Delivery::bury())
}

/// The address in this process of a handler that another task names. 0: it has no such function.
fn address_here(context: &Context, handler: u64) -> u64 {
    let code = handles::of_context(context).map(|instance| &instance.code);
    code.and_then(|code| code.absolute(handler)).unwrap_or(0)
}

/// Tells the error handler, but not from within the dispatcher.
pub(crate) fn raise_later(context: &Context, source: u32, error: Error) {
    let raise = move |context: &Context| context.raise(error, source);
    context.run_on_handler_thread(CompletionHandler::Closure(Box::new(raise)));
}
