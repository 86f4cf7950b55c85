//! Collective operations of the tasks of a context, or of some of them.
//!
//! A collective is a [`schedule`]: for each member a list of steps, computed by a pure function and checked by tests for
//! matching sends and receives and for what everybody knows at the end. [`Team`] runs schedules with active messages; the
//! members need not be all tasks of the job.
//!
//! ```
//! # fn context() -> lapis_core::Result<lapis_core::Context> {
//! #     lapis_core::Context::builder().transport(lapis_loopback::table()).init()
//! # }
//! use lapis_collectives::{Team, sum};
//! use lapis_core::HandlerId;
//!
//! let context = context()?;
//! let mut team = Team::of_all(&context, HandlerId(200))?;
//! let mut values = [1.5, 2.5];
//! team.all_reduce(&mut values, sum)?;
//! assert_eq!(values, [1.5 * f64::from(context.tasks()), 2.5 * f64::from(context.tasks())]);
//! # Ok::<(), lapis_collectives::CollectiveError>(())
//! ```

pub mod group;
pub mod model;
pub mod schedule;
mod steps_of_teams;
mod team;

pub use group::{Group, GroupError, Split};
pub use team::{CollectiveError, Element, Team, max, min, sum};
