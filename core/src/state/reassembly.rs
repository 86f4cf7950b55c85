//! Messages of several packets that are being reassembled.

use crate::buffers::TrustedDestination;
use crate::handlers::{CompletionHandler, Run};
use crate::transport::PeerId;
use crate::wire::{Header, Kind};
use rustc_hash::FxHashMap;

/// Fragments kept before their message's first packet has come, per context. The packet engine
/// takes no more of such messages, so that they come again; what delivers in order brings the first
/// packet first. So this is a bound for faulty peers.
const MAX_EARLY: usize = 4096;

/// What happens when a message's data is all there.
pub(crate) struct Arrival<C> {
    pub(crate) message: u32,
    pub(crate) target_counter: u64,
    pub(crate) completion: Option<CompletionHandler<C>>,
    pub(crate) run: Run,
    /// The origin's operation that waits for `Complete`.
    pub(crate) reply: Option<u64>,
}

/// A message under way.
pub(crate) struct Reassembly<C> {
    pub(crate) destination: TrustedDestination,
    pub(crate) received: u64,
    pub(crate) arrival: Arrival<C>,
}

/// Position and bytes of a fragment that came before its message began.
pub(crate) type Early = (u64, Box<[u8]>);

/// What came of a message before it began.
#[derive(Default)]
struct Kept {
    fragments: Vec<Early>,
    /// Its first packet is known to have come, and to wait for its handler: the message's own
    /// length bounds what is kept.
    is_put_off: bool,
}

/// Origin and number of a message.
pub(crate) type Key = (PeerId, u32);

/// Messages under way, by origin and number.
pub(crate) struct Reassemblies<C> {
    /// The one that began last: most messages have all their packets one behind the other.
    latest: Option<(Key, Reassembly<C>)>,
    /// Those that began before it.
    others: FxHashMap<Key, Reassembly<C>>,
    early: FxHashMap<Key, Kept>,
    early_count: usize,
}

impl<C> Reassemblies<C> {
    pub(super) fn new() -> Self {
        Self { latest: None, others: FxHashMap::default(), early: FxHashMap::default(), early_count: 0 }
    }

    /// A message has begun.
    #[inline(always)]
    pub(crate) fn begin(&mut self, key: Key, reassembly: Reassembly<C>) {
        if self.latest.is_some() {
            self.set_aside();
        }
        self.latest = Some((key, reassembly));
    }

    #[inline(never)]
    fn set_aside(&mut self) {
        self.others.extend(self.latest.take());
    }

    /// Whether a message has begun and not ended.
    #[inline]
    pub(crate) fn has_begun(&self, key: Key) -> bool {
        self.latest.as_ref().is_some_and(|(latest, _)| *latest == key) || self.others.contains_key(&key)
    }

    /// A message that has begun and not ended.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Reassembly<C>> {
        match &mut self.latest {
            Some((latest, reassembly)) if *latest == key => Some(reassembly),
            _ => self.others.get_mut(&key),
        }
    }

    /// Ends a message of which all bytes have come; gives what happens then.
    #[inline(always)]
    pub(crate) fn end_if_complete(&mut self, key: Key) -> Option<Arrival<C>> {
        match &self.latest {
            Some((latest, reassembly)) if *latest == key => {
                if !reassembly.is_complete() {
                    return None;
                }
                self.latest.take().map(|(_, reassembly)| reassembly.arrival)
            }
            _ => self.end_other(key),
        }
    }

    #[inline(never)]
    fn end_other(&mut self, key: Key) -> Option<Arrival<C>> {
        if !self.others.get(&key)?.is_complete() {
            return None;
        }
        self.others.remove(&key).map(|reassembly| reassembly.arrival)
    }

    /// Bytes that have come from a peer of messages that have begun and not ended.
    pub(super) fn bytes_from(&self, peer: PeerId) -> u64 {
        let latest = self.latest.iter().map(|(key, reassembly)| (key, reassembly));
        let from_peer = latest.chain(&self.others).filter(|((from, _), _)| *from == peer);
        from_peer.fold(0, |bytes, (_, reassembly)| bytes.wrapping_add(reassembly.received))
    }

    /// Whether fragments are kept.
    #[inline(always)]
    pub(crate) fn has_early(&self) -> bool {
        self.early_count > 0
    }

    /// How many more fragments can be kept whose message has not begun, whatever message it is.
    #[inline]
    pub(crate) fn early_room(&self) -> usize {
        MAX_EARLY - self.early_count.min(MAX_EARLY)
    }

    /// Keeps a fragment until its message begins. False: there is no room, and the message's first
    /// packet has not come. `is_put_off` is asked for that only then, and once for each message
    /// whose first packet has.
    pub(crate) fn keep_early(
        &mut self,
        key: Key,
        position: u64,
        data: &[u8],
        is_put_off: impl FnOnce() -> bool,
    ) -> bool {
        if self.early_room() == 0 && !self.early.get(&key).is_some_and(|kept| kept.is_put_off) {
            if !is_put_off() {
                return false;
            }
            self.early.entry(key).or_default().is_put_off = true;
        }
        self.early_count += 1;
        self.early.entry(key).or_default().fragments.push((position, data.into()));
        true
    }

    /// What came before its message began.
    pub(crate) fn take_early(&mut self, key: Key) -> Vec<Early> {
        let early = self.early.remove(&key).unwrap_or_default().fragments;
        self.early_count -= early.len();
        early
    }

    /// The number of a message whose first packet is put off, if all of it is here.
    pub(super) fn whole_message(&self, peer: PeerId, first: &[u8]) -> Option<u32> {
        let (header, rest) = Header::parse(first).ok()?;
        let data = rest.len().saturating_sub(header.user_header.into());
        let fragments = self.early.get(&(peer, header.message)).map_or(&[][..], |kept| &kept.fragments);
        let here = fragments.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() + data;
        let whole = match header.kind {
            Kind::Am => true,
            Kind::AmFirst => here as u64 >= header.total,
            // The data lies at its origin.
            _ => false,
        };
        whole.then_some(header.message)
    }

    /// Drops messages of a peer's, but for what came of those that have not begun, if they are
    /// named. Returns how many had begun.
    pub(super) fn forget_peer(&mut self, peer: PeerId, kept: &[u32]) -> usize {
        let latest = self.latest.take_if(|((p, _), _)| *p == peer);
        let before = self.others.len();
        self.others.retain(|(p, _), _| *p != peer);
        let early_count = &mut self.early_count;
        self.early.retain(|(p, message), early| {
            let stays = *p != peer || kept.contains(message);
            if !stays {
                *early_count -= early.fragments.len();
            }
            stays
        });
        before - self.others.len() + usize::from(latest.is_some())
    }
}

