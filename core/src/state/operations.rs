//! Operations that wait for an answer, and who is notified of their completion.

use super::regions::Registration;
use crate::buffers::{Direction, TrustedDestination, TrustedSource};
use crate::completion::Notify;
use crate::status::OpenKind;
use crate::trace::{EventKind, Trace};
use crate::transport::{PeerId, Status};
use std::sync::Arc;

/// What an operation waits for.
pub(crate) enum Waiting {
    /// `Complete`: the completion handler of an active message or put.
    Completion,
    /// `Pulled`, then perhaps `Complete`: the target fetches our buffer. The target is this task if
    /// there is a layout; where the target's transport works by keys, `lent` is the registration
    /// of the buffer, which may be a region's.
    Pull { layout: Option<TrustedSource>, lent: Option<Registration> },
    /// `Pulled`: the target puts what is read into our memory. `lent` is as for a pull.
    Push { lent: Option<Registration> },
    /// `Recall`: a pull or push with a peer that was given up, until it leaves our memory alone.
    /// `written`: it was a push.
    Recalled { lent: Option<Registration>, written: bool },
    /// `Recall`: the peer has what was sent before the question, so that short puts are there.
    Landing,
    /// `GetData` until `remaining` is 0.
    Get { destination: TrustedDestination, remaining: u64 },
    /// `RmwReply`.
    Rmw { previous: *mut u64, width: u32, compare: Option<u64>, variable: u64 },
    /// The transport's completion event, whose status stays here until whoever waits has read it.
    Transport(Option<Status>),
    /// The completion events of a put or get that the transport carries by itself.
    Transfer(Transfer),
    /// The completion event of a piece that this task fetches for a message (`Receiving::fetches`).
    Fetch,
}

/// Bytes that a transport is given at a time.
const PIECE: u64 = 1 << 30;

/// A put or get that a transport carries by itself, piece by piece.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) direction: Direction,
    pub(crate) local: *mut u8,
    pub(crate) remote: u64,
    /// The target's key for `remote`.
    pub(crate) key: u64,
    pub(crate) len: u64,
    /// The rail that it had better take.
    pub(crate) rail: Option<u8>,
    /// Bytes of which the transport has said that they are there.
    pub(crate) done: u64,
    /// The transport owes an event: it may still use the memory.
    pub(crate) under_way: bool,
    /// Which life of the peer it belongs to.
    pub(crate) life: u32,
    /// Whether the target is to check the range, if packets must carry the data after all.
    pub(crate) checked: bool,
    /// The peer's operation, told by `Pulled`, if it has asked for this put.
    pub(crate) answer_to: Option<u64>,
}

impl Waiting {
    /// Whether a transport may use the operation's memory until it says otherwise, or a peer does.
    fn is_held(&self) -> bool {
        let under_way = matches!(
            self,
            Self::Fetch | Self::Transport(None) | Self::Transfer(Transfer { under_way: true, .. })
        );
        under_way || self.awaits_word()
    }

    /// Whether it waits for a peer's answer to a `Recall`, which may have been given up.
    pub(crate) fn awaits_word(&self) -> bool {
        matches!(self, Self::Recalled { .. } | Self::Landing)
    }

    /// The registration of memory that is lent to a peer.
    pub(crate) fn lent(&self) -> Option<&Registration> {
        match self {
            Self::Pull { lent, .. } | Self::Push { lent } | Self::Recalled { lent, .. } => lent.as_ref(),
            _ => None,
        }
    }

    /// Makes one that a peer carries out a recalled one; false if it is none.
    fn recall(&mut self) -> bool {
        let (lent, written) = match self {
            Self::Pull { lent, layout: None } => (lent.take(), false),
            Self::Push { lent } => (lent.take(), true),
            _ => return false,
        };
        *self = Self::Recalled { lent, written };
        true
    }

    /// As the outside is told.
    pub(crate) fn kind(&self) -> OpenKind {
        match self {
            Self::Completion => OpenKind::Completion,
            Self::Pull { .. } | Self::Fetch | Self::Recalled { written: false, .. } => OpenKind::Pull,
            Self::Get { .. } | Self::Push { .. } | Self::Recalled { written: true, .. } => OpenKind::Get,
            Self::Rmw { .. } => OpenKind::Rmw,
            Self::Transport(_) | Self::Transfer(_) | Self::Landing => OpenKind::Transfer,
        }
    }
}

