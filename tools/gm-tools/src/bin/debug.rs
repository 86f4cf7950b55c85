//! `gm_debug`: what passes through GM's open ports.

use clap::Parser;
use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, DaemonError};
use lapis_adapters::protocol::Counts;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;

const AFTER: &str = "\
Ports write their counts every millisecond in which their programs call GM, and before they sleep. `sent` and `received` count \
messages, puts and gets; `failed` are sends that ended otherwise than well; `waited` are messages that came before their buffers; \
`resent` are units that the packet engine sent again. `tokens` are send tokens in use, `buffers` those that are provided, `events` \
those that the program has not taken. `taken`, `refused` and `lost` are datagrams of the port's window: taken out by its owner, given \
up by senders for want of room, and frames of an Ethernet for which there was none.

Exit status: 0 done, 1 no daemon, 2 a wrong command line.";

/// Shows the counters of GM's open ports
#[derive(Parser)]
#[command(name = "gm_debug", version, after_help = AFTER)]
struct Cli {
    /// Where the daemon listens
    #[arg(long, value_name = "NAME", env = "LAPIS_NSD", default_value = Address::HOST)]
    socket: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// A port, and what its program has written of it.
#[derive(Serialize)]
struct Row {
    node: String,
    port: u32,
    name: String,
    process: u32,
    user: u32,
    sent: u64,
    received: u64,
    failed: u64,
    waited: u64,
    resent: u64,
    tokens: u64,
    buffers: u64,
    events: u64,
    taken: u64,
    refused: u64,
    lost: u64,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match rows(&cli.socket) {
        Ok(rows) => {
            // Strings and numbers: JSON can hold them.
            let json = || serde_json::to_string(&rows).unwrap_or_default() + "\n";
            let text = if cli.json { json() } else { table(&rows) };
            // A reader that has seen enough (`| head`) is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("gm_debug: {e}");
            ExitCode::FAILURE
        }
    }
}

fn rows(socket: &str) -> Result<Vec<Row>, DaemonError> {
    let daemon = Daemon::connect(&Address::new(socket))?;
    let mut counts: BTreeMap<(String, u32), Counts> = BTreeMap::new();
    for adapter in daemon.adapters()? {
        for window in daemon.windows(&adapter.name)? {
            counts.extend(window.counts.map(|count| ((adapter.name.clone(), window.window), count)));
        }
    }
    let mut rows = Vec::new();
    for node in daemon.nodes()? {
        for port in node.ports {
            // A port that was opened between the two answers has no counts yet.
            let place = (port.place.adapter, port.place.window);
            let Counts { taken, refused, lost, notes } = counts.get(&place).copied().unwrap_or_default();
            let [sent, received, failed, waited, resent, tokens, buffers, events] = notes;
            rows.push(Row {
                node: node.name.clone(),
                port: port.port,
                name: port.name,
                process: port.process,
                user: port.user,
                sent,
                received,
                failed,
                waited,
                resent,
                tokens,
                buffers,
                events,
                taken,
                refused,
                lost,
            });
        }
    }
    Ok(rows)
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no port is open\n".to_owned();
    }
    let mut text = format!(
        "{:16} {:>4}  {:15} {:>8} {:>10} {:>10} {:>7} {:>7} {:>7} {:>6} {:>7} {:>6} {:>10} {:>7} {:>6}\n",
        "node",
        "port",
        "name",
        "process",
        "sent",
        "received",
        "failed",
        "waited",
        "resent",
        "tokens",
        "buffers",
        "events",
        "taken",
        "refused",
        "lost"
    );
    for row in rows {
        text += &format!(
            "{:16} {:>4}  {:15} {:>8} {:>10} {:>10} {:>7} {:>7} {:>7} {:>6} {:>7} {:>6} {:>10} {:>7} {:>6}\n",
            row.node,
            row.port,
            row.name,
            row.process,
            row.sent,
            row.received,
            row.failed,
            row.waited,
            row.resent,
            row.tokens,
            row.buffers,
            row.events,
            row.taken,
            row.refused,
            row.lost
        );
    }
    text
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
