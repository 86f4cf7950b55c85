//! Another program that packs and unpacks the shapes, such as one that uses MPI's datatypes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::file::Failure;

/// A program that answers `DIRECTION SHAPE MICROS` with nanoseconds.
pub(super) struct Peer {
    pub(super) name: String,
    command: String,
    child: Child,
    /// Closed to end the program.
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Peer {
    pub(super) fn start(spec: &str) -> Result<Self, Failure> {
        let failed = |what: &str| Failure::Peer { command: spec.to_owned(), what: what.to_owned() };
        let (name, command) = spec.split_once('=').ok_or_else(|| failed("not NAME=COMMAND"))?;
        let mut words = command.split_whitespace();
        let program = words.next().ok_or_else(|| failed("no command"))?;
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed(&format!("can't start: {e}")))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("no pipes"));
        };
        Ok(Self {
            name: name.to_owned(),
            command: command.to_owned(),
            child,
            to: Some(to),
            from: BufReader::new(from),
        })
    }

    pub(super) fn time(&mut self, direction: &str, shape: &str, micros: u64) -> Result<f64, Failure> {
        let failed = |what: String| Failure::Peer { command: self.command.clone(), what };
        if let Some(to) = &mut self.to {
            writeln!(to, "{direction} {shape} {micros}").map_err(|e| failed(e.to_string()))?;
        }
        let mut line = String::new();
        self.from.read_line(&mut line).map_err(|e| failed(e.to_string()))?;
        line.trim().parse().map_err(|_| failed(format!("answered `{}` to {direction} {shape}", line.trim())))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.wait();
    }
}
