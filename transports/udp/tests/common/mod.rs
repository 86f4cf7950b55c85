//! Jobs under a watchdog, and hosts as network namespaces.

mod net;

pub(crate) use net::Net;

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest life of any job of these tests; far more than any needs.
const WATCHDOG: Duration = Duration::from_secs(120);

/// Launcher and task in one file: an example of this crate, which Cargo builds along with the tests.
pub(crate) fn program() -> PathBuf {
    let mut path = std::env::current_exe().expect("a test has a file");
    path.pop();
    path.pop();
    path.push("examples/udp_job");
    assert!(path.exists(), "{} is missing: cargo build -p lapis-udp --examples", path.display());
    path
}

/// Whether this process may open raw sockets.
pub(crate) fn is_root() -> bool {
    // SAFETY: a call without arguments.
    unsafe { libc::geteuid() == 0 }
}

/// A command without the variables of a job that the tests themselves might run in.
pub(crate) fn clean(program: impl AsRef<std::ffi::OsStr>) -> Command {
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

/// A job to be started.
pub(crate) struct Job(Command);

impl Job {
    pub(crate) fn new() -> Self {
        Self::around(clean(program()))
    }

    pub(crate) fn around(mut command: Command) -> Self {
        command.env("LAPI_USE_SHM", "no").env("LAPIS_TRANSPORT", "udp");
        Self(command)
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn task(mut self, scenario: &str) -> Self {
        self.0.arg(program()).arg("task").args(scenario.split(' '));
        self
    }

    /// One task without a launcher.
    pub(crate) fn alone(mut self, scenario: &str) -> Self {
        self.0.arg("task").args(scenario.split(' '));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn start(mut self) -> Running {
        self.0.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.0.spawn().unwrap_or_else(|e| panic!("{:?}: {e}", self.0));
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let mut stderr = child.stderr.take().expect("piped");
        let err = std::thread::spawn(move || text(&mut stderr));
        Running { child, out: Some(out), err: Some(err), read: String::new() }
    }

    pub(crate) fn run(self) -> Finished {
        self.start().wait()
    }
}

/// A job that runs; killed when the watchdog's time is over or the test ends before it.
pub(crate) struct Running {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
    err: Option<std::thread::JoinHandle<String>>,
    read: String,
}

impl Running {
    pub(crate) fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for a line that contains `what`.
    pub(crate) fn read_line(&mut self, what: &str) {
        let mut out = self.out.take().expect("read by one at a time");
        let (send, receive) = std::sync::mpsc::channel();
        let wanted = what.to_owned();
        std::thread::spawn(move || {
            let mut all = String::new();
            let start = all.len();
            while !all[start..].contains(&wanted) && out.read_line(&mut all).unwrap_or(0) > 0 {}
            let _ = send.send((out, all));
        });
        let (out, all) = receive
            .recv_timeout(WATCHDOG)
            .unwrap_or_else(|_| panic!("watchdog: waited for a line with {what}"));
        assert!(all.contains(what), "the output ended before {what}: {all}");
        self.read.push_str(&all);
        self.out = Some(out);
    }

    pub(crate) fn wait(mut self) -> Finished {
        let mut stdout = self.out.take().expect("read by one at a time");
        let out = std::thread::spawn(move || text(&mut stdout));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                break status;
            }
            if start.elapsed() > WATCHDOG {
                let tree = processes(self.child.id());
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("watchdog: still running after {WATCHDOG:?}:\n{tree}\n{:?}", out.join());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let out = std::mem::take(&mut self.read) + &out.join().expect("a reader");
        let err = self.err.take().expect("taken once").join().expect("a reader");
        Finished { code: status.code(), out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
        assert_eq!(self.code, Some(code), "exit code, output, errors:\n{}\n{}", self.out, self.err);
        self
    }

    pub(crate) fn lines_with(&self, what: &str) -> Vec<&str> {
        self.out.lines().filter(|l| l.contains(what)).collect()
    }

    /// Packets that all tasks sent again.
    pub(crate) fn resent(&self) -> u64 {
        self.out
            .lines()
            .filter_map(|l| l.split("resent ").nth(1)?.split(' ').next()?.parse::<u64>().ok())
            .sum()
    }
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
