//! A task's side of the store: one connection per context, one request at a time.

mod handshake;

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::address::Address;
use super::auth::Channel;
use super::error::BootstrapError;
use super::frame::{FrameError, Framed};
use super::protocol::{Failure, MAX_FRAME, MAX_KEY, MAX_VALUE, Message, ProtocolError, Scheme, clip};
use super::{Bootstrap, Entry, JobInfo};
use handshake::Handshake;

/// How much longer than a deadline a client waits for the server to say that the deadline has
/// passed.
const GRACE: Duration = Duration::from_secs(5);

/// What a task needs to know to join.
#[derive(Clone)]
pub(crate) struct Membership {
    pub(crate) address: Address,
    pub(crate) task: u32,
    pub(crate) tasks: u32,
    pub(crate) job: JobInfo,
    pub(crate) scheme: Scheme,
    /// Longest search for the server.
    pub(crate) patience: Duration,
}

/// A task's connection to the store.
pub(crate) struct Client {
    membership: Membership,
    context: u32,
    link: Framed,
    entry: Entry,
    generation: u32,
    next_id: u32,
    epoch: u32,
    pid: u32,
    /// What the server has said unasked about tasks' ends.
    ended: Vec<(u32, String)>,
    /// Why no further operation is possible.
    closed: Option<String>,
    finalised: bool,
}

/// Why one attempt to join failed.
pub(crate) enum JoinError {
    /// No server there, or the connection broke: another attempt may help.
    Again(io::Error),
    /// Another attempt cannot help.
    Final(BootstrapError),
}

impl Client {
    /// Joins; tries again until `membership.patience` is over.
    pub(crate) fn join(membership: Membership, context: u32) -> Result<Self, BootstrapError> {
        let start = Instant::now();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let waited = start.elapsed();
            let left = membership.patience.saturating_sub(waited);
            match Self::try_join(&membership, context, left) {
                Ok(client) => return Ok(client),
                Err(JoinError::Final(error)) => return Err(error),
                Err(JoinError::Again(source)) if left.is_zero() => {
                    return Err(BootstrapError::Unreachable {
                        address: membership.address.to_string(),
                        waited,
                        attempts,
                        source,
                        remedy: "start the job with lapirun (or poe), and check that its process still runs",
                    });
                }
                // Abstract names and ports vanish with their server: a refusal early on may only
                // mean "not yet".
                Err(JoinError::Again(_)) => std::thread::sleep(pause(attempts).min(left)),
            }
        }
    }

    /// One attempt, at most `patience` long.
    pub(crate) fn try_join(
        membership: &Membership,
        context: u32,
        patience: Duration,
    ) -> Result<Self, JoinError> {
        let deadline = Instant::now() + patience.max(Duration::from_millis(200));
        let link = Framed::new(membership.address.connect(patience).map_err(JoinError::Again)?);
        let mut handshake = Handshake { membership, context, link, deadline };
        handshake.check_owner()?;
        let transcript = handshake.greet()?;
        let welcome = handshake.welcome(&transcript)?;
        let mut link = handshake.link;
        let (to_server, to_client) = Channel::pair(&membership.job.secret, &transcript);
        link.seal(to_server, to_client);
        Ok(Self {
            membership: Membership { job: welcome.job, ..membership.clone() },
            context,
            link,
            entry: if welcome.rounds == 0 { Entry::First } else { Entry::Again },
            generation: welcome.generation,
            next_id: 1,
            epoch: welcome.rounds,
            pid: std::process::id(),
            ended: Vec::new(),
            closed: None,
            finalised: false,
        })
    }

    /// Whether this process has joined. A child that it has forked has no part in the job.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.pid == std::process::id()
    }

    /// Sends a request and waits for its answer.
    fn ask(
        &mut self,
        during: &str,
        timeout: Duration,
        request: impl FnOnce(u32) -> Message,
    ) -> Result<Message, BootstrapError> {
        self.check_usable(during)?;
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.link.push(&request(id)).map_err(|source| self.protocol(during, source))?;
        let deadline = deadline_after(timeout.saturating_add(GRACE));
        loop {
            let answer = match receive(&mut self.link, deadline) {
                Ok(Some(answer)) => answer,
                Ok(None) => {
                    self.closed = Some(format!("got no answer to {during}"));
                    let detail =
                        format!("the bootstrap server at {} does not answer", self.membership.address);
                    return Err(BootstrapError::Timeout { during: during.into(), waited: timeout, detail });
                }
                Err(FrameError::Io(source)) => {
                    self.closed = Some("has lost its server".into());
                    let address = self.membership.address.to_string();
                    return Err(BootstrapError::ServerLost { address, during: during.into(), source });
                }
                Err(FrameError::Protocol(source)) => {
                    self.closed = Some("met a broken message".into());
                    return Err(self.protocol(during, source));
                }
            };
            match answer {
                Message::Ended { task, how } => self.ended.push((task, how)),
                Message::Failed { id: of, failure } if of == id => {
                    return Err(translate(failure, during, timeout));
                }
                // An answer to a request that this side has given up.
                Message::Done { id: of }
                | Message::Value { id: of, .. }
                | Message::Values { id: of, .. }
                | Message::Failed { id: of, .. }
                    if of != id => {}
                answer => return Ok(answer),
            }
        }
    }

    /// A collective request: its failure leaves the tasks at different places, so it ends the
    /// handle's use.
    fn ask_all(
        &mut self,
        during: &str,
        timeout: Duration,
        request: impl FnOnce(u32, u32) -> Message,
    ) -> Result<Message, BootstrapError> {
        self.check_usable(during)?;
        let epoch = self.epoch;
        self.epoch += 1;
        let answer = self.ask(during, timeout, |id| request(id, epoch));
        if answer.is_err() && self.closed.is_none() {
            self.closed = Some(format!("failed in {during}"));
        }
        answer
    }

    fn check_usable(&self, during: &str) -> Result<(), BootstrapError> {
        let why = if self.pid != std::process::id() {
            format!("belongs to process {}: after a fork the child must initialise anew", self.pid)
        } else if self.finalised {
            "was finalised".into()
        } else if let Some(why) = &self.closed {
            why.clone()
        } else {
            return Ok(());
        };
        Err(BootstrapError::Unusable { during: during.into(), why })
    }

    fn protocol(&self, during: &str, source: ProtocolError) -> BootstrapError {
        BootstrapError::Protocol {
            address: self.membership.address.to_string(),
            during: during.into(),
            source,
        }
    }

    fn unexpected(&self, during: &str, answer: &Message) -> BootstrapError {
        self.protocol(during, ProtocolError::Unexpected(answer.name()))
    }
}

