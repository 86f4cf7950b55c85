//! The receiving side.

mod senders;

use crate::connect::State;
use crate::handshake;
use crate::layout::{self, LANES, ManyRx, Rx};
use crate::segment::Segment;
use crate::spsc_ring::Corrupt;
use crate::transport::Shm;
use crate::waiter::Notifier;
use crate::wake::SLEEP;
#[cfg_attr(any(not(target_arch = "x86_64"), loom), allow(unused_imports, reason = "prefetching"))]
use lapis_core::sync::{Arc, Ordering};
use lapis_core::transport::lane::{Mailbox, ReceiveLanes};
use lapis_core::transport::{Event, PeerId, Status};
use std::cell::UnsafeCell;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Polls between looks at the clock.
const POLLS_PER_LOOK: u32 = 256;
/// Time between looks at the peers' processes.
const CHECK_EVERY: Duration = Duration::from_millis(1);
/// How far ahead of the slot being read the cache is asked for slots.
const AHEAD: u64 = 4;

/// One sender's lane.
struct InLane {
    rx: Rx,
    peer: PeerId,
    dense: usize,
    number: u8,
    notifier: Arc<Notifier>,
}

/// The list for core, at a place of its own.
struct Direct(UnsafeCell<ReceiveLanes>);

// SAFETY: it names lanes that move with the inbox that owns both.
unsafe impl Send for Direct {}

/// What was found wrong while collecting.
struct Broken {
    dense: usize,
    corrupt: Corrupt,
}

impl InLane {
    /// Moves what waits into `events[n..]`; answers the new `n`.
    #[inline(always)]
    fn collect(&mut self, events: &mut [Event], from: usize, broken: &mut Option<Broken>) -> usize {
        self.rx.release();
        let mut n = from;
        while n < events.len() {
            match self.rx.next() {
                None => break,
                Some(Ok((data, len))) => {
                    self.rx.prefetch(AHEAD);
                    events[n] = Event::message(self.peer, data, len as u32);
                    n += 1;
                }
                Some(Err(corrupt)) => {
                    *broken = Some(Broken { dense: self.dense, corrupt });
                    break;
                }
            }
        }
        if n != from {
            self.rx.tell_position(&self.notifier.progress.next[usize::from(self.number) % LANES]);
        }
        n
    }
}

/// Everything that arrives.
pub(crate) struct Inbox {
    lanes: Vec<InLane>,
    /// Where the next poll begins, so that no lane starves the others.
    next: usize,
    seen_claims: Option<u32>,
    /// The receiver reads the bitmap.
    marked: bool,
    /// Lanes that may hold something, by bit, beside those in the bitmap.
    pending: u64,
    /// Lanes that held nonsense; never read again.
    poisoned: u64,
    /// Lanes of disconnected peers, which are emptied now and then.
    discarded: Vec<InLane>,
    /// Lanes that nobody uses any more, with the word of the member that has ended; to be freed by
    /// the next poll.
    graves: Vec<(InLane, Option<u64>)>,
    /// From a lane's number to its place in `lanes`.
    place: [u8; LANES],
    many: ManyRx,
    many_used: bool,
    /// The lanes that core reads itself.
    direct: Box<Direct>,
    /// By member number: the peer's place, or `u32::MAX`.
    members: Vec<u32>,
    /// Peers that are down and whose last messages are being delivered.
    pub(crate) dying: Vec<usize>,
    pub(crate) scratch: Vec<u64>,
    polls: u32,
    next_check: Instant,
    segment: Arc<Segment>,
    notifier: Arc<Notifier>,
}

impl Inbox {
    pub(crate) fn new(segment: Arc<Segment>, notifier: Arc<Notifier>) -> Self {
        Self {
            lanes: Vec::new(),
            next: 0,
            seen_claims: None,
            marked: false,
            pending: 0,
            poisoned: 0,
            discarded: Vec::new(),
            graves: Vec::new(),
            place: [u8::MAX; LANES],
            // SAFETY: the segment lives as long as this.
            many: unsafe { ManyRx::attach(layout::shared(segment.base())) },
            many_used: false,
            direct: Box::new(Direct(UnsafeCell::new(ReceiveLanes::none()))),
            members: Vec::new(),
            dying: Vec::new(),
            scratch: Vec::new(),
            polls: POLLS_PER_LOOK,
            next_check: Instant::now(),
            segment,
            notifier,
        }
    }