impl Transfer {
    /// Bytes of the next piece, of which a transport carries `most` at a time.
    pub(crate) fn piece(&self, most: u64) -> u64 {
        (self.len - self.done).min(most).min(PIECE)
    }

    /// Where the next piece is in this task's memory.
    pub(crate) fn local_at(&self) -> *mut u8 {
        self.local.wrapping_add(self.done as usize)
    }
}

/// One outstanding operation of this task.
pub(crate) struct Operation<C> {
    pub(crate) peer: PeerId,
    pub(crate) waiting: Waiting,
    /// Told when the origin's buffer is free (for gets: when the data is there).
    pub(crate) origin: Notify<C>,
    /// Told when the target says that the completion handler has returned.
    pub(crate) completion: Notify<C>,
    /// The target's counter to count when a one-sided transfer that bypassed the target has ended.
    pub(crate) target_counter: u64,
    /// Number in the sequence of operations with answers to this peer, for fences.
    pub(crate) sequence: u32,
}

/// What is left to do when an operation has ended.
pub(crate) struct Ended<C> {
    pub(crate) peer: PeerId,
    pub(crate) origin: Notify<C>,
    pub(crate) completion: Notify<C>,
    pub(crate) target_counter: u64,
    pub(crate) sequence: u32,
}

/// Outstanding operations by identifier. An identifier is `generation << 32 | index`, so that an
/// answer that comes twice or too late finds nothing.
pub(crate) struct Operations<C> {
    slots: Vec<Slot<C>>,
    free: Vec<u32>,
    live: usize,
    /// Where their beginnings and ends are noted.
    trace: Option<Arc<Trace>>,
}

struct Slot<C> {
    generation: u32,
    operation: Option<Operation<C>>,
}

