//! Lapis core.

pub mod config;
pub mod error;
