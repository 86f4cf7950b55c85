//! The fast path: a unit that nothing waits in front of leaves at once, in a datagram of its own.
//!
//! [`submit`](Engine::submit) and [`poll_transmit`](Engine::poll_transmit) would do the same for
//! it. But they first choose peer, path, channel and amount, and copy the unit to the queue in
//! which it waits for its acknowledgement. Here the unit leaves before it is copied, straight from
//! the caller's memory.

use super::auth::Authenticator;
use super::config::{EngineConfig, Nanos};
use super::datagram_builder::{DatagramBuilder, External, Memory, Transmit};
use super::peer::Peer;
use super::transmit::{Tools, charge_of, finish};
use super::wire::{ACK_LEN, DATA_LEN, HEADER_LEN};
use super::{Channel, Engine};

/// A shorter body is copied into the datagram in less time than it takes to refer to it.
const WORTH_REFERRING: usize = 4 << 10;

/// A unit to be sent in a datagram of its own.
#[derive(Debug, Clone, Copy)]
pub struct FastUnit<'a> {
    /// Whom it is for.
    pub peer: u32,
    /// On which channel.
    pub channel: Channel,
    /// Its first bytes, few.
    pub head: &'a [u8],
    /// The others.
    pub body: &'a [u8],
    /// As for [`submit`](Engine::submit).
    pub token: u64,
    /// If so many units are under way to the peer, others may follow, and this one waits for them.
    pub few: usize,
}

/// The one external segment of a unit's datagram is its body.
impl Memory for FastUnit<'_> {
    fn read(&mut self, _: u64, offset: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        let (_, rest) = self.body.split_at(offset as usize);
        read(&rest[..len as usize]);
    }
}

impl<A: Authenticator> Engine<A> {
    /// Takes a unit if it is the only thing to be sent to anybody, its peer has a single path
    /// beside standby ones, and nothing holds it back. Its datagram is written to `out`, with the
    /// unit's own body for its one external segment, if any, and passed to `send`, which sends it
    /// or [makes it its own](Transmit::copy_in).
    ///
    /// False: nothing has happened; [`submit`](Self::submit) takes the unit, or says why not.
    #[inline]
    pub fn submit_fast(
        &mut self,
        now: Nanos,
        unit: FastUnit<'_>,
        out: &mut Transmit,
        send: impl FnOnce(&mut Transmit),
    ) -> bool {
        let FastUnit { peer, channel, head, body, token, few } = unit;
        let Some(index) = self.index.get(peer) else { return false };
        let Some(state) = self.peers.get_mut(index as usize) else { return false };
        let config = &self.shared.config;
        let taken = self.shared.units + self.shared.events.len();
        let (payload, outstanding) = (head.len() + body.len(), state.outstanding());
        if !self.ready.is_empty()
            || outstanding >= few
            || taken >= config.total_units
            || !state.lets_pass(payload, config)
        {
            return false;
        }
        let limits = (config.channel_units, config.channel_bytes);
        let (path, waits) = (&mut state.paths[0], &mut state.queues[channel as usize]);
        let Some(place) = waits.reserve(limits, DATA_LEN + payload) else { return false };
        let (id, number) = (path.id, path.next_number);
        out.clear(peer, id);
        let mut builder = DatagramBuilder::new(out, path.max_datagram);
        builder.sent.begin(channel as u8, waits.next_unit());
        builder.push(&waits.header(payload));
        builder.push(head);
        if body.len() < WORTH_REFERRING {
            builder.push(body);
        } else {
            builder.push_external(External { buffer: 0, offset: 0, len: body.len() as u32 });
        }
        if path.arrivals.waiting() && builder.room() >= path.arrivals.frame_len() {
            path.arrivals.write(now, id, &mut builder);
            state.stats.acks_sent += 1;
        }
        state.charged += charge_of(&builder, &self.shared);
        let mut memory = unit;
        let mut tools = Tools { now, auth: &self.auth, shared: &mut self.shared, memory: &mut memory };
        finish(state, 0, builder, 0, true, &mut tools);
        send(out);
        // What it takes to send it again has time until it is on its way.
        state.queues[channel as usize].keep_sent(place, head, body, token, id, number);
        if outstanding == 0 {
            state.owing_since = now;
        }
        state.stats.units_submitted += 1;
        self.shared.units += 1;
        self.retime(index);
        true
    }
}

impl Peer {
    /// Whether a unit of so many bytes would be the only thing to be sent, and may be.
    #[inline]
    fn lets_pass(&self, len: usize, config: &EngineConfig) -> bool {
        let [path] = &self.paths[..self.regular] else { return false };
        let datagram = HEADER_LEN + DATA_LEN + len;
        let most = (datagram + ACK_LEN) as u64;
        let overhead = u64::from(config.datagram_overhead);
        self.confirmed
            && !self.purged
            && !self.ready
            && !self.answer
            && datagram <= path.max_datagram
            && path.is_up()
            && path.probes == 0
            && path.has_place()
            && path.in_flight + most < path.congestion.window()
            && self.charged + most + overhead < self.credit
            && !self.has_unsent()
            && !self.queues.iter().any(|channel| channel.starved)
    }
}
