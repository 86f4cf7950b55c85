//! The transport's declaration. Yours also has its variables here: see
//! `transports/shm/src/declaration.rs`.

use lapis_core::transport::{Declaration, Usage};

/// What core and `lapis-info` read.
pub(crate) const DECLARATION: Declaration = Declaration { cost_ns: 50, usage: Usage::Always, variables: &[] };
