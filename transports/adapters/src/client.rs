//! A connection to the daemon of the windows.

mod greeting;
mod ports;

pub use greeting::{Greeted, Greeting};
pub use ports::{OpenPort, PortWay, PortWish};

use crate::channel::{Address, Channel};
use crate::eth::{Hop, Wire, WireParts};
use crate::fifo::Geometry;
use crate::key::Key;
use crate::matrix::Reader;
use crate::protocol::{Adapter, MAX_REPLY, Place, Reply, Request, Why, Window};
use crate::soft::Parts;
use lapis_core::sync::{AtomicU32, Ordering};
use sha2::{Digest, Sha256};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// For so long an answer is waited for. One to a window of an interface takes as long as the kernel
/// needs to put a program there, which is seconds where many networks are made and unmade.
const PATIENCE: Duration = Duration::from_secs(60);

/// For so long a daemon that has begun anew may take to look at a window or port that it is shown:
/// who shows it waits meanwhile, and needs no daemon.
pub const SHOWING: Duration = Duration::from_secs(2);

/// For so long at most, and so often, something is asked for again that may be there soon: a window
/// that somebody is about to let go of, or that a daemon which has just begun has still to be
/// shown.
const SOON: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_millis(5);

/// Why something asked of the daemon failed.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Nobody listens.
    #[error(
        "no services daemon listens at `{0}` ({1}): start `lapis-nsd`, or start the job by lapirun, which starts one \
         for the job"
    )]
    Absent(Address, io::Error),
    /// The one who listens is another user.
    #[error(
        "who listens at `{0}` is user {1}, neither root nor you: the name LAPIS_NSD={0} is taken by a stranger"
    )]
    Stranger(Address, u32),
    /// The connection broke.
    #[error("the services daemon at `{0}` does not answer: {1}")]
    Silent(Address, io::Error),
    /// It answered what it should not.
    #[error("the services daemon at `{0}` answered what was not asked: {1}")]
    Confused(Address, String),
    /// It refuses.
    #[error("{text}")]
    Refused {
        /// Why, for programs.
        why: Why,
        /// Why, and what to do, for people.
        text: String,
    },
}

/// A window that was opened.
#[derive(Debug)]
pub struct Opened {
    /// Which one.
    pub place: Place,
    /// Its memory and bell.
    pub parts: Parts,
    /// What it has on an Ethernet.
    pub wire: Option<WireParts>,
}

/// A connection to the daemon. Windows that were opened through it stay open as long as it lives.
#[derive(Debug)]
pub struct Daemon {
    address: Address,
    channel: Channel,
    number: u64,
    matrix: Reader,
    /// Answers that are owed to requests which have timed out. They come before those to later
    /// requests: `ask` and `has_gone` drop so many, and both count down.
    late: AtomicU32,
    /// For so many milliseconds something is asked for again that may be there soon.
    soon: AtomicU32,
}

impl Daemon {
    /// This daemon's number: another one after each restart.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Which adapters are up.
    pub fn matrix(&self) -> &Reader {
        &self.matrix
    }

    /// Whether the daemon has gone. Costs a system call, and takes what it sent unasked.
    pub fn has_gone(&self) -> bool {
        has_gone(&self.channel, &self.late)
    }

    /// Asks something, for each answer to which so long is waited at most. What may be there soon
    /// is asked for again for no longer than that, either.
    pub fn within<R>(&self, patience: Duration, ask: impl FnOnce(&Self) -> R) -> R {
        // The system refuses no such time; and if it did, answers would be waited for as ever.
        let _ = self.channel.be_patient(patience);
        self.soon.store(millis(patience.min(SOON)), Ordering::Relaxed);
        let result = ask(self);
        self.soon.store(millis(SOON), Ordering::Relaxed);
        let _ = self.channel.be_patient(PATIENCE);
        result
    }

