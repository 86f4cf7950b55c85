//! From core's hooks to the handlers of C programs.
//!
//! * `arrivals`: core's hook for messages: which handler one is for;
//! * `call`: calls a program's header handler;
//! * `address`: from what a message names to the address of a handler;
//! * `internal`: the numbers of handlers that are ours;
//! * `notify`: completion handlers and counters;
//! * `sent`: send completion handlers; `nesting`: which of them have begun.

pub(crate) mod address;
pub(crate) mod arrivals;
pub(crate) mod call;
pub(crate) mod internal;
pub(crate) mod nesting;
pub(crate) mod notify;
pub(crate) mod sent;
