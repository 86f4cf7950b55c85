//! Collective operations of the tasks of a context, or of some of them.
//!
//! * [`Group`]: ordered sets of tasks, without communication;
//! * [`schedule`]: what each member sends, receives and folds, as pure functions that [`model`]
//!   checks;
//! * [`cost`]: the modelled cost of schedules, for any number of members;
//! * [`select`]: the choice of a schedule for each call;
//! * [`lines`]: flags in mapped memory by which members see each other's progress;
//! * [`Team`]: a group that communicates; [`Request`] and [`Persistent`] for nonblocking and
//!   persistent calls.
//!
//! ```
//! # fn context() -> lapis_core::Result<lapis_core::Context> {
//! #     lapis_core::Context::builder().transport(lapis_loopback::table()).init()
//! # }
//! use lapis_collectives::{Combine, Operator, Team};
//!
//! let context = context()?;
//! let team = Team::world(&context)?;
//! let mut values = [1.5, 2.5];
//! team.all_reduce(&mut values, Operator::Sum)?;
//! assert_eq!(values, [1.5 * team.len() as f64, 2.5 * team.len() as f64]);
//! let mut words = [team.rank() as u64];
//! team.scan(&mut words, Combine::ordered(|before: u64, here: u64| before.max(here)))?;
//! assert_eq!(words, [team.rank() as u64]);
//! # Ok::<(), lapis_collectives::CollectiveError>(())
//! ```

mod blocking;
mod board;
mod call;
mod combine;
pub mod cost;
mod element;
mod eligibility;
mod engine;
mod error;
mod key;
mod layouts;
pub mod lines;
mod operations;
mod persistent;
mod request;
pub mod select;
mod signature;
mod team;
mod two_levels;

pub use call::Call;
pub use combine::{By, Combine};
pub use element::{Complex, Element, Located, Logical, Operator, Type};
pub use engine::Held;
pub use error::{CollectiveError, Result};
pub use lapis_schedules::Side;
pub use lapis_schedules::exchange::Edge;
pub use lapis_schedules::group::{Group, GroupError, Split};
pub use lapis_schedules::tree::Parts;
pub use lapis_schedules::{self as schedule, group, model};
pub use layouts::{Laid, Part};
pub use persistent::{Persistent, RawPersistent};
pub use request::Request;
pub use signature::Signature;
pub use team::Team;