    fn ask(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<(Reply, Vec<OwnedFd>), DaemonError> {
        ask(&self.address, &self.channel, request, fds, &self.late)
    }

    /// The same for something that may be there soon.
    fn ask_until_settled(&self, request: &Request) -> Result<(Reply, Vec<OwnedFd>), DaemonError> {
        let soon = Duration::from_millis(self.soon.load(Ordering::Relaxed).into());
        let begun = Instant::now();
        loop {
            match self.ask(request, &[]) {
                Err(DaemonError::Refused { why: Why::Soon, .. }) if begun.elapsed() < soon => {}
                answer => return answer,
            }
            std::thread::sleep(BETWEEN);
        }
    }

    fn confused(&self, reply: &Reply) -> DaemonError {
        DaemonError::Confused(self.address.clone(), format!("{reply:?}"))
    }

    fn done(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<(), DaemonError> {
        match self.ask(request, fds)?.0 {
            Reply::Done => Ok(()),
            other => Err(self.confused(&other)),
        }
    }

    /// All adapters.
    ///
    /// # Errors
    /// The daemon has gone.
    pub fn adapters(&self) -> Result<Vec<Adapter>, DaemonError> {
        match self.ask(&Request::Adapters, &[])?.0 {
            Reply::Adapters { adapters } => Ok(adapters),
            other => Err(self.confused(&other)),
        }
    }

    /// The same. An adapter that somebody is about to let go of is waited for, ten seconds at most.
    ///
    /// # Errors
    /// The daemon has gone.
    pub fn settled_adapters(&self) -> Result<Vec<Adapter>, DaemonError> {
        let begun = Instant::now();
        loop {
            let adapters = self.adapters()?;
            if begun.elapsed() >= SOON || !adapters.iter().any(|adapter| adapter.soon) {
                return Ok(adapters);
            }
            std::thread::sleep(BETWEEN);
        }
    }

    /// The windows of an adapter that are not free.
    ///
    /// # Errors
    /// There is no such adapter.
    pub fn windows(&self, adapter: &str) -> Result<Vec<Window>, DaemonError> {
        let mut all = Vec::new();
        let mut from = 0;
        loop {
            let request = Request::Windows { adapter: adapter.to_owned(), from };
            match self.ask(&request, &[])?.0 {
                Reply::Windows { windows, next } => {
                    all.extend(windows);
                    match next {
                        Some(next) if next > from => from = next,
                        _ => return Ok(all),
                    }
                }
                other => return Err(self.confused(&other)),
            }
        }
    }

    fn parts(&self, geometry: Geometry, fds: Vec<OwnedFd>) -> Result<Parts, DaemonError> {
        let [memory, bell] = <[OwnedFd; 2]>::try_from(fds).map_err(|fds| {
            DaemonError::Confused(self.address.clone(), format!("{} descriptors", fds.len()))
        })?;
        Ok(Parts { memory, bell, geometry })
    }

    /// Opens a window on an adapter: this one, or any that is free.
    ///
    /// # Errors
    /// There is none, or it belongs to somebody else; the text says what to do.
    pub fn open(&self, adapter: &str, window: Option<u32>, key: Key) -> Result<(Place, Parts), DaemonError> {
        self.open_window(adapter, window, key).map(|opened| (opened.place, opened.parts))
    }

    /// The same, with what the window has on an Ethernet.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_window(&self, adapter: &str, window: Option<u32>, key: Key) -> Result<Opened, DaemonError> {
        let request = Request::Open { adapter: adapter.to_owned(), window, key };
        let (reply, fds) = self.ask_until_settled(&request)?;
        let Reply::Opened { window, geometry, wire } = reply else { return Err(self.confused(&reply)) };
        let place = Place { adapter: adapter.to_owned(), window };
        let (parts, wire) = self.all_parts(geometry, wire, fds)?;
        Ok(Opened { place, parts, wire })
    }

    /// A window's parts, and what it has on an Ethernet.
    fn all_parts(
        &self,
        geometry: Geometry,
        wire: Option<Wire>,
        mut fds: Vec<OwnedFd>,
    ) -> Result<(Parts, Option<WireParts>), DaemonError> {
        let more = fds.split_off(fds.len().min(2));
        let parts = self.parts(geometry, fds)?;
        let Some(wire) = wire else {
            return if more.is_empty() { Ok((parts, None)) } else { Err(self.misfit(&"no wire")) };
        };
        if more.len() != 1 + 2 * wire.queues as usize {
            return Err(self.misfit(&wire));
        }
        let mut more = more.into_iter();
        let Some(lease) = more.next() else { return Err(self.misfit(&wire)) };
        let mut sockets = Vec::new();
        while let (Some(socket), Some(memory)) = (more.next(), more.next()) {
            sockets.push((socket, memory));
        }
        Ok((parts, Some(WireParts { wire, sockets, lease })))
    }

    fn misfit(&self, what: &dyn std::fmt::Debug) -> DaemonError {
        DaemonError::Confused(self.address.clone(), format!("{what:?} with other descriptors"))
    }

    /// The next hop from an adapter of an Ethernet to an address; none, while it is looked for.
    ///
    /// # Errors
    /// There is no way from there, or it is no adapter of an Ethernet.
    pub fn hop(&self, adapter: &str, address: IpAddr) -> Result<Option<Hop>, DaemonError> {
        match self.ask(&Request::Hop { adapter: adapter.to_owned(), address }, &[])?.0 {
            Reply::Hop { hop } => Ok(hop),
            other => Err(self.confused(&other)),
        }
    }

    /// Shows the daemon a window that one before it opened.
    ///
    /// # Errors
    /// Somebody else has it by now.
    pub fn adopt(&self, place: &Place, key: Key, parts: &Parts) -> Result<(), DaemonError> {
        let request = Request::Adopt { place: place.clone(), key, geometry: parts.geometry };
        self.done(&request, &[parts.memory.as_fd(), parts.bell.as_fd()])
    }

    /// What it takes to send to a window.
    ///
    /// # Errors
    /// It isn't open, or belongs to another job or user.
    pub fn attach(&self, place: &Place, key: Key) -> Result<Parts, DaemonError> {
        match self.ask_until_settled(&Request::Attach { place: place.clone(), key })? {
            (Reply::Attached { geometry }, fds) => self.parts(geometry, fds),
            (other, _) => Err(self.confused(&other)),
        }
    }

    /// Gives a window back.
    ///
    /// # Errors
    /// It isn't open here.
    pub fn close(&self, place: &Place) -> Result<(), DaemonError> {
        self.done(&Request::Close { place: place.clone() }, &[])
    }

    /// Keeps a window for this user: this one, or any that is free.
    ///
    /// # Errors
    /// There is none.
    pub fn reserve(&self, adapter: &str, window: Option<u32>) -> Result<Place, DaemonError> {
        self.reserve_for(adapter, window, false)
    }

    /// The same for as long as this connection lasts, and no longer.
    ///
    /// # Errors
    /// There is none.
    pub fn hold(&self, adapter: &str, window: Option<u32>) -> Result<Place, DaemonError> {
        self.reserve_for(adapter, window, true)
    }

    fn reserve_for(&self, adapter: &str, window: Option<u32>, held: bool) -> Result<Place, DaemonError> {
        let request = Request::Reserve { adapter: adapter.to_owned(), window, held };
        match self.ask_until_settled(&request)?.0 {
            Reply::Reserved { window } => Ok(Place { adapter: adapter.to_owned(), window }),
            other => Err(self.confused(&other)),
        }
    }

    /// Ends a reservation.
    ///
    /// # Errors
    /// There is none of this user, or a task has the window open.
    pub fn release(&self, place: &Place) -> Result<(), DaemonError> {
        self.done(&Request::Release { place: place.clone() }, &[])
    }

    /// Lets none but the job of this key open a reserved window.
    ///
    /// # Errors
    /// It isn't reserved by this user.
    pub fn load(&self, place: &Place, key: Key) -> Result<(), DaemonError> {
        self.done(&Request::Load { place: place.clone(), key }, &[])
    }

    /// Lets any job of this user open it again.
    ///
    /// # Errors
    /// It isn't reserved by this user.
    pub fn unload(&self, place: &Place) -> Result<(), DaemonError> {
        self.done(&Request::Unload { place: place.clone() }, &[])
    }

    /// Takes an adapter down or up.
    ///
    /// # Errors
    /// The caller is neither root nor the daemon's user.
    pub fn set(&self, adapter: &str, up: bool) -> Result<(), DaemonError> {
        self.done(&Request::Set { adapter: adapter.to_owned(), up }, &[])
    }
}

impl AsFd for Daemon {
    /// Becomes readable when the daemon goes, and when the matrix has changed.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

const fn millis(time: Duration) -> u32 {
    time.as_millis() as u32
}

fn ask(
    address: &Address,
    channel: &Channel,
    request: &Request,
    fds: &[BorrowedFd<'_>],
    late: &AtomicU32,
) -> Result<(Reply, Vec<OwnedFd>), DaemonError> {
    let silent = |e| DaemonError::Silent(address.clone(), e);
    let bytes = serde_json::to_vec(request).map_err(|e| silent(e.into()))?;
    channel.send(&bytes, fds, true).map_err(silent)?;
    let mut buffer = vec![0; MAX_REPLY];
    let mut got = Vec::new();
    loop {
        let len = channel.receive(&mut buffer, &mut got, true).map_err(|e| {
            // Whatever else went wrong, no answer is still to come.
            if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
                late.store(late.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            silent(e)
        })?;
        if len == 0 {
            return Err(silent(io::ErrorKind::ConnectionReset.into()));
        }
        let before = late.load(Ordering::Relaxed);
        if before > 0 && !is_news(&buffer[..len]) {
            // To a former request: answers come in the order of requests.
            late.store(before - 1, Ordering::Relaxed);
            got.clear();
            continue;
        }
        return match serde_json::from_slice(&buffer[..len]) {
            Ok(Reply::Changed) => continue,
            Ok(Reply::Refused { why, text }) => Err(DaemonError::Refused { why, text }),
            Ok(reply) => Ok((reply, got)),
            Err(e) => Err(DaemonError::Confused(address.clone(), e.to_string())),
        };
    }
}

fn has_gone(channel: &Channel, late: &AtomicU32) -> bool {
    let (mut buffer, mut fds) = ([0; 64], Vec::new());
    loop {
        let is_answer = match channel.receive(&mut buffer, &mut fds, false) {
            Ok(0) => return true,
            Ok(len) => !is_news(&buffer[..len]),
            // News are shorter than the buffer.
            Err(e) if e.kind() == io::ErrorKind::InvalidData => true,
            Err(e) => return e.kind() != io::ErrorKind::WouldBlock,
        };
        if is_answer {
            late.store(late.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        }
    }
}

/// What tells the windows behind an address apart from those behind others, of this host and of
/// all: the same for every daemon that has listened there since the host was started. As over
/// shared memory, tasks of different network name spaces are on different hosts.
pub fn identity(address: &Address) -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [&boot[..], space.as_os_str().as_encoded_bytes(), &place(address)] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    u64::from_le_bytes([hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7]])
}

/// What an address means to the processes of a network name space. A name in the abstract name
/// space means the same to all of them. A path does not, where containers share the network and
/// have files of their own: there its folder counts, and not how this process gets to it. (The
/// socket's own file is another one for each daemon.)
fn place(address: &Address) -> Vec<u8> {
    let text = address.as_str().as_bytes().to_vec();
    let Some(path) = address.path() else { return text };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (Ok(folder), Some(name)) = (folder.unwrap_or(Path::new(".")).metadata(), path.file_name()) else {
        return text;
    };
    let mut place = name.as_encoded_bytes().to_vec();
    place.push(b'/');
    place.extend_from_slice(&folder.dev().to_le_bytes());
    place.extend_from_slice(&folder.ino().to_le_bytes());
    place
}

/// Whether a message is none that answers a request.
fn is_news(bytes: &[u8]) -> bool {
    matches!(serde_json::from_slice(bytes), Ok(Reply::Changed))
}

#[cfg(test)]
mod tests;
