//! Running measured programs: with a watchdog, in a process group of their own, so that a hung
//! launcher's ranks die with it.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A program with its arguments and variables, to be run many times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Program and arguments.
    pub(crate) words: Vec<OsString>,
    pub(crate) variables: Vec<(String, OsString)>,
}

impl Line {
    pub(crate) fn new(words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), variables: Vec::new() }
    }

    pub(crate) fn var(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn args(mut self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// The same, pinned to one core by taskset.
    pub(crate) fn on_core(mut self, core: usize) -> Self {
        let pin = ["taskset".to_owned(), "-c".to_owned(), core.to_string()];
        self.words.splice(0..0, pin.map(OsString::from));
        self
    }

    pub(crate) fn spawn(&self) -> Result<Running> {
        let (program, arguments) = self.words.split_first().context("an empty command line")?;
        let mut command = Command::new(program);
        command.args(arguments).envs(self.variables.iter().map(|(n, v)| (n, v)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", program.to_string_lossy()))?;
        let out = drained(child.stdout.take());
        let err = drained(child.stderr.take());
        // Reports that are committed name no folder of this machine.
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
        Ok(Running { child, name, out, said: Vec::new(), err })
    }

    /// What the program printed, if it succeeds within the time.
    pub(crate) fn output(&self, limit: Duration) -> Result<String> {
        self.spawn()?.finish(limit)
    }
}

/// A started program; dropping it kills its whole process group.
pub(crate) struct Running {
    child: Child,
    name: String,
    out: Receiver<Vec<u8>>,
    /// What was taken of the output so far.
    said: Vec<u8>,
    err: Receiver<Vec<u8>>,
}

impl Running {
    #[cfg(test)]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program has printed a whole line.
    pub(crate) fn await_line(&mut self, limit: Duration) -> Result<()> {
        let start = Instant::now();
        while !self.said.contains(&b'\n') {
            match self.out.recv_timeout(limit.saturating_sub(start.elapsed())) {
                Ok(more) => self.said.extend(more),
                Err(RecvTimeoutError::Timeout) => {
                    bail!("{} printed nothing within {} s", self.name, limit.as_secs())
                }
                // `finish` says why.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, limit: Duration) -> Result<String> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if start.elapsed() > limit {
                bail!("{} did not end within {} s: killed", self.name, limit.as_secs());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let out = text(std::mem::take(&mut self.said).into_iter().chain(self.out.iter().flatten()).collect());
        let err = text(self.err.iter().flatten().collect());
        if !status.success() {
            let why =
                err.lines().chain(out.lines()).map(str::trim).find(|l| l.chars().any(char::is_alphabetic));
            bail!("{}: {status}: {}", self.name, why.unwrap_or("it said nothing"));
        }
        Ok(out)
    }
}

/// What a pipe brings, as it comes: the writer never waits for us.
fn drained(source: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        let Some(mut source) = source else { return };
        let mut bytes = vec![0; 1 << 16];
        // What could be read before an error is still worth showing.
        loop {
            match source.read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(count @ 1..) if to.send(bytes[..count].to_vec()).is_ok() => {}
                _ => break,
            }
        }
    });
    from
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        // SAFETY: the group is the child's own, made at its start; it exists until the child is
        // waited for below.
        unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

/// Where a program is, by the variable PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|d| d.join(program)).find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_returned_and_failure_says_why() {
        let limit = Duration::from_secs(20);
        assert_eq!(Line::new(["sh", "-c", "echo $X"]).var("X", "7").output(limit).unwrap(), "7\n");
        let error = Line::new(["/bin/sh", "-c", "echo broken >&2; exit 3"]);
        let error = error.output(limit).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains('3'), "{error}");
        assert!(error.starts_with("sh: "), "{error}");
    }

    #[test]
    fn a_line_is_seen_before_the_end_and_is_part_of_the_output() {
        let limit = Duration::from_secs(20);
        let go = std::env::temp_dir().join(format!("lapis-bench-line-{}", std::process::id()));
        let script = "echo first; until [ -e \"$0\" ]; do sleep 0.01; done; echo last";
        let line = Line::new(["sh", "-c", script]).args([&go]);
        let mut running = line.spawn().unwrap();
        running.await_line(limit).unwrap();
        std::fs::write(&go, "").unwrap();
        let text = running.finish(limit);
        std::fs::remove_file(&go).unwrap();
        assert_eq!(text.unwrap(), "first\nlast\n");
        let error = Line::new(["sleep", "100"]).spawn().unwrap().await_line(Duration::from_millis(20));
        assert!(error.unwrap_err().to_string().contains("printed nothing"));
        Line::new(["true"]).spawn().unwrap().await_line(limit).unwrap();
    }

    #[test]
    fn what_hangs_is_killed_with_its_children() {
        let error =
            Line::new(["sh", "-c", "sleep 100 & sleep 100"]).output(Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("killed"), "{error}");
    }
}
