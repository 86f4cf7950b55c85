//! Senders: their lanes are opened when they become known, and set aside when they have ended.

use super::InLane;
use crate::layout::{self, DIRECT_LANES, LANES, Rx, member_word};
use crate::peer::State;
use crate::transport::Shm;
use crate::wake::BITMAP;
use lapis_core::sync::{Arc, Ordering};
use lapis_core::transport::Event;

impl Shm {
    /// Reports those whose last messages have all been read in former polls. Says how many.
    #[cold]
    #[inline(never)]
    pub(super) fn report_the_dead(&mut self, events: &mut [Event]) -> usize {
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
    pub(super) fn meet_senders(&mut self) {
        // Before anybody is looked for: who comes meanwhile is found by the next look.
        let claims = self.inbox.claims();
        if self.me.place.is_some() {
            self.meet_callers();
        }
        let inbox = &mut self.inbox;
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
        inbox.publish_shared_ring();
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
}
