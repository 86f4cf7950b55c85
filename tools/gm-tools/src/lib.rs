//! What `gm_allsize` does: messages of every size between two ports, for their time and their rate.
//!
//! ```text
//!   asker                                        answerer
//!     │ high: begin {what, length, count} ─────────► │   provides buffers for the messages
//!     │ ◄───────────────────────────── high: ready   │
//!     │ low: messages, which come back one by one (latency), or of which the last is
//!     │      answered (bandwidth)
//! ```

mod ask;
mod order;
mod session;

pub use ask::{Figure, Plan, measure};
pub use order::{Order, What};
pub use session::{Session, Trouble};
