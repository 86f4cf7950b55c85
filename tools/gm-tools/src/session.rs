//! A port with buffers, and the answerer's side.

use crate::order::{LONGEST, Order, What};
use gm::abi::Status;
use gm::{Event, Port, Target};
use lapis_adapters::protocol::PORTS;

/// Buffers for messages that come one behind the other. GM has tokens for as many of each size.
const BUFFERS: u32 = 8;
/// Messages that are under way at once: GM has tokens for some more,
const MOST_UNDER_WAY: u64 = 48;
/// and as many bytes of them, but at least a message for each buffer: the memory of more would not
/// stay in the processor's caches.
const BYTES_UNDER_WAY: u64 = 4 << 20;
/// Size classes are smaller numbers.
const SIZES: usize = 32;
/// The size class of orders and of the word that they have been taken.
const ORDER_SIZE: u32 = 5;

/// Why it can't go on.
#[derive(Debug)]
pub enum Trouble {
    /// A call or a send failed.
    Gm(&'static str, Status),
    /// A port of a board can't be opened.
    Open {
        /// The board.
        board: u32,
        /// The port's number.
        port: u32,
        /// Why not.
        status: Status,
    },
    /// There is no such host.
    NoHost(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gm(what, status) => {
                write!(f, "{what}: {}", status.text())?;
                match status {
                    Status::SendTargetPortClosed => {
                        write!(f, ": does `gm_allsize` run there, with the same --port?")
                    }
                    Status::SendTimedOut => write!(
                        f,
                        ": whoever has that port serves another asker, or is no `gm_allsize`: `gm_debug` shows it"
                    ),
                    Status::SendTargetNodeUnreachable => {
                        write!(f, ": `gm_board_info` shows nodes and their networks")
                    }
                    _ => Ok(()),
                }
            }
            Self::Open { board, port, status } => {
                write!(f, "port {port} of board {board}: {}", status.text())?;
                match status {
                    Status::InvalidPortNumber => {
                        write!(f, ": --port takes 2 and 4 to {}, 4 unless you say otherwise", PORTS - 1)
                    }
                    Status::Busy => {
                        write!(f, ": `gm_board_info` shows who; --port takes another one, on both sides")
                    }
                    Status::NoSuchDevice => write!(f, ": `gm_board_info` shows boards"),
                    _ => Ok(()),
                }
            }
            Self::NoHost(name) => write!(f, "no node has the host name `{name}`: `gm_board_info` shows them"),
        }
    }
}

/// A port whose events are dealt with.
pub struct Session {
    port: Port,
    /// Messages of low priority that have come, and what came with high priority.
    pub(crate) received: u64,
    pub(crate) words: Vec<(Target, Vec<u8>)>,
    /// Sends that have not ended.
    pub(crate) pending: u64,
    /// The size class of buffers that are provided again, if there is one.
    size: Option<u32>,
    /// Buffers that the port has, by size class: those of former sizes, too.
    buffers: [u32; SIZES],
    /// Memory of messages that have been sent.
    spare: Vec<Vec<u8>>,
    /// Who messages of low priority come from.
    last: Option<Target>,
}

impl Session {
    /// Opens a port of a board.
    ///
    /// # Errors
    /// The port can't be opened.
    pub fn open(board: u32, number: u32) -> Result<Self, Trouble> {
        let opened = Port::open(board, number, "gm_allsize");
        opened.map(Self::of).map_err(|status| Trouble::Open { board, port: number, status })
    }

    /// With a port that is open.
    pub fn of(port: Port) -> Self {
        let (words, spare) = (Vec::new(), Vec::new());
        let buffers = [0; SIZES];
        Self { port, received: 0, words, pending: 0, size: None, buffers, spare, last: None }
    }

