//! Events of a context in a file, for `lapis-trace` (`LAPIS_TRACE`).
//!
//! What takes long enough to be told apart has events of its own: waits that last, operations with
//! an answer, completion handlers on handler threads. Short messages are counted, and the counts
//! written every tenth of a second: to note each of them would cost as much as a part of sending
//! it. So tracing adds nothing to a short message's way.
//!
//! ```text
//!  header, 128 bytes                                     event, 40 bytes
//!    0  "lapisTR\x01"                                      0  time, ns of the monotonic clock
//!    8  task, tasks, context, process: u32 each            8  kind u8, what u8, 2 unused
//!   24  first task of the same machine: u32, 4 unused     12  peer u32, or u32::MAX
//!   32  time at which all tasks had met, ns, monotonic    16  thread u32, 4 unused
//!   40  the same, ns since 1970                           24  first number
//!   48  the job's identity, 64 bytes, zeroes behind it    32  second number
//! ```
//!
//! All numbers are little endian. A file may end anywhere: its task was killed.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::status::monotonic_ns;
use crate::sync::blocking::{Mutex, MutexGuard};
use crate::transport::PeerId;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// The file's first bytes.
pub const MAGIC: [u8; 8] = *b"lapisTR\x01";
/// Length of the header.
pub const HEADER: usize = 128;
/// Length of an event.
pub const EVENT: usize = 40;
/// No task.
pub const NOBODY: u32 = u32::MAX;

/// So many bytes are written at once, or what there is every tenth of a second.
const CHUNK: usize = 64 << 10;

/// What an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum EventKind {
    /// A wait begins; what: [`Awaiting`](crate::status::Awaiting); first: when it did.
    WaitBegins = 1,
    /// It has ended.
    WaitEnds = 2,
    /// An operation begins; what: [`OpenKind`](crate::status::OpenKind); first: its identifier.
    OperationBegins = 3,
    /// It has its answer.
    OperationEnds = 4,
    /// A completion handler begins on a handler thread; peer: who sent the message.
    HandlerBegins = 5,
    /// It has returned.
    HandlerEnds = 6,
    /// Packets and bytes sent so far.
    Sent = 7,
    /// Packets and bytes received so far.
    Received = 8,
    /// The context ends.
    End = 9,
}

impl EventKind {
    const ALL: [Self; 9] = [
        Self::WaitBegins,
        Self::WaitEnds,
        Self::OperationBegins,
        Self::OperationEnds,
        Self::HandlerBegins,
        Self::HandlerEnds,
        Self::Sent,
        Self::Received,
        Self::End,
    ];

    /// The kind with this number.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The file of a context.
pub(crate) struct Trace {
    owner: u32,
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    buffer: Vec<u8>,
}

/// Who the events are of.
pub(crate) struct Subject<'a> {
    pub(crate) job: &'a str,
    pub(crate) task: u32,
    pub(crate) tasks: u32,
    pub(crate) context: u32,
    /// The first task of the same machine.
    pub(crate) host: u32,
}

impl Trace {
    /// The file that the configuration wants, if any. All tasks have just met.
    pub(crate) fn of(config: &Config, subject: &Subject<'_>) -> Result<Option<Arc<Self>>> {
        let Some(folder) = config.trace.get() else { return Ok(None) };
        let met = monotonic_ns();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let job: String = subject.job.chars().map(plain).take(64).collect();
        let name = format!("{job}.{}.{}", subject.task, subject.context);
        let file = create(Path::new(folder), &name).map_err(|(path, source)| Error::System {
            what: "making the file that LAPIS_TRACE wants",
            source: io::Error::new(source.kind(), format!("{}: {source}", path.display())),
        })?;
        let mut buffer = Vec::with_capacity(CHUNK + EVENT);
        buffer.extend(MAGIC);
        for word in [subject.task, subject.tasks, subject.context, std::process::id(), subject.host, 0] {
            buffer.extend(word.to_le_bytes());
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        buffer.extend(met.to_le_bytes());
        buffer.extend((now.as_nanos() as u64).to_le_bytes());
        buffer.extend(subject.job.bytes().take(64));
        buffer.resize(HEADER, 0);
        let trace = Self { owner: std::process::id(), inner: Mutex::new(Inner { file, buffer }) };
        // Who is killed soon has a header at least.
        trace.flush();
        Ok(Some(Arc::new(trace)))
    }

    /// Notes an event of this thread.
    #[cold]
    pub(crate) fn note(&self, kind: EventKind, what: u8, peer: PeerId, numbers: [u64; 2]) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let mut event = [0; EVENT];
        event[0..8].copy_from_slice(&monotonic_ns().to_le_bytes());
        (event[8], event[9]) = (kind as u8, what);
        event[12..16].copy_from_slice(&peer.to_le_bytes());
        event[16..20].copy_from_slice(&thread.to_le_bytes());
        event[24..32].copy_from_slice(&numbers[0].to_le_bytes());
        event[32..40].copy_from_slice(&numbers[1].to_le_bytes());
        let mut inner = self.inner();
        inner.buffer.extend(event);
        if inner.buffer.len() >= CHUNK {
            inner.write();
        }
    }

    /// Writes what has been noted.
    pub(crate) fn flush(&self) {
        self.inner().write();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a file of this name, with a number behind it if there is one already: of the task before
/// it was restarted, or of an earlier context.
fn create(folder: &Path, name: &str) -> std::result::Result<File, (PathBuf, io::Error)> {
    let mut path = folder.join(format!("{name}.lapistrace"));
    let mut made = std::fs::create_dir_all(folder).and_then(|()| File::create_new(&path));
    let mut life = 1u64;
    while made.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::AlreadyExists) && !folder.is_file() {
        life += 1;
        path = folder.join(format!("{name}.{life}.lapistrace"));
        made = File::create_new(&path);
    }
    made.map_err(|source| (path, source))
}

impl Inner {
    fn write(&mut self) {
        if let Err(e) = self.file.write_all(&self.buffer) {
            tracing::warn!("the trace is not complete: {e}");
        }
        self.buffer.clear();
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // A forked child has a copy of what is not written.
        if self.owner == std::process::id() {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_life_of_a_task_has_a_file_of_its_own() {
        let folder = std::env::temp_dir().join(format!("lapis-lives-{}", std::process::id()));
        for life in 1..=3u8 {
            create(&folder, "job.0.0").expect("a new file").write_all(&[life]).expect("room");
        }
        for (life, name) in
            (1u8..).zip(["job.0.0.lapistrace", "job.0.0.2.lapistrace", "job.0.0.3.lapistrace"])
        {
            assert_eq!(std::fs::read(folder.join(name)).expect(name), [life]);
        }
        std::fs::remove_dir_all(&folder).expect("the test's own folder");
    }
}
