//! The receiving side.

use crate::connect::State;
use crate::handshake;
use crate::layout::{self, DIRECT_LANES, LANES, ManyRx, Rx, member_word};
use crate::segment::Segment;
use crate::spsc_ring::Corrupt;
use crate::transport::Shm;
use crate::waiter::Notifier;
use crate::wake::{BITMAP, SLEEP};
#[cfg_attr(any(not(target_arch = "x86_64"), loom), allow(unused_imports, reason = "prefetching"))]
use lapis_ablation::{Optimization, without};
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
/// Messages from this length on have the cache asked for their first lines.
const LONG: usize = 1 << 10;
/// How many.
const LINES: usize = 4;

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
                    prefetch_beginning(data, len);
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

    /// Says which lanes core reads itself: all, or none where there is more to look at than lanes.
    fn share_lanes(&mut self) {
        let mut shared = ReceiveLanes::none();
        if !self.marked && !self.many_used && self.lanes.len() <= shared.lanes.len() {
            shared.count = self.lanes.len() as u32;
            for (to, lane) in shared.lanes.iter_mut().zip(&self.lanes) {
                *to = lane.rx.line();
            }
        }
        // SAFETY: core reads it between our calls only.
        unsafe { *self.direct.0.get() = shared };
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

    /// Reports those whose last messages have all been read in former polls. Says how many.
    #[cold]
    #[inline(never)]
    fn report_the_dead(&mut self, events: &mut [Event]) -> usize {
        let (mut n, mut i) = (0, 0);
        while i < self.inbox.dying.len() && n < events.len() {
            let dense = self.inbox.dying[i];
            let peer = &self.peers[dense];
            let inbox = &mut self.inbox;
            let waits = inbox.lanes.iter().any(|l| l.dense == dense && l.rx.is_full());
            let shared = inbox.many_used
                && inbox.many.position() < peer.last_shared
                && inbox.many.claimant().is_some();
            if waits || shared {
                i += 1;
                continue;
            }
            events[n] = Event::peer_down(peer.address.task);
            n += 1;
            inbox.dying.swap_remove(i);
            let word = member_word(peer.address.task, peer.address.incarnation);
            inbox.lay_aside(dense, Some(word));
            inbox.clear_graves();
            self.end_mailbox_line(dense);
        }
        n
    }

    /// Reads the table of senders and takes up lanes whose senders are known.
    #[cold]
    #[inline(never)]
    fn meet_senders(&mut self) {
        let inbox = &mut self.inbox;
        let claims = inbox.claims();
        let header = inbox.segment.header();
        // SYNC: pairs with `fetch_max` in `open_peer`.
        let used = (header.members_used.load(Ordering::Acquire) as usize).min(header.members.len());
        inbox.members.resize(used, u32::MAX);
        let mut met = Vec::new();
        for member in 0..used {
            met.extend(self.meet(member).map(|(dense, peer)| (dense, member, peer)));
        }
        for (dense, member, peer) in met {
            if self.is_host_of_mailbox_line(peer) {
                // SAFETY: the segment lives as long as the inbox.
                let line = unsafe { layout::mailbox_line(self.inbox.segment.base(), member) };
                self.begin_mailbox_line(dense, line, false);
            } else {
                self.inbox.set_mailbox(dense, self.peers[dense].mailbox);
            }
        }
        let inbox = &mut self.inbox;
        inbox.reindex();
        inbox.seen_claims = Some(claims);
        inbox.tell_shared();
        self.notifier.progress.claims.store(u64::from(claims), Ordering::Relaxed);
        if !inbox.marked && inbox.lanes.len() > DIRECT_LANES {
            inbox.marked = true;
            self.notifier.sleeper.set(BITMAP);
            // From here on every sender sees the bit; what was published without it is found by a
            // full look.
            self.notifier.barrier();
            self.inbox.share_lanes();
        }
        self.inbox.pending = u64::MAX;
    }

    /// Takes up the lane of a sender that is new and known; which one it is.
    fn meet(&mut self, member: usize) -> Option<(usize, u32)> {
        let inbox = &mut self.inbox;
        // SYNC: pairs with the claim in `open_peer`.
        let word = inbox.segment.header().members[member].load(Ordering::Acquire);
        let dense = self.outbox.find(word as u32).filter(|&d| {
            let a = &self.peers[d].address;
            word != 0 && word == member_word(a.task, a.incarnation)
        });
        if member >= LANES {
            inbox.members[member] = dense.map_or(u32::MAX, |d| d as u32);
            inbox.many_used |= word != 0;
            return None;
        }
        let known = inbox.poisoned >> member & 1 == 1
            || inbox.lanes.iter().chain(&inbox.discarded).any(|l| l.number as usize == member)
            // A handler may arm before the events of the last poll are done with, so that these are
            // still there.
            || inbox.graves.iter().any(|(lane, _)| lane.number as usize == member);
        let dense = dense.filter(|_| !known)?;
        // SAFETY: the segment lives as long as the inbox; one `Rx` per lane.
        let mut rx = unsafe {
            let (slots, control, data) = inbox.segment.lane(member);
            Rx::attach(slots, control, data, inbox.segment.ring_layout(), layout::MAX_MESSAGE)
        };
        let peer = self.peers[dense].address.task;
        rx.share(peer, &raw const self.notifier.progress.next[member]);
        let lane = InLane { rx, peer, dense, number: member as u8, notifier: Arc::clone(&self.notifier) };
        lane.rx.tell_position(&self.notifier.progress.next[member]);
        if self.peers[dense].state == State::Gone {
            inbox.discarded.push(lane);
            return None;
        }
        inbox.lanes.push(lane);
        Some((dense, peer))
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

    fn reindex(&mut self) {
        self.place = [u8::MAX; LANES];
        let mut bits = 0;
        for (i, lane) in self.lanes.iter().enumerate() {
            self.place[lane.number as usize] = i as u8;
            bits |= 1 << lane.number;
        }
        self.notifier.progress.lanes.store(bits, Ordering::Relaxed);
        self.next = 0;
        self.share_lanes();
    }

    /// Takes a peer's lanes out of use, until the next poll frees them: events may name what they
    /// hold. `word`: the peer has ended, and so named, so that the next sender may have them.
    fn lay_aside(&mut self, dense: usize, word: Option<u64>) {
        self.graves.extend(self.lanes.extract_if(.., |l| l.dense == dense).map(|lane| (lane, word)));
        self.reindex();
    }

    /// Drops what a disconnected peer has sent and what it will send. `word`: it has ended, so its
    /// lane is free.
    pub(crate) fn discard(&mut self, dense: usize, word: Option<u64>) {
        for lane in self.lanes.iter_mut().filter(|l| l.dense == dense) {
            while let Some(Ok(_)) = lane.rx.next() {}
        }
        if word.is_none() {
            self.discarded.extend(self.lanes.extract_if(.., |l| l.dense == dense));
        }
        self.lay_aside(dense, word);
    }

    /// Frees what was laid aside.
    #[inline(always)]
    fn clear_graves(&mut self) {
        if !self.graves.is_empty() {
            self.free_lanes();
        }
    }

    #[cold]
    fn free_lanes(&mut self) {
        for (mut lane, word) in self.graves.drain(..) {
            lane.rx.release_now();
            if let Some(word) = word {
                let entry = &self.segment.header().members[usize::from(lane.number)];
                // SYNC: pairs with the claim in `open_peer`: the lane's position is published.
                let _ = entry.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }
}

/// Asks the cache for the beginning of a long message: its header is read only when those before it
/// have been handled, and the rest the hardware fetches along.
#[inline(always)]
fn prefetch_beginning(data: *const u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    if len > LONG && !without(Optimization::LongPrefetch) {
        for line in 0..LINES {
            // SAFETY: a prefetch has no effect on memory; the lines lie within the message.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                    data.add(line * 64).cast(),
                );
            }
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), loom))]
    let _ = (data, len);
}

fn is_dead(members: &[u32], peers: &[crate::connect::Peer], member: u16) -> bool {
    members
        .get(member as usize)
        .and_then(|&dense| peers.get(dense as usize))
        .is_some_and(|p| matches!(p.state, State::Down | State::Gone))
}
