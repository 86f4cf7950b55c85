//! Running commands under a watchdog.
#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest life of any command of these tests; far more than any needs.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

pub(crate) const TASK: &str = env!("CARGO_BIN_EXE_lapirun-test-task");

pub(crate) fn lapirun() -> Command {
    clean(env!("CARGO_BIN_EXE_lapirun"))
}

pub(crate) fn poe() -> Command {
    clean(env!("CARGO_BIN_EXE_poe"))
}

/// A command without the variables of a job that the tests themselves might run in.
pub(crate) fn clean(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["LAPIS_", "LAPI_", "MP_", "PMI", "OMPI_", "SLURM_"].iter().any(|p| text.starts_with(p)) {
            command.env_remove(&name);
        }
    }
    command.stdin(Stdio::null());
    command
}

#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Finished {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    pub(crate) fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A command that is killed when the watchdog's time is over or the test ends before it.
pub(crate) struct Running {
    child: Child,
    out: Option<BufReader<std::process::ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let out = child.stdout.take().map(BufReader::new);
        Self { child, out }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// The next `count` lines of output.
    pub(crate) fn read_lines(&mut self, count: usize) -> Vec<String> {
        let mut out = self.out.take().expect("output is read once at a time");
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = Vec::new();
            for _ in 0..count {
                let mut line = String::new();
                if out.read_line(&mut line).unwrap_or(0) == 0 {
                    break;
                }
                lines.push(line.trim_end().to_owned());
            }
            let _ = send.send((lines, out));
        });
        let (lines, out) =
            receive.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("waited for {count} lines of output"));
        self.out = Some(out);
        assert_eq!(lines.len(), count, "the output ended after {lines:?}");
        lines
    }

    pub(crate) fn wait(mut self) -> Finished {
        let mut stdout = self.out.take().expect("output");
        let mut stderr = self.child.stderr.take().expect("stderr");
        let out = std::thread::spawn(move || text(&mut stdout));
        let err = std::thread::spawn(move || text(&mut stderr));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > WATCHDOG {
                let tree = processes(self.child.id());
                let _ = self.child.kill();
                panic!("watchdog: still running after {WATCHDOG:?}:\n{tree}\n{:?}", err.join());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Finished { code: status.code(), out: out.join().unwrap(), err: err.join().unwrap() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn run(command: Command) -> Finished {
    Running::start(command).wait()
}

fn text(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Who waits where among a process's children, for the watchdog's report.
fn processes(parent: u32) -> String {
    let mut report = String::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        if fields.get(1) == Some(&parent.to_string().as_str()) {
            let wchan = std::fs::read_to_string(entry.path().join("wchan")).unwrap_or_default();
            report.push_str(&format!("{} … in {wchan}\n", stat.split(')').next().unwrap_or("")));
        }
    }
    report
}

/// Whether a process runs; one that only waits to be reaped does not.
pub(crate) fn alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    !matches!(stat.rsplit(')').next().and_then(|s| s.split_whitespace().next()), Some("Z" | "X"))
}

/// Waits until none of the processes runs.
#[track_caller]
pub(crate) fn await_death(pids: &[u32]) {
    let start = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| alive(**pid)) {
        if start.elapsed() > WATCHDOG {
            let what = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            panic!("process {pid} ({what:?}) was left behind");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The process numbers in lines `pid N`.
pub(crate) fn pids(lines: &[String]) -> Vec<u32> {
    lines.iter().filter_map(|l| l.strip_prefix("pid ")?.parse().ok()).collect()
}
