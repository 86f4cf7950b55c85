//! An agent as seen by its parent: the launcher, or an agent above it in the tree.
//!
//! It speaks for its whole branch: its own tasks and those of the machines below it.

mod command;
mod silence;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) use silence::Listening;

use crate::guard::Line;
use crate::hosts;
use crate::rollcall::Report;
use crate::spawn::Outcome;
use crate::wire::{self, Frame, Inbox, Order};
use command::RemoteCommand;

/// How long a remote command that has no reason to go on may take to end: nobody else is heard
/// meanwhile.
const PARTING: Duration = Duration::from_secs(2);

/// One agent.
pub(crate) struct Remote {
    pub(crate) host: String,
    /// The machines of its branch, itself the first, each with its tasks.
    pub(crate) machines: Vec<(String, Vec<u32>)>,
    /// Tasks of its branch.
    tasks: BTreeSet<u32>,
    /// Those of them that have not ended, as far as it has said.
    left: BTreeSet<u32>,
    /// The remote command says where the machine's name belongs.
    names_host: bool,
    command: RemoteCommand,
    /// The connection was cut: nothing more is to be heard.
    cut: bool,
    to: ChildStdin,
    /// What `to` has not taken yet: nobody waits for one machine to listen.
    unsent: Vec<u8>,
    from: ChildStdout,
    inbox: Inbox,
    greeted: bool,
    /// For how long it has given no sign of life while somebody listened.
    silence: Duration,
    /// The user has been told of that.
    suspected: bool,
}

/// What an agent has said.
pub(crate) enum News {
    Started {
        task: u32,
        pid: u32,
    },
    Output {
        task: u32,
        error: bool,
        bytes: Vec<u8>,
    },
    Exited {
        task: u32,
        outcome: Outcome,
    },
    /// What the tasks of one machine do.
    Reports(Vec<Report>),
    /// A machine has failed, or has none of our agents; the text names it.
    Failed {
        code: u8,
        text: String,
    },
    /// A line for the user.
    Said(String),
    /// A task has taken the input that it was sent, and takes more or not.
    Taken {
        task: u32,
        more: bool,
    },
}

