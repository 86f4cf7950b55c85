//! What this transport says of itself before it is opened. Yours has its variables here, too: see
//! `transports/shm/src/declaration.rs`.

use lapis_core::transport::{Declaration, Usage};

/// What core and `lapis-info` read.
pub(crate) const DECLARATION: Declaration = Declaration { cost_ns: 50, usage: Usage::Always, variables: &[] };
