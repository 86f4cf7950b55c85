//! GM, Myricom's message layer, on Lapis: `libgm.so` for C programs (`gm.h`), and [`Port`] for Rust
//! programs.
//!
//! `docs/gm.md` says how it works, what was chosen where GM's manual is silent, and what is not
//! there.

pub mod abi;
#[doc(hidden)]
pub mod alarm;
mod alarms;
mod api;
mod bundle;
mod busy;
mod daemon;
pub mod diagnostics;
mod direct;
mod ending;
mod events;
#[doc(hidden)]
pub mod exports;
mod forks;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz_entry;
#[doc(hidden)]
pub mod handle;
mod incoming;
mod lane;
mod linger;
mod long;
mod memory;
mod net;
mod outgoing;
mod outlets;
mod port;
mod progress;
mod reach;
mod settings;
#[doc(hidden)]
pub mod stream;
mod telling;
mod texts;
mod watch;
mod wire;
mod wish;

#[cfg(test)]
mod export_tests;
#[cfg(test)]
mod lane_tests;
#[cfg(test)]
mod late_tests;
#[cfg(test)]
mod life_tests;
#[cfg(test)]
mod rubbish_tests;

pub use api::{Event, Port, SendId, Target};
