//! Where diagnostics go: standard error, as much of them as MP_LAPI_TRACE_LEVEL or LAPIS_LOG says.

use lapis_core::config::Config;
use lapis_log::LevelFilter;
use std::io::Write;

/// Installs a subscriber once, unless the program has one of its own in this copy of the library.
//= LAPI Guide, table 39, MP_LAPI_TRACE_LEVEL
pub(crate) fn install(config: Option<&Config>) {
    let level = match config.map_or(0, |c| *c.trace_level.get()) {
        // Warnings and errors are not tracing: they show unless LAPIS_LOG says otherwise.
        0 | 2 => LevelFilter::WARN,
        1 => LevelFilter::ERROR,
        3 => LevelFilter::INFO,
        4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    lapis_log::install_with(level, config.and_then(|c| c.log.get().as_deref()));
}

/// Writes one line at once, so that lines of several tasks do not mix.
pub(crate) fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// The version line.
//= LAPI Guide, table 41, MP_INFOLEVEL of 2 and more
pub(crate) fn version() -> String {
    format!("Lapis {} ({}), LAPI C interface 1", env!("CARGO_PKG_VERSION"), env!("BUILD_OF_LAPIS"))
}
