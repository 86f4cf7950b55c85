//! The C interface of LAPI: `liblapi_r.so`.
//!
//! * [`abi`]: the types and constants of `lapi.h`, generated;
//! * [`exports`]: the exported symbols, generated: each `LAPI_*` and `PLAPI_*` goes to one function
//!   of `calls`;
//! * [`fortran`]: the same subroutines for Fortran;
//! * `calls`: the subroutines: check what the guide says that they check, translate, call core;
//! * `code`: addresses of functions here as other tasks understand them;
//! * `objects`: where code lies;
//! * `handles`: from handles to contexts, the only mutable statics of the project;
//! * `handlers`: from core's hooks to the C handlers of programs;
//! * [`own_exports`]: the symbols of `lapis.h`, generated;
//! * `memory`, `collectives`: what they do: memory that peers reach directly, teams, collectives;
//! * `vector`: layouts of non-contiguous data and the messages that carry them;
//! * `failure`: from errors to codes; `error_handler`: errors that belong to no call;
//! * `threads`: how the program wants those of LAPI.
//!
//! Files depend on each other in one direction: calls on handlers, vectors and DGSPs, these on
//! `handles`, and that on what an instance consists of (`code`, `blocks`, `calls/watches`,
//! `vector/pending`, `dgsp/ddm`, `handlers/nesting`).
//!
//! # Panics
//!
//! A panic never unwinds into C: every subroutine is an `extern "C"` function, at whose border Rust
//! ends the process. That is deliberate. A panic means that Lapis contradicts itself, most likely
//! under the context's lock with its state half changed; going on would give wrong data instead of
//! an end. Subroutines off the data path catch panics nevertheless and return `LAPI_ERR_UNKNOWN`
//! (`failure::cold`).

pub mod abi;
pub mod exports;
pub mod fortran;
pub mod own_exports;

mod blocks;
mod calls;
mod code;
mod collectives;
mod copying;
mod dgsp;
mod diagnostics;
mod error_handler;
mod failure;
mod handlers;
mod handles;
mod memory;
mod objects;
mod sync;
mod threads;
mod vector;
