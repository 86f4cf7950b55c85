//! Connecting to peers, and losing them.

use crate::address::Address;
use crate::handshake::{self, Accepted, Credentials, Greeted, Hello, Said};
use crate::layout::{self, LANES, ManyTx, NONCE_AT, SCRATCH_AT, Tx, member_word};
use crate::outbox::Out;
use crate::peer::{Peer, State};
use crate::segment::Segment;
use crate::sys::{self, io_error};
use crate::transport::{Copying, Shm};
use crate::waiter::SOCKET_MARK;
use crate::wake::{CLOSED, NEEDY};
use lapis_copies::Copies;
use lapis_copies::StorePolicy;
use lapis_core::sync::Ordering;
use lapis_core::transport::{PeerId, TransportError};
use lapis_cross_memory::Landmark;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Callers let in per turn; between two turns the deadline of the start is looked at.
const ACCEPTED_PER_TURN: usize = 64;
/// Callers whose greeting has not come yet.
const MOST_CALLERS: usize = 128;
/// A caller that has said nothing for so long may lose its place. Peers greet in the call after the
/// one that connects.
const SILENT_FOR: Duration = Duration::from_millis(500);
/// Lines about strangers.
const STRANGERS_TOLD: u32 = 8;

/// Looks at the peers, a millisecond apart, after which interrupts count as turned off for good.
const LASTING: u32 = 5;

/// Where the sender of a number writes into a peer's segment.
///
/// # Safety
/// Nobody else sends with this number, and the segment stays mapped as long as the `Out` is used.
unsafe fn way_in(segment: &Segment, member: usize, limits: Copies) -> Out {
    let header = segment.header();
    Out {
        lane: if member < LANES {
            // SAFETY: the caller's promise: with the number, the lane is ours alone.
            unsafe {
                let (slots, control, data) = segment.lane(member);
                Tx::attach(slots, control, data, segment.ring_layout(), layout::MAX_MESSAGE)
            }
        } else {
            Tx::closed()
        },
        many: (member >= LANES).then(|| {
            // SAFETY: the caller's promise.
            unsafe { ManyTx::attach(layout::shared(segment.base()), member as u16) }
        }),
        attention: &raw const header.attention.0,
        bitmap: &raw const header.bitmap.0,
        bit: if member < LANES { 1 << member } else { 0 },
        policy: StorePolicy::new(limits),
    }
}

impl Shm {
    fn name(&self) -> String {
        format!("task {} (context {})", self.me.task, self.me.context)
    }

    /// [`Transport::connect`](lapis_core::transport::Transport::connect).
    pub(crate) fn connect_to(&mut self, peer: PeerId, bytes: &[u8]) -> Result<(), TransportError> {
        let address = Address::decode(bytes)
            .map_err(|why| TransportError::Unreachable(format!("address of task {peer}: {why}")))?;
        if peer >= self.tasks || address.task != peer || address.context != self.me.context {
            return Err(TransportError::Invalid(format!(
                "{} of {} tasks was given for task {peer} the address of task {} (context {})",
                self.name(),
                self.tasks,
                address.task,
                address.context
            )));
        }
        if let Some(why) = self.me.host.differs(&address.host) {
            return Err(TransportError::Unreachable(format!(
                "{} shares no memory with task {peer}: {why}",
                self.name()
            )));
        }
        let found = self.outbox.find(peer);
        if let Some(dense) = found
            && self.peers[dense].state != State::Gone
        {
            return Err(TransportError::Invalid(format!("task {peer} is connected already")));
        }
        let later = self.me.meets_later(&address);
        let fresh = Peer {
            state: if later { State::Known } else { State::Greeting },
            address,
            segment: None,
            base: 0,
            pid: 0,
            pidfd: None,
            seen: None,
            member: usize::MAX,
            mailbox: std::ptr::null_mut(),
            last_shared: 0,
        };
        let dense = match found {
            Some(dense) => {
                self.peers[dense] = fresh;
                dense
            }
            None => {
                self.peers.push(fresh);
                self.outbox.add(peer)
            }
        };
        let result = if later { Ok(()) } else { self.greet(dense).and_then(|()| self.match_early()) };
        if result.is_err() {
            self.forget(peer);
        }
        self.inbox.look_again();
        result
    }

