//! The shared-memory transport of Lapis.
