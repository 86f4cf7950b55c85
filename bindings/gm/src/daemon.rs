//! A port and its services daemon: the connection, and what shows the port to a daemon that comes
//! after the one that opened it.
//!
//! Two threads may do so: the program's, with the port's calls, and the one of `watch.rs`, which
//! need not wait for a call. Questions of the port itself are the program's thread's alone: each
//! connection has one answer at a time.

use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, OpenPort, PortWish, SHOWING};
use lapis_adapters::key::Key;
use lapis_core::sync::Arc;
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::PoisonError;
use std::time::Duration;

/// For so long a new daemon may take to say that it is there: the program waits meanwhile.
const QUICK: Duration = Duration::from_millis(500);

/// What a daemon knows of a port.
pub(crate) struct Registration {
    address: Address,
    node: String,
    board: u32,
    number: u32,
    name: String,
    key: Key,
    pub(crate) opened: OpenPort,
    current: Mutex<Current>,
}

struct Current {
    daemon: Arc<Daemon>,
    /// The daemon has gone.
    is_alone: bool,
    /// The port is being closed: no other daemon is shown it.
    is_over: bool,
}

impl Registration {
    /// Of a port that this daemon has opened.
    pub(crate) fn new(
        (address, daemon): (&Address, &Arc<Daemon>),
        wish: &PortWish<'_>,
        opened: OpenPort,
        key: Key,
    ) -> Self {
        let current = Current { daemon: Arc::clone(daemon), is_alone: false, is_over: false };
        let (current, address) = (Mutex::new(current), address.clone());
        let (node, name) = (wish.node.to_owned(), wish.name.to_owned());
        Self { address, node, board: wish.board, number: wish.port, name, key, opened, current }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection's descriptor. `None`: there is nobody to watch.
    pub(crate) fn watched(&self) -> Option<RawFd> {
        let current = self.current();
        (!current.is_alone && !current.is_over).then(|| current.daemon.as_fd().as_raw_fd())
    }

    /// Whether a daemon is looked for.
    pub(crate) fn is_alone(&self) -> bool {
        let current = self.current();
        current.is_alone && !current.is_over
    }

    /// The program's thread has found that this daemon has gone.
    pub(crate) fn lose(&self, daemon: &Arc<Daemon>) {
        let mut current = self.current();
        if Arc::ptr_eq(&current.daemon, daemon) {
            self.note_loss(&mut current);
        }
    }

    fn note_loss(&self, current: &mut Current) {
        if !std::mem::replace(&mut current.is_alone, true) {
            tracing::info!(
                target: "lapis::gm",
                "port {}: the services daemon has gone: peers stay, and new ones are not found meanwhile",
                self.number
            );
        }
    }

    /// The daemon that came after this one, if there is one that knows the port.
    pub(crate) fn regain(&self, after: &Arc<Daemon>) -> Option<Arc<Daemon>> {
        // Who has the lock is about to bring about what is asked for.
        let mut current = self.current.try_lock().ok()?;
        if Arc::ptr_eq(&current.daemon, after) {
            self.show(&mut current);
        }
        (!Arc::ptr_eq(&current.daemon, after)).then(|| Arc::clone(&current.daemon))
    }

    /// Looks whether the daemon is there, and shows the port to the next one. Reads nothing of what
    /// the daemon says, which is another thread's to read.
    pub(crate) fn look(&self) {
        let mut current = self.current();
        if !current.is_alone {
            let mut fds = [PollFd::new(&current.daemon, PollFlags::empty())];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let gone = poll(&mut fds, Some(&at_once)).is_ok_and(|found| found > 0);
            if !gone {
                return;
            }
            self.note_loss(&mut current);
        }
        self.show(&mut current);
    }

    /// Shows the port to a new daemon, if there is one.
    fn show(&self, current: &mut Current) {
        if !current.is_alone || current.is_over {
            return;
        }
        let Ok(daemon) = Daemon::connect_within(&self.address, QUICK) else { return };
        let wish = PortWish { node: &self.node, board: self.board, port: self.number, name: &self.name };
        match daemon.within(SHOWING, |daemon| daemon.adopt_port(&wish, &self.opened, self.key)) {
            Ok(()) => tracing::info!(target: "lapis::gm", "port {}: a services daemon is back", self.number),
            Err(e) => tracing::warn!(
                target: "lapis::gm",
                "port {}: the new services daemon does not take it over: {e}",
                self.number
            ),
        }
        (current.daemon, current.is_alone) = (Arc::new(daemon), false);
    }

    /// Gives the port's window back. That the last owner drops this may come later: the thread that
    /// watches has it for moments.
    pub(crate) fn close(&self) {
        let mut current = self.current();
        if std::mem::replace(&mut current.is_over, true) {
            return;
        }
        // Before the port can be opened anew, so that nobody takes the next one for this one. The
        // daemon marks those of processes that were killed, a moment after their end.
        self.opened.parts.mark_closed();
        if let Err(e) = current.daemon.close(&self.opened.place) {
            tracing::debug!(target: "lapis::gm", "gm_close: {e}");
        }
    }
}