    fn greet(&mut self, dense: usize) -> Result<(), TransportError> {
        let peer = &mut self.peers[dense];
        let hello = Hello {
            from: self.me.task,
            to: peer.address.task,
            context: self.me.context,
            incarnation: self.me.incarnation,
            total: self.me.total,
        };
        let socket = &peer.address.socket;
        match handshake::greet(socket, self.me.host.uid, &hello, &self.key, self.file.as_raw_fd()) {
            Ok(Greeted::Later) => Ok(()),
            Ok(Greeted::Yes(who, pidfd)) => {
                peer.pid = who.pid;
                peer.state = State::Greeted;
                match pidfd {
                    Ok(fd) => {
                        sys::epoll_add(self.notifier.watch.as_raw_fd(), fd.as_raw_fd(), dense as u64)
                            .map_err(|e| io_error("watch a peer's process", &e))?;
                        peer.pidfd = Some(fd);
                    }
                    Err(e) if e.raw_os_error() == Some(libc::ESRCH) => self.lost(dense),
                    Err(e) => {
                        let what = format!("watch the process of task {}", peer.address.task);
                        return Err(io_error(&what, &e));
                    }
                }
                Ok(())
            }
            Err(e) if matches!(e.raw_os_error(), Some(libc::ECONNREFUSED | libc::ENOENT)) => {
                Err(TransportError::Unreachable(format!(
                    "nobody listens for task {} on the abstract socket {socket}: it has ended",
                    peer.address.task
                )))
            }
            Err(e) => Err(io_error(&format!("greet task {} on {socket}", peer.address.task), &e)),
        }
    }

    /// [`Transport::progress_connect`](lapis_core::transport::Transport::progress_connect).
    pub(crate) fn progress(&mut self) -> Result<bool, TransportError> {
        for dense in 0..self.peers.len() {
            if self.peers[dense].state == State::Greeting {
                self.greet(dense)?;
            }
        }
        // Those who are inside first: most have their greeting with them.
        self.read_greetings()?;
        self.accept_some()?;
        self.read_greetings()?;
        self.match_early()?;
        self.meet_one()?;
        self.check_peers();
        Ok(!self.peers.iter().any(|p| matches!(p.state, State::Greeting | State::Greeted)))
    }

    /// Lets callers in, a bounded number per turn: strangers may come without end. One that has
    /// said nothing for a while gives its place to the next; a peer that meets this greets again.
    fn accept_some(&mut self) -> Result<(), TransportError> {
        for _ in 0..ACCEPTED_PER_TURN {
            if self.waiting.callers.len() >= MOST_CALLERS {
                if self.waiting.callers.front().is_some_and(|c| c.since.elapsed() < SILENT_FOR) {
                    return Ok(());
                }
                self.waiting.callers.pop_front();
            }
            match handshake::accept(self.listener.as_raw_fd(), self.me.host.uid) {
                Ok(Accepted::Caller(caller)) => self.waiting.callers.push_back(caller),
                Ok(Accepted::Stranger) => {}
                Ok(Accepted::Nobody) => return Ok(()),
                // Out of descriptors: somebody who says nothing has one to give up.
                Err(e) if handshake::is_full(&e) && self.waiting.callers.pop_front().is_some() => {
                    return Ok(());
                }
                Err(e) => return Err(io_error("accept a peer's connection", &e)),
            }
        }
        Ok(())
    }

    /// Notes that a caller was sent away; says so for the first few.
    fn send_away(&mut self, why: std::fmt::Arguments<'_>) {
        self.waiting.strangers += 1;
        if self.waiting.strangers <= STRANGERS_TOLD {
            self.host.warn(format_args!("{} sent a caller away: {why}", self.name()));
        }
    }

    /// Reads the greetings that have arrived.
    fn read_greetings(&mut self) -> Result<(), TransportError> {
        let mut i = 0;
        while i < self.waiting.callers.len() {
            let said = self.waiting.callers[i].read_greeting(&self.key);
            if matches!(said, Ok(Said::Wait)) {
                i += 1;
                continue;
            }
            self.waiting.callers.remove(i);
            match said {
                Ok(Said::Hello(hello, fd, who)) => self.greeted(&hello, &fd, who)?,
                Ok(Said::NoDescriptor) => {
                    let e = io::Error::from_raw_os_error(libc::EMFILE);
                    return Err(io_error("receive a peer's segment", &e));
                }
                Ok(Said::Nonsense(why)) => {
                    self.send_away(format_args!("{why}"));
                }
                Ok(Said::Wait) => {}
                Err(e) => self.send_away(format_args!("it hung up: {e}")),
            }
        }
        Ok(())
    }

