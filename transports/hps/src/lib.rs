//! The transport `hps`: datagrams between windows of adapters, the guide's user-space mode.
//!
//! It moves datagrams and nothing else: what gets lost, doubled, reordered or forged is the
//! business of core's packet engine (`docs/reliable.md`). Long data between the tasks of one host
//! may go past the windows' FIFOs, by lanes or by cross-memory attach. What a window is, and whom
//! it trusts, says `docs/hps.md`.
//!
//! | file | concern |
//! |---|---|
//! | `declaration.rs` | cost, usage and variables |
//! | `options.rs` | what the environment says |
//! | `choice.rs` | on which adapters this task's windows are to be |
//! | `address.rs` | what a task publishes about its windows |
//! | `services.rs` | the daemon: windows, the availability matrix, daemons that come and go |
//! | `retry.rs` | when a silent daemon is asked again |
//! | `windows.rs` | which windows a context has: its own, held ones, shared ones |
//! | `shared.rs` | windows that the contexts of a process share |
//! | `rail.rs` | one window of this task |
//! | `way.rs` | a way to a peer's window: sending |
//! | `direct.rs` | copies between the memories of two tasks, past the windows |
//! | `waiter.rs` | sleeping |
//! | `transport.rs` | the contract |
//! | `transport/reach.rs` | how a peer's window is reached |
//! | `transport/changes.rs` | adapters, next hops and daemons that come and go |
//! | `transport/sleep.rs` | what ends a sleep |
//! | `transport/copies.rs` | copies past the windows |
//! | `transport/lanes.rs` | packets of long messages and lone short ones, by lanes |

mod address;
mod choice;
mod declaration;
mod direct;
#[cfg(test)]
#[path = "../../shm/tests/namesake/mod.rs"]
mod namesake;
mod options;
mod rail;
mod retry;
mod services;
mod shared;
mod transport;
mod waiter;
mod way;
mod windows;

pub use transport::Hps;
pub use waiter::HpsWaiter;

lapis_core::export_transport!(Hps, "hps", env!("CARGO_PKG_VERSION"));