    /// The identity of a host's node.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&mut self, host: &str) -> Result<u32, Trouble> {
        let found = self.port.find(host).map_err(|e| Trouble::Gm("the list of nodes", e))?;
        found.ok_or_else(|| Trouble::NoHost(host.to_owned()))
    }

    /// Provides a buffer for the next order or answer.
    pub(crate) fn expect_word(&mut self) -> Result<(), Trouble> {
        self.port.provide(ORDER_SIZE, true, 0).map_err(|e| Trouble::Gm("gm_provide_receive_buffer", e))
    }

    /// Provides buffers for messages of so many bytes, from now on.
    pub(crate) fn expect_messages(&mut self, length: u64) -> Result<(), Trouble> {
        let size = Port::size_for(length as usize);
        self.received = 0;
        if self.size != Some(size) {
            self.size = Some(size);
            self.spare.clear();
        }
        while self.buffers[size as usize % SIZES] < BUFFERS {
            self.provide(Vec::new(), size)?;
        }
        Ok(())
    }

    fn provide(&mut self, memory: Vec<u8>, size: u32) -> Result<(), Trouble> {
        // The number says which class a message has used up, however short it is.
        let provided = self.port.provide_buffer(memory, size, false, size as u8);
        provided.map_err(|e| Trouble::Gm("gm_provide_receive_buffer", e))?;
        self.buffers[size as usize % SIZES] += 1;
        Ok(())
    }

    /// Sends a word of high priority.
    pub(crate) fn say(&mut self, to: Target, bytes: Vec<u8>) -> Result<(), Trouble> {
        self.pending += 1;
        let to = Target { high: true, ..to };
        self.port.send(to, ORDER_SIZE, bytes).map(drop).map_err(|e| Trouble::Gm("gm_send", e))
    }

    /// Sends a message of so many bytes, once there is a token.
    pub(crate) fn send(&mut self, to: Target, length: u64) -> Result<(), Trouble> {
        let fit = BYTES_UNDER_WAY / length.max(1);
        while self.pending >= fit.clamp(BUFFERS.into(), MOST_UNDER_WAY) {
            self.step(false)?;
        }
        let mut message = self.spare.pop().unwrap_or_default();
        message.resize(length as usize, 0);
        self.pending += 1;
        let (to, size) = (Target { high: false, ..to }, Port::size_for(length as usize));
        self.port.send(to, size, message).map(drop).map_err(|e| Trouble::Gm("gm_send", e))
    }

    /// Deals with what has happened. `wait`: with something at least.
    pub(crate) fn step(&mut self, wait: bool) -> Result<(), Trouble> {
        let event = if wait { Some(self.port.wait()) } else { self.port.poll() };
        match event {
            None => Ok(()),
            Some(Event::Received { from, message, .. }) if from.high => {
                self.words.push((from, message));
                Ok(())
            }
            Some(Event::Received { from, message, tag }) => {
                self.received += 1;
                self.last = Some(from);
                let size = u32::from(tag);
                self.buffers[size as usize % SIZES] -= 1;
                // A message of the size before has a buffer that is not needed any more.
                if self.size == Some(size) { self.provide(message, size) } else { Ok(()) }
            }
            Some(Event::Sent { message, status, .. }) => {
                self.pending -= 1;
                // New memory for each message would be measured, too.
                if self.spare.len() < MOST_UNDER_WAY as usize && message.len() <= LONGEST as usize {
                    self.spare.push(message);
                }
                if status == Status::Success { Ok(()) } else { Err(Trouble::Gm("gm_send", status)) }
            }
        }
    }

    /// Serves one asker after the other; `once`: until the first has gone.
    ///
    /// # Errors
    /// The port does not work any more. An asker that ends in the middle is none.
    pub fn answer(&mut self, once: bool) -> Result<(), Trouble> {
        self.expect_word()?;
        let mut served = false;
        loop {
            while self.words.is_empty() {
                self.step(true)?;
            }
            let (from, word) = self.words.remove(0);
            self.expect_word()?;
            if word.is_empty() && once && served {
                return Ok(());
            }
            let Some(order) = Order::decode(&word) else { continue };
            served = true;
            match self.serve(from, &order) {
                Err(Trouble::Gm(_, Status::SendTargetPortClosed)) => self.forget(from)?,
                other => other?,
            }
        }
    }

    fn serve(&mut self, from: Target, order: &Order) -> Result<(), Trouble> {
        self.expect_messages(order.length)?;
        self.say(from, Vec::new())?;
        match order.what {
            What::Latency => {
                for done in 1..=order.count {
                    self.until(done)?;
                    // Somebody else has come: this asker has ended, and his port may be another's.
                    if self.received < done {
                        break;
                    }
                    self.send(from, order.length)?;
                }
            }
            What::Bandwidth => {
                self.until(order.count)?;
                if self.received >= order.count {
                    self.say(from, Vec::new())?;
                }
            }
        }
        while self.pending > 0 {
            self.step(true)?;
        }
        Ok(())
    }

    /// Goes on until so many messages have come, or the asker says something else.
    pub(crate) fn until(&mut self, count: u64) -> Result<(), Trouble> {
        let mut looks = 0u32;
        while self.received < count && self.words.is_empty() {
            // Awake for a while: it is the time of messages that counts.
            looks = looks.saturating_add(1);
            self.step(looks > 1_000_000)?;
        }
        Ok(())
    }

    /// An asker has gone: what was under way to it is dropped.
    fn forget(&mut self, from: Target) -> Result<(), Trouble> {
        for high in [true, false] {
            self.port.drop_sends(Target { high, ..from }).map_err(|e| Trouble::Gm("gm_drop_sends", e))?;
        }
        while self.pending > 0 {
            match self.step(true) {
                Err(Trouble::Gm(_, Status::SendDropped | Status::SendTargetPortClosed)) => {}
                other => other?,
            }
        }
        Ok(())
    }
}
