//! `gm_board_info`: boards, nodes and ports of GM as the services daemon knows them.

use clap::Parser;
use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, DaemonError};
use lapis_adapters::protocol::{Adapter, Node};
use serde::Serialize;
use std::io::Write as _;
use std::process::ExitCode;

const AFTER: &str = "\
Boards are the adapters of this host, nodes what GM's mapper would have found: a host's name on a board. Of each node the open \
ports are told, with the process that has them.

Exit status: 0 done, 1 no daemon, 2 a wrong command line.";

/// Shows GM's boards, nodes and ports
#[derive(Parser)]
#[command(name = "gm_board_info", version, after_help = AFTER)]
struct Cli {
    /// Where the daemon listens
    #[arg(long, value_name = "NAME", env = "LAPIS_NSD", default_value = Address::HOST)]
    socket: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct All {
    boards: Vec<Adapter>,
    nodes: Vec<Node>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match ask(&cli.socket) {
        Ok(all) => {
            // Strings and numbers: JSON can hold them.
            let json = || serde_json::to_string(&all).unwrap_or_default() + "\n";
            let text = if cli.json { json() } else { table(&all) };
            // A reader that has seen enough (`| head`) is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("gm_board_info: {e}");
            ExitCode::FAILURE
        }
    }
}

fn ask(socket: &str) -> Result<All, DaemonError> {
    let daemon = Daemon::connect(&Address::new(socket))?;
    Ok(All { boards: daemon.adapters()?, nodes: daemon.nodes()? })
}

fn table(all: &All) -> String {
    let mut text = format!("{:>5}  {:8} {:>7}  {:5}\n", "board", "adapter", "network", "state");
    for board in &all.boards {
        let state = if board.up { "up" } else { "down" };
        text += &format!("{:>5}  {:8} {:>7}  {state:5}\n", board.index, board.name, board.network);
    }
    text += &format!(
        "\n{:>5}  {:>5} {:>7}  {:12}  {:24} {}\n",
        "node", "board", "network", "unique id", "host", "ports"
    );
    for node in &all.nodes {
        let port = |port: &lapis_adapters::protocol::Port| {
            format!("{} ({}, process {}, user {})", port.port, port.name, port.process, port.user)
        };
        let ports: Vec<String> = node.ports.iter().map(port).collect();
        let ports = if ports.is_empty() { "-".to_owned() } else { ports.join(", ") };
        let Node { node, board, network, unique, name, .. } = node;
        text += &format!("{node:>5}  {board:>5} {network:>7}  {unique:12}  {name:24} {ports}\n");
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
