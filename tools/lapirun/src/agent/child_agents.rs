//! The agents that an agent has started, and forwarding their messages.

use std::io::{self, Stdout};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags};

use crate::guard::Line;
use crate::remote::{Listening, News, Remote};
use crate::spawn::Outcome;
use crate::wire::{self, Order};

/// What becomes of tasks whose machine is lost, as far as anybody can tell.
const LOST: Outcome = Outcome::Killed { signal: libc::SIGKILL, dumped: false };

/// Those agents.
pub(super) struct Below {
    agents: Vec<Remote>,
    listening: Listening,
    to: Stdout,
}

impl Below {
    /// Starts an agent for each branch. A failure is told to the launcher, as one of a machine.
    pub(super) fn start(branches: Vec<Order>, mask: libc::sigset_t, guard: &Line) -> io::Result<Self> {
        let mut below = Self { agents: Vec::new(), listening: Listening::new(), to: io::stdout() };
        for order in branches {
            match Remote::start(&order, mask, guard.clone()) {
                Ok(agent) => below.agents.push(agent),
                Err(error) => {
                    let (host, remote) = (&order.machine.host, &order.remote);
                    let text = format!("host {host}: cannot run the remote command {remote:?}: {error}");
                    wire::send(&mut below.to, wire::BELOW, 2, text.as_bytes())?;
                    let branch = std::iter::once(&order.machine).chain(&order.below);
                    below.lose(branch.flat_map(|machine| machine.tasks.iter().copied()))?;
                }
            }
        }
        Ok(below)
    }

    /// Whether any of them still has something to say.
    pub(super) fn any(&self) -> bool {
        !self.agents.is_empty()
    }

    /// What is to be waited for: each agent's words, then those that have not taken all of ours.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        let words = self.agents.iter().map(|a| PollFd::from_borrowed_fd(a.as_fd(), PollFlags::IN));
        let room = self.agents.iter().filter_map(Remote::unsent);
        words.chain(room.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)))
    }

    /// Hands on what those have said whose descriptors are ready, or who were given up.
    pub(super) fn hand_on(&mut self, ready: &[bool]) -> io::Result<()> {
        let spoken: Vec<usize> =
            (0..self.agents.len()).filter(|at| ready[*at] || self.agents[*at].is_cut()).collect();
        // From the last, so that those that leave do not move the others.
        for at in spoken.into_iter().rev() {
            let (news, open) = self.agents[at].hear();
            for item in news {
                self.pass(item)?;
            }
            if !open {
                let agent = self.agents.swap_remove(at);
                let (orphans, loss) = (agent.left(), agent.loss());
                agent.finish();
                if !orphans.is_empty() {
                    wire::send(&mut self.to, wire::BELOW, 1, loss.as_bytes())?;
                    self.lose(orphans.into_iter())?;
                }
            }
        }
        self.agents.iter_mut().for_each(Remote::flush);
        for line in self.listening.look(&mut self.agents, true) {
            wire::send(&mut self.to, wire::NOTE, 0, line.as_bytes())?;
        }
        Ok(())
    }

    fn pass(&mut self, item: News) -> io::Result<()> {
        let to = &mut self.to;
        match item {
            News::Started { task, pid } => wire::send(to, wire::STARTED, task, &pid.to_le_bytes()),
            News::Output { task, error, bytes } => {
                wire::send(to, if error { wire::ERROR } else { wire::OUTPUT }, task, &bytes)
            }
            News::Exited { task, outcome } => wire::send(to, wire::EXITED, task, &outcome.to_bytes()),
            News::Reports(reports) => wire::send(to, wire::REPORT, 0, &serde_json::to_vec(&reports)?),
            News::Failed { code, text } => wire::send(to, wire::BELOW, code.into(), text.as_bytes()),
            News::Taken { task, more } => wire::send(to, wire::TAKEN, task, if more { &[] } else { &[0] }),
            News::Said(line) => wire::send(to, wire::NOTE, 0, line.as_bytes()),
        }
    }

    /// Tells of tasks that nobody will tell of any more.
    fn lose(&mut self, mut tasks: impl Iterator<Item = u32>) -> io::Result<()> {
        tasks.try_for_each(|task| wire::send(&mut self.to, wire::EXITED, task, &LOST.to_bytes()))
    }

    /// Hands on a signal for all tasks.
    pub(super) fn signal(&mut self, signal: i32) {
        self.agents.iter_mut().for_each(|agent| agent.signal(signal));
    }

    /// Whether a task is one of theirs.
    pub(super) fn has(&self, task: u32) -> bool {
        self.agents.iter().any(|agent| agent.has(task))
    }

    /// Hands on a part of the input of a task below.
    pub(super) fn feed(&mut self, task: u32, bytes: &[u8]) {
        if let Some(agent) = self.agents.iter_mut().find(|agent| agent.has(task)) {
            agent.feed(task, bytes);
        }
    }

    /// Hands on that nobody reads a task's output any more, if the task is below.
    pub(super) fn deafen(&mut self, task: u32, error: bool) {
        if let Some(agent) = self.agents.iter_mut().find(|agent| agent.has(task)) {
            agent.deafen(task, error);
        }
    }

    /// Hands on the question what the tasks do.
    pub(super) fn call_roll(&mut self) {
        self.agents.iter_mut().for_each(Remote::call_roll);
    }
}