    fn greeted(&mut self, hello: &Hello, fd: &OwnedFd, who: Credentials) -> Result<(), TransportError> {
        if hello.to != self.me.task || hello.context != self.me.context || hello.from >= self.tasks {
            self.host.warn(format_args!("{} was greeted as somebody else: {hello:?}", self.name()));
            return Ok(());
        }
        let segment = Segment::attach(&self.host, fd.as_raw_fd(), hello.from, hello.total)?;
        self.waiting.early.retain(|(h, ..)| h.from != hello.from);
        self.waiting.early.push((*hello, segment, who));
        Ok(())
    }

    /// Opens connections of which both halves are there.
    fn match_early(&mut self) -> Result<(), TransportError> {
        let mut i = 0;
        while i < self.waiting.early.len() {
            let hello = self.waiting.early[i].0;
            let dense = self.outbox.find(hello.from).filter(|&d| {
                let p = &self.peers[d];
                p.state == State::Greeted && p.address.incarnation == hello.incarnation
            });
            if let Some(dense) = dense {
                let (_, segment, who) = self.waiting.early.swap_remove(i);
                self.open_peer(dense, segment, who)?;
            } else {
                i += 1;
            }
        }
        Ok(())
    }

    pub(crate) fn open_peer(
        &mut self,
        dense: usize,
        segment: Segment,
        who: Credentials,
    ) -> Result<(), TransportError> {
        let (task, word) = (self.peers[dense].address.task, member_word(self.me.task, self.me.incarnation));
        let header = segment.header();
        let base = header.base.load(Ordering::Relaxed);
        self.probe_attach(task, &segment, who)?;
        // SYNC: pairs with other senders' claims; the first to store gets the number.
        let member = header.members.iter().position(|m| {
            m.load(Ordering::Relaxed) == 0
                && m.compare_exchange(0, word, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        });
        let Some(member) = member else {
            return Err(TransportError::Unreachable(format!(
                "task {task} has {} senders already",
                header.members.len()
            )));
        };
        // SAFETY: the number was just taken; `forget` closes the `Out` before the segment goes.
        let out = unsafe { way_in(&segment, member, self.copies) };
        if !self.membarrier {
            // SYNC: seen by ourselves, who need it, in program order.
            header.attention.0.word.fetch_or(NEEDY, Ordering::AcqRel);
        }
        let line =
            (member < LANES && !self.is_host_of_mailbox_line(task) && task != self.me.task).then(|| {
                // SAFETY: the lane's number is ours alone; until it learns of us, the receiver does
                // not look at the line.
                unsafe {
                    let line = layout::mailbox_line(segment.base(), member);
                    (*line).head.store(0, Ordering::Relaxed);
                    line
                }
            });
        // SYNC: pairs with the receiver's Acquire load of `claims`: the member's word is there, and
        // the line at its beginning.
        header.members_used.fetch_max(member as u32 + 1, Ordering::AcqRel);
        header.claims.0.fetch_add(1, Ordering::AcqRel);
        self.outbox.set(dense, out);
        let peer = &mut self.peers[dense];
        (peer.base, peer.pid, peer.member, peer.state) = (base, who.pid, member, State::Open);
        peer.segment = Some(segment);
        match line {
            Some(line) => self.begin_mailbox_line(dense, line, true),
            // The other side may have begun already.
            None => self.outbox.outs[dense].lane.set_mailbox(self.peers[dense].mailbox),
        }
        self.inbox.look_again();
        Ok(())
    }

    /// Finds out whether cross-memory attach works with a peer, unless it failed with another one.
    fn probe_attach(&mut self, task: u32, segment: &Segment, who: Credentials) -> Result<(), TransportError> {
        if self.no_attach.is_some() {
            return Ok(());
        }
        let base = segment.header().base.load(Ordering::Relaxed);
        let Err(why) = probe(segment, base, who.pid) else { return Ok(()) };
        if sys::has_ended(who.pid) || has_closed(segment) {
            // That says nothing of the others.
            return Ok(());
        }
        if self.copying == Copying::Attach {
            return Err(TransportError::Io(format!(
                "LAPIS_SHM_COPY=cma, but cross-memory attach to task {task} (process {}) was {why}; set \
                 LAPIS_SHM_COPY=auto or allow process_vm_readv and process_vm_writev",
                who.pid
            )));
        }
        self.host.warn(format_args!(
            "cross-memory attach to task {task} (process {}) {why}: large messages are copied twice",
            who.pid
        ));
        self.no_attach = Some(why);
        Ok(())
    }

    /// Looks which peers have ended: one system call, and one load for each peer.
    pub(crate) fn check_peers(&mut self) {
        if self.calm < LASTING && !self.notifier.interrupts.load(Ordering::Relaxed) {
            self.calm += 1;
            if self.calm == LASTING {
                self.notifier.sleeper.set_fence(false, !self.membarrier);
            }
        }
        let mut found = std::mem::take(&mut self.inbox.scratch);
        sys::epoll_ready(self.notifier.watch.as_raw_fd(), &mut found);
        for &mark in found.iter().filter(|&&m| m != SOCKET_MARK) {
            self.lost(mark as usize);
        }
        self.inbox.scratch = found;
        for dense in 0..self.peers.len() {
            let peer = &self.peers[dense];
            if peer.state != State::Open {
                continue;
            }
            let Some(segment) = &peer.segment else { continue };
            // All that it sent is there.
            if has_closed(segment) {
                self.lost(dense);
            }
        }
    }

    /// Whether a peer that was open has ended or closed its end. One system call.
    pub(crate) fn is_gone(&self, dense: usize) -> bool {
        let peer = &self.peers[dense];
        let Some(segment) = &peer.segment else { return true };
        has_closed(segment)
            || match &peer.pidfd {
                Some(pidfd) => sys::readable(pidfd.as_raw_fd()),
                // Whoever has its number now has not its nonce.
                None => !lapis_cross_memory::is_there(&landmark(segment, peer.base, peer.pid)),
            }
    }

    /// Notes that a peer is gone. The event follows when everything it had sent was delivered.
    #[cold]
    pub(crate) fn lost(&mut self, dense: usize) {
        let Some(peer) = self.peers.get_mut(dense) else { return };
        // Dropping a copied descriptor (fork) would leave it in the set: take it out by hand.
        if let Some(fd) = peer.pidfd.take() {
            // SAFETY: a call on descriptors of ours.
            unsafe {
                libc::epoll_ctl(
                    self.notifier.watch.as_raw_fd(),
                    libc::EPOLL_CTL_DEL,
                    fd.as_raw_fd(),
                    std::ptr::null_mut(),
                )
            };
        }
        if matches!(peer.state, State::Down | State::Gone) {
            return;
        }
        peer.state = State::Down;
        peer.last_shared = self.inbox.claimed();
        // Nothing more goes out; the lane's memory stays mapped.
        self.outbox.set(dense, Out::closed(self.copies));
        self.inbox.dying.push(dense);
        self.inbox.look_again();
    }

    /// [`Transport::disconnect`](lapis_core::transport::Transport::disconnect).
    pub(crate) fn forget(&mut self, peer: PeerId) {
        let Some(dense) = self.outbox.find(peer) else { return };
        let ended = self.peers[dense].state == State::Down
            || self.peers[dense].segment.as_ref().is_some_and(has_closed);
        self.lost(dense);
        self.inbox.dying.retain(|&d| d != dense);
        let peer = &mut self.peers[dense];
        peer.state = State::Gone;
        self.inbox.discard(dense, ended.then(|| member_word(peer.address.task, peer.address.incarnation)));
        self.end_mailbox_line(dense);
        self.peers[dense].segment = None;
        self.inbox.look_again();
    }
}

/// Whether the owner of a segment has closed its transport: it will not write to our lanes any
/// more, and may have unmapped the segment.
fn has_closed(segment: &Segment) -> bool {
    // SYNC: pairs with the closing of the peer.
    segment.header().attention.0.word.load(Ordering::Acquire) & CLOSED != 0
}

/// By what a peer's process is told from others.
fn landmark(segment: &Segment, base: u64, pid: i32) -> Landmark {
    Landmark {
        pid,
        nonce_at: base.wrapping_add(NONCE_AT as u64),
        scratch_at: base.wrapping_add(SCRATCH_AT as u64),
        nonce: segment.header().nonce.load(Ordering::Relaxed),
    }
}

/// Tries cross-memory attach both ways on the peer; says why not.
fn probe(segment: &Segment, base: u64, pid: i32) -> Result<(), String> {
    lapis_cross_memory::probe(&landmark(segment, base, pid), sys::random() | 1)
}
