//! From core's hooks to the handlers of C programs.
//!
//! * `arrivals`: core's hook for messages: which handler one is for;
//! * `call`: calls a program's header handler;
//! * `address`: from what a message names to the address of a handler;
//! * `internal`: the numbers of handlers that are ours;
//! * `notify`: completion handlers and counters;
//! * `sent`: send completion handlers, which may nest.

pub(crate) mod address;
pub(crate) mod arrivals;
pub(crate) mod call;
pub(crate) mod internal;
pub(crate) mod notify;
pub(crate) mod sent;
