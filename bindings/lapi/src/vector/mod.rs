//! Non-contiguous data: layouts, and the messages that carry them.
//!
//! A vector transfer is one active message to an internal handler. Its data begins with a
//! *description*, 64-bit words that say what the target needs to know, and goes on with the bytes
//! themselves, in the order of the vector:
//!
//! | message | user header | description | then |
//! |---|---|---|---|
//! | put | type, count | the target's blocks: address, length each, or base, block, stride | the data |
//! | get, request | type, count, number of the get, target counter, origin counter | the target's blocks | |
//! | get, answer | number of the get | | the data |
//! | active message | the program's, then type, count | the lengths at the origin, or the block | the data |
//!
//! Packets may come in any order, so a layout that depends on a description that has not arrived
//! yet is built when it has; see `description`.

pub(crate) mod amv;
pub(crate) mod description;
pub(crate) mod get;
pub(crate) mod layout;
pub(crate) mod pending;
pub(crate) mod put;
