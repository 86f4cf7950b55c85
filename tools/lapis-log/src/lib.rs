//! Where the diagnostics of the tools go: standard error, warnings and errors, or what `LAPIS_LOG`
//! asks for.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// Installs the subscriber of this process. Called once, by the program's main function.
pub fn install() {
    let text = std::env::var("LAPIS_LOG").unwrap_or_default();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).without_time();
    tracing_subscriber::registry().with(lines).with(filter(&text)).init();
}

/// What a text like `info` or `lapis_core::reliable=trace,warn` lets through.
fn filter(text: &str) -> Targets {
    let usual = Targets::new().with_default(LevelFilter::WARN);
    if text.trim().is_empty() {
        return usual;
    }
    text.parse().unwrap_or_else(|error| {
        eprintln!("LAPIS_LOG=`{text}`: {error}; warnings and errors are shown");
        usual
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn levels_and_targets_are_understood_and_nonsense_is_as_good_as_nothing() {
        let lets = |text: &str, target: &str, level| filter(text).would_enable(target, &level);
        assert!(lets("", "lapis::loader", Level::WARN) && !lets("", "lapis::loader", Level::INFO));
        assert!(lets("info", "lapis::loader", Level::INFO));
        assert!(lets("lapis_core::reliable=trace,warn", "lapis_core::reliable::window", Level::TRACE));
        assert!(!lets("lapis_core::reliable=trace,warn", "lapis_core::lock", Level::INFO));
        assert!(lets("=,=!", "lapis", Level::WARN) && !lets("=,=!", "lapis", Level::INFO));
        assert!(!lets("off", "lapis", Level::ERROR));
    }
}
