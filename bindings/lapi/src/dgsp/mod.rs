//! Data gather/scatter programs (DGSPs): from C's descriptors and handles to the engine of
//! `lapis-dgsp`.
//!
//! * `registry`: the registered programs of this process, by handle, with their reference counts;
//! * `layout`: a registered program as the source or the destination of a message;
//! * `ddm`: functions that combine arriving data with what is there.
//!
//! # On the wire
//! A DGSP message is an active message like any other: its bytes come in the program's order, and
//! where they go is the target's business. Only if the origin's program has an `atom_size` must the
//! target know that packets hold whole atoms, for CONTROL depends on it: then the message goes to
//! the internal handler `ATOMS`, with the atom size in eight bytes behind the program's user
//! header.

pub(crate) mod ddm;
pub(crate) mod layout;
pub(crate) mod registry;
