//! Lapis core.

pub mod reliable;
