//! Running a command to its end, or to the watchdog's.

use crate::{WATCHDOG, clean};
use lapis_patience::{Patience, entries, family};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What a command left.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output, whether it was read before the end or not.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Finished {
    /// Insists on an exit code.
    ///
    /// # Panics
    /// It was another one.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "standard output:\n{}\nstandard error:\n{}", self.out, self.err);
        self
    }

    /// Insists on an exit code and on silence on standard error: no warning, no error.
    ///
    /// # Panics
    /// It was otherwise.
    #[track_caller]
    pub fn expect_quiet(self, code: i32) -> Self {
        let done = self.expect(code);
        assert_eq!(done.err, "", "standard output:\n{}", done.out);
        done
    }

    /// The lines of standard output in alphabetical order: tasks write as they come.
    pub fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// The lines of standard output that contain `what`, as they came.
    pub fn lines_with(&self, what: &str) -> Vec<&str> {
        self.out.lines().filter(|line| line.contains(what)).collect()
    }

    /// The sum of the numbers that follow `what` in standard output.
    pub fn sum_of(&self, what: &str) -> u64 {
        let number = |line: &str| -> Option<u64> {
            let rest = line.split(what).nth(1)?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        self.out.lines().filter_map(number).sum()
    }
}

/// Runs a command to its end, under the watchdog.
///
/// # Panics
/// It can't be started, or the watchdog's time is over; what it prints says who waited for what.
pub fn run(command: Command) -> Finished {
    Running::start(command).wait()
}

/// The same command with standard error where standard output goes.
pub fn joined(command: &Command) -> Command {
    let mut all = clean("sh");
    all.args(["-c", r#"exec "$@" 2>&1"#, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => all.env(name, value),
            None => all.env_remove(name),
        };
    }
    all
}

/// A command that runs; killed when the watchdog's time is over or the test ends before it.
#[derive(Debug)]
pub struct Running {
    line: String,
    child: Child,
    patience: Patience,
    lines: Receiver<String>,
    read: String,
    err: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts a command and gathers what it writes.
    ///
    /// # Panics
    /// It can't be started.
    pub fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let line = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{line}: {e}"));
        let patience = Patience::with(child.id(), WATCHDOG);
        let lines = lines(child.stdout.take());
        let err = child.stderr.take();
        let err = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = err.map(|mut err| err.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { line, child, patience, lines, read: String::new(), err: Some(err) }
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The next `count` lines of standard output.
    ///
    /// # Panics
    /// There are fewer, or they don't come before the watchdog.
    pub fn read_lines(&mut self, count: usize) -> Vec<String> {
        (1..=count).map(|n| self.next_line(&format!("line {n} of {count}")).trim_end().to_owned()).collect()
    }

    /// Waits for a line of standard output that contains `what`.
    ///
    /// # Panics
    /// None comes before the end or the watchdog.
    pub fn read_line(&mut self, what: &str) {
        while !self.next_line(&format!("a line with {what:?}")).contains(what) {}
    }

    fn next_line(&mut self, what: &str) -> String {
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    self.patience.heard();
                    self.read.push_str(&line);
                    return line;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("{}: the output ended before {what}:\n{}", self.line, self.read)
                }
                Err(RecvTimeoutError::Timeout) if self.patience.is_over() => {
                    let waiting = who_waits_where(self.child.id());
                    panic!("watchdog: {} gave no {what}:\n{waiting}\n{}", self.line, self.read)
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits for its end, or for the watchdog's.
    ///
    /// # Panics
    /// The watchdog's time is over; what it prints says who waited for what.
    pub fn wait(mut self) -> Finished {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let (out, err) = self.output();
                    return Finished { code: status.code(), out, err };
                }
                Ok(None) if self.patience.is_over() => {
                    let waiting = who_waits_where(self.child.id());
                    // The launcher's tasks end with it.
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    let (out, err) = self.output();
                    panic!("watchdog: {} was silent for {WATCHDOG:?}:\n{waiting}\n{out}\n{err}", self.line);
                }
                Ok(None) => {
                    while let Ok(line) = self.lines.try_recv() {
                        self.patience.heard();
                        self.read.push_str(&line);
                    }
                    std::thread::sleep(LOOK);
                }
                Err(e) => panic!("waiting for {}: {e}", self.line),
            }
        }
    }

    /// All that was written, once all who may write have ended.
    fn output(&mut self) -> (String, String) {
        let mut out = std::mem::take(&mut self.read);
        out.extend(self.lines.iter());
        (out, self.err.take().and_then(|err| err.join().ok()).unwrap_or_default())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a command's standard output, as they come.
fn lines(from: Option<ChildStdout>) -> Receiver<String> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        let Some(mut from) = from.map(BufReader::new) else { return };
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if give.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    take
}

/// Every thread of a process's descendants, and the place in the kernel where it sleeps.
fn who_waits_where(root: u32) -> String {
    let mut report = String::new();
    for process in family(root) {
        for thread in entries(&format!("/proc/{process}/task")) {
            let read = |what: &str| {
                let text = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/{what}"));
                text.unwrap_or_default().trim().to_owned()
            };
            let state = read("stat").rsplit(')').next().and_then(|s| s.chars().nth(1)).unwrap_or('?');
            report.push_str(&format!("{process}/{thread} {} {state} in {}\n", read("comm"), read("wchan")));
        }
    }
    report
}

/// Whether a process runs; one that only waits to be reaped does not.
pub fn alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    !matches!(stat.rsplit(')').next().and_then(|s| s.split_whitespace().next()), Some("Z" | "X"))
}