    /// Makes the next poll look at the table of senders.
    pub(crate) fn look_again(&mut self) {
        self.seen_claims = None;
    }

    /// [`Transport::receive_lanes`](lapis_core::transport::Transport::receive_lanes).
    pub(crate) fn direct(&self) -> *const ReceiveLanes {
        self.direct.0.get()
    }

    /// Has the newest lane of a peer, and no other, look at a line that is written in turns.
    pub(crate) fn set_mailbox(&mut self, dense: usize, mut mailbox: *mut Mailbox) {
        for lane in self.lanes.iter_mut().rev().chain(&mut self.discarded).filter(|l| l.dense == dense) {
            lane.rx.set_mailbox(std::mem::replace(&mut mailbox, std::ptr::null_mut()));
        }
    }

    /// How far senders have claimed the shared ring.
    pub(crate) fn claimed(&self) -> u64 {
        self.many.claimed()
    }

    #[inline(always)]
    fn claims(&self) -> u32 {
        // SYNC: pairs with the increment in `open_peer`: the member's word is there.
        self.segment.header().claims.0.load(Ordering::Acquire)
    }
}

impl Shm {
    /// [`Transport::poll`](lapis_core::transport::Transport::poll).
    #[inline(always)]
    pub(crate) fn receive(&mut self, events: &mut [Event]) -> usize {
        // Before anything is collected: what an event names stays in place, so that lanes come and
        // go here only.
        self.inbox.clear_graves();
        if self.inbox.seen_claims != Some(self.inbox.claims()) {
            self.meet_senders();
        }
        let mut n = 0;
        if !self.inbox.dying.is_empty() {
            n = self.report_the_dead(events);
        }
        let inbox = &mut self.inbox;
        let mut broken = None;
        if !inbox.marked {
            let lanes = inbox.lanes.len();
            let mut i = inbox.next;
            for _ in 0..lanes {
                if i >= lanes {
                    i = 0;
                }
                n = inbox.lanes[i].collect(events, n, &mut broken);
                i += 1;
                if n == events.len() {
                    inbox.next = i;
                    break;
                }
            }
        } else {
            n = inbox.collect_marked(events, &mut broken);
        }
        if inbox.many_used {
            n = self.collect_shared(events, n, &mut broken);
            self.inbox.tell_shared();
        }
        self.inbox.polls -= 1;
        if self.inbox.polls == 0 || broken.is_some() {
            self.housekeeping(broken);
        }
        n
    }

    fn collect_shared(&mut self, events: &mut [Event], mut n: usize, broken: &mut Option<Broken>) -> usize {
        let inbox = &mut self.inbox;
        inbox.many.release();
        while n < events.len() {
            let Some(member) = inbox.many.claimant() else { break };
            let known = inbox.members.get(member as usize).is_some_and(|&d| d != u32::MAX);
            if !known && inbox.seen_claims != Some(inbox.claims()) {
                // It came after this poll began: the next one gets to know it first.
                break;
            }
            let dead = |m: u16| is_dead(&inbox.members, &self.peers, m);
            match inbox.many.next(dead) {
                None => break,
                Some(Ok(message)) => {
                    let Some(&dense) = inbox.members.get(message.member as usize) else { continue };
                    let Some(peer) = self.peers.get(dense as usize) else { continue };
                    if peer.state != State::Gone {
                        events[n] = Event::message(peer.address.task, message.data, message.len as u32);
                        n += 1;
                    }
                }
                Some(Err(corrupt)) => {
                    // Whose it was can't be told; the slot is skipped.
                    *broken = Some(Broken { dense: usize::MAX, corrupt });
                    break;
                }
            }
        }
        n
    }

