//! Jobs as lines of a terminal.

use crate::gather::{Job, Rail, RailState, Row};
use std::fmt::Write;

/// The jobs, at most so many lines of them.
pub(crate) fn text(jobs: &[Job], rails: bool, most: usize) -> String {
    let mut lines = Vec::new();
    if jobs.is_empty() {
        lines.push("no task of this user on this machine has a context".to_owned());
    }
    for job in jobs {
        let here = job.contexts.len();
        lines.push(format!(
            "job {}: {} tasks, {here} contexts here, {:.0} s",
            job.job, job.tasks, job.seconds
        ));
        lines.push(format!(
            "{:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>5} {:>7}  DOES",
            "TASK", "PROCESS", "OUT/s", "IN/s", "OUT B/s", "IN B/s", "AGAIN", "WAITS", "OPEN", "CREDIT"
        ));
        for row in &job.contexts {
            lines.push(line(row));
            if rails {
                lines.extend(row.rails.iter().map(of_rail));
            }
        }
    }
    if lines.len() > most {
        let more = lines.len() - most + 1;
        lines.truncate(most.saturating_sub(1));
        lines.push(format!("… {more} more lines"));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn of_rail(rail: &Rail) -> String {
    let name = format!("        rail {}: {} peers", rail.rail, rail.peers);
    match &rail.state {
        RailState::Datagrams { datagrams_open, bytes_in_flight, window, credit } => format!(
            "{name}, {} silent, {datagrams_open} datagrams open, {bytes_in_flight} B of {window} B in flight, \
             credit {credit} B",
            rail.suspects
        ),
        RailState::Traffic {
            up,
            messages_sent,
            messages_received,
            bytes_sent,
            bytes_received,
            transfers,
            renewals,
        } => format!(
            "{name}, {} left, {}, {messages_sent} messages and {bytes_sent} B out, {messages_received} and \
             {bytes_received} B in, {transfers} transfers, opened anew {renewals} times",
            rail.suspects,
            if *up { "up" } else { "down" },
        ),
    }
}

fn line(row: &Row) -> String {
    let task = if row.context == 0 { row.task.to_string() } else { format!("{}/{}", row.task, row.context) };
    let credits = row.rails.iter().filter_map(|rail| match rail.state {
        RailState::Datagrams { credit, .. } => Some(credit),
        RailState::Traffic { .. } => None,
    });
    let credit = credits.reduce(|all, one| all + one).map_or("-".to_owned(), |all| short(all as f64));
    format!(
        "{task:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>5} {credit:>7}  {}",
        row.process,
        short(row.rates.packets_sent),
        short(row.rates.packets_received),
        short(row.rates.bytes_sent),
        short(row.rates.bytes_received),
        short(row.retransmissions as f64),
        short(row.waits as f64),
        row.operations_open,
        does(row),
    )
}

/// What a task does now.
fn does(row: &Row) -> String {
    let mut text = String::new();
    if let Some(wait) = row.waiting.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) {
        let _ = write!(text, "waits: {} {:.1} s", wait.kind, wait.seconds);
        if let Some((value, wanted)) = wait.counter {
            let _ = write!(text, " ({value} of {wanted})");
        }
        if let Some(task) = wait.task {
            let _ = write!(text, " for {task}");
        }
    } else if row.told_seconds > 1.0 {
        let _ = write!(text, "computes, {:.0} s", row.told_seconds);
    }
    if !row.down.is_empty() {
        let _ = write!(text, " down: {:?}", row.down);
    }
    text
}

/// A number in at most five characters.
fn short(number: f64) -> String {
    let mut scaled = number;
    for unit in ["", "k", "M", "G", "T"] {
        if scaled < 999.5 {
            let digits = usize::from(!unit.is_empty() && scaled < 99.5);
            return format!("{scaled:.digits$}{unit}");
        }
        scaled /= 1000.0;
    }
    format!("{scaled:.0}P")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let all = [0.0, 7.0, 999.0, 1000.0, 99_400.0, 123_456.0, 43e6, 5.2e9, 3e17];
        assert_eq!(all.map(short), ["0", "7", "999", "1.0k", "99.4k", "123k", "43.0M", "5.2G", "300P"]);
    }

    #[test]
    fn a_terminal_is_not_overrun() {
        assert_eq!(text(&[], false, 9), "no task of this user on this machine has a context\n");
        let job = |n: u32| Job { job: n.to_string(), tasks: 1, seconds: 1.0, contexts: Vec::new() };
        let jobs: Vec<Job> = (0..9).map(job).collect();
        assert_eq!(text(&jobs, false, 5).lines().count(), 5);
        assert!(text(&jobs, false, 5).ends_with("… 14 more lines\n"));
    }
}
