//! Transfers that advance with calls that make progress: outgoing messages of several packets, and
//! data that this task fetches from an origin (rendezvous).

use super::bulk::BULK_PIECE;
use super::packet::Submitted;
use super::self_send::LAYOUT;
use super::{Direction, Operation, Outgoing, Pull, SLICE, Share, TrustedSource, Waiting};
use crate::config::Origin;
use crate::context::Locked;
use crate::context::Notify;
use crate::error::Error;
use crate::state::{Fetch, PeerState};
use crate::transport::{Caps, PeerId, RawSlice, RemoteAddr, Status};
use crate::wire::{Header, Kind, MAX_HEADER};

/// Packets of one message sent before the next message has its turn.
const TURN: usize = 16;

/// The same in batches of datagrams, which cost least when they are full.
const BATCHES: usize = 2;

/// Why a message's packets are not all out yet.
enum Stopped {
    TurnOver,
    NoRoom,
}

/// How far a message's packets got.
enum Pushed {
    All,
    Stopped(Stopped),
    /// The peer is gone.
    Lost(Error),
    Refused(Status),
}

/// How packets of a message go until others have their turn.
struct Turn {
    /// How many.
    packets: usize,
    /// The room in each.
    room: u64,
    /// The room in a packet that goes past the datagrams of the link, if these may.
    past: Option<u64>,
    /// Whether the engine may read the message's memory later.
    zero_copy: bool,
}

