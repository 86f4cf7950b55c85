//! The safe layer for Rust programs: messages are vectors that a port owns while it needs them.

use crate::abi::{MAX_SIZE, MIN_SIZE, RECEIVE_TOKENS, SEND_TOKENS, Status, max_length, min_size};
use crate::events::{Pending, Received};
use crate::forks::Maker;
use crate::port::Port as Inner;
use crate::progress;
use crate::settings::Settings;
use crate::stream::{Op, Teller};
use crate::wish::Wish;
use lapis_adapters::channel::Address;
use lapis_adapters::eth::port::Port as Wire;
use std::collections::HashMap;

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The node's identity.
    pub node: u32,
    /// The port's number.
    pub port: u32,
    /// Whether it is of high priority.
    pub high: bool,
}

/// Which message of a port's: numbers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SendId(pub u64);

/// Something that has happened.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has come. Its buffer is used up.
    Received {
        /// Who sent it, and with which priority.
        from: Target,
        /// The number that the buffer was provided with.
        tag: u8,
        /// The message.
        message: Vec<u8>,
    },
    /// A send has ended, and its token is free.
    Sent {
        /// Which one.
        id: SendId,
        /// The message.
        message: Vec<u8>,
        /// [`Status::Success`], or why not. After a failure nothing more goes to this target until
        /// [`Port::resume`] or [`Port::drop_sends`].
        status: Status,
    },
}

/// A port that is open. Dropping it closes it.
///
/// After a fork it is the parent's. In the child, which may open ports of its own, its calls answer
/// [`Status::InvalidParameter`], nothing is received, and dropping it changes nothing.
///
/// ```no_run
/// use gm::{Event, Port, Target};
///
/// let mut port = Port::open(0, 2, "example")?;
/// port.provide(10, false, 0)?; // A buffer for messages of up to 1016 bytes.
/// let to = Target { node: port.node(), port: 2, high: false };
/// port.send(to, 10, b"hello".to_vec())?;
/// loop {
///     if let Event::Received { message, .. } = port.wait() {
///         assert_eq!(message, b"hello");
///         break;
///     }
/// }
/// # Ok::<(), gm::abi::Status>(())
/// ```
pub struct Port {
    /// `None` while it is being closed.
    inner: Option<Inner>,
    /// Whose it is. In a process that was forked from that one, calls fail.
    maker: Maker,
    /// Messages on their way, by number, and buffers that were provided, by address: the port
    /// reads and writes them until it gives them back.
    sent: HashMap<u64, Vec<u8>>,
    provided: HashMap<u64, Vec<u8>>,
    next: u64,
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Port").field("sends", &self.sent.len()).finish_non_exhaustive()
    }
}

/// The context of requests that no message belongs to.
const NO_MESSAGE: u64 = u64::MAX;

impl Port {
    /// Opens a port of a board, as the environment says where (docs/gm.md).
    ///
    /// # Errors
    /// What gm_open answers: [`Status::Busy`] if a process has it, [`Status::NoSuchDevice`] if
    /// there is no such board or no daemon.
    pub fn open(board: u32, number: u32, name: &str) -> Result<Self, Status> {
        Self::with(Settings::of_process(), board, number, name)
    }

