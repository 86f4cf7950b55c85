//! Receiving: polling the lanes and the shared ring, and the last poll before a sleep.

use super::{Broken, POLLS_PER_LOOK};
use crate::handshake;
use crate::peer::{Peer, State};
use crate::transport::Shm;
use crate::wake::SLEEP;
use lapis_core::sync::Ordering;
use lapis_core::transport::{Event, Status};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Time between looks at the peers' processes.
const CHECK_EVERY: Duration = Duration::from_millis(1);

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
        let mut broken = None;
        n = if self.inbox.many_used {
            self.collect_lanes_and_shared(events, n, &mut broken)
        } else {
            self.inbox.collect_lanes(events, n, &mut broken)
        };
        self.inbox.polls -= 1;
        if self.inbox.polls == 0 || broken.is_some() {
            self.housekeeping(broken);
        }
        n
    }

    /// Lanes and shared ring. Where lanes leave no room for the shared ring, it comes first the
    /// next time, so that neither starves the other.
    #[inline(never)]
    fn collect_lanes_and_shared(
        &mut self,
        events: &mut [Event],
        from: usize,
        broken: &mut Option<Broken>,
    ) -> usize {
        let mut n = from;
        if std::mem::take(&mut self.inbox.shared_first) {
            n = self.collect_shared(events, n, broken);
            n = self.inbox.collect_lanes(events, n, broken);
        } else {
            n = self.inbox.collect_lanes(events, n, broken);
            self.inbox.shared_first = n == events.len();
            n = self.collect_shared(events, n, broken);
        }
        self.inbox.publish_shared_ring();
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
                while let Some(Ok(_)) = lane.rx.take_next() {}
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

fn is_dead(members: &[u32], peers: &[Peer], member: u16) -> bool {
    members
        .get(member as usize)
        .and_then(|&dense| peers.get(dense as usize))
        .is_some_and(|p| matches!(p.state, State::Down | State::Gone))
}
