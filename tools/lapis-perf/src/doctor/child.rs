//! Runs a part of the doctor in a process of its own, and gives what it found.

use super::finding::{Finding, Status};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The longest life of a part: more than that of the job in it.
const PATIENCE: Duration = Duration::from_secs(150);

/// How much of what a part wrote on standard error is repeated.
const TAIL: usize = 3;

/// What the part of these arguments found. `expected`: checks that it makes; what is said of none
/// was not made.
pub(super) fn run(args: &[&str], expected: &[&str]) -> Vec<Finding> {
    match ended(args) {
        Ok((status, out, err)) => findings(status, &out, &err, expected),
        Err(why) => vec![Finding::failed("doctor", format!("its own program does not start: {why}"))],
    }
}

/// Runs it to its end, or to that of our patience.
fn ended(args: &[&str]) -> std::io::Result<(Option<ExitStatus>, String, String)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (out, err) = (text_of(child.stdout.take()), text_of(child.stderr.take()));
    // Its outputs end with it, or with what it has started.
    let said = out.recv_timeout(PATIENCE);
    if said.is_err() {
        child.kill()?;
    }
    let status = child.wait()?;
    let err = err.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    Ok((said.is_ok().then_some(status), said.unwrap_or_default(), err))
}

/// Everything that comes out of a pipe, read by a thread, when it ends.
fn text_of(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (give, take) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        let _ = give.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    take
}

/// What is to be said of a part that has ended so, `None` if it did not end by itself.
fn findings(status: Option<ExitStatus>, out: &str, err: &str, expected: &[&str]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut begun = None;
    for finding in out.lines().filter_map(Finding::of_line) {
        match finding.status {
            Status::Begun => begun = Some(finding.check),
            _ => {
                if begun.as_ref() == Some(&finding.check) {
                    begun = None;
                }
                add(&mut found, finding);
            }
        }
    }
    let is_log = |line: &&str| {
        let word = line.split_whitespace().next();
        word == Some("WARN") || word == Some("ERROR")
    };
    let ended_well = status.is_some_and(|status| status.success()) && begun.is_none();
    if !ended_well && !found.iter().any(Finding::is_failure) {
        let what = begun.as_deref().unwrap_or("doctor");
        let tail: Vec<&str> = err.lines().rev().take(TAIL).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        let text = format!("{}: {}", how(status), tail.join(" | "));
        let remedy = "LAPIS_LOG=debug shows its steps; another provider or transport may work";
        found.push(Finding::failed(what, text).with_remedy(remedy));
    }
    let mut lines: Vec<&str> = err.lines().filter(is_log).map(str::trim).collect();
    lines.sort_unstable();
    lines.dedup();
    let remedy = "see docs/rdma.md or docs/udp.md for what the line names";
    found.extend(lines.into_iter().map(|line| Finding::warning("log", line.to_owned(), remedy)));
    let done = |check: &&&str| !found.iter().any(|finding| finding.check == **check);
    let missing: Vec<&str> = expected.iter().filter(done).copied().collect();
    if !missing.is_empty() {
        let text = format!("{} not tried", missing.join(", "));
        found.push(Finding::warning("rest", text, "mend what failed first"));
    }
    found
}

/// Several tasks may speak of one check: the worst of it counts.
fn add(found: &mut Vec<Finding>, finding: Finding) {
    let there = found.iter_mut().find(|there| there.check == finding.check && there.text != finding.text);
    match there {
        Some(there) if there.status < finding.status => *there = finding,
        Some(there) if there.status > finding.status => {}
        _ => found.push(finding),
    }
}

fn how(status: Option<ExitStatus>) -> String {
    match status {
        None => format!("did not end within {} s", PATIENCE.as_secs()),
        Some(status) => match status.signal() {
            Some(signal) => format!("the process was ended by signal {signal}"),
            None => format!("the process ended with exit code {}", status.code().unwrap_or_default()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> String {
        findings.iter().map(|finding| finding.line() + "\n").collect()
    }

    #[test]
    fn a_check_that_did_not_end_is_a_failure_and_those_behind_it_were_not_tried() {
        let out = lines(&[
            Finding::begun("messages"),
            Finding::ok("messages", "many".to_owned()),
            Finding::begun("puts"),
        ]);
        let crashed = findings(
            Some(ExitStatus::from_raw(11)),
            &out,
            "a\nb\nc\nlapirun: task 1 died\n",
            &["messages", "puts", "gets"],
        );
        assert_eq!(crashed.len(), 3, "{crashed:?}");
        assert!(crashed[1].is_failure() && crashed[1].check == "puts", "{crashed:?}");
        assert!(
            crashed[1].text.contains("signal 11") && crashed[1].text.contains("task 1 died"),
            "{crashed:?}"
        );
        assert!(!crashed[1].text.contains("a |"), "{crashed:?}");
        assert!(crashed[2].text.starts_with("gets not tried"), "{crashed:?}");
        let hung = findings(None, &out, "", &[]);
        assert!(hung[1].is_failure() && hung[1].text.contains("did not end"), "{hung:?}");
    }

    #[test]
    fn of_two_tasks_the_one_that_failed_counts_and_their_log_is_a_warning() {
        let bad = Finding::failed("gets", "task 1: 3 bytes differ".to_owned());
        let out = lines(&[Finding::ok("gets", "all right".to_owned()), bad.clone()]);
        let log = "  WARN lapis::rdma: little room\n  WARN lapis::rdma: little room\n";
        let found = findings(Some(ExitStatus::from_raw(256)), &out, log, &["gets"]);
        assert_eq!(found[0], bad);
        assert!(found.len() == 2 && found[1].text.contains("little room"), "{found:?}");
    }
}
