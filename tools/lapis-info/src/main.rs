//! `lapis-info`: the transports that Lapis finds here or refuses, what they can do, and the effective configuration.

mod facts;
mod text;

use clap::Parser;
use facts::Facts;
use std::io::Write;
use std::process::ExitCode;

const AFTER: &str = "\
Without --transports or --config it shows both. The exit code is 0, or 2 if a variable of the environment has a value that \
programs would refuse. LAPIS_LOG=info shows how the plugins are looked for, step by step.";

/// Shows the transports that Lapis finds here, what they can do, and the effective configuration.
#[derive(Debug, Parser)]
#[command(name = "lapis-info", version, after_help = AFTER, max_term_width = 100)]
struct Cli {
    /// Only the transports
    #[arg(long)]
    transports: bool,

    /// Only the configuration, with what each variable means
    #[arg(long)]
    config: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    lapis_log::install();
    let facts = Facts::gather(cli.transports || !cli.config, cli.config || !cli.transports);
    let text = if cli.json { json(&facts) } else { text::write(&facts, cli.config && !cli.transports) };
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
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
