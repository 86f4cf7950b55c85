//! Running a command to its end, or to the watchdog's.

use crate::WATCHDOG;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a command left.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
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
}

pub(crate) fn finish(command: Command) -> Finished {
    Running::start(command).wait()
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    line: String,
    child: Child,
    start: Instant,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let line = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{line}: {e}"));
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let out = std::thread::spawn(move || text(out));
        let err = std::thread::spawn(move || text(err));
        Self { line, child, start: Instant::now(), out, err }
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, or for the watchdog's.
    ///
    /// # Panics
    /// The watchdog's time is over; what it prints says who waited for what.
    pub fn wait(mut self) -> Finished {
        let join = |t: JoinHandle<String>| t.join().unwrap_or_default();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return Finished { code: status.code(), out: join(self.out), err: join(self.err) };
                }
                Ok(None) if self.start.elapsed() > WATCHDOG => {
                    let waiting = who_waits_where(self.child.id());
                    // The launcher's tasks end with it.
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    let (out, err) = (join(self.out), join(self.err));
                    panic!("watchdog: {} still ran after {WATCHDOG:?}:\n{waiting}\n{out}\n{err}", self.line);
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(e) => panic!("waiting for {}: {e}", self.line),
            }
        }
    }
}

fn text(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        let _ = from.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Every thread of a process's descendants, and the place in the kernel where it sleeps.
fn who_waits_where(root: u32) -> String {
    let mut report = String::new();
    let mut family = vec![root.to_string()];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at].clone();
        at += 1;
        for thread in entries(&format!("/proc/{parent}/task")) {
            let read = |what: &str| {
                let text = std::fs::read_to_string(format!("/proc/{parent}/task/{thread}/{what}"));
                text.unwrap_or_default().trim().to_owned()
            };
            let state = read("stat").rsplit(')').next().and_then(|s| s.chars().nth(1)).unwrap_or('?');
            report.push_str(&format!("{parent}/{thread} {} {state} in {}\n", read("comm"), read("wchan")));
        }
        family.extend(entries("/proc").filter(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().and_then(|s| s.split_whitespace().nth(1)) == Some(&parent)
        }));
    }
    report
}

/// Names of numbered entries.
fn entries(dir: &str) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().into_string().ok()).filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
}
