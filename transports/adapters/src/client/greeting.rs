//! The first words with a daemon: who it is, whether it is of this version, and its matrix.
//!
//! A task whose daemon has gone can't wait for the next one, because its windows need none, and
//! whoever has the daemon's name may be somebody else who takes no clients. So a [`Greeting`] is
//! said without waiting, and the answer is taken when it is there.

use super::{Daemon, DaemonError, PATIENCE, SOON, ask, is_news, millis};
use crate::channel::{Address, Channel};
use crate::matrix::Reader;
use crate::protocol::{MAX_REPLY, Reply, Request, VERSION};
use lapis_core::sync::AtomicU32;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A daemon that was said hello to.
#[derive(Debug)]
pub struct Greeting {
    address: Address,
    channel: Channel,
}

/// What became of a [`Greeting`].
#[derive(Debug)]
pub enum Greeted {
    /// The daemon has answered.
    Daemon(Daemon),
    /// It has not answered yet.
    Waiting(Greeting),
}

impl Daemon {
    /// Connects to the daemon at an address.
    ///
    /// # Errors
    /// Nobody listens there, it is a stranger, or it is of another version.
    pub fn connect(address: &Address) -> Result<Self, DaemonError> {
        Self::connect_within(address, PATIENCE)
    }

    /// The same with a daemon that says within this time that it is there. For later answers it has
    /// as long as any.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub fn connect_within(address: &Address, patience: Duration) -> Result<Self, DaemonError> {
        let channel = Channel::connect(address, patience).map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => DaemonError::Silent(address.clone(), e),
            _ => DaemonError::Absent(address.clone(), e),
        })?;
        check_user(address, &channel)?;
        let late = AtomicU32::new(0);
        let answer = ask(address, &channel, &hello(), &[], &late)?;
        Self::welcomed(address.clone(), channel, late, answer)
    }

    /// The daemon that has answered a greeting.
    fn welcomed(
        address: Address,
        channel: Channel,
        late: AtomicU32,
        (reply, fds): (Reply, Vec<OwnedFd>),
    ) -> Result<Self, DaemonError> {
        let confused = |what: &str| DaemonError::Confused(address.clone(), what.to_owned());
        let (Reply::Welcome { daemon, .. }, [matrix]) = (reply, &fds[..]) else {
            return Err(confused("no welcome"));
        };
        let matrix = Reader::map(matrix).map_err(|e| confused(&format!("the availability matrix: {e}")))?;
        channel.be_patient(PATIENCE).map_err(|e| DaemonError::Silent(address.clone(), e))?;
        let soon = AtomicU32::new(millis(SOON));
        Ok(Self { address, channel, number: daemon, matrix, late, soon })
    }
}

impl Greeting {
    /// Says hello to the daemon at an address, and waits for nothing.
    ///
    /// # Errors
    /// Nobody listens there, or takes more clients, or it is a stranger.
    pub fn say(address: &Address) -> Result<Self, DaemonError> {
        let channel = Channel::connect_at_once(address);
        let channel = channel.map_err(|e| DaemonError::Absent(address.clone(), e))?;
        check_user(address, &channel)?;
        let silent = |e| DaemonError::Silent(address.clone(), e);
        let bytes = serde_json::to_vec(&hello()).map_err(|e| silent(e.into()))?;
        channel.send(&bytes, &[], false).map_err(silent)?;
        Ok(Self { address: address.clone(), channel })
    }

    /// Takes the answer if it is there.
    ///
    /// # Errors
    /// The daemon has gone, or is of another version.
    pub fn answered(self) -> Result<Greeted, DaemonError> {
        let Self { address, channel } = self;
        let silent = |e| DaemonError::Silent(address.clone(), e);
        let (mut buffer, mut fds) = (vec![0; MAX_REPLY], Vec::new());
        let len = loop {
            match channel.receive(&mut buffer, &mut fds, false) {
                Ok(0) => return Err(silent(io::ErrorKind::ConnectionReset.into())),
                Ok(len) if is_news(&buffer[..len]) => {}
                Ok(len) => break len,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Greeted::Waiting(Self { address, channel }));
                }
                Err(e) => return Err(silent(e)),
            }
        };
        match serde_json::from_slice(&buffer[..len]) {
            Ok(Reply::Refused { why, text }) => Err(DaemonError::Refused { why, text }),
            Ok(reply) => {
                Daemon::welcomed(address, channel, AtomicU32::new(0), (reply, fds)).map(Greeted::Daemon)
            }
            Err(e) => Err(DaemonError::Confused(address, e.to_string())),
        }
    }
}

fn hello() -> Request {
    Request::Hello { version: VERSION }
}

/// Whether the one at the other end may be trusted.
fn check_user(address: &Address, channel: &Channel) -> Result<(), DaemonError> {
    let (user, _) = channel.peer().map_err(|e| DaemonError::Silent(address.clone(), e))?;
    if user != 0 && user != rustix::process::geteuid().as_raw() {
        return Err(DaemonError::Stranger(address.clone(), user));
    }
    Ok(())
}
