//! What the launcher writes: the tasks' output in whole lines, and its own lines.
//!
//! Threads do the writing. A reader may stop reading for any time; the launcher still hears
//! signals, time-outs and the ends of tasks. The output that waits to be written is bounded, as in
//! a pipe: while an outlet is full, its tasks are not read.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};

/// Longest line held back while its end is missing.
const LONGEST: usize = 1 << 20;
/// An outlet with so many bytes waiting takes no more from tasks.
const FULL: usize = 1 << 20;

/// Writes a line to standard error at once, by one call: lines of several processes don't mix.
pub(crate) fn tell(command: &str, text: &str) {
    write_all(rustix::stdio::stderr(), format!("{command}: {text}\n").as_bytes());
}

/// Standard output and standard error, as the tasks' lines and the launcher's own reach them.
#[derive(Clone)]
pub(crate) struct Outlets {
    out: Arc<Outlet>,
    error: Arc<Outlet>,
}

impl Outlets {
    /// Starts the writing threads; `notifier` is rung when there is room again, and when all is
    /// written.
    pub(crate) fn start(notifier: &Arc<OwnedFd>) -> io::Result<Self> {
        let out = Outlet::start(rustix::stdio::stdout(), notifier)?;
        // Two writers to one pipe would mix their lines.
        let error =
            if same_file() { Arc::clone(&out) } else { Outlet::start(rustix::stdio::stderr(), notifier)? };
        Ok(Self { out, error })
    }

    /// One line to the user.
    pub(crate) fn say(&self, command: &str, text: &str) {
        self.error.push(format!("{command}: {text}\n").into_bytes());
    }

    /// Whether the tasks' output or error output may be read.
    pub(crate) fn has_room(&self, error: bool) -> bool {
        let queue = self.of(error).queue();
        queue.bytes < FULL || queue.broken
    }

    /// Whether everything has been written.
    pub(crate) fn idle(&self) -> bool {
        [&self.out, &self.error].iter().all(|outlet| {
            let queue = outlet.queue();
            queue.bytes == 0 || queue.broken
        })
    }

    /// Passes on what was piled up.
    pub(crate) fn unpile(&self, pile: &Pile) {
        let mut pile = pile.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, bytes) in std::mem::take(&mut *pile) {
            self.out.push(bytes);
        }
    }

    /// Gives up what nobody reads.
    pub(crate) fn close(&self) {
        for outlet in [&self.out, &self.error] {
            outlet.queue().broken = true;
        }
    }

    fn of(&self, error: bool) -> &Outlet {
        if error { &self.error } else { &self.out }
    }
}

fn same_file() -> bool {
    let identity = |fd| rustix::fs::fstat(fd).ok().map(|s| (s.st_dev, s.st_ino));
    let (out, error) = (identity(rustix::stdio::stdout()), identity(rustix::stdio::stderr()));
    out.is_some() && out == error
}

/// One of the two descriptors, with what is still to be written to it.
struct Outlet {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    chunks: VecDeque<Vec<u8>>,
    /// In `chunks` and in the hands of the thread.
    bytes: usize,
    /// Nobody reads any more.
    broken: bool,
}

