//! Where diagnostics go: standard error, as much of them as MP_LAPI_TRACE_LEVEL or LAPIS_LOG says.

use lapis_core::config::Config;
use std::io::Write;
use std::sync::Once;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// Installs a subscriber once, unless the program has one of its own in this copy of the library.
//= LAPI Guide, table 39, MP_LAPI_TRACE_LEVEL
pub(crate) fn install(config: Option<&Config>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let level = match config.map_or(0, |c| *c.trace_level.get()) {
            // Warnings and errors are not tracing: they show unless LAPIS_LOG says otherwise.
            0 | 2 => LevelFilter::WARN,
            1 => LevelFilter::ERROR,
            3 => LevelFilter::INFO,
            4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        };
        let usual = Targets::new().with_default(level);
        let filter = match config.and_then(|c| c.log.get().as_deref()) {
            Some(text) => text.parse().unwrap_or_else(|error| {
                say(&format!(
                    "LAPIS_LOG=`{text}`: {error}; it takes a filter as in info or lapis_core::reliable=trace,warn"
                ));
                usual
            }),
            None => usual,
        };
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
        let subscriber = tracing_subscriber::registry().with(lines.without_time()).with(filter);
        // An error says that there is one already: that is the program's wish.
        let _ = tracing::subscriber::set_global_default(subscriber);
    });
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
