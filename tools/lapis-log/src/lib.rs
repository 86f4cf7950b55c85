//! Where the diagnostics of the tools go: standard error, warnings and errors, or what `LAPIS_LOG` asks for.

use tracing_subscriber::filter::{EnvFilter, LevelFilter};

/// Installs the subscriber of this process. Called once, by the program's main function.
pub fn install() {
    let filter = EnvFilter::builder()
        .with_env_var("LAPIS_LOG")
        .with_default_directive(LevelFilter::WARN.into())
        .from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time().init();
}
