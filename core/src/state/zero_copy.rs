//! Messages that the packet engine reads in place.

use crate::completion::Notify;
use crate::transport::PeerId;

/// One message whose memory the engine may still read.
pub(crate) struct ZeroCopySend<C> {
    pub(crate) peer: PeerId,
    pub(crate) message: u32,
    /// The operation that waits for the target's completion handler, 0 for none.
    pub(crate) completion: u64,
    pub(crate) token: u64,
    /// Packets that are not acknowledged.
    open: u32,
    /// All packets are out; this is told when the last is acknowledged.
    pub(crate) origin: Option<Notify<C>>,
}

/// What is left of a message of which all packets are out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// All of it was copied.
    Nothing,
    /// Packets that are not acknowledged.
    Open,
    /// The memory of packets that are.
    Acknowledged,
}

/// All of them, oldest first: few at a time, for each is half a megabyte at least.
pub(crate) struct ZeroCopySends<C> {
    list: Vec<ZeroCopySend<C>>,
    next: u64,
}

impl<C> ZeroCopySends<C> {
    pub(super) fn new() -> Self {
        Self { list: Vec::new(), next: 0 }
    }

    /// The token of a message's packets, and one more of them under way.
    pub(crate) fn begin_packet(&mut self, peer: PeerId, message: u32, completion: u64) -> u64 {
        let known = self.list.iter_mut().rev().find(|l| l.peer == peer && l.message == message);
        if let Some(send) = known {
            send.open += 1;
            return send.token;
        }
        let token = self.next;
        self.next += 1;
        self.list.push(ZeroCopySend { peer, message, completion, token, open: 1, origin: None });
        token
    }

    /// A packet was not taken after all.
    pub(crate) fn cancel_packet(&mut self, token: u64) {
        if let Some(send) = self.list.iter_mut().find(|l| l.token == token) {
            send.open -= 1;
        }
    }

    /// A message's packets are all out. Takes whom to tell if one of them is waited for.
    pub(crate) fn all_out(&mut self, peer: PeerId, message: u32, origin: &mut Notify<C>) -> Left {
        let Some(at) = self.list.iter().position(|l| l.peer == peer && l.message == message) else {
            return Left::Nothing;
        };
        if self.list[at].open == 0 {
            self.list.remove(at);
            return Left::Acknowledged;
        }
        self.list[at].origin = Some(std::mem::take(origin));
        Left::Open
    }

    /// Forgets a peer; answers whom to tell that its memory is free, though not why.
    pub(crate) fn forget_peer(&mut self, peer: PeerId) -> Vec<Notify<C>> {
        let ended = self.list.extract_if(.., |l| l.peer == peer);
        ended.filter_map(|l| l.origin).collect()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A packet was acknowledged. Gives back the send if it has ended with it.
    pub(crate) fn acknowledged(&mut self, token: u64) -> Option<ZeroCopySend<C>> {
        let at = self.list.iter().position(|l| l.token == token)?;
        let send = &mut self.list[at];
        send.open -= 1;
        (send.open == 0 && send.origin.is_some()).then(|| self.list.remove(at))
    }

    /// Takes out the sends to a peer of which `which` is true.
    pub(crate) fn take(
        &mut self,
        peer: PeerId,
        which: impl Fn(&ZeroCopySend<C>) -> bool,
    ) -> Vec<ZeroCopySend<C>> {
        self.list.extract_if(.., |l| l.peer == peer && which(l)).collect()
    }
}
