//! `lapis-info`: the transports that Lapis finds here or refuses, what they can do, and the
//! effective configuration.

mod collectives;
mod copies;
mod facts;
mod text;
mod windows;

use clap::Parser;
use facts::{Facts, Parts};
use std::io::Write;
use std::process::ExitCode;

const AFTER: &str = "\
Without --bootstrap, --transports, --config, --collectives, --windows or --copies it shows the first three. The exit code is 0, or 2 if a variable of the environment has a value that \
programs would refuse. LAPIS_LOG=info shows how the plugins are looked for, step by step.";

/// Shows how a program started here would find its job, the transports and what they can do, and
/// the effective configuration.
#[derive(Debug, Parser)]
#[command(name = "lapis-info", version, after_help = AFTER, max_term_width = 100)]
struct Cli {
    /// Only how a program started here would find the other tasks of its job
    #[arg(long)]
    bootstrap: bool,

    /// Only the transports
    #[arg(long)]
    transports: bool,

    /// Only the configuration, with the meaning of each variable
    #[arg(long)]
    config: bool,

    /// Only the algorithms of collectives, by operation, bytes, members and hosts
    #[arg(long)]
    collectives: bool,

    /// Only the adapters of this host, with their windows and the traffic of each
    #[arg(long)]
    windows: bool,

    /// Only the copies that move data between tasks of a host, by length, and their origin
    #[arg(long)]
    copies: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    lapis_log::install();
    let all =
        !(cli.bootstrap || cli.transports || cli.config || cli.collectives || cli.windows || cli.copies);
    let facts = Facts::gather(Parts {
        bootstrap: all || cli.bootstrap,
        transports: all || cli.transports,
        configuration: all || cli.config,
        collectives: cli.collectives,
        windows: cli.windows,
        copies: cli.copies,
    });
    let text = if cli.json {
        json(&facts)
    } else {
        text::write(&facts, cli.config && !cli.transports && !cli.bootstrap)
    };
    // A closed pipe (`lapis-info | head`) is no reason to complain.
    let _ = std::io::stdout().write_all(text.as_bytes());
    for warning in &facts.warnings {
        eprintln!("lapis-info: warning: {warning}");
    }
    match &facts.error {
        None => ExitCode::SUCCESS,
        Some(error) => {
            eprintln!("lapis-info: {error}");
            ExitCode::from(2)
        }
    }
}

fn json(facts: &Facts) -> String {
    match serde_json::to_string_pretty(facts) {
        Ok(text) => text + "\n",
        Err(error) => format!("{{\"error\": \"{error}\"}}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_manual_says_what_the_help_says() {
        lapis_testing::manual(Cli::command());
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
