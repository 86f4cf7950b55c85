//! The bootstrap server: one thread, one poll loop, as many connections as the job has contexts.
//!
//! Unauthenticated peers cost little: such a peer may send one kilobyte and has a few seconds;
//! those of another user are closed at once; when descriptors or slots run out, they wait in the
//! listen queue, and the oldest connected one is closed first. This never affects members.

mod admission;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags};

use super::address::{Address, Listener};
use super::auth::{ROLE_CLIENT, Transcript};
use super::client::timespec;
use super::frame::Framed;
use super::key::Key;
use super::protocol::{MAX_FRAME, Message, clip};
use super::store::{ConnId, Member, Store};
use crate::threads;

/// Answers that may pile up for a member that does not read them.
const MAX_BACKLOG: usize = 4 * MAX_FRAME;

/// What a server serves.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Identity of the job, different for every run.
    pub job_id: String,
    /// The job's secret.
    pub secret: [u8; 32],
    /// Number of tasks.
    pub tasks: u32,
    /// Time that a connection has to prove itself.
    pub handshake_timeout: Duration,
    /// How long a lost connection waits for [`Server::task_exited`] to say how the task ended,
    /// before the others hear of it.
    pub linger: Duration,
    /// Unix sockets only: take every process of this user as a member and hand out the secret.
    pub same_user: bool,
}

impl ServerConfig {
    /// A server for `tasks` tasks that know `secret`.
    pub fn new(tasks: u32, secret: [u8; 32]) -> Self {
        Self {
            job_id: String::new(),
            secret,
            tasks,
            handshake_timeout: Duration::from_secs(5),
            linger: Duration::ZERO,
            same_user: false,
        }
    }
}

/// What a server tells the one who runs it. Called from the server's thread: must not block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A task opened a context.
    Connected {
        /// Its number.
        task: u32,
        /// Its process, as it says.
        pid: u32,
    },
    /// A task finalised a context.
    Finalised {
        /// Its number.
        task: u32,
    },
    /// A task's connection ended before the task finalised.
    Lost {
        /// Its number.
        task: u32,
    },
    /// A task wants the whole job to end.
    Aborted {
        /// Its number.
        task: u32,
        /// The job's exit code.
        code: i32,
        /// Its reason.
        message: String,
    },
    /// A connection was refused.
    Refused {
        /// Why.
        reason: String,
    },
}

enum Command {
    TaskExited { task: u32, how: String },
    TaskRestarts { task: u32 },
    Stop,
}