impl Bootstrap for Client {
    fn task(&self) -> u32 {
        self.membership.task
    }

    fn tasks(&self) -> u32 {
        self.membership.tasks
    }

    fn job(&self) -> &JobInfo {
        &self.membership.job
    }

    fn context_number(&self) -> u32 {
        self.context
    }

    fn context(&self, number: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        Ok(Box::new(Self::join(self.membership.clone(), number)?))
    }

    fn generation(&self) -> u32 {
        self.generation
    }

    fn entry(&self) -> Entry {
        self.entry
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        check_sizes(key, value.len())?;
        let during = format!("put of {key:?}");
        let request = |id| Message::Put { id, key: key.into(), value: value.into() };
        match self.ask(&during, Duration::from_secs(60), request)? {
            Message::Done { .. } => Ok(()),
            other => Err(self.unexpected(&during, &other)),
        }
    }

    fn get(&mut self, key: &str, timeout: Duration) -> Result<Vec<u8>, BootstrapError> {
        check_sizes(key, 0)?;
        let during = format!("get of {key:?}");
        let request = |id| Message::Get { id, timeout_ms: millis(timeout), key: key.into() };
        match self.ask(&during, timeout, request)? {
            Message::Value { value, .. } => Ok(value),
            other => Err(self.unexpected(&during, &other)),
        }
    }

    fn fence(&mut self, timeout: Duration) -> Result<(), BootstrapError> {
        let during = format!("fence {} of context {}", self.epoch, self.context);
        let request = |id, epoch| Message::Fence { id, timeout_ms: millis(timeout), epoch };
        match self.ask_all(&during, timeout, request)? {
            Message::Done { .. } => Ok(()),
            other => Err(self.unexpected(&during, &other)),
        }
    }

    fn exchange(
        &mut self,
        key: &str,
        value: &[u8],
        timeout: Duration,
    ) -> Result<Vec<Vec<u8>>, BootstrapError> {
        check_sizes(key, value.len())?;
        // The answer carries the values of all tasks in one frame.
        let all = (value.len() + 4) * self.membership.tasks as usize;
        if all > MAX_FRAME - 64 {
            let what = format!("the exchange of {key:?} among {} tasks", self.membership.tasks);
            return Err(BootstrapError::TooLarge { what, len: all, limit: MAX_FRAME - 64 });
        }
        let during = format!("exchange {} ({key:?}) of context {}", self.epoch, self.context);
        let request = |id, epoch| Message::Exchange {
            id,
            timeout_ms: millis(timeout),
            epoch,
            key: key.into(),
            value: value.into(),
        };
        match self.ask_all(&during, timeout, request)? {
            Message::Values { values, .. } => {
                let all = values.unpack();
                let whole = all.len() == self.membership.tasks as usize;
                whole
                    .then_some(all)
                    .ok_or_else(|| self.unexpected(&during, &Message::Values { id: 0, values }))
            }
            other => Err(self.unexpected(&during, &other)),
        }
    }