    /// Opens a port of a board of the node of this host name, with the daemon that listens at
    /// `daemon`.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_at(daemon: &str, host: &str, board: u32, number: u32, name: &str) -> Result<Self, Status> {
        let place =
            Settings { daemon: Address::new(daemon), node: host.to_owned(), ..Settings::of_process() };
        Self::with(place, board, number, name)
    }

    fn with(settings: Settings, board: u32, number: u32, name: &str) -> Result<Self, Status> {
        let maker = Maker::this_process();
        let inner = Inner::open(settings, board, number, name)?;
        Ok(Self { inner: Some(inner), maker, sent: HashMap::new(), provided: HashMap::new(), next: 0 })
    }

    fn inner(&mut self) -> &mut Inner {
        // It is taken out by `drop` alone.
        self.inner.as_mut().unwrap_or_else(|| unreachable!("a port that is closed"))
    }

    /// The same where it may be this process's, or not.
    fn ours(&mut self) -> Result<&mut Inner, Status> {
        if self.maker.is_here() { Ok(self.inner()) } else { Err(Maker::is_elsewhere()) }
    }

    /// The identity of the port's node.
    pub fn node(&self) -> u32 {
        self.inner.as_ref().map_or(0, |inner| inner.node)
    }

    /// The identity of the node of a host's name, as it is known.
    ///
    /// # Errors
    /// The daemon has gone.
    pub fn find(&mut self, host: &str) -> Result<Option<u32>, Status> {
        Ok(self.ours()?.find_node(|node| node.name == host)?.map(|node| node.node))
    }

    /// Provides a buffer for one message of this size class (3 to 31: up to 2^size - 8 bytes) and
    /// priority. `tag` comes back with the message.
    ///
    /// # Errors
    /// [`Status::InvalidParameter`]: no such size; [`Status::TryAgain`]: all receive tokens are in
    /// use.
    pub fn provide(&mut self, size: u32, high: bool, tag: u8) -> Result<(), Status> {
        self.provide_buffer(Vec::new(), size, high, tag)
    }

    /// The same in memory that the program has, as messages come in it: it is made as long as the
    /// size class needs.
    ///
    /// # Errors
    /// As for [`provide`](Self::provide); the memory is given up.
    pub fn provide_buffer(&mut self, memory: Vec<u8>, size: u32, high: bool, tag: u8) -> Result<(), Status> {
        if !(MIN_SIZE..=MAX_SIZE).contains(&size) {
            return Err(Status::InvalidParameter);
        }
        if self.ours()?.buffers.provided >= RECEIVE_TOKENS {
            return Err(Status::TryAgain);
        }
        // Never empty, so that its address is its own.
        let (mut buffer, room) = (memory, max_length(size).max(1) as usize);
        if buffer.capacity() < room {
            // Pages that the system gives are zero, and need not be written.
            buffer = vec![0; room];
        }
        buffer.resize(room, 0);
        let at = buffer.as_mut_ptr().expose_provenance() as u64;
        self.provided.insert(at, buffer);
        self.inner().provide(at, size, high.into(), tag);
        Ok(())
    }

    /// The smallest size class for so many bytes.
    pub fn size_for(len: usize) -> u32 {
        min_size(len as u64)
    }

    /// Sends a message into a buffer of this size class. An [`Event::Sent`] tells of its end.
    ///
    /// # Errors
    /// [`Status::TryAgain`]: all send tokens are in use, and the message is not taken.
    pub fn send(&mut self, to: Target, size: u32, message: Vec<u8>) -> Result<SendId, Status> {
        if self.ours()?.tokens_out >= SEND_TOKENS {
            return Err(Status::TryAgain);
        }
        let id = self.next;
        self.next += 1;
        let (local, len) = (message.as_ptr().expose_provenance() as u64, message.len() as u64);
        self.sent.insert(id, message);
        let op = Op::Message { size: u8::try_from(size).unwrap_or(0) };
        self.inner().send(wish(op, local, len, to, id));
        Ok(SendId(id))
    }

    /// After a failure: sends what was behind the message that failed.
    ///
    /// # Errors
    /// [`Status::TryAgain`]: all send tokens are in use.
    pub fn resume(&mut self, target: Target) -> Result<(), Status> {
        self.settle(target, true)
    }

    /// After a failure: drops what was behind it; each message comes back as
    /// [`Status::SendDropped`].
    ///
    /// # Errors
    /// [`Status::TryAgain`]: all send tokens are in use.
    pub fn drop_sends(&mut self, target: Target) -> Result<(), Status> {
        self.settle(target, false)
    }

    fn settle(&mut self, target: Target, go_on: bool) -> Result<(), Status> {
        if self.ours()?.tokens_out >= SEND_TOKENS {
            return Err(Status::TryAgain);
        }
        let request = wish(Op::Message { size: 0 }, 0, 0, target, NO_MESSAGE);
        self.inner().settle_failure(&request, go_on);
        Ok(())
    }

    /// What has happened, if anything has.
    pub fn poll(&mut self) -> Option<Event> {
        self.ours().ok()?.poll();
        loop {
            if let Some(due) = self.inner().announced.pop_front() {
                let Teller::Call { context, .. } = due.teller else { continue };
                let id = context.addr() as u64;
                match self.sent.remove(&id) {
                    Some(message) => {
                        return Some(Event::Sent { id: SendId(id), message, status: due.status });
                    }
                    None => continue,
                }
            }
            match self.inner().next_event()? {
                Pending::Received(message) => {
                    if let Some(event) = self.received(&message) {
                        return Some(event);
                    }
                }
                Pending::Callbacks => {
                    let inner = self.inner();
                    inner.announced.append(&mut inner.due);
                }
                // Tokens are counted before they are used, and nobody sets alarms or sends without
                // a context here.
                Pending::Alarm
                | Pending::FlushedAlarm
                | Pending::Sent
                | Pending::NotSent { .. }
                | Pending::Violation(_) => {}
            }
        }
    }

    fn received(&mut self, message: &Received) -> Option<Event> {
        let mut bytes = self.provided.remove(&message.buffer)?;
        let len = message.len as usize;
        if let Some(at) = message.fast {
            let fast = self.inner().fast.show(at);
            // SAFETY: it is there until the next one is shown.
            bytes[..len].copy_from_slice(unsafe { &(&*fast)[..len] });
        }
        bytes.truncate(len);
        let from = Target { node: message.node, port: message.port, high: message.priority == 1 };
        Some(Event::Received { from, tag: message.tag, message: bytes })
    }

    /// Waits for something to happen, asleep if need be.
    ///
    /// # Panics
    /// In a process that was forked from the port's: nothing would ever happen.
    pub fn wait(&mut self) -> Event {
        assert!(self.maker.is_here(), "this port was opened before a fork: it is the parent's");
        loop {
            if let Some(event) = self.poll() {
                return event;
            }
            let inner = self.inner();
            if let Some(longest) = inner.before_sleep() {
                let wires: Vec<_> = inner.net.wire.iter().flat_map(Wire::sockets).collect();
                let daemon = (!inner.is_alone).then_some(&inner.daemon);
                progress::sleep((inner.net.window.bell(), &*inner.wake), (&wires, daemon), longest);
                inner.after_sleep();
            }
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // Before the messages, which it may still read.
        let Some(inner) = self.inner.take() else { return };
        if self.maker.is_here() {
            inner.close();
        } else {
            // The port goes on in the parent.
            std::mem::forget(inner);
        }
    }
}

fn wish(op: Op, local: u64, len: u64, to: Target, id: u64) -> Wish {
    let context = std::ptr::without_provenance_mut(id as usize);
    let teller = Teller::Call { callback: None, context };
    Wish { op, local, len, priority: to.high.into(), node: to.node, port: to.port, teller }
}
