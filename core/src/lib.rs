//! Lapis core.
