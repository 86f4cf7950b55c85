//! The configuration: one declared table, parsed once.
//!
//! - `table.rs` declares every variable of core's: the guide's `MP_*` and `LAPI_*` (LAPI Guide,
//!   appendix D and chapters 5 and 16) and ours, `LAPIS_*`. Type, unit, range, default and help are
//!   only there. Variables of a transport are declared by it, in the same form
//!   ([`Declaration`](crate::transport::Declaration)), and read by `declare.rs`.
//! - [`Config::from_env`] reads an [`Environment`] — a snapshot, so tests need no process
//!   environment — into typed [`Setting`]s, each of which remembers where its value came from.
//! - `lapis-info` and lapi_env(7) are written from [`VARIABLES`], what transports declare, and
//!   [`Config::listing`].
//!
//! ```
//! use lapis_core::config::{Config, Environment, Origin};
//!
//! let env = Environment::from_pairs([("LAPIS_EAGER_MAX", "4K")]);
//! let (config, warnings) = Config::from_env(&env)?;
//! assert_eq!(config.eager_max.get(), &Some(4096));
//! assert_eq!(config.eager_max.origin(), Origin::Environment);
//! assert!(warnings.is_empty());
//! # Ok::<(), lapis_core::config::ConfigError>(())
//! ```

mod attributes;
mod choices;
mod declare;
mod declared;
mod environment;
mod kind;
mod man;
mod names;
mod preferred;
mod read;
mod set_error;
mod suggest;
mod table;
mod tuning;
mod typed;
mod value;

pub use attributes::{ACK_THRESHOLD_RANGE, TIMEOUT_RANGE};
pub use choices::{BindMode, Choice, EuiLib, MsgApi, UseShm};
pub use environment::Environment;
pub(crate) use environment::elevated;
pub(crate) use kind::Value;
pub use kind::{Kind, Unit};
pub use man::environment_page;
pub use names::{DEPRECATED, LAUNCHER_PREFIX};
pub use set_error::SetError;
pub use suggest::nearest;
pub use table::{Config, VARIABLES};
pub use tuning::{TUNING, is_tunable, processor, update_tuning, write_tuning};
pub use value::{CommonTasks, Device, InetAddrs, Instances, NetworkWindows};

use crate::code::LapiCode;
use std::fmt;

/// Where an effective value came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Origin {
    /// The table's default.
    Default,
    /// An environment variable.
    Environment,
    /// The tuning file.
    Tuning,
    /// The program, through the builder.
    Builder,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::Tuning => "tuning file",
            Self::Builder => "builder",
        })
    }
}

/// An effective value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    value: T,
    origin: Origin,
}

impl<T> Setting<T> {
    pub(crate) fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// The value.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// Where the value came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Replaces the value. Ranges are not checked: [`Config::set`] does that.
    pub fn replace(&mut self, value: T, origin: Origin) {
        *self = Self::new(value, origin);
    }
}

impl<T> std::ops::Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A variable: one row of core's table, or of what a transport declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The environment variable's name.
    pub name: &'static str,
    /// The group it is listed under.
    pub group: Group,
    /// Type, unit and range.
    pub kind: Kind,
    /// The default as one would write it; `None` where there is none.
    pub default: Option<&'static str>,
    /// What it sets, in one line.
    pub help: &'static str,
    /// Everything else a user should know.
    pub more: &'static str,
    /// Where it is defined: a place in the LAPI Guide, or "Lapis".
    pub source: &'static str,
    /// What the C interface returns when the value is bad.
    pub code: LapiCode,
}

/// The groups in which variables are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Group {
    /// Which interface and library a job uses.
    Communication,
    /// How data is transferred.
    Transfer,
    /// Finding out what happens.
    Diagnostics,
    /// Trading memory and traffic for speed.
    Tuning,
    /// What the launcher reads and LAPI ignores.
    Launcher,
    /// Shared memory.
    SharedMemory,
    /// Starting tasks by hand.
    Standalone,
    /// Transports and plugins.
    Transports,
    /// The own ones of the transport of this name.
    Transport(&'static str),
    /// Names that no longer have an effect.
    Deprecated,
}

impl Group {
    /// The group's heading.
    pub fn title(self) -> String {
        match self {
            Self::Communication => "Communication",
            Self::Transfer => "Data transfer",
            Self::Diagnostics => "Diagnostics",
            Self::Tuning => "Performance tuning",
            Self::Launcher => "Launcher",
            Self::SharedMemory => "Shared memory",
            Self::Standalone => "Starting tasks by hand",
            Self::Transports => "Transports",
            Self::Transport(name) => return format!("Transport {name}"),
            Self::Deprecated => "Deprecated",
        }
        .to_owned()
    }
}

/// A value that a variable cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}=`{value}`: {problem}; it takes {range}")]
pub struct ConfigError {
    /// The variable.
    pub variable: String,
    /// The value it was given.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
    /// What the variable takes.
    pub range: String,
    code: LapiCode,
}

impl ConfigError {
    /// The code that the C interface returns.
    pub fn code(&self) -> LapiCode {
        self.code
    }

    fn new(variable: &Variable, value: &str, problem: String) -> Self {
        Self {
            variable: variable.name.to_owned(),
            value: value.to_owned(),
            problem,
            range: variable.kind.range(),
            code: variable.code,
        }
    }
}

/// Something in the environment that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A name that looks like one of ours and is not.
    UnknownName {
        /// The name that was set.
        name: String,
        /// The known name it is nearest to, if any is near.
        nearest: Option<&'static str>,
    },
    /// A name that no longer has an effect.
    Deprecated {
        /// The name that was set.
        name: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// The tuning file does not count.
    Tuning {
        /// Which, and why.
        why: String,
    },
    /// A value was moved into the range, as the guide demands for this variable.
    Clamped {
        /// The variable.
        name: &'static str,
        /// What it was set to.
        given: String,
        /// What is used.
        used: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { name, nearest: Some(known) } => {
                write!(f, "environment variable {name} is not known and ignored: is {known} meant?")
            }
            Self::UnknownName { name, nearest: None } => {
                write!(
                    f,
                    "environment variable {name} is not known and ignored: `lapis-info --config` lists all"
                )
            }
            Self::Deprecated { name, instead } => {
                write!(f, "environment variable {name} no longer has an effect: {instead}")
            }
            Self::Tuning { why } => f.write_str(why),
            Self::Clamped { name, given, used } => {
                write!(f, "{name}={given} is raised to the minimum, {used}")
            }
        }
    }
}

/// One effective value, for `lapis-info` and other listings.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The row of core's table, or of what a transport declares.
    pub variable: Variable,
    /// The effective value as one would write it; `None` where nothing is set.
    pub value: Option<String>,
    /// Where it came from.
    pub origin: Origin,
}

#[cfg(test)]
mod tests;
