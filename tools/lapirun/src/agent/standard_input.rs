//! The standard input of an agent's tasks, which comes from the launcher.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ChildStdin;

use crate::wire;

/// The tasks that read.
#[derive(Default)]
pub(super) struct Feeds(BTreeMap<u32, Feed>);

struct Feed {
    to: ChildStdin,
    /// What the task has not taken yet: one part at most, for the launcher sends the next one when
    /// it hears that this one was taken.
    waiting: Vec<u8>,
    /// Nothing comes after it.
    ended: bool,
}

impl Feeds {
    /// Takes charge of a task's input.
    pub(super) fn add(&mut self, task: u32, to: ChildStdin) -> io::Result<()> {
        rustix::io::ioctl_fionbio(&to, true)?;
        self.0.insert(task, Feed { to, waiting: Vec::new(), ended: false });
        Ok(())
    }

    /// A part of a task's input has come; an empty one ends it. What a task without one gets is
    /// lost, as at a pipe that nobody reads.
    pub(super) fn push(&mut self, task: u32, bytes: &[u8]) -> io::Result<()> {
        let Some(feed) = self.0.get_mut(&task) else { return Ok(()) };
        feed.ended |= bytes.is_empty();
        feed.waiting.extend_from_slice(bytes);
        self.flush()
    }

    /// Hands on what the tasks take, and tells the launcher.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let mut result = Ok(());
        self.0.retain(|task, feed| {
            let before = feed.waiting.len();
            let open = feed.flush();
            if before > 0 && (feed.waiting.is_empty() || !open) {
                let more: &[u8] = if open { &[] } else { &[0] };
                if let Err(e) = wire::send(&mut io::stdout(), wire::TAKEN, *task, more) {
                    result = Err(e);
                }
            }
            open
        });
        result
    }

    /// Where there will be room for what waits.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.values().filter(|feed| !feed.waiting.is_empty()).map(|feed| feed.to.as_fd())
    }
}

impl Feed {
    /// `false` when the task gets no more.
    fn flush(&mut self) -> bool {
        while !self.waiting.is_empty() {
            match self.to.write(&self.waiting) {
                Ok(n) if n > 0 => drop(self.waiting.drain(..n)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return true,
                _ => return false,
            }
        }
        !self.ended
    }
}