impl Outlet {
    fn start(to: BorrowedFd<'static>, notifier: &Arc<OwnedFd>) -> io::Result<Arc<Self>> {
        let outlet = Arc::new(Self { queue: Mutex::default(), filled: Condvar::new() });
        let (mine, notifier) = (Arc::clone(&outlet), Arc::clone(notifier));
        // Never joined: it may be in a write that nobody ends.
        std::thread::Builder::new().name("lapirun-output".into()).spawn(move || mine.write(to, &notifier))?;
        Ok(outlet)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes bytes; `false` when nobody reads them.
    fn push(&self, bytes: Vec<u8>) -> bool {
        let mut queue = self.queue();
        if !queue.broken && !bytes.is_empty() {
            queue.bytes += bytes.len();
            queue.chunks.push_back(bytes);
            self.filled.notify_one();
        }
        !queue.broken
    }

    fn write(&self, to: BorrowedFd<'_>, notifier: &OwnedFd) {
        loop {
            let mut queue = self.queue();
            while queue.chunks.is_empty() {
                queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let chunk = queue.chunks.pop_front().unwrap_or_default();
            drop(queue);
            let broken = !write_all(to, &chunk);
            let mut queue = self.queue();
            let was_full = queue.bytes >= FULL;
            queue.bytes -= chunk.len();
            queue.broken |= broken;
            if queue.bytes == 0 || queue.broken || (was_full && queue.bytes < FULL) {
                let _ = rustix::io::write(notifier, &1u64.to_ne_bytes());
            }
        }
    }
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> bool {
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

/// What tasks have written that is passed on in their order, at the end.
pub(crate) type Pile = Arc<Mutex<BTreeMap<u32, Vec<u8>>>>;

/// What becomes of a stream.
#[derive(Clone)]
pub(crate) enum Fate {
    Passed,
    Dropped,
    Piled(u32, Pile),
}

/// Where one stream of one task goes.
pub(crate) struct Sink {
    outlets: Outlets,
    fate: Fate,
    /// Whether that is standard error.
    pub(crate) error: bool,
    lines: Lines,
}

impl Sink {
    pub(crate) fn new(outlets: &Outlets, task: u32, error: bool, tagged: bool, fate: Fate) -> Self {
        let prefix = tagged.then(|| format!("[{task}] "));
        Self { outlets: outlets.clone(), fate, error, lines: Lines::new(prefix) }
    }

    /// Passes bytes on; `false` when nobody reads them.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let mut out = Vec::new();
        self.lines.push(bytes, &mut out);
        self.pass(out)
    }

    fn pass(&self, bytes: Vec<u8>) -> bool {
        match &self.fate {
            Fate::Passed => self.outlets.of(self.error).push(bytes),
            Fate::Dropped => true,
            Fate::Piled(task, pile) => {
                let mut pile = pile.lock().unwrap_or_else(PoisonError::into_inner);
                pile.entry(*task).or_default().extend(bytes);
                true
            }
        }
    }

    /// Passes on a line that has no end of its own.
    pub(crate) fn finish(&mut self) {
        let mut out = Vec::new();
        self.lines.finish(&mut out);
        self.pass(out);
    }
}

/// One stream of one task on this machine.
pub(crate) struct Stream {
    pub(crate) from: OwnedFd,
    pub(crate) sink: Sink,
}

impl Stream {
    pub(crate) fn new(from: OwnedFd, sink: Sink) -> Self {
        let _ = rustix::io::ioctl_fionbio(&from, true);
        Self { from, sink }
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
        // A pipe holds a bounded amount; more comes only from a process that escaped, which is not
        // waited for.
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

/// Cuts a byte stream into lines, and begins them with the task's number if asked to. Without that
/// the bytes stay what they were.
struct Lines {
    prefix: Option<String>,
    held: Vec<u8>,
}

impl Lines {
    fn new(prefix: Option<String>) -> Self {
        Self { prefix, held: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.pass(out);
            } else if self.held.len() >= LONGEST {
                self.finish(out);
            }
        }
    }

    fn pass(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix.as_deref().unwrap_or_default().as_bytes());
        out.append(&mut self.held);
    }

    /// Passes on the line that is held back.
    fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.held.is_empty() {
            self.pass(out);
            if self.prefix.is_some() {
                out.push(b'\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(prefix: Option<&str>, pieces: &[&str]) -> String {
        let mut lines = Lines::new(prefix.map(str::to_owned));
        let mut out = Vec::new();
        pieces.iter().for_each(|p| lines.push(p.as_bytes(), &mut out));
        lines.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_whole_whatever_the_pieces() {
        let tag = Some("[7] ");
        assert_eq!(cut(tag, &["a\nb\n"]), "[7] a\n[7] b\n");
        assert_eq!(cut(tag, &["a", "", "b", "\n\n", "c"]), "[7] ab\n[7] \n[7] c\n");
        assert_eq!(cut(tag, &[]), "");
    }

    #[test]
    fn without_a_number_no_byte_is_added() {
        assert_eq!(cut(None, &["a", "b\n\n", "c"]), "ab\n\nc");
        let mut lines = Lines::new(None);
        let mut out = Vec::new();
        lines.push(b"half", &mut out);
        assert!(out.is_empty(), "half a line is held back");
    }

    #[test]
    fn a_line_without_end_is_cut_not_kept() {
        let mut lines = Lines::new(Some("x".into()));
        let mut out = Vec::new();
        for _ in 0..64 {
            lines.push(&[b'.'; 32 << 10], &mut out);
        }
        assert_eq!(out.len(), 2 * (LONGEST + 2));
    }
}
