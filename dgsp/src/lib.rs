//! Data gather/scatter programs (DGSPs): non-contiguous data as LAPI describes it.
//!
//! A DGSP is a small program that names, in order, the bytes of a message in the user's memory
//! (*LAPI Guide, "Using data gather/scatter programs (DGSPs)"*). [`isa`] is the reference of the
//! instruction set.
//!
//! ```text
//!  Layout ──compile──▶ Descriptor ──Registered::new / verified──▶ Registered ──▶ pack_into, unpack_from
//!  text::assemble ────────┘  │                                        │          at any position
//!  the user's int array ──┘  └─ verify, disassemble, Machine (oracle) └─ copy: layout to layout
//! ```
//!
//! - [`Layout`] builds layouts with MPI's constructors and compiles them: equal layouts give equal,
//!   small programs.
//! - [`verify()`] is the verifier; errors carry the guide's codes and the instruction's index.
//! - [`Registered`] is compiled once into nested strided blocks and moves bytes between memory and
//!   packets.
//! - [`Machine`] is the plain interpreter: the oracle of the tests, and the engine for CONTROL and
//!   unverified programs.
//! - [`ddm`] has the hook for functions that combine instead of copying.
//!
//! The crate is pure: no clock, no thread, no system call, and no `unsafe` outside the copy engine
//! and the calls that take pointers. The data path does not allocate, except where the plain
//! interpreter pushes its first frames.
#![deny(unsafe_code)]

pub mod ddm;
mod decode;
mod density;
mod descriptor;
mod encode;
mod engine;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzz_entry;
mod interp;
mod ir;
pub mod isa;
mod layout;
mod packing;
mod registered;
mod routines;
pub mod text;
mod transfer;
mod verify;

pub use density::Density;
pub use descriptor::Descriptor;
pub use error::{Error, ErrorCode, Fault};
pub use interp::{Machine, Piece};
pub use layout::{Dim, Distribution, Layout, Order};
pub use registered::{Registered, Span};
pub use transfer::{apart, copy};
pub use verify::{Verified, verify};
