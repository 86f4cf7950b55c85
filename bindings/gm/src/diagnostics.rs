//! Diagnostics go to standard error; LAPIS_LOG says which are shown. In C programs gm_init and
//! gm_open see to it; a Rust program calls [`install`] if it wants what the library has to say.

pub use lapis_log::install;
