//! A thread that closes what clients have passed, and their connections.
//!
//! To close a descriptor may take as long as the one who made it likes, as with a socket of his
//! that is to linger. Such descriptors may wait in the queue of a connection, too.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

/// See the module. The thread ends when this is dropped and everything is closed.
pub(crate) struct Closer(Sender<OwnedFd>);

impl Closer {
    /// Starts the thread.
    ///
    /// # Errors
    /// Threads are short.
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, receiver) = channel();
        let builder = Builder::new().name("lapis-nsd-close".to_owned());
        lapis_core::threads::spawn(builder, move || receiver.into_iter().for_each(drop))?;
        Ok(Self(sender))
    }

    /// Closes these some time.
    pub(crate) fn close(&self, fds: impl IntoIterator<Item = OwnedFd>) {
        // The thread takes whatever comes as long as this is there.
        fds.into_iter().for_each(|fd| drop(self.0.send(fd)));
    }
}
