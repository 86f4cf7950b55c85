//! `gm_allsize`: latency and bandwidth of messages of every size between two ports.

use clap::Parser;
use gm::Target;
use lapis_gm_tools::{Figure, Plan, Session, Trouble, measure};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

const AFTER: &str = "\
Start it without --host on one node, where it answers, and with --host on the other, where it measures. The lengths are 0 and those \
that fill a size class: 2^n - 8. Latency is half a round trip. For bandwidth 48 messages are under way, of long ones 4 MiB, but at \
least 8 messages.

Between two nodes of one host: `lapis-nsd --node left --node right`; `LAPIS_GM_NODE=left gm_allsize`; `LAPIS_GM_NODE=right gm_allsize \
--host left`.

Exit status: 0 done, 1 GM says no, or nobody answers, 2 a wrong command line.";

/// Measures GM messages of every size
#[derive(Parser)]
#[command(name = "gm_allsize", version, after_help = AFTER)]
struct Cli {
    /// The host name of the node that answers; without it, this node answers
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The board
    #[arg(short = 'B', long, value_name = "N", default_value_t = 0)]
    board: u32,
    /// The port, here and there
    #[arg(long, value_name = "N", default_value_t = 4)]
    port: u32,
    /// The longest message, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = (1 << 20) - 8,
          value_parser = clap::value_parser!(u64).range(..=(1 << 24) - 8))]
    longest: u64,
    /// Duration of each measurement, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    each: u64,
    /// Answer one measurement, and exit
    #[arg(long, conflicts_with = "host")]
    once: bool,
    /// Write JSON: one object a line
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    gm::diagnostics::install();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("gm_allsize: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Trouble> {
    let mut session = Session::open(cli.board, cli.port)?;
    let Some(host) = &cli.host else {
        say(if cli.json { r#"{"answers":true}"# } else { "answering" });
        return session.answer(cli.once);
    };
    let to = Target { node: session.find(host)?, port: cli.port, high: false };
    if !cli.json {
        say(&format!(
            "{:>10}  {:>12}  {:>14}  {:>12}",
            "bytes", "latency, us", "bandwidth, MB/s", "messages/s"
        ));
    }
    let plan = Plan { longest: cli.longest, each: Duration::from_millis(cli.each) };
    measure(&mut session, to, &plan, |figure| {
        // Numbers: JSON can hold them.
        let json = || serde_json::to_string(&figure).unwrap_or_default();
        say(&if cli.json { json() } else { line(&figure) });
    })
}

fn line(figure: &Figure) -> String {
    let Figure { length, latency_us, bandwidth_mbs, messages_per_second } = figure;
    format!("{length:>10}  {latency_us:>12.3}  {bandwidth_mbs:>15.1}  {messages_per_second:>12.0}")
}

/// A line at once, also into a pipe. A reader that has seen enough (`| head`) is no failure.
fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
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
