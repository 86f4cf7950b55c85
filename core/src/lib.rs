//! Lapis core.

pub mod bootstrap;
