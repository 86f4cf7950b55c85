//! What Lapis's measuring programs share: sizes, statistics, records, tables, plots, progress,
//! pinning.
//!
//! `lapis-perf` prints [`record::Record`]s; `lapis-bench` prints the same for the machine's floors
//! and the peers and sets them side by side. `docs/bench-format.md` describes the records for other
//! programs.

pub mod clock;
pub mod dots;
pub mod pin;
pub mod plot;
pub mod progress;
pub mod record;
pub mod size;
pub mod stats;
pub mod table;
