//! The shared-memory transport of Lapis: tasks of one machine exchange messages through memory that they share.

#![allow(
    clippy::disallowed_types,
    reason = "the atomics come from lapis_core::sync; the lint sees through it"
)]
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod cell;
mod ring;
mod shared;
mod wake;

#[cfg(not(loom))]
mod address;
#[cfg(not(loom))]
mod cma;
#[cfg(not(loom))]
mod connect;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod hello;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod receive;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod send;
#[cfg(not(loom))]
mod sys;
#[cfg(not(loom))]
mod transport;
#[cfg(not(loom))]
mod waiter;

#[cfg(all(test, loom))]
mod loom_tests;

#[cfg(not(loom))]
pub use transport::Shm;
#[cfg(not(loom))]
pub use waiter::ShmWaiter;

#[cfg(not(loom))]
lapis_core::export_transport!(Shm, "shm", "0.1.0");
