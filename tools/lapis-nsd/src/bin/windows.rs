//! `lapis-windows`: adapters and windows of this host, for people and scripts.

use clap::{Parser, Subcommand};
use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, DaemonError};
use lapis_adapters::key::Key;
use lapis_adapters::protocol::Place;
use lapis_adapters::status;
use serde::Serialize;
use std::io::Write as _;
use std::process::ExitCode;

const AFTER: &str = "\
A window is written WINDOW,ADAPTER as in MP_LAPI_NETWORK, for example 164,sn0. A reserved window stays so until it is released, \
whoever has it open in between. Tasks of any job of the user may open it; once a job's key is loaded, those of that job alone. \
Reservations and loaded keys end with the daemon: make them again when it has been started again.

Exit status: 0 done, 1 refused or no daemon, 2 a wrong command line.";

/// Shows, reserves and releases windows of this host's adapters
#[derive(Parser)]
#[command(name = "lapis-windows", version, after_help = AFTER)]
struct Cli {
    /// Where the daemon listens
    #[arg(long, global = true, value_name = "NAME", env = "LAPIS_NSD", default_value = Address::HOST)]
    socket: String,
    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show adapters and the windows that are not free
    Status,
    /// Reserve a window, or any free one of an adapter, for tasks of this user
    Reserve {
        /// ADAPTER, or WINDOW,ADAPTER
        what: String,
    },
    /// End a reservation
    Release {
        /// WINDOW,ADAPTER
        window: String,
    },
    /// Restrict a reserved window to one job
    Load {
        /// WINDOW,ADAPTER
        window: String,
        /// The job's key: 32 hexadecimal digits
        #[arg(long)]
        key: String,
    },
    /// Let any job of this user open a reserved window again
    Unload {
        /// WINDOW,ADAPTER
        window: String,
    },
    /// Take an adapter down, for root and the daemon's user: its windows carry nothing
    Down {
        /// The adapter
        adapter: String,
    },
    /// Take an adapter up again
    Up {
        /// The adapter
        adapter: String,
    },
}

enum Trouble {
    Usage(String),
    Daemon(DaemonError),
}

impl From<DaemonError> for Trouble {
    fn from(e: DaemonError) -> Self {
        Self::Daemon(e)
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(text) => {
            // A reader that has seen enough (`| head`) is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(Trouble::Usage(text)) => {
            eprintln!("lapis-windows: {text}");
            ExitCode::from(2)
        }
        Err(Trouble::Daemon(e)) => {
            eprintln!("lapis-windows: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<String, Trouble> {
    let daemon = || Daemon::connect(&Address::new(&cli.socket));
    let done = |text: String| if cli.json { "{}\n".to_owned() } else { format!("{text}\n") };
    match &cli.verb {
        Verb::Status => Ok(status(&daemon()?, cli.json)?),
        Verb::Reserve { what } => {
            let (adapter, window) = if what.contains(',') {
                let place = place(what)?;
                (place.adapter, Some(place.window))
            } else {
                (what.clone(), None)
            };
            let got = daemon()?.reserve(&adapter, window)?;
            Ok(if cli.json { json(&got) } else { format!("{},{}\n", got.window, got.adapter) })
        }
        Verb::Release { window } => {
            let place = place(window)?;
            daemon()?.release(&place)?;
            Ok(done(format!("{place} is free")))
        }
        Verb::Load { window, key } => {
            let (place, key) = (place(window)?, key.parse::<Key>());
            let key = key.map_err(|why| Trouble::Usage(format!("--key: {why}")))?;
            daemon()?.load(&place, key)?;
            Ok(done(format!("{place} is for job {}", key.fingerprint())))
        }
        Verb::Unload { window } => {
            let place = place(window)?;
            daemon()?.unload(&place)?;
            Ok(done(format!("{place} is for any job of yours")))
        }
        Verb::Down { adapter } => {
            daemon()?.set(adapter, false)?;
            Ok(done(format!("{adapter} is down")))
        }
        Verb::Up { adapter } => {
            daemon()?.set(adapter, true)?;
            Ok(done(format!("{adapter} is up")))
        }
    }
}

fn place(text: &str) -> Result<Place, Trouble> {
    let parsed = text.split_once(',').and_then(|(window, adapter)| {
        let window = window.trim().parse().ok()?;
        (!adapter.trim().is_empty()).then(|| Place { adapter: adapter.trim().to_owned(), window })
    });
    parsed.ok_or_else(|| Trouble::Usage(format!("`{text}`: a window is written WINDOW,ADAPTER: 164,sn0")))
}

fn status(daemon: &Daemon, as_json: bool) -> Result<String, DaemonError> {
    let all = status::of(daemon)?;
    Ok(if as_json { json(&all) } else { status::text(&all) })
}

fn json(value: &impl Serialize) -> String {
    // Strings and numbers: JSON can hold them.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn manual() {
        lapis_testing::manual(Cli::command());
    }
}
