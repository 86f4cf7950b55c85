//! Diagnostics go to standard error. LAPIS_LOG says which are shown.

use std::sync::Once;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// Installs a subscriber once, unless the program has one of its own. In C programs gm_init and
/// gm_open do so; a Rust program calls it if it wants what the library has to say.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = Targets::new().with_default(LevelFilter::WARN);
        let filter = std::env::var("LAPIS_LOG").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
        let subscriber = tracing_subscriber::registry().with(lines.without_time()).with(filter);
        // An error says that there is one already: that is the program's wish.
        let _ = tracing::subscriber::set_global_default(subscriber);
    });
}
