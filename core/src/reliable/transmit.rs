//! Writing the next datagrams: which path they take, what goes into them, and what goes along.

use super::auth::Authenticator;
use super::config::{EngineConfig, Nanos};
use super::datagram_builder::{DatagramBuilder, Memory, Transmit};
use super::path::Path;
use super::peer::Peer;
use super::send_queue::{Carrier, Filled};
use super::sent::Fate;
use super::shared::Shared;
use super::wire::{self, ACK_NOW, HEADER_LEN, Header, MAX_DATAGRAM, MIN_DATAGRAM, PROBE_LEN};
use super::{Channel, Engine};

/// Datagrams that replies may have in flight beyond the window, so that requests can't lock them
/// out.
const REPLY_RESERVE: u64 = 4;

impl<A: Authenticator> Engine<A> {
    /// Writes the next datagrams into `out`. False: there is nothing to send now. To be called
    /// until it says so, after units were submitted, datagrams arrived, or timers ran.
    pub fn poll_transmit(&mut self, now: Nanos, memory: &mut impl Memory, out: &mut Transmit) -> bool {
        while let Some(index) = self.ready.pop_front() {
            let Some(peer) = self.peers.get_mut(index as usize) else { continue };
            peer.ready = false;
            if peer.purged {
                continue;
            }
            let tools = Tools { now, auth: &self.auth, shared: &mut self.shared, memory };
            let sent = peer.transmit(&mut Output { tools, out });
            if sent && peer.wants_to_send() {
                // The others have their turn first.
                peer.ready = true;
                self.ready.push_back(index);
            }
            self.retime(index);
            if sent {
                return true;
            }
        }
        false
    }
}

/// What finishing a datagram takes.
pub(super) struct Tools<'a, A, M> {
    pub(super) now: Nanos,
    pub(super) auth: &'a A,
    pub(super) shared: &'a mut Shared,
    pub(super) memory: &'a mut M,
}

struct Output<'a, A, M> {
    tools: Tools<'a, A, M>,
    out: &'a mut Transmit,
}

/// Which channels a datagram may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Allowed {
    requests: bool,
    replies: bool,
}

impl Peer {
    fn transmit<A: Authenticator, M: Memory>(&mut self, output: &mut Output<'_, A, M>) -> bool {
        if !self.confirmed {
            return self.greet(output);
        }
        for at in 0..self.paths.len() {
            if self.paths[at].probes > 0 && !self.paths[at].held && self.batch(at, output) {
                return true;
            }
        }
        for at in 0..self.paths.len() {
            if let Some(size) = self.paths[at].mtu.wanted()
                && !self.paths[at].held
            {
                return self.probe_size(at, size, output);
            }
        }
        if self.has_unsent()
            && let Some(at) = self.best_path(&output.tools.shared.config)
            && self.batch(at, output)
        {
            return true;
        }
        if let Some(at) = self.paths.iter().position(|path| path.arrivals.urgent()) {
            let Some(at) = self.free_or_other(at) else { return false };
            output.out.clear(self.task, self.paths[at].id);
            return self.acknowledge(at, usize::MAX, output);
        }
        if self.answer
            && let Some(at) = self.free_or_other(0)
        {
            output.out.clear(self.task, self.paths[at].id);
            let builder = DatagramBuilder::new(output.out, HEADER_LEN);
            finish(self, at, builder, 0, false, &mut output.tools);
            return true;
        }
        false
    }

    /// Shows the peer our epoch, and asks for its own.
    fn greet<A: Authenticator, M: Memory>(&mut self, output: &mut Output<'_, A, M>) -> bool {
        if !self.greet_now && !self.answer {
            return false;
        }
        // Each time over another path: one of them may be down.
        let turn = self.greetings as usize % self.paths.len();
        let mut order = (turn..self.paths.len()).chain(0..turn);
        let Some(at) = order.find(|&at| !self.paths[at].held) else { return false };
        let asks = self.greet_now;
        if asks {
            let config = &output.tools.shared.config;
            let wait = (config.initial_rtt * 2).max(config.retransmit_floor);
            let wait = wait.saturating_mul(1 << self.greetings.min(20)).min(config.retransmit_max);
            self.greet_at = Some(output.tools.now + wait);
            self.greetings = self.greetings.saturating_add(1);
            self.greet_now = false;
        }
        output.out.clear(self.task, self.paths[at].id);
        let mut builder = DatagramBuilder::new(output.out, MIN_DATAGRAM);
        if asks {
            // In case the peer knows us already and has nothing to say.
            builder.push(&wire::probe());
        }
        finish(self, at, builder, if asks { ACK_NOW } else { 0 }, false, &mut output.tools);
        true
    }

    /// A bit for each path that carries data, by the number by which units prefer it.
    fn up(&self) -> u8 {
        let carriers = self.paths[self.carriers()].iter().filter(|path| path.is_up());
        carriers.fold(0, |up, path| up | 1 << path.rail)
    }