    /// What is rare: the clock, the dead, the corrupt.
    #[cold]
    #[inline(never)]
    fn housekeeping(&mut self, broken: Option<Broken>) {
        if let Some(Broken { dense, corrupt }) = broken {
            self.host.error(format_args!(
                "task {} received a message header that announces {} bytes{}: the sender's memory is corrupt",
                self.me.task,
                corrupt.len,
                self.peers
                    .get(dense)
                    .map_or(String::new(), |p| format!(" from task {}, which is given up", p.address.task)),
            ));
            self.lost(dense);
            for lane in self.inbox.lanes.iter().filter(|l| l.dense == dense) {
                self.inbox.poisoned |= 1 << lane.number;
            }
            self.inbox.lay_aside(dense, None);
            self.end_mailbox_line(dense);
        }
        if self.inbox.polls == 0 {
            self.inbox.polls = POLLS_PER_LOOK;
            for lane in &mut self.inbox.discarded {
                while let Some(Ok(_)) = lane.rx.next() {}
                lane.rx.release_now();
            }
            let now = Instant::now();
            if now >= self.inbox.next_check {
                self.inbox.next_check = now + CHECK_EVERY;
                self.check_peers();
            }
        }
    }

    /// [`Transport::arm`](lapis_core::transport::Transport::arm).
    pub(crate) fn prepare_sleep(&mut self) -> Status {
        let notifier = &self.notifier;
        // SYNC: pairs with the Release store in `wake`.
        if notifier.notified.swap(false, Ordering::Acquire) {
            return Status::Again;
        }
        // SYNC: pairs with the Release store in `wait`. The swap is needed seldom.
        let stirred =
            notifier.stirred.load(Ordering::Relaxed) && notifier.stirred.swap(false, Ordering::Acquire);
        // A program that waits and computes by turns comes here each time: no system call unless
        // somebody has called, or a sleeper has seen the set stir.
        if let Some(socket) = notifier.socket()
            && (stirred || notifier.wakes() != notifier.armed.load(Ordering::Relaxed))
        {
            handshake::drain(socket.as_raw_fd());
        }
        let wakes = notifier.sleeper.arm(|| notifier.barrier());
        // SYNC: pairs with the Acquire load in `wait`.
        notifier.armed.store(wakes, Ordering::Release);
        if stirred {
            self.check_peers();
        }
        if self.inbox.seen_claims != Some(self.inbox.claims()) {
            self.meet_senders();
        }
        if self.anything() {
            self.notifier.sleeper.clear(SLEEP);
            return Status::Again;
        }
        Status::Done
    }

    fn anything(&self) -> bool {
        let inbox = &self.inbox;
        !inbox.dying.is_empty()
            || inbox.lanes.iter().any(|l| l.rx.is_full())
            || inbox.many_used && inbox.many.is_full(|m| is_dead(&inbox.members, &self.peers, m))
    }
}

impl Inbox {
    fn collect_marked(&mut self, events: &mut [Event], broken: &mut Option<Broken>) -> usize {
        let bitmap = &self.segment.header().bitmap.0;
        if bitmap.load(Ordering::Relaxed) != 0 {
            // SYNC: pairs with the senders' `fetch_or`: the slots are there.
            self.pending |= bitmap.swap(0, Ordering::AcqRel);
        }
        let mut n = 0;
        // From `next` upwards, then from 0.
        let mut todo = self.pending.rotate_right(self.next as u32);
        while todo != 0 && n < events.len() {
            let number = (todo.trailing_zeros() as usize + self.next) % LANES;
            todo &= todo - 1;
            if let Some(lane) = self.lanes.get_mut(self.place[number] as usize) {
                n = lane.collect(events, n, broken);
                if n == events.len() {
                    // It may hold more.
                    self.next = (number + 1) % LANES;
                    break;
                }
            }
            self.pending &= !(1 << number);
        }
        n
    }

    fn tell_shared(&self) {
        let next = if self.many_used { self.many.position() } else { u64::MAX };
        self.notifier.progress.shared.store(next, Ordering::Relaxed);
    }
}

fn is_dead(members: &[u32], peers: &[crate::connect::Peer], member: u16) -> bool {
    members
        .get(member as usize)
        .and_then(|&dense| peers.get(dense as usize))
        .is_some_and(|p| matches!(p.state, State::Down | State::Gone))
}
