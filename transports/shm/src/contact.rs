//! First contact: in large jobs a peer's memory is mapped when it is needed, not before.
//!
//! A peer's address contains the descriptor number of its memory file. A sender opens that file
//! through `/proc`, maps it and takes a number among its senders, as after a handshake. The peer
//! finds the new number in the table of senders and opens the sender's memory in the same way.
//! Neither waits for the other.
//!
//! The kernel lets only the same user (and root) open the file. A nonce proves that it is the right
//! one: it is in the segment's header and in the address, which only the job's tasks get.

use crate::handshake::Credentials;
use crate::layout::member_word;
use crate::peer::State;
use crate::segment::Segment;
use crate::sys::{self, io_error};
use crate::transport::Shm;
use lapis_core::sync::Ordering;
use lapis_core::transport::{Status, TransportError};
use std::os::fd::AsRawFd;

/// Descriptors that are left to the program where a task knows more peers than it may have
/// descriptors.
const LEFT: u64 = 32;

impl Shm {
    /// Gets to know a peer of which only the address is known. One that has ended goes down.
    pub(crate) fn contact(&mut self, dense: usize) -> Result<(), TransportError> {
        let peer = &self.peers[dense];
        let (State::Known, Some(place)) = (peer.state, peer.address.place) else { return Ok(()) };
        // Before the memory, whose nonce then says that it is the process meant, not a successor of
        // the same number.
        let pidfd = match sys::pidfd_open(place.pid) {
            Ok(fd) => fd,
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {
                self.lost(dense);
                return Ok(());
            }
            Err(e) => return Err(io_error(&format!("watch the process of task {}", peer.address.task), &e)),
        };
        let Some(segment) = Segment::open(&self.host, &peer.address, &place)? else {
            self.lost(dense);
            return Ok(());
        };
        self.watch(dense, pidfd)?;
        let who = Credentials { pid: place.pid, uid: self.me.host.uid };
        self.open_peer(dense, segment, who)
    }

    /// Has the process of a peer watched, if descriptors are plenty; where not, the launcher tells
    /// of its end.
    fn watch(&mut self, dense: usize, pidfd: std::os::fd::OwnedFd) -> Result<(), TransportError> {
        let scarce = |limit: u64| pidfd.as_raw_fd() as u64 + LEFT >= limit;
        if sys::limit(libc::RLIMIT_NOFILE).is_some_and(scarce) {
            return Ok(());
        }
        sys::epoll_add(self.notifier.watch.as_raw_fd(), pidfd.as_raw_fd(), dense as u64)
            .map_err(|e| io_error("watch a peer's process", &e))?;
        self.peers[dense].pidfd = Some(pidfd);
        Ok(())
    }

    /// As [`contact`](Self::contact), for an operation that names the peer; what to answer if there
    /// is none. A shortage of descriptors or memory may pass, and says nothing of the peer.
    #[cold]
    pub(crate) fn meet_now(&mut self, dense: usize) -> Result<(), Status> {
        self.contact(dense).map_err(|e| {
            let task = self.peers[dense].address.task;
            if matches!(e, TransportError::Exhausted(_)) {
                if !std::mem::replace(&mut self.told_shortage, true) {
                    self.host.warn(format_args!(
                        "no contact to task {task} yet: {e}. What is sent to it waits; this is said once"
                    ));
                }
                return Status::Again;
            }
            self.host.error(format_args!("no contact to task {task}: {e}"));
            Status::Io
        })
    }

    /// Gets to know one peer at the start, the next one by number, unless any is known: so it shows
    /// at once whether memory can be opened and cross-memory attach works.
    pub(crate) fn meet_one(&mut self) -> Result<(), TransportError> {
        if self.me.place.is_none() || self.peers.iter().any(|p| p.segment.is_some()) {
            return Ok(());
        }
        let me = self.me.task;
        let known = (0..self.peers.len()).filter(|&d| self.peers[d].state == State::Known);
        let Some(next) = known.min_by_key(|&d| self.peers[d].address.task.wrapping_sub(me + 1)) else {
            return Ok(());
        };
        self.contact(next)?;
        match self.peers[next].state {
            State::Open => Ok(()),
            _ => Err(TransportError::Unreachable(format!(
                "task {} has ended, or closed its memory, before it was connected",
                self.peers[next].address.task
            ))),
        }
    }

    /// Gets to know those who have begun to send.
    pub(crate) fn meet_callers(&mut self) {
        let header = self.notifier.segment.header();
        // SYNC: pairs with `fetch_max` in `open_peer`.
        let used = (header.members_used.load(Ordering::Acquire) as usize).min(header.members.len());
        for member in 0..used {
            // SYNC: pairs with the claim in `open_peer`.
            let word = self.notifier.segment.header().members[member].load(Ordering::Acquire);
            let caller = self.outbox.find(word as u32).filter(|&d| {
                let peer = &self.peers[d];
                peer.state == State::Known && word == member_word(peer.address.task, peer.address.incarnation)
            });
            let Some(dense) = caller else { continue };
            // What it sends comes without that, too; whoever answers it tries again.
            let _ = self.meet_now(dense);
        }
    }
}