    /// Whether something of a channel waits to be sent, and may take a path. What travels in parts
    /// may take any.
    fn waits_for(&self, path: &Path, channel: Channel, up: u8) -> bool {
        let queue = &self.queues[channel as usize];
        queue.has_unsent() && queue.allows(path.rail, up)
            || (!self.splits.is_empty() && self.splits.has_unsent(channel as u8))
    }

    /// What may be sent on a path now.
    fn allowed(&self, path: &Path) -> Allowed {
        if !path.has_place() {
            return Allowed { requests: false, replies: false };
        }
        let window = path.congestion.window();
        let reserve = REPLY_RESERVE * path.max_datagram as u64;
        let requests = path.in_flight < window && (self.charged < self.credit || self.charged == 0);
        let replies = path.in_flight < window + reserve && self.charged < self.credit + reserve;
        Allowed { requests, replies }
    }

    /// The path that brings the next datagrams across soonest.
    fn best_path(&self, config: &EngineConfig) -> Option<usize> {
        let carriers = self.carriers();
        let first = carriers.start;
        if let [path] = &self.paths[carriers.clone()] {
            let replies = self.has_unsent_in(Channel::Reply);
            let allowed = self.allowed(path);
            return (path.is_up() && !path.held && (allowed.requests || (replies && allowed.replies)))
                .then_some(first);
        }
        let (mut best, up) = (None, self.up());
        for (at, path) in (first..).zip(&self.paths[carriers]) {
            let Allowed { requests, replies } = self.allowed(path);
            if !path.is_up()
                || path.held
                || !(requests && self.waits_for(path, Channel::Request, up)
                    || replies && self.waits_for(path, Channel::Reply, up))
            {
                continue;
            }
            let cost = path.cost(path.max_datagram.min(config.batch_bytes));
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Writes as many datagrams as the path takes and one send can carry. False if there were none.
    fn batch<A: Authenticator, M: Memory>(&mut self, at: usize, output: &mut Output<'_, A, M>) -> bool {
        output.out.clear(self.task, self.paths[at].id);
        let max_datagram = self.paths[at].max_datagram;
        self.paths[at].mtu.raise(output.tools.now, max_datagram);
        let trusted = self.may_carry(at);
        let (most, most_bytes) =
            (output.tools.shared.config.batch_datagrams, output.tools.shared.config.batch_bytes);
        let mut ended = false;
        while !ended {
            let written = output.out.datagrams();
            let path = &self.paths[at];
            let cap = if written == 0 { path.max_datagram } else { output.out.segment_size };
            if written >= most || (written > 0 && output.out.total + cap > most_bytes) {
                break;
            }
            match self.write_datagram(at, cap, trusted, output) {
                Some(last) => ended = last,
                None => break,
            }
        }
        let written = output.out.datagrams();
        if written == 0 {
            return false;
        }
        // Acknowledgements that found no room go behind the full datagrams, unless all together
        // would be more than one send can carry.
        if trusted && !ended && written < most && self.paths.iter().any(|path| path.arrivals.urgent()) {
            let left = MAX_DATAGRAM.max(most_bytes).saturating_sub(output.out.total);
            let cap = output.out.segment_size.min(left);
            if cap > HEADER_LEN {
                self.acknowledge(at, cap, output);
            }
        }
        true
    }

    /// Writes one datagram of at most `cap` bytes. If the path is not
    /// [`trusted`](Self::may_carry), it carries a probe alone. Says whether it is the last one of
    /// its batch; `None`: there is nothing for it.
    #[inline]
    fn write_datagram<A: Authenticator, M: Memory>(
        &mut self,
        at: usize,
        cap: usize,
        trusted: bool,
        output: &mut Output<'_, A, M>,
    ) -> Option<bool> {
        let path = &self.paths[at];
        let probing = path.probes > 0;
        let carries = trusted && (!path.is_up() || self.carriers().contains(&at));
        let allowed = if probing || !carries {
            let data = carries && !path.asks_only();
            Allowed { requests: data, replies: data }
        } else {
            self.allowed(path)
        };
        if probing && !path.has_place() {
            self.make_place(at, output.tools.shared);
        }
        let mut builder = DatagramBuilder::new(output.out, cap);
        self.fill(at, allowed, &mut builder);
        let data = builder.len() > HEADER_LEN;
        if !data && !probing {
            builder.abandon();
            return None;
        }
        if !data {
            builder.push(&wire::probe());
        }
        let more = self.has_unsent();
        let charge = (builder.len() + output.tools.shared.config.datagram_overhead as usize) as u64;
        let path = &mut self.paths[at];
        let window_full = path.in_flight + builder.len() as u64 >= path.congestion.window();
        if window_full {
            path.congestion.note_limited();
        }
        let blocked = window_full || self.charged + charge >= self.credit;
        let starved = self.queues.iter().any(|channel| channel.starved);
        let at_once = probing || builder.resent > 0 || if more { blocked } else { starved || builder.lent };
        if !more && trusted {
            self.write_acks(output.tools.now, &mut builder);
        }
        if probing {
            self.paths[at].probes -= 1;
        }
        self.charged += charge_of(&builder, output.tools.shared);
        let len = finish(self, at, builder, if at_once { ACK_NOW } else { 0 }, true, &mut output.tools);
        Some(len < output.out.segment_size || !more)
    }

    /// Puts units into a datagram, replies first.
    fn fill(&mut self, at: usize, allowed: Allowed, builder: &mut DatagramBuilder<'_>) {
        let path = &self.paths[at];
        let limit = path.max_datagram - HEADER_LEN;
        let to = Carrier { path: path.id, rail: path.rail, number: path.next_number, limit, up: self.up() };
        for (channel, allowed) in [(Channel::Reply, allowed.replies), (Channel::Request, allowed.requests)] {
            if !allowed || builder.sent.full() {
                continue;
            }
            let channel = channel as usize;
            if !self.splits.is_empty() && !self.splits.fill(builder, &self.queues[channel], channel as u8) {
                continue;
            }
            while let Filled::TooBig(unit) = self.queues[channel].fill(builder, to) {
                if self.splits.full() {
                    break;
                }
                let total = self.queues[channel].start_split(unit);
                self.splits.start(channel as u8, unit, total);
                if !self.splits.fill(builder, &self.queues[channel], channel as u8) {
                    break;
                }
            }
        }
    }

    /// Appends the acknowledgements that wait, as far as there is room.
    fn write_acks(&mut self, now: Nanos, builder: &mut DatagramBuilder<'_>) {
        for path in &mut self.paths {
            if path.arrivals.waiting() && builder.room() >= path.arrivals.frame_len() {
                path.arrivals.write(now, path.id, builder);
                self.stats.acks_sent += 1;
            }
        }
    }

    /// Appends a datagram that carries nothing but acknowledgements.
    fn acknowledge<A: Authenticator, M: Memory>(
        &mut self,
        at: usize,
        cap: usize,
        output: &mut Output<'_, A, M>,
    ) -> bool {
        if !self.paths[at].has_place() {
            self.make_place(at, output.tools.shared);
        }
        let mut builder = DatagramBuilder::new(output.out, cap.min(self.paths[at].max_datagram));
        self.write_acks(output.tools.now, &mut builder);
        if builder.len() == HEADER_LEN {
            builder.abandon();
            return false;
        }
        finish(self, at, builder, 0, false, &mut output.tools);
        true
    }

    /// Finds out whether a datagram of `size` bytes passes. A small one goes behind it: if that
    /// arrives and the large one does not, it was too large.
    #[cold]
    fn probe_size<A: Authenticator, M: Memory>(
        &mut self,
        at: usize,
        size: usize,
        output: &mut Output<'_, A, M>,
    ) -> bool {
        if !self.paths[at].has_place() {
            self.make_place(at, output.tools.shared);
        }
        let path = &mut self.paths[at];
        let due = output.tools.now + 2 * path.rtt.pto(&output.tools.shared.config);
        path.mtu.on_probe_sent(path.next_number, due);
        path.probes = path.probes.max(1);
        output.out.clear(self.task, path.id);
        let mut builder = DatagramBuilder::new(output.out, size);
        builder.sent.fate = Fate::Sizing;
        while builder.room() >= PROBE_LEN {
            builder.push(&wire::probe());
        }
        finish(self, at, builder, ACK_NOW, false, &mut output.tools);
        true
    }

    /// Gives up the oldest datagrams, of which the path can't keep track any longer.
    fn make_place(&mut self, at: usize, shared: &Shared) {
        while !self.paths[at].has_place() {
            let oldest = self.paths[at].sent.base();
            self.give_up(at, oldest, false, shared);
            self.paths[at].sent.retire(|_| true);
        }
    }
}

pub(super) fn charge_of(builder: &DatagramBuilder<'_>, shared: &Shared) -> u64 {
    builder.len() as u64 + u64::from(shared.config.datagram_overhead)
}

/// Gives the datagram its number, header and authenticator. Returns its length.
pub(super) fn finish<A: Authenticator, M: Memory>(
    peer: &mut Peer,
    at: usize,
    builder: DatagramBuilder<'_>,
    flags: u8,
    asks: bool,
    tools: &mut Tools<'_, A, M>,
) -> usize {
    let path = &mut peer.paths[at];
    let header = Header {
        flags,
        path: path.id,
        job: tools.shared.job,
        source: tools.shared.local,
        destination: peer.task,
        source_epoch: peer.local_epoch,
        destination_epoch: peer.remote_epoch,
        number: path.next_number,
        credit: tools.shared.credits.offer(tools.now),
        span: path.span(),
    };
    let (len, sent) = builder.finish(&header, tools.auth, tools.memory);
    path.on_sent(tools.now, sent, len, asks);
    peer.answer = false;
    peer.stats.datagrams_sent += 1;
    peer.stats.bytes_sent += len as u64;
    len
}