impl Remote {
    /// Starts the agent of a branch by the order's remote command, and gives it its order.
    pub(crate) fn start(order: &Order, mask: libc::sigset_t, guard: Line) -> io::Result<Self> {
        let itself = std::env::current_exe()?;
        let words = hosts::command(&order.remote, &order.machine.host);
        let mut command = match words.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(OsString::from(first));
                command.args(rest).arg(itself);
                command
            }
            None => Command::new(itself),
        };
        command.arg(wire::AGENT).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut command = RemoteCommand::start(command, mask, guard)?;
        let (to, from) = command.take_pipes()?;
        rustix::io::ioctl_fionbio(&from, true)?;
        rustix::io::ioctl_fionbio(&to, true)?;
        let branch = std::iter::once(&order.machine).chain(&order.below);
        let machines: Vec<_> = branch.map(|m| (m.host.clone(), m.tasks.clone())).collect();
        let tasks: BTreeSet<u32> = machines.iter().flat_map(|(_, tasks)| tasks.iter().copied()).collect();
        let mut remote = Self {
            host: order.machine.host.clone(),
            machines,
            left: tasks.clone(),
            tasks,
            names_host: order.remote.contains("{host}"),
            command,
            cut: false,
            to,
            unsent: Vec::new(),
            from,
            inbox: Inbox::default(),
            greeted: false,
            silence: Duration::ZERO,
            suspected: false,
        };
        remote.tell(wire::ORDER, 0, &serde_json::to_vec(order)?);
        Ok(remote)
    }

    /// Tasks of its branch that have not ended, as far as it has said.
    pub(crate) fn left(&self) -> Vec<u32> {
        self.left.iter().copied().collect()
    }

    /// Machines of its branch on which tasks run.
    pub(crate) fn machines_left(&self) -> usize {
        self.machines.iter().filter(|(_, tasks)| tasks.iter().any(|task| self.left.contains(task))).count()
    }

    /// What the user is told when the connection breaks.
    pub(crate) fn loss(&self) -> String {
        let (host, tasks, below) = (&self.host, self.left.len(), self.machines.len() - 1);
        let with = match below {
            0 => "it had".to_owned(),
            1 => "it and the machine that it had started had".to_owned(),
            n => format!("it and the {n} machines that it had started had"),
        };
        format!("lost the connection to host {host}; {with} {tasks} tasks of the job")
    }

    pub(crate) fn signal(&mut self, signal: i32) {
        self.tell(wire::SIGNAL, signal as u32, &[]);
    }

    /// Asks what its tasks do.
    pub(crate) fn call_roll(&mut self) {
        self.tell(wire::ROLL, 0, &[]);
    }

    /// Whether a task is one of its branch.
    pub(crate) fn has(&self, task: u32) -> bool {
        self.tasks.contains(&task)
    }

    /// Hands on a part of a task's input; an empty one ends it.
    pub(crate) fn feed(&mut self, task: u32, bytes: &[u8]) {
        self.tell(wire::INPUT, task, bytes);
    }

    /// Says that nobody reads a task's output, or its error output, any more.
    pub(crate) fn deafen(&mut self, task: u32, error: bool) {
        self.tell(wire::DEAF, task, &[error.into()]);
    }

    fn tell(&mut self, kind: u8, number: u32, bytes: &[u8]) {
        // A vector takes everything.
        let _ = wire::send(&mut self.unsent, kind, number, bytes);
        self.flush();
    }

    /// Hands on what it takes of what is to be said.
    pub(crate) fn flush(&mut self) {
        while !self.unsent.is_empty() {
            match self.to.write(&self.unsent) {
                Ok(n) if n > 0 => drop(self.unsent.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // A remote command that fails at once closes this pipe: its end, seen later, tells
                // more than the error here.
                _ => self.unsent.clear(),
            }
        }
    }

    /// Where there will be room for what is still to be said.
    pub(crate) fn unsent(&self) -> Option<BorrowedFd<'_>> {
        (!self.unsent.is_empty()).then(|| self.to.as_fd())
    }

    /// Cuts the connection. What has escaped from the remote command may hold it open.
    fn cut(&mut self) {
        self.command.kill();
        self.cut = true;
    }

    /// Whether the connection was cut, so that [`hear`](Self::hear) has the last word.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// What the agent has said since the last call; the flag is `false` when it has said its last
    /// word.
    pub(crate) fn hear(&mut self) -> (Vec<News>, bool) {
        let mut chunk = [0u8; 64 << 10];
        let mut open = !self.cut;
        match self.from.read(&mut chunk) {
            Ok(0) => open = false,
            Ok(n) => {
                self.silence = Duration::ZERO;
                self.inbox.push(&chunk[..n]);
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => open = false,
        }
        let mut news = Vec::new();
        loop {
            let next = self.inbox.next();
            match next.map(|frame| frame.map(|frame| self.interpret(frame))) {
                Ok(None) => break,
                Ok(Some(Some(item))) => news.extend(item),
                Ok(Some(None)) => {
                    news.push(self.failed(1, "its agent is of another version"));
                    return (news, false);
                }
                Err(text) => {
                    let text = format!(
                        "said {text:?} instead of the agent's greeting (does its shell's start-up print?)"
                    );
                    news.push(self.failed(1, &text));
                    return (news, false);
                }
            }
        }
        if !open && !self.greeted {
            let how = match self.command.end(Instant::now() + PARTING) {
                Some(Ok(status)) => format!("ended with {status}"),
                Some(Err(e)) => format!("ended with {e}"),
                None => "has closed its output without the agent's greeting, and goes on".to_owned(),
            };
            let hint =
                if self.names_host { "" } else { "; it has no {host}, which stands for the machine's name" };
            let text = format!("cannot be reached: the remote command {how}{hint}");
            news.push(self.failed(1, &text));
        }
        (news, open)
    }

    fn failed(&self, code: u8, text: &str) -> News {
        News::Failed { code, text: format!("host {}: {text}", self.host) }
    }

    /// `None`: not what an agent of this version says.
    fn interpret(&mut self, frame: Frame) -> Option<Option<News>> {
        let task = frame.number;
        let code = task.clamp(1, 255) as u8;
        let text = || String::from_utf8_lossy(&frame.bytes).into_owned();
        match frame.kind {
            wire::HELLO => {
                self.greeted = frame.bytes == wire::GREETING;
                return self.greeted.then_some(None);
            }
            wire::FAULT => return Some(Some(self.failed(code, &text()))),
            _ if !self.greeted => return None,
            wire::BEAT => return Some(None),
            wire::BELOW => return Some(Some(News::Failed { code, text: text() })),
            wire::NOTE => return Some(Some(News::Said(text()))),
            wire::REPORT => return Some(Some(News::Reports(serde_json::from_slice(&frame.bytes).ok()?))),
            _ if !self.tasks.contains(&task) => return None,
            _ => {}
        }
        Some(Some(match frame.kind {
            wire::TAKEN => News::Taken { task, more: frame.bytes.is_empty() },
            wire::STARTED => News::Started { task, pid: u32::from_le_bytes(frame.bytes.try_into().ok()?) },
            wire::OUTPUT | wire::ERROR => {
                News::Output { task, error: frame.kind == wire::ERROR, bytes: frame.bytes }
            }
            wire::EXITED => {
                self.left.remove(&task);
                News::Exited { task, outcome: Outcome::from_bytes(&frame.bytes)? }
            }
            _ => return None,
        }))
    }

    /// Takes leave: the end of its input ends an agent that still runs.
    pub(crate) fn finish(self) {
        Self::finish_all(vec![self]);
    }

    /// Takes leave of several at once: those that don't go have one time together.
    pub(crate) fn finish_all(agents: Vec<Self>) {
        let mut commands: Vec<RemoteCommand> =
            agents.into_iter().map(|Self { command, .. }| command).collect();
        let until = Instant::now() + PARTING;
        for command in &mut commands {
            command.end(until);
        }
    }
}

impl AsFd for Remote {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}