impl<C> Reassembly<C> {
    #[inline(always)]
    pub(crate) fn is_complete(&self) -> bool {
        self.received >= self.destination.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_fragments_fill_a_bounded_room_which_their_first_packet_or_their_origins_end_empties() {
        let mut reassemblies = Reassemblies::<()>::new();
        assert_eq!(reassemblies.early_room(), MAX_EARLY);
        // Of three messages of two origins, in turn.
        let key = |n: usize| [(1, 7), (1, 8), (2, 7)][n % 3];
        for n in 0..MAX_EARLY {
            assert_eq!(reassemblies.early_room(), MAX_EARLY - n);
            assert!(reassemblies.keep_early(key(n), n as u64, &[n as u8], || unreachable!("there is room")));
        }
        for n in 0..10 {
            assert!(!reassemblies.keep_early(key(n), 0, &[], || false), "beyond the bound");
        }
        assert_eq!(reassemblies.early_room(), 0);
        let kept = |reassemblies: &Reassemblies<()>| {
            reassemblies.early.values().map(|kept| kept.fragments.len()).sum::<usize>()
        };
        assert_eq!(kept(&reassemblies), MAX_EARLY);
        let taken = reassemblies.take_early((1, 8));
        let expected: Vec<Early> =
            (1..MAX_EARLY).step_by(3).map(|n| (n as u64, Box::from([n as u8]))).collect();
        assert_eq!(taken, expected);
        assert_eq!(reassemblies.early_room(), taken.len());
        assert!(reassemblies.take_early((1, 8)).is_empty() && reassemblies.take_early((9, 9)).is_empty());
        reassemblies.forget_peer(1, &[]);
        assert_eq!(kept(&reassemblies), MAX_EARLY - reassemblies.early_room());
        assert_eq!(reassemblies.take_early((2, 7)).len(), MAX_EARLY / 3);
        assert_eq!(reassemblies.early_room(), MAX_EARLY);
    }

    #[test]
    fn what_comes_of_messages_that_are_put_off_is_kept_however_much_it_is() {
        let mut reassemblies = Reassemblies::<()>::new();
        let (put_off, other) = ((1, 7), (1, 8));
        for n in 0..MAX_EARLY {
            assert!(reassemblies.keep_early(put_off, n as u64, &[], || unreachable!("there is room")));
        }
        let mut asked = 0;
        for n in MAX_EARLY..2 * MAX_EARLY {
            let mut ask = || {
                asked += 1;
                true
            };
            assert!(reassemblies.keep_early(put_off, n as u64, &[], &mut ask));
            assert!(!reassemblies.keep_early(other, n as u64, &[], || false), "it has not come");
        }
        assert_eq!((asked, reassemblies.early_room()), (1, 0));
        assert!(reassemblies.keep_early(other, 0, &[], || true), "now it has");
        let positions: Vec<u64> = reassemblies.take_early(put_off).iter().map(|early| early.0).collect();
        assert_eq!(positions, (0..2 * MAX_EARLY as u64).collect::<Vec<_>>());
        assert_eq!(reassemblies.early_room(), MAX_EARLY - 1);
        reassemblies.forget_peer(1, &[]);
        assert_eq!(reassemblies.early_room(), MAX_EARLY);
    }
}