impl Locked<'_> {
    /// Advances everything that waits for progress.
    #[cold]
    pub(crate) fn advance(&mut self) {
        if !self.sending.deferred.is_empty() {
            self.send_deferred();
        }
        if !self.sending.transfers.is_empty() {
            self.advance_transfers();
        }
        if !self.sending.outgoing.is_empty() {
            self.advance_outgoing();
        }
        let state = &mut **self;
        if state.dispatching == 0 {
            if !state.receiving.pulls.is_empty() {
                self.advance_pull();
            }
            if !self.receiving.dropped.is_empty() {
                self.redeliver_dropped();
            }
            if !self.receiving.unaccepted.is_empty() {
                self.ask_again();
            }
            if !self.peers.purged_in_turn.is_empty() {
                self.peers.forget_messages_of_purged();
            }
        }
    }

    /// Whether a message is to be copied, so that its buffer is free at once: it is short enough,
    /// and not too many are copied already. Where nobody is told when the buffer is free, it has to
    /// be when the call returns, however many there are.
    //= LAPI Guide, table 40, MP_REXMIT_BUF_SIZE and MP_REXMIT_BUF_CNT
    //= LAPI Guide, Send-side copy of small messages
    pub(super) fn may_copy(&mut self, len: u64, user_header: usize, origin: &Notify) -> bool {
        let config = &self.shared().config;
        let copies = self.sending.copies;
        len.saturating_add(user_header as u64) <= *config.rexmit_buf_size.get() as u64
            && (origin.is_none() || copies < *config.rexmit_buf_cnt.get())
    }

    /// The same for a put that the transport carries out by key, which a copy would slow down. A
    /// user who sets MP_REXMIT_BUF_SIZE wants messages up to that length copied, so that their
    /// buffers are free at once.
    pub(super) fn must_copy(&mut self, len: u64, user_header: usize, origin: &Notify) -> bool {
        self.shared().config.rexmit_buf_size.origin() != Origin::Default
            && self.may_copy(len, user_header, origin)
    }

    /// Copies a message that is about to go out later: its buffer is free.
    pub(super) fn copy_out(&mut self, source: &mut TrustedSource) -> Box<[u8]> {
        // SAFETY: the copy lives as long as the message, which keeps it beside its source.
        let copy = self.out(|_| unsafe { source.become_copy() });
        self.sending.copies += 1;
        copy
    }

    fn advance_outgoing(&mut self) {
        let turns = self.sending.outgoing.len();
        // A peer without room: whatever else is for it waits where it stands.
        let (mut at, mut full) = (0, None);
        for _ in 0..turns {
            let state = &mut **self;
            match state.sending.outgoing.get(at) {
                Some(next) if full == Some(next.peer) => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let Some(mut out) = state.sending.outgoing.remove(at) else { return };
            match self.push(&mut out) {
                None => {}
                Some(Stopped::TurnOver) => self.sending.outgoing.push_back(out),
                Some(Stopped::NoRoom) => {
                    full = Some(out.peer);
                    self.sending.outgoing.insert(at, out);
                    at += 1;
                }
            }
        }
        self.flush_outgoing();
    }

    /// What packets of messages an engine has gathered leaves now, unless more may follow from a
    /// handler.
    fn flush_outgoing(&mut self) {
        if self.links.has_engines() && self.dispatching == 0 {
            self.links.flush_datagrams();
        }
    }

    /// Begins to send the packets of a message. What has to wait is left to calls that make
    /// progress.
    pub(super) fn begin_outgoing(&mut self, mut out: Outgoing) {
        if !self.pushed_at_once(&mut out) {
            self.queue_outgoing(out);
        }
    }

    /// Sends packets of a message for a turn, unless others wait. False: there is more, which is to
    /// be [queued](Self::queue_outgoing). (Two functions, since a message that is all out need not
    /// be moved.)
    #[inline(always)]
    pub(super) fn pushed_at_once(&mut self, out: &mut Outgoing) -> bool {
        if !self.sending.outgoing.is_empty() {
            return false;
        }
        let all = self.push(out).is_none();
        self.flush_outgoing();
        all
    }

    /// Leaves the rest of a message to calls that make progress.
    #[inline(never)]
    pub(super) fn queue_outgoing(&mut self, out: Outgoing) {
        self.sending.outgoing.push_back(out);
        if self.sending.outgoing.len() > 1 {
            // Others have been told when the first one was left to them.
            self.advance();
        } else {
            self.leave_work();
        }
    }

    /// Sends packets of a message for a turn. `None`: no more of it will be sent.
    fn push(&mut self, out: &mut Outgoing) -> Option<Stopped> {
        match self.push_packets(out) {
            Pushed::Stopped(why) => return Some(why),
            Pushed::All => {
                self.sending.forget(out);
                if !self.awaits_acknowledgements(out) {
                    self.sending.count_end(&out.source);
                    std::mem::take(&mut out.origin).notify(self, out.peer, Ok(()));
                }
            }
            Pushed::Lost(error) => self.message_failed(out, error),
            Pushed::Refused(status) => {
                let (peer, error) = (out.peer, self.link_failed(out.peer, status));
                self.message_failed(out, error);
                self.packet_refused(peer, status);
            }
        }
        None
    }

    /// A message that is partly out will never be all out.
    #[cold]
    fn message_failed(&mut self, out: &mut Outgoing, error: Error) {
        // What of it is out need not be read again, now that it comes to nothing.
        self.end_zero_copy_sends(out.peer, |send| Some(send.message) == out.own_number());
        let state = &mut **self;
        state.sending.count_end(&out.source);
        state.sending.forget(out);
        std::mem::take(&mut out.origin).notify(self, out.peer, Err(error));
    }

    /// Sends packets of a message until it is out, its turn ends or there is no room.
    fn push_packets(&mut self, out: &mut Outgoing) -> Pushed {
        let peer = out.peer;
        let is_unlinked = out.head.is_some() && self.link_to(peer).is_none();
        if self.peers[peer].state == PeerState::Down || is_unlinked {
            return Pushed::Lost(self.refusal(peer));
        }
        match self.send_head(out) {
            Submitted::Sent => {}
            Submitted::NoRoom => return Pushed::Stopped(Stopped::NoRoom),
            Submitted::Refused(status) => return Pushed::Refused(status),
        }
        let Some(mut turn) = self.turn_of(out) else {
            return Pushed::Lost(self.refusal(peer));
        };
        let total = out.source.len();
        for _ in 0..turn.packets {
            if out.position == total {
                return Pushed::All;
            }
            let most = turn.past.unwrap_or(turn.room);
            let n = match out.source.packet_bytes(most, total - out.position) {
                // No atom fits: only a transport with tiny packets comes here.
                0 => most.min(total - out.position),
                n => n,
            };
            // One call for each kind, which the compiler makes short.
            let submitted = match out.answer_to {
                None => {
                    let (mut header, share) =
                        (Header::new(Kind::Fragment, out.message, out.position), out.source.share());
                    if share != Share::All {
                        header = header.with_control(share.control(out.position, n));
                    }
                    self.push_packet(out, header, n, &turn)
                }
                Some(operation) => {
                    let mut header = Header::new(Kind::GetData, out.message, operation);
                    header.extra[0] = out.position;
                    self.push_packet(out, header, n, &turn)
                }
            };
            match submitted {
                None => turn.past = None,
                Some(Submitted::Sent) => out.position += n,
                Some(Submitted::NoRoom) => return Pushed::Stopped(Stopped::NoRoom),
                Some(Submitted::Refused(status)) => return Pushed::Refused(status),
            }
        }
        if out.position == total { Pushed::All } else { Pushed::Stopped(Stopped::TurnOver) }
    }

    /// Sends a packet of `n` bytes of a message. `None`: it can't go past the datagrams.
    #[inline(always)]
    fn push_packet(&mut self, out: &mut Outgoing, header: Header, n: u64, turn: &Turn) -> Option<Submitted> {
        let (peer, total, position) = (out.peer, out.source.len(), out.position);
        let header = header.with_rail(out.rail);
        let packet = (&header, &[][..]);
        if turn.past.is_some() {
            self.try_packet_past(peer, packet, &mut out.source, position, n)
        } else if turn.zero_copy && self.may_send_zero_copy(peer, total, position + n) {
            Some(self.send_zero_copy_packet(out, &header, n))
        } else {
            Some(self.try_packet_of(peer, packet, &mut out.source, position, n))
        }
    }

    /// How the next packets of a message go. `None`: no link leads to its peer.
    #[inline(always)]
    fn turn_of(&mut self, out: &Outgoing) -> Option<Turn> {
        let link = self.links.open.get(self.peers[out.peer].route.index())?;
        if self.links.has_engines() {
            return Some(self.turn_by_engine(out));
        }
        let room = u64::from(link.limits().max_packed) - MAX_HEADER as u64;
        Some(Turn { packets: TURN, room, past: None, zero_copy: false })
    }

    /// The same where links have engines.
    #[inline(never)]
    fn turn_by_engine(&mut self, out: &Outgoing) -> Turn {
        let room = (self.room_to(out.peer) - MAX_HEADER) as u64;
        // What answers a request may go either way: whoever asked knows of it.
        let either = out.past || out.answer_to.is_some();
        let past = if either { self.room_past(out.peer) } else { None };
        let Some((_, datagrams)) = self.engine_to(out.peer) else {
            return Turn { packets: TURN, room, past: None, zero_copy: false };
        };
        let packets = if past.is_none() { datagrams.batch() * BATCHES } else { TURN };
        // An answer's memory is not ours to keep, for nobody is told when it is free; a copy goes
        // with its message.
        let zero_copy = out.source.contiguous().is_some()
            && out.answer_to.is_none()
            && out.copy.is_none()
            && !(out.origin.is_none() && out.completion == 0);
        Turn { packets, room, past, zero_copy }
    }

    /// Sends a packet whose `n` bytes an engine reads from where they are.
    fn send_zero_copy_packet(&mut self, out: &Outgoing, header: &Header, n: u64) -> Submitted {
        let Some(data) = out.source.bytes(out.position, n) else {
            return Submitted::Refused(Status::Invalid);
        };
        let body = RawSlice { ptr: data.as_ptr().cast_mut(), len: data.len() };
        let token = self.sending.zero_copy.begin_packet(out.peer, out.message, out.completion);
        // SAFETY: the caller that started the message vouched for its source until it is notified,
        // which happens when all packets with this token have been acknowledged.
        let status = unsafe { self.send_zero_copy_datagram(out.peer, header, body, token) };
        if status != Status::Done {
            self.sending.zero_copy.cancel_packet(token);
        }
        status.into()
    }

    /// Moves one slice of the first pull.
    fn advance_pull(&mut self) {
        let Some(mut pull) = self.receiving.pulls.pop_front() else { return };
        if self.peers[pull.peer].state == PeerState::Down {
            return;
        }
        if pull.remote == LAYOUT && pull.peer == self.shared().task {
            return self.fetch_from_self(pull);
        }
        let (peer, life) = (pull.peer, self.peers[pull.peer].life);
        let (by_key, gets) = self
            .link_to(peer)
            .map_or((false, true), |link| (link.needs_keys(), link.caps().contains(Caps::GET_ZCOPY)));
        if by_key && !gets && !pull.destination.is_discard() {
            // What its origin puts here, being asked to, comes without packets, too.
            return self.pull_by_packets(pull);
        }
        let layout = pull.destination.is_layout();
        let most = if by_key && !layout { BULK_PIECE } else { SLICE } as u64;
        let most = most.min(self.link_to(peer).map_or(most, |link| link.limits().max_zcopy));
        let bytes = (pull.destination.len() - pull.position).min(most) as usize;
        let into = if layout {
            pull.bounce.resize(SLICE.min(pull.destination.len() as usize), 0);
            pull.bounce.as_mut_ptr()
        } else {
            pull.destination.place_of(pull.position)
        };
        // Others end at once.
        let token = if by_key { self.expect_fetch(peer) } else { 0 };
        let remote = RemoteAddr { addr: pull.remote + pull.position, key: pull.key };
        let status = match (self.link_to(peer), into.is_null()) {
            (_, true) => Status::Done,
            // SAFETY: `into` lies in the header handler's buffer or in the bounce buffer, which
            // stays with the pull; the origin vouched for its side.
            (Some(link), false) => unsafe {
                link.prefer_rail(pull.rail);
                link.get_zcopy(peer, RawSlice { ptr: into, len: bytes }, remote, token)
            },
            (None, false) => Status::PeerDown,
        };
        if status == Status::InProgress {
            return self.receiving.fetches.push(Fetch { token, life, bytes, pull });
        }
        self.operations.remove(token);
        self.piece_fetched(pull, bytes, status);
    }

    /// The operation whose identifier names a piece that is fetched.
    fn expect_fetch(&mut self, peer: PeerId) -> u64 {
        let (origin, completion) = (Notify::None, Notify::None);
        let waiting = Waiting::Fetch;
        self.operations.insert(Operation {
            peer,
            waiting,
            origin,
            completion,
            target_counter: 0,
            sequence: 0,
        })
    }

    /// The transport says how fetching a piece ended.
    pub(super) fn fetch_event(&mut self, token: u64, status: Status) {
        self.operations.remove(token);
        let fetches = &mut self.receiving.fetches;
        let Some(at) = fetches.iter().position(|fetch| fetch.token == token) else { return };
        let Fetch { life, bytes, pull, .. } = fetches.swap_remove(at);
        let p = &self.peers[pull.peer];
        if p.life == life && matches!(p.state, PeerState::Up | PeerState::Ended) {
            self.piece_fetched(pull, bytes, status);
        } else {
            self.loan_left_alone(pull.peer, pull.operation);
        }
    }

    /// What becomes of a pull after a piece of it.
    fn piece_fetched(&mut self, mut pull: Pull, bytes: usize, status: Status) {
        match status {
            Status::Done => {
                if pull.destination.is_layout() {
                    self.out(|_| pull.destination.write(pull.position, &pull.bounce[..bytes]));
                }
                pull.position += bytes as u64;
                if !pull.destination.is_discard() {
                    self.shared().count_direct(pull.peer, Direction::In, bytes as u64);
                }
                if pull.position < pull.destination.len() && !pull.destination.is_discard() {
                    self.receiving.pulls.push_back(pull);
                    return;
                }
                let moved = if pull.destination.is_discard() { 0 } else { pull.position };
                self.answer_pulled(pull.peer, pull.operation, moved);
                self.arrived(pull.peer, pull.arrival);
            }
            Status::Again => self.receiving.pulls.push_back(pull),
            Status::PeerDown => {}
            other => {
                tracing::debug!(peer = pull.peer, status = ?other, "direct copy refused; the data comes in packets");
                self.statistics.bulk.refused += 1;
                self.pull_by_packets(pull);
            }
        }
    }

    /// Asks for the rest of a rendezvous as by a get, because the direct copy is impossible or was
    /// refused.
    fn pull_by_packets(&mut self, pull: Pull) {
        let Pull { peer, remote, position, operation, rail, arrival, destination, .. } = pull;
        let rest = destination.behind(position);
        let context = self.internal();
        let then = Notify::Dyn(Box::new(move |peer, outcome: Result<(), Error>| {
            let mut locked = context.locked();
            match outcome {
                Ok(()) => {
                    locked.answer_pulled(peer, operation, position);
                    locked.arrived(peer, arrival);
                }
                Err(error) => locked.announced_in_vain(peer, &error),
            }
        }));
        self.request_data(peer, remote + position, rest, rail, then);
    }
}
