//! Puts and gets, in core's terms.

use super::Rdma;
use super::loss::means_loss;
use crate::endpoint::{Access, Remote, is_busy};
use crate::header::Mark;
use crate::touch::Touch;
use crate::transfer::{Direction, Ended, TransferRequest};
use lapis_core::transport::{
    Event, MAX_SHORT_PUT, PeerId, RawSlice, RegionInfo, RemoteAddr, Status, TransportError,
};

impl Rdma {
    /// A put or get, or a piece of one, has ended: what core is told.
    pub(super) fn moved(&mut self, rail: usize, ended: Ended) -> Option<Event> {
        if ended.request.piece.is_some() {
            return self.piece_ended(rail, ended);
        }
        Some(self.completion_event(ended.request, ended.outcome))
    }

    /// The event by which core learns of the end of a put or get.
    pub(super) fn completion_event(
        &mut self,
        TransferRequest { peer, cookie, token, .. }: TransferRequest,
        outcome: Result<(), i32>,
    ) -> Event {
        let status = match outcome {
            Ok(()) => Status::Done,
            Err(code) if means_loss(code) && !self.was_replaced(peer, cookie) => {
                self.transfer_lost(peer, code)
            }
            Err(code) => {
                let text = self.text(code);
                self.host.debug(format_args!("a transfer with task {peer} failed: {text}"));
                Status::Io
            }
        };
        Event::complete(peer, token, status)
    }

    /// A transfer says that its path has failed. Where messages go again, its data can follow them.
    #[cold]
    fn transfer_lost(&mut self, peer: PeerId, code: i32) -> Status {
        match self.peers.get(peer) {
            Some(p) if p.fails_over() && !p.has_several() && !p.down => {
                let rail = p.path().rail;
                self.send_failed(peer, rail, code);
            }
            _ => self.lose(peer, code),
        }
        if self.peers.get(peer).is_none_or(|p| p.down) { Status::PeerDown } else { Status::Io }
    }

    /// Whether short puts end at once, and go in the order of messages.
    pub(super) fn has_short_puts(&self) -> bool {
        // Puts that go again over another path must be confirmed, one by one.
        let [rail] = &self.rails[..] else { return false };
        self.ordered && rail.endpoint.tells_target() && self.peers.len() <= Mark::TASKS
    }

    /// Whether core has to poll before it uses keys: one may have been taken back long ago.
    #[inline]
    fn is_out_of_touch(&mut self) -> bool {
        let lost = self.touch.as_ref().is_some_and(Touch::is_lost);
        self.refused |= lost;
        lost
    }

    /// A put that ends at once: the peer counts it as a message of ours, without being given one.
    ///
    /// # Safety
    /// As `put_short` of the contract demands.
    pub(super) unsafe fn put_at_once(&mut self, peer: PeerId, data: &[u8], remote: RemoteAddr) -> Status {
        if !self.has_short_puts() || data.len() > MAX_SHORT_PUT {
            return Status::Unsupported;
        }
        let (header, (rail, to)) = match self.next_header(peer, 0) {
            Ok(found) => found,
            Err(status) => return status,
        };
        if self.is_out_of_touch() {
            return Status::Again;
        }
        let Some(p) = self.peers.get(peer) else { return Status::Invalid };
        if p.fails_over() {
            // It may have to be repeated.
            return Status::Unsupported;
        }
        let (joint, theirs) = (self.memory.joint(), p.path().theirs);
        if theirs >= joint.rails(usize::MAX) {
            return Status::Io;
        }
        let r = &mut self.rails[rail];
        if r.sender.waits_for(peer) {
            // It would overtake a message with an earlier number.
            self.refused = true;
            return Status::Again;
        }
        let remote = Remote { to, addr: remote.addr, key: joint.on(theirs, remote.key) };
        // SAFETY: the caller's promise: messages behind the put are given out when the peer has
        // found what follows the bytes, in its slot or in its queue.
        let (outcome, tells) = unsafe {
            match self.put_with_slot(peer, &header, data, (rail, remote)) {
                Some(outcome) => (outcome, true),
                None => {
                    let (endpoint, mark) = (&mut self.rails[rail].endpoint, Mark::of(&header).encode());
                    (endpoint.write_at_once(data, Some(mark), remote), false)
                }
            }
        };
        if let Err(code) = outcome {
            return self.not_begun(peer, code);
        }
        self.rails[rail].transfers.put.count(data.len());
        self.note_sent(peer, |p| if tells { p.count_sent() } else { p.count_put() });
        Status::Done
    }

    /// Makes a range reachable by peers, in the first of these ways that is possible.
    ///
    /// # Safety
    /// It stays mapped until it is released.
    pub(super) unsafe fn register(
        &mut self,
        range: RawSlice,
        ways: &[Access],
    ) -> Result<RegionInfo, TransportError> {
        if self.rails.iter().all(|rail| rail.broken) {
            return Err(TransportError::Io("the endpoint has failed and is closed".to_owned()));
        }
        let mut endpoints: Vec<_> = self.rails.iter_mut().map(|rail| &mut rail.endpoint).collect();
        // SAFETY: the caller's promise.
        unsafe { self.memory.register(&mut endpoints, range, ways) }
    }

    /// Begins a put or get.
    ///
    /// # Safety
    /// As `put_zcopy` and `get_zcopy` of the contract demand.
    pub(super) unsafe fn transfer(
        &mut self,
        peer: PeerId,
        local: RawSlice,
        remote: RemoteAddr,
        (direction, token): (Direction, u64),
    ) -> Status {
        self.rest.sent();
        let (most, preferred) = (self.longest_transfer(), self.preferred.take());
        let Some(p) = self.peers.get_mut(peer) else { return Status::Invalid };
        if local.len as u64 > most {
            return Status::Invalid;
        }
        if p.down {
            return Status::PeerDown;
        }
        if local.len == 0 {
            return Status::Done;
        }
        if self.is_out_of_touch() {
            return Status::Again;
        }
        let Some(p) = self.peers.get_mut(peer) else { return Status::Invalid };
        if !p.path().greeted
            && let Err(status) = self.connect_path(peer)
        {
            return status;
        }
        let Some(p) = self.peers.get_mut(peer) else { return Status::Invalid };
        let (rail, to) = p.way();
        let several = p.has_several();
        if !several && p.path().theirs >= self.memory.joint().rails(usize::MAX) {
            // No key of this form is for that rail of the peer's: the bytes go in packets.
            return Status::Io;
        }
        let key = if several { remote.key } else { self.memory.joint().on(p.path().theirs, remote.key) };
        let remote = Remote { to, addr: remote.addr, key };
        let cookie = p.our_cookie;
        let request =
            TransferRequest { direction, peer, cookie, local, remote, token, rail: preferred, piece: None };
        if several {
            return self.stripe(request);
        }
        let r = &mut self.rails[rail];
        // SAFETY: the caller's promise.
        match unsafe { r.transfers.begin(&mut r.endpoint, &mut self.memory, request) } {
            Ok(()) => Status::InProgress,
            Err(code) => self.not_begun(peer, code),
        }
    }

    /// libfabric has not taken a put or get.
    fn not_begun(&mut self, peer: PeerId, code: i32) -> Status {
        if is_busy(code) {
            self.refused = true;
            return Status::Again;
        }
        if means_loss(code) {
            return self.transfer_lost(peer, code);
        }
        let text = self.text(code);
        self.host.debug(format_args!("a transfer with task {peer} was refused: {text}"));
        Status::Io
    }
}