/// A running server; stops when dropped.
pub struct Server {
    address: Address,
    commands: mpsc::Sender<Command>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves on `listener` in a thread of its own.
    pub fn start(
        listener: Listener,
        config: ServerConfig,
        events: impl FnMut(ServerEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let address = listener.address().clone();
        let (commands, inbox) = mpsc::channel();
        let wake = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let mut looper = Loop {
            store: Store::new(config.tasks, config.linger),
            listener,
            config,
            inbox,
            wake: Arc::clone(&wake),
            conns: BTreeMap::new(),
            members: HashMap::new(),
            next_conn: 0,
            accept_again: None,
            events: Box::new(events),
        };
        let name = std::thread::Builder::new().name("lapis-bootstrap".into());
        let thread = threads::spawn(name, move || looper.run())?;
        Ok(Self { address, commands, wake, thread: Some(thread) })
    }

    /// Where tasks connect.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Says that a task's process has ended for good; `how` completes the sentence "task 3 …".
    /// Operations that wait for it fail with that text.
    pub fn task_exited(&self, task: u32, how: &str) {
        self.command(Command::TaskExited { task, how: clip(how) });
    }

    /// Says that a task's process has ended and that another one will take its place: what is left
    /// of the former's connections counts no more. A process that it had started may hold them
    /// open.
    pub fn task_restarts(&self, task: u32) {
        self.command(Command::TaskRestarts { task });
    }

    fn command(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.command(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum State {
    /// Has been challenged.
    Stranger {
        nonce: Key,
        since: Instant,
    },
    Member(Member),
    /// Gets what is still to be sent, then the end.
    Leaving,
}

struct Conn {
    link: Framed,
    state: State,
}

struct Loop {
    listener: Listener,
    config: ServerConfig,
    store: Store,
    inbox: mpsc::Receiver<Command>,
    wake: Arc<OwnedFd>,
    conns: BTreeMap<ConnId, Conn>,
    members: HashMap<ConnId, Member>,
    next_conn: ConnId,
    /// No accept before this instant: descriptors or places ran out.
    accept_again: Option<Instant>,
    events: Box<dyn FnMut(ServerEvent) + Send>,
}

impl Loop {
    fn run(&mut self) {
        loop {
            let (ready, woken, accept) = match self.wait() {
                Ok(found) => found,
                Err(error) => {
                    // Only a lack of kernel memory comes here: a pause is all one can do.
                    tracing::warn!(%error, "the bootstrap server cannot poll");
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
            };
            let now = Instant::now();
            if woken && !self.obey(now) {
                self.part();
                return;
            }
            for conn in ready {
                self.serve(conn, now);
            }
            if accept {
                self.accept(now);
            }
            self.expire(now);
            self.store.settle(now);
            self.deliver(now);
        }
    }

    /// Sleeps until something is to do: connections with something to read or room to write, a
    /// command, a newcomer.
    fn wait(&mut self) -> io::Result<(Vec<ConnId>, bool, bool)> {
        let now = Instant::now();
        let strangers = self.conns.values().filter_map(|c| match c.state {
            State::Stranger { since, .. } => Some(since + self.config.handshake_timeout),
            _ => None,
        });
        let next = strangers.chain(self.store.next_deadline()).chain(self.accept_again).min();
        let timeout = next.map(|at| timespec(at.saturating_duration_since(now)));
        let accepting = self.accept_again.is_none_or(|at| now >= at);
        if accepting {
            self.accept_again = None;
        }

        let listen_for = if accepting { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = Vec::with_capacity(self.conns.len() + 2);
        fds.push(PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN));
        fds.push(PollFd::from_borrowed_fd(self.listener.as_fd(), listen_for));
        for conn in self.conns.values() {
            let mut interest = PollFlags::IN;
            if conn.link.wants_write() {
                interest |= PollFlags::OUT;
            }
            fds.push(PollFd::from_borrowed_fd(conn.link.as_fd(), interest));
        }
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let woken = !fds[0].revents().is_empty();
        let accept = accepting && !fds[1].revents().is_empty();
        let ready = self.conns.keys().zip(&fds[2..]).filter(|(_, fd)| !fd.revents().is_empty());
        Ok((ready.map(|(id, _)| *id).collect(), woken, accept))
    }

    /// Carries out the owner's commands; `false` to stop.
    fn obey(&mut self, now: Instant) -> bool {
        let mut counter = [0u8; 8];
        let _ = rustix::io::read(&*self.wake, &mut counter);
        loop {
            match self.inbox.try_recv() {
                Ok(Command::TaskExited { task, how }) => self.exited(task, how, now),
                Ok(Command::TaskRestarts { task }) => self.forget(task, now),
                Ok(Command::Stop) | Err(mpsc::TryRecvError::Disconnected) => return false,
                Err(mpsc::TryRecvError::Empty) => return true,
            }
        }
    }

    /// All tasks with a context that the task has not left in order are notified.
    fn exited(&mut self, task: u32, how: String, now: Instant) {
        let store = &self.store;
        let concerned = self.members.iter().filter(|(_, m)| m.task != task && !store.has_left(m.space, task));
        for (id, _) in concerned {
            let Some(conn) = self.conns.get_mut(id) else { continue };
            // A failure to send shows as a closed connection in the next round.
            let _ = conn.link.push(&Message::Ended { task, how: how.clone() });
            let _ = conn.link.flush();
        }
        self.store.exited(task, how, now);
    }

    /// Closes what connections a task has.
    fn forget(&mut self, task: u32, now: Instant) {
        let of_task = |(id, conn): (&ConnId, &Conn)| match conn.state {
            State::Member(member) if member.task == task => Some(*id),
            _ => None,
        };
        let former: Vec<ConnId> = self.conns.iter().filter_map(of_task).collect();
        for id in former {
            // What it had said before counts.
            self.serve(id, now);
            self.close(id, now);
        }
        self.store.restarts(task, now);
    }

    /// The last answers leave before the sockets close.
    fn part(&mut self) {
        self.deliver(Instant::now());
        for conn in self.conns.values_mut() {
            let _ = conn.link.flush();
        }
    }

    fn serve(&mut self, id: ConnId, now: Instant) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let open = conn.link.flush().is_ok() && matches!(conn.link.fill(), Ok(true));
        // What came before the end of a connection counts: a task may finalise and exit in one
        // breath.
        loop {
            let Some(conn) = self.conns.get_mut(&id) else { return };
            match conn.link.next() {
                Ok(Some(message)) => self.handle(id, message, now),
                Ok(None) => break,
                Err(error) => {
                    self.refuse(id, format!("it sent {error}"));
                    break;
                }
            }
        }
        if !open {
            self.close(id, now);
        }
    }

    fn handle(&mut self, id: ConnId, message: Message, now: Instant) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        match (&conn.state, message) {
            (State::Leaving, _) => {}
            (
                State::Stranger { nonce, .. },
                Message::Hello { task, tasks, context, pid, nonce: theirs, proof },
            ) => {
                let transcript =
                    Transcript { server_nonce: *nonce, client_nonce: theirs, task, tasks, context };
                let key = if self.config.same_user { [0; 32] } else { self.config.secret };
                if !transcript.verify(&key, ROLE_CLIENT, &proof) {
                    self.refuse(
                        id,
                        "it does not know the job's secret (a task of another job or run?)".into(),
                    );
                } else if tasks != self.config.tasks || task >= tasks {
                    let here = self.config.tasks;
                    self.refuse(id, format!("it is task {task} of {tasks} and this job has {here} tasks"));
                } else {
                    self.admit(id, &transcript, &key, pid);
                }
            }
            (
                State::Member(member),
                request @ (Message::Put { .. }
                | Message::Get { .. }
                | Message::Fence { .. }
                | Message::Exchange { .. }
                | Message::Abort { .. }
                | Message::Finalize { .. }),
            ) => {
                let member = *member;
                let task = member.task;
                match &request {
                    Message::Abort { code, message, .. } => {
                        (self.events)(ServerEvent::Aborted { task, code: *code, message: message.clone() });
                    }
                    Message::Finalize { .. } => {
                        self.members.remove(&id);
                        (self.events)(ServerEvent::Finalised { task });
                    }
                    _ => {}
                }
                self.store.request(id, member, request, now);
            }
            (_, other) => self.refuse(id, format!("it sent an unexpected {}", other.name())),
        }
    }

    /// Tells a peer why it is not wanted, then closes.
    fn refuse(&mut self, id: ConnId, reason: String) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        tracing::debug!(reason, "refused a bootstrap connection");
        let _ = conn.link.push(&Message::Refused { reason: clip(&reason) });
        let _ = conn.link.flush();
        if let State::Member(member) = conn.state {
            self.lose(id, member, Instant::now());
        }
        if let Some(conn) = self.conns.get_mut(&id) {
            conn.state = State::Leaving;
        }
        (self.events)(ServerEvent::Refused { reason });
    }

    fn close(&mut self, id: ConnId, now: Instant) {
        if let Some(conn) = self.conns.remove(&id)
            && let State::Member(member) = conn.state
        {
            self.lose(id, member, now);
        }
    }

    fn lose(&mut self, id: ConnId, member: Member, now: Instant) {
        self.store.disconnect(id, member, now);
        if self.members.remove(&id).is_some() {
            (self.events)(ServerEvent::Lost { task: member.task });
        }
    }

    /// Closes strangers whose time is over and refused peers that have heard why.
    fn expire(&mut self, now: Instant) {
        let limit = self.config.handshake_timeout;
        self.conns.retain(|_, conn| match conn.state {
            State::Stranger { since, .. } => now.duration_since(since) < limit,
            State::Leaving => conn.link.wants_write(),
            State::Member(_) => true,
        });
    }

    fn deliver(&mut self, now: Instant) {
        loop {
            let answers = self.store.take_answers();
            if answers.is_empty() {
                return;
            }
            let mut broken = Vec::new();
            for (id, answer) in answers {
                let Some(conn) = self.conns.get_mut(&id) else { continue };
                if let Err(error) = conn.link.push(&answer) {
                    tracing::warn!(%error, "an answer of the bootstrap server is too long");
                    broken.push(id);
                } else if conn.link.flush().is_err() || conn.link.backlog() > MAX_BACKLOG {
                    broken.push(id);
                }
            }
            for id in broken {
                self.close(id, now);
            }
        }
    }
}