impl<C> Operations<C> {
    pub(super) fn new(trace: Option<Arc<Trace>>) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), live: 0, trace }
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, operation: Operation<C>) -> u64 {
        self.live += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 1, operation: None });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let id = u64::from(slot.generation) << 32 | u64::from(index);
        if let Some(trace) = &self.trace {
            trace.note(EventKind::OperationBegins, operation.waiting.kind() as u8, operation.peer, [id, 0]);
        }
        slot.operation = Some(operation);
        id
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Operation<C>> {
        let slot = self.slots.get_mut(id as u32 as usize)?;
        if u64::from(slot.generation) != id >> 32 {
            return None;
        }
        slot.operation.as_mut()
    }

    /// What an operation waits for.
    pub(crate) fn waiting_mut(&mut self, id: u64) -> Option<&mut Waiting> {
        self.get_mut(id).map(|operation| &mut operation.waiting)
    }

    /// Ends an operation where it stands: its description is long, and most of it is not wanted any
    /// more.
    #[inline(always)]
    pub(crate) fn end(&mut self, id: u64) -> Option<Ended<C>> {
        let operation = self.get_mut(id)?;
        let ended = Ended {
            peer: operation.peer,
            origin: std::mem::take(&mut operation.origin),
            completion: std::mem::take(&mut operation.completion),
            target_counter: operation.target_counter,
            sequence: operation.sequence,
        };
        let (peer, kind) = (operation.peer, operation.waiting.kind());
        self.slots[id as u32 as usize].operation = None;
        self.free(id, peer, kind);
        Some(ended)
    }

    /// The identifier's place, which is empty, may be used again.
    #[inline(always)]
    fn free(&mut self, id: u64, peer: PeerId, kind: OpenKind) {
        if let Some(trace) = &self.trace {
            trace.note(EventKind::OperationEnds, kind as u8, peer, [id, 0]);
        }
        let slot = &mut self.slots[id as u32 as usize];
        slot.generation = slot.generation.wrapping_add(1).max(1);
        self.free.push(id as u32);
        self.live -= 1;
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<Operation<C>> {
        let slot = self.slots.get_mut(id as u32 as usize)?;
        if u64::from(slot.generation) != id >> 32 {
            return None;
        }
        let operation = slot.operation.take()?;
        self.free(id, operation.peer, operation.waiting.kind());
        Some(operation)
    }

    /// Takes out every operation with `peer`, but for those whose memory a transport may still use,
    /// or the peer: they end when it has said so.
    pub(crate) fn drain_peer(&mut self, peer: PeerId) -> Vec<Operation<C>> {
        self.take_where(peer, |waiting| !waiting.is_held())
    }

    /// Takes out those with `peer` that wait for its word about memory.
    pub(crate) fn take_recalled(&mut self, peer: PeerId) -> Vec<Operation<C>> {
        self.take_where(peer, Waiting::awaits_word)
    }

    fn take_where(&mut self, peer: PeerId, which: impl Fn(&Waiting) -> bool) -> Vec<Operation<C>> {
        if self.live == 0 {
            return Vec::new();
        }
        let ids: Vec<u64> = self.with(peer).filter(|(_, o)| which(&o.waiting)).map(|(id, _)| id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Takes out all of them: nobody will answer any more.
    pub(crate) fn take_all(&mut self) -> Vec<Operation<C>> {
        self.live = 0;
        self.free.clear();
        std::mem::take(&mut self.slots).into_iter().filter_map(|slot| slot.operation).collect()
    }

    /// Those with a peer, and their identifiers.
    fn with(&mut self, peer: PeerId) -> impl Iterator<Item = (u64, &mut Operation<C>)> {
        let slots = self.slots.iter_mut().enumerate();
        let named = slots.filter_map(|(index, slot)| {
            let id = u64::from(slot.generation) << 32 | index as u64;
            slot.operation.as_mut().map(|operation| (id, operation))
        });
        named.filter(move |(_, operation)| operation.peer == peer)
    }

    /// From now on those that a peer carries out wait for it to leave our memory alone: their
    /// identifiers.
    pub(crate) fn recall(&mut self, peer: PeerId) -> Vec<u64> {
        self.with(peer).filter_map(|(id, operation)| operation.waiting.recall().then_some(id)).collect()
    }

    /// How many there are with a peer whose memory it or a transport may still use.
    pub(crate) fn held_with(&self, peer: PeerId) -> usize {
        self.iter().filter(|o| o.peer == peer && o.waiting.is_held()).count()
    }

    /// The registrations by which a peer would write for recalled operations: the caller's, to
    /// release.
    pub(crate) fn close_to_writers(&mut self, peer: PeerId) -> Vec<Registration> {
        let lent = |waiting: &mut Waiting| match waiting {
            Waiting::Recalled { lent, written: true } => lent.take(),
            _ => None,
        };
        self.with(peer).filter_map(|(_, operation)| lent(&mut operation.waiting)).collect()
    }

    /// Whether memory of a registration is lent for any.
    pub(crate) fn lends(&self, registration: &Registration) -> bool {
        self.iter().any(|operation| operation.waiting.lent() == Some(registration))
    }

    /// A registration is released though its memory is lent.
    pub(crate) fn forget_loans_of(&mut self, registration: &Registration) {
        let waiting =
            self.slots.iter_mut().filter_map(|slot| slot.operation.as_mut()).map(|o| &mut o.waiting);
        for waiting in waiting.filter(|waiting| waiting.lent() == Some(registration)) {
            if let Waiting::Pull { lent, .. } | Waiting::Push { lent } | Waiting::Recalled { lent, .. } =
                waiting
            {
                *lent = None;
            }
        }
    }

    /// Whether a transfer of ours goes to memory of a peer's, which has this key.
    pub(crate) fn reaches(&self, peer: PeerId, key: u64, (base, len): (u64, u64)) -> bool {
        let within = |t: &Transfer| t.key == key && t.remote.checked_sub(base).is_some_and(|at| at < len);
        self.iter().any(|o| o.peer == peer && matches!(&o.waiting, Waiting::Transfer(t) if within(t)))
    }

    /// Bytes that have come from a peer of gets that have not ended.
    pub(crate) fn bytes_from(&self, peer: PeerId) -> u64 {
        let come = |waiting: &Waiting| match waiting {
            Waiting::Get { destination, remaining } => destination.len().saturating_sub(*remaining),
            _ => 0,
        };
        let with_peer = self.iter().filter(|operation| operation.peer == peer);
        with_peer.fold(0, |bytes, operation| bytes.wrapping_add(come(&operation.waiting)))
    }

    /// Whether a transfer of ours with a peer has not ended.
    pub(crate) fn transfers_with(&self, peer: PeerId) -> bool {
        self.iter().any(|o| o.peer == peer && matches!(o.waiting, Waiting::Transfer(_)))
    }

    /// The put of ours that a peer has asked for, by its operation.
    pub(crate) fn put_for(&mut self, peer: PeerId, asked_by: u64) -> Option<u64> {
        let asked =
            |waiting: &Waiting| matches!(waiting, Waiting::Transfer(t) if t.answer_to == Some(asked_by));
        self.with(peer).find(|(_, operation)| asked(&operation.waiting)).map(|(id, _)| id)
    }

    /// Whether a peer may still read a buffer of ours, or write it by itself.
    pub(crate) fn holds_buffers(&self) -> bool {
        self.live > 0
            && self.slots.iter().flat_map(|s| &s.operation).any(|o| {
                // Whoever was given up may never say that it is done.
                let given_up = matches!(o.waiting, Waiting::Recalled { .. });
                !given_up
                    && !matches!(o.waiting, Waiting::Completion | Waiting::Get { .. } | Waiting::Rmw { .. })
            })
    }

    /// Those that are outstanding.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Operation<C>> {
        self.slots.iter().filter_map(|slot| slot.operation.as_ref())
    }

    /// Whom they wait for, in order, each once.
    pub(crate) fn peers(&self) -> Vec<PeerId> {
        let mut peers: Vec<PeerId> = self.iter().map(|operation| operation.peer).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// Operations outstanding.
    pub(crate) fn len(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lent(id: u64) -> Option<Registration> {
        Some(Registration { link: 0, id, key: id })
    }

    /// Operations of which two are carried out by peer 1 and one by peer 2.
    fn three_loans() -> (Operations<()>, [u64; 4]) {
        let mut all = Operations::new(None);
        let mut add = |peer, waiting| {
            let (origin, completion) = (Notify::None, Notify::None);
            all.insert(Operation { peer, waiting, origin, completion, target_counter: 0, sequence: 0 })
        };
        let ids = [
            add(1, Waiting::Pull { layout: None, lent: lent(7) }),
            add(1, Waiting::Push { lent: lent(8) }),
            add(1, Waiting::Completion),
            add(2, Waiting::Push { lent: lent(9) }),
        ];
        (all, ids)
    }

    #[test]
    fn what_a_peer_carries_out_outlives_its_being_given_up() {
        let (mut all, ids) = three_loans();
        assert_eq!(all.recall(1), ids[..2]);
        assert_eq!(all.recall(1), [], "it has been asked");
        assert_eq!(all.drain_peer(1).len(), 1, "nobody reaches memory of a message that is only answered");
        assert_eq!((all.held_with(1), all.held_with(2)), (2, 0));
        assert!(all.holds_buffers(), "those of peer 2 are awaited");
        assert_eq!(all.drain_peer(2).len(), 1);
        assert!(!all.holds_buffers(), "who was given up is not");
        assert_eq!(all.take_recalled(1).len(), 2);
        assert_eq!(all.len(), 0);
    }

    #[test]
    fn nothing_is_left_when_all_are_taken_out() {
        let (mut all, ids) = three_loans();
        all.remove(ids[0]);
        assert_eq!(all.take_all().len(), 3);
        assert_eq!((all.len(), all.take_all().len()), (0, 0));
    }

    #[test]
    fn only_what_a_peer_would_write_to_is_closed_to_it() {
        let (mut all, ids) = three_loans();
        all.recall(1);
        let closed: Vec<u64> = all.close_to_writers(1).iter().map(|registration| registration.id).collect();
        assert_eq!(closed, [8]);
        assert_eq!(all.close_to_writers(1), [], "once");
        assert!(matches!(all.waiting_mut(ids[0]), Some(Waiting::Recalled { lent: Some(_), .. })));
        assert_eq!(all.held_with(1), 2, "both wait for the peer's word");
    }
}
