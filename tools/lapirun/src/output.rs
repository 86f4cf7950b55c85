//! Output of tasks with their number before each line.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec};

/// Longest line held back while its end is missing.
const LONGEST: usize = 1 << 20;

/// Where one stream of one task goes.
pub(crate) struct Sink {
    /// Whether that is standard error.
    error: bool,
    /// Absent: the bytes go on as they are.
    lines: Option<Lines>,
}

impl Sink {
    pub(crate) fn new(task: u32, error: bool, tagged: bool) -> Self {
        Self { error, lines: tagged.then(|| Lines::new(format!("[{task}] "))) }
    }

    /// Passes bytes on; `false` when nobody reads them.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let Some(lines) = &mut self.lines else {
            return write(self.error, bytes);
        };
        let mut out = Vec::new();
        lines.push(bytes, &mut out);
        write(self.error, &out)
    }

    /// Ends a line that has no end of its own.
    pub(crate) fn finish(&mut self) {
        let mut out = Vec::new();
        if let Some(lines) = &mut self.lines {
            lines.finish(&mut out);
        }
        write(self.error, &out);
    }
}

/// One stream of one task on this machine.
pub(crate) struct Stream {
    pub(crate) from: OwnedFd,
    sink: Sink,
}

impl Stream {
    pub(crate) fn new(task: u32, from: OwnedFd, error: bool) -> Self {
        let _ = rustix::io::ioctl_fionbio(&from, true);
        Self { from, sink: Sink::new(task, error, true) }
    }

    /// Passes on what can be read now; `false` when the stream is over.
    pub(crate) fn pump(&mut self) -> bool {
        let mut chunk = [0u8; 16 << 10];
        // One task that writes without end must not keep the others' output back.
        for _ in 0..16 {
            match rustix::io::read(&self.from, &mut chunk) {
                // Nobody reads any more: closing our end tells the task, as a pipe would.
                Ok(n) if n > 0 => {
                    if !self.sink.push(&chunk[..n]) {
                        return false;
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                _ => {
                    self.sink.finish();
                    return false;
                }
            }
        }
        true
    }

    /// The last words of a job: everybody who could write has ended, or has left the job's groups.
    pub(crate) fn drain(mut self) {
        // A pipe holds a bounded amount; more comes only from a process that escaped, which is not waited for.
        for _ in 0..64 {
            let mut fds = [PollFd::new(&self.from, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if !matches!(rustix::event::poll(&mut fds, Some(&now)), Ok(1..)) {
                break;
            }
            if !self.pump() {
                return;
            }
        }
        self.sink.finish();
    }
}

fn write(error: bool, mut bytes: &[u8]) -> bool {
    let to = if error { rustix::stdio::stderr() } else { rustix::stdio::stdout() };
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let _ = rustix::event::poll(&mut [PollFd::new(&to, PollFlags::OUT)], None);
            }
            Err(_) => return false,
        }
    }
    true
}

/// Cuts a byte stream into lines and prefixes them.
struct Lines {
    prefix: Vec<u8>,
    held: Vec<u8>,
}

impl Lines {
    fn new(prefix: String) -> Self {
        Self { prefix: prefix.into_bytes(), held: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                out.extend_from_slice(&self.prefix);
                out.append(&mut self.held);
            } else if self.held.len() >= LONGEST {
                self.finish(out);
            }
        }
    }

    /// Ends the line that is held back.
    fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.held.is_empty() {
            out.extend_from_slice(&self.prefix);
            out.append(&mut self.held);
            out.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str]) -> String {
        let mut lines = Lines::new("[7] ".into());
        let mut out = Vec::new();
        pieces.iter().for_each(|p| lines.push(p.as_bytes(), &mut out));
        lines.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_whole_whatever_the_pieces() {
        assert_eq!(cut(&["a\nb\n"]), "[7] a\n[7] b\n");
        assert_eq!(cut(&["a", "", "b", "\n\n", "c"]), "[7] ab\n[7] \n[7] c\n");
        assert_eq!(cut(&[]), "");
    }

    #[test]
    fn a_line_without_end_is_cut_not_kept() {
        let mut lines = Lines::new("x".into());
        let mut out = Vec::new();
        for _ in 0..64 {
            lines.push(&[b'.'; 32 << 10], &mut out);
        }
        assert_eq!(out.len(), 2 * (LONGEST + 2));
    }
}
