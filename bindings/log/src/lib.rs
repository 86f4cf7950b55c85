//! Where diagnostics of the libraries and of the tools go: to standard error, warnings and errors,
//! or what `LAPIS_LOG` asks for.

use lapis_core::config::Environment;
use std::sync::Once;
pub use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::filter::{Targets, dynamic_filter_fn};
use tracing_subscriber::prelude::*;

thread_local! {
    /// Destroyed with the thread's other values, of which the subscriber has some.
    static OF_THREAD: String = const { String::new() };
}

/// Whether this thread can write a line: the subscriber would panic in a thread whose values are
/// destroyed, as those of the main thread are when exit handlers run.
fn can_write() -> bool {
    OF_THREAD.try_with(|_| ()).is_ok()
}

/// Installs the subscriber of this process, once, unless the program has one of its own. In a
/// set-user-id program `LAPIS_LOG` does not count, as no variable does.
pub fn install() {
    install_with(LevelFilter::WARN, Environment::of_process().get("LAPIS_LOG"));
}

/// The same with `usual` shown where `wanted`, the text of `LAPIS_LOG`, says nothing that is
/// understood.
pub fn install_with(usual: LevelFilter, wanted: Option<&str>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
        let filter = filter(usual, wanted.unwrap_or_default());
        // An error says that there is one already: that is the program's wish.
        let all = tracing_subscriber::registry().with(lines.without_time());
        // Inside the other filter, which decides once for each place in the code.
        let _ = all.with(dynamic_filter_fn(|_, _| can_write())).with(filter).try_init();
    });
}

/// What a text like `info` or `lapis_core::reliable=trace,warn` lets through.
fn filter(usual: LevelFilter, text: &str) -> Targets {
    let usual = Targets::new().with_default(usual);
    if text.trim().is_empty() {
        return usual;
    }
    text.parse().unwrap_or_else(|error| {
        // In one piece, so that lines of several tasks do not mix.
        let line = format!(
            "LAPIS_LOG=`{text}`: {error}; it takes a filter as in info or lapis_core::reliable=trace,warn\n"
        );
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        usual
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    /// As exit handlers of the library do, which let go what was sent.
    #[test]
    fn a_line_that_is_written_when_a_thread_has_ended_is_left_out() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                assert!(!can_write());
                tracing::warn!("nobody can write this");
            }
        }
        thread_local! {
            static LATE: Late = const { Late };
        }
        install();
        let thread = std::thread::spawn(|| {
            // What is used first is destroyed last.
            LATE.with(|_| ());
            tracing::warn!("a line of a thread");
            tracing::debug!("not wanted");
        });
        thread.join().expect("no panic");
        let most = LevelFilter::current();
        assert_eq!(most, LevelFilter::WARN, "places that say less cost no call");
    }

    #[test]
    fn levels_and_targets_are_understood_and_nonsense_is_as_good_as_nothing() {
        let lets =
            |text: &str, target: &str, level| filter(LevelFilter::WARN, text).would_enable(target, &level);
        assert!(lets("", "lapis::loader", Level::WARN) && !lets("", "lapis::loader", Level::INFO));
        assert!(lets("info", "lapis::loader", Level::INFO));
        assert!(lets("lapis_core::reliable=trace,warn", "lapis_core::reliable::window", Level::TRACE));
        assert!(!lets("lapis_core::reliable=trace,warn", "lapis_core::lock", Level::INFO));
        assert!(lets("=,=!", "lapis", Level::WARN) && !lets("=,=!", "lapis", Level::INFO));
        assert!(!lets("off", "lapis", Level::ERROR));
        let debugging = filter(LevelFilter::DEBUG, "");
        assert!(debugging.would_enable("lapis", &Level::DEBUG));
    }
}
