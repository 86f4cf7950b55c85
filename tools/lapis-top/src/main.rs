//! `lapis-top`: the tasks of running jobs in a terminal, read from outside.

mod gather;
mod prometheus;
mod table;

use clap::Parser;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

const AFTER: &str = "\
Whatever launcher started the tasks, each shows a page of memory (see lapis_core::status) to its user and to root; lapis-top \
reads it through /proc and stops nobody. It sees the tasks of this machine. Packets, bytes and repetitions are exact at any \
moment; waits, rails and operations are told every tenth of a second while a task runs the library.

Columns: TASK, with /N for context N but the first; PROCESS; OUT/s and IN/s, packets; OUT B/s and IN B/s, data, direct copies \
included; AGAIN, packets sent again; WAITS, waits long enough to be told; OPEN, operations without an answer; CREDIT, bytes that \
its peers are ready to take over datagrams; DOES, what it waits for.

Exit code: 0; 1 with --once if there is no task.";

/// Shows what the tasks of running jobs do, without stopping them.
#[derive(Debug, Parser)]
#[command(name = "lapis-top", version, after_help = AFTER)]
struct Cli {
    /// Only jobs whose identity begins with this.
    job: Option<String>,

    /// Prints once and exits.
    #[arg(long)]
    once: bool,

    /// One JSON document for each update.
    #[arg(long, conflicts_with = "prometheus")]
    json: bool,

    /// Counts in the text format of Prometheus; implies --once.
    #[arg(long)]
    prometheus: bool,

    /// Seconds between two updates.
    #[arg(short, long, value_name = "S", value_parser = seconds, default_value = "1")]
    interval: Duration,

    /// A line for each rail of a task.
    #[arg(long)]
    rails: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.05..=86_400.0).contains(&s) => Ok(Duration::from_secs_f64(s)),
        _ => Err("seconds from 0.05 to 86400 are expected".into()),
    }
}

fn main() -> ExitCode {
    match show(&Cli::parse()) {
        Ok(code) => code,
        // The reader has seen enough (`lapis-top | head`).
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("lapis-top: cannot write: {e}");
            ExitCode::FAILURE
        }
    }
}

fn show(cli: &Cli) -> std::io::Result<ExitCode> {
    let only = cli.job.as_deref().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let mut former = gather::look(only);
    if cli.prometheus {
        out.write_all(prometheus::text(&former).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    // Rates need two looks.
    std::thread::sleep(if cli.once { Duration::from_millis(200).min(cli.interval) } else { cli.interval });
    loop {
        let now = gather::look(only);
        let jobs = gather::jobs(&former, &now);
        if cli.json {
            serde_json::to_writer(&mut out, &jobs)?;
            out.write_all(b"\n")?;
        } else {
            if !cli.once && std::io::stdout().is_terminal() {
                // Home, and clear what follows: no flicker.
                out.write_all(b"\x1b[H\x1b[J")?;
            }
            out.write_all(table::text(&jobs, cli.rails, lines_of_terminal(cli.once)).as_bytes())?;
        }
        out.flush()?;
        if cli.once {
            return Ok(ExitCode::from(u8::from(jobs.is_empty())));
        }
        former = now;
        std::thread::sleep(cli.interval);
    }
}

/// How many lines are shown.
fn lines_of_terminal(once: bool) -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok().filter(|_| !once);
    size.map_or(usize::MAX, |size| usize::from(size.ws_row).saturating_sub(1).max(3))
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
    fn intervals_have_a_range() {
        assert!(Cli::try_parse_from(["lapis-top", "-i", "0.5"]).is_ok());
        for wrong in ["0", "-1", "x", "1e9"] {
            assert!(Cli::try_parse_from(["lapis-top", &format!("-i={wrong}")]).is_err(), "{wrong}");
        }
    }
}
