//! Messages of several packets on the receiving side, in whatever order the packets come.

use super::TrustedDestination;
use super::fragment::Arrival;
use crate::context::Locked;
use crate::transport::PeerId;
use std::collections::HashMap;

/// Fragments kept before their message's first packet has come, per context; beyond that they can't
/// be kept and the transport below must not have accepted them, so this is a bound for faulty
/// peers.
const MAX_EARLY: usize = 4096;

/// A message under way.
pub(crate) struct Reassembly {
    pub(crate) destination: TrustedDestination,
    pub(crate) received: u64,
    pub(crate) arrival: Arrival,
}

/// Position and bytes of a fragment that came before its message's first packet.
type Early = (u64, Box<[u8]>);

/// Messages under way, by origin and number.
#[derive(Default)]
pub(crate) struct Reassemblies {
    started: HashMap<(PeerId, u32), Reassembly>,
    early: HashMap<(PeerId, u32), Vec<Early>>,
    early_count: usize,
}

impl Reassemblies {
    /// How many more fragments can be kept whose message's first packet has not come.
    #[inline]
    pub(crate) fn early_room(&self) -> usize {
        MAX_EARLY - self.early_count.min(MAX_EARLY)
    }

    /// Keeps a fragment until the first packet of its message has come. False: there is no room.
    fn keep_early(&mut self, key: (PeerId, u32), position: u64, data: &[u8]) -> bool {
        if self.early_room() == 0 {
            return false;
        }
        self.early_count += 1;
        self.early.entry(key).or_default().push((position, data.into()));
        true
    }

    /// What came before the first packet of its message.
    fn take_early(&mut self, key: (PeerId, u32)) -> Vec<Early> {
        let early = self.early.remove(&key).unwrap_or_default();
        self.early_count -= early.len();
        early
    }

    pub(crate) fn forget_peer(&mut self, peer: PeerId) -> usize {
        let before = self.started.len();
        self.started.retain(|(p, _), _| *p != peer);
        let early_count = &mut self.early_count;
        self.early.retain(|(p, _), kept| {
            if *p == peer {
                *early_count -= kept.len();
            }
            *p != peer
        });
        before - self.started.len()
    }
}

impl Reassembly {
    fn is_complete(&self) -> bool {
        self.received >= self.destination.len()
    }
}

impl Locked<'_> {
    /// The first packet's handler has answered: take its data, then whatever came early.
    pub(crate) fn begin_reassembly(&mut self, source: PeerId, mut reassembly: Reassembly, data: &[u8]) {
        let n = (data.len() as u64).min(reassembly.destination.len()) as usize;
        self.out(|_| reassembly.destination.write(0, &data[..n]));
        reassembly.received = n as u64;
        let key = (source, reassembly.arrival.message);
        self.receiving.reassemblies.started.insert(key, reassembly);
        for (position, bytes) in self.receiving.reassemblies.take_early(key) {
            self.fragment(source, key.1, position, &bytes);
        }
        self.finish_if_complete(source, key.1);
    }

    /// A further packet of a message.
    pub(crate) fn fragment(&mut self, source: PeerId, message: u32, position: u64, data: &[u8]) {
        let key = (source, message);
        let state = &mut **self;
        let Some(reassembly) = state.receiving.reassemblies.started.get_mut(&key) else {
            if !state.receiving.reassemblies.keep_early(key, position, data) {
                tracing::warn!(
                    source,
                    message,
                    position,
                    "too many fragments without their first packet; dropped"
                );
            }
            return;
        };
        if !reassembly.destination.holds(position, data.len()) {
            tracing::warn!(
                source,
                message,
                position,
                len = data.len(),
                total = reassembly.destination.len(),
                "fragment beyond its message dropped"
            );
            return;
        }
        reassembly.received += data.len() as u64;
        if reassembly.destination.is_layout() {
            let layout = reassembly.destination.take();
            return self.scatter(source, message, position, data, layout);
        }
        reassembly.destination.write(position, data);
        if reassembly.is_complete()
            && let Some(reassembly) = state.receiving.reassemblies.started.remove(&key)
        {
            self.arrived(source, reassembly.arrival);
        }
    }

    /// A layout may run functions of the program's: it is taken out of our state meanwhile.
    #[inline(never)]
    fn scatter(
        &mut self,
        source: PeerId,
        message: u32,
        position: u64,
        data: &[u8],
        mut layout: TrustedDestination,
    ) {
        self.out(|_| layout.write(position, data));
        if let Some(reassembly) = self.receiving.reassemblies.started.get_mut(&(source, message)) {
            reassembly.destination = layout;
        }
        self.finish_if_complete(source, message);
    }

    fn finish_if_complete(&mut self, source: PeerId, message: u32) {
        let key = (source, message);
        let started = &mut self.receiving.reassemblies.started;
        if started.get(&key).is_some_and(Reassembly::is_complete)
            && let Some(reassembly) = started.remove(&key)
        {
            self.arrived(source, reassembly.arrival);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_fragments_fill_a_bounded_room_which_their_first_packet_or_their_origins_end_empties() {
        let mut reassemblies = Reassemblies::default();
        assert_eq!(reassemblies.early_room(), MAX_EARLY);
        // Of three messages of two origins, in turn.
        let key = |n: usize| [(1, 7), (1, 8), (2, 7)][n % 3];
        for n in 0..MAX_EARLY {
            assert_eq!(reassemblies.early_room(), MAX_EARLY - n);
            assert!(reassemblies.keep_early(key(n), n as u64, &[n as u8]));
        }
        for n in 0..10 {
            assert!(!reassemblies.keep_early(key(n), 0, &[]), "beyond the bound");
        }
        assert_eq!(reassemblies.early_room(), 0);
        let kept = |reassemblies: &Reassemblies| reassemblies.early.values().map(Vec::len).sum::<usize>();
        assert_eq!(kept(&reassemblies), MAX_EARLY);
        let taken = reassemblies.take_early((1, 8));
        let expected: Vec<Early> =
            (1..MAX_EARLY).step_by(3).map(|n| (n as u64, Box::from([n as u8]))).collect();
        assert_eq!(taken, expected);
        assert_eq!(reassemblies.early_room(), taken.len());
        assert!(reassemblies.take_early((1, 8)).is_empty() && reassemblies.take_early((9, 9)).is_empty());
        reassemblies.forget_peer(1);
        assert_eq!(kept(&reassemblies), MAX_EARLY - reassemblies.early_room());
        assert_eq!(reassemblies.take_early((2, 7)).len(), MAX_EARLY / 3);
        assert_eq!(reassemblies.early_room(), MAX_EARLY);
    }
}