    fn abort(&mut self, code: i32, message: &str) -> Result<(), BootstrapError> {
        if self.pid == std::process::id() {
            // Whatever failed before, an abort is worth a try.
            self.closed = None;
        }
        let request = |id| Message::Abort { id, code, message: clip(message) };
        match self.ask("abort", Duration::from_secs(10), request)? {
            Message::Done { .. } => Ok(()),
            other => Err(self.unexpected("abort", &other)),
        }
    }

    fn ended(&mut self) -> Vec<(u32, String)> {
        if self.check_usable("hearing of tasks' ends").is_ok() {
            // What is wrong with the connection shows in the next request.
            let _ = self.link.fill();
            while let Ok(Some(message)) = self.link.next() {
                if let Message::Ended { task, how } = message {
                    self.ended.push((task, how));
                }
            }
        }
        std::mem::take(&mut self.ended)
    }

    fn finalize(&mut self) -> Result<(), BootstrapError> {
        if self.finalised {
            return Ok(());
        }
        // A failed collective leaves the connection itself whole: the server still learns of the
        // good-bye.
        if self.pid == std::process::id() {
            self.closed = None;
        }
        let result = match self.ask("finalize", Duration::from_secs(30), |id| Message::Finalize { id }) {
            Ok(Message::Done { .. }) => Ok(()),
            Ok(other) => Err(self.unexpected("finalize", &other)),
            Err(error) => Err(error),
        };
        self.finalised = true;
        result
    }
}

/// Sends what is pending and waits for one message; `None` at the deadline.
fn receive(link: &mut Framed, deadline: Instant) -> Result<Option<Message>, FrameError> {
    loop {
        link.flush().map_err(FrameError::Io)?;
        if let Some(message) = link.next()? {
            return Ok(Some(message));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let mut interest = PollFlags::IN;
        if link.wants_write() {
            interest |= PollFlags::OUT;
        }
        let mut fds = [PollFd::new(&*link, interest)];
        match rustix::event::poll(&mut fds, Some(&timespec(left))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(e) => return Err(FrameError::Io(e.into())),
        }
        let readable = fds[0].revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        if readable && !link.fill().map_err(FrameError::Io)? {
            // The last words before the end still count: a refusal is followed by a close at once.
            return match link.next()? {
                Some(message) => Ok(Some(message)),
                None => Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into())),
            };
        }
    }
}

fn translate(failure: Failure, during: &str, waited: Duration) -> BootstrapError {
    let during = during.to_owned();
    match failure {
        Failure::TaskLost { task, how } => BootstrapError::TaskLost { task, how, during },
        Failure::Aborted { task, code, message } => BootstrapError::Aborted { task, code, message },
        Failure::Timeout { detail } => BootstrapError::Timeout { during, waited, detail },
        Failure::Mismatch { detail } => BootstrapError::Mismatch { detail },
        Failure::Limit { detail } => BootstrapError::Limit { during, detail },
    }
}

pub(crate) fn check_sizes(key: &str, value: usize) -> Result<(), BootstrapError> {
    if key.len() > MAX_KEY {
        return Err(BootstrapError::TooLarge { what: "a key".into(), len: key.len(), limit: MAX_KEY });
    }
    if value > MAX_VALUE {
        return Err(BootstrapError::TooLarge {
            what: format!("the value of {key:?}"),
            len: value,
            limit: MAX_VALUE,
        });
    }
    Ok(())
}

/// The pause after the n-th failed attempt: short at first (the partner is probably starting),
/// never long.
pub(crate) fn pause(attempt: u32) -> Duration {
    Duration::from_millis(1 << attempt.min(6)).min(Duration::from_millis(50))
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    // Rounded up, so that a wait of under a millisecond is not a busy loop.
    let millis = duration.as_millis() as i64 + 1;
    Timespec { tv_sec: millis / 1000, tv_nsec: (millis % 1000) * 1_000_000 }
}

/// An instant that far away, or as far as can be said.
fn deadline_after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or_else(|| now + Duration::from_secs(86_400 * 365))
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
