//! Active messages: the sending side.

use super::bulk::{Bulk, Way, way_of};
use super::lent::{LENT_FROM, Loan, Tell};
use super::packet::Submitted;
use super::self_send::LAYOUT;
use super::short::{Aside, Attempt, Short};
use super::{MAX_MESSAGE, MAX_USER_HEADER, Operation, Outgoing, Source, TrustedSource, Waiting};
use crate::Context;
use crate::context::Locked;
use crate::context::Notify;
use crate::context::{ShortSection, State};
use crate::error::{Error, Result};
use crate::state::{PeerState, Route};
use crate::transport::{Caps, PeerAccess, PeerId, Status};
use crate::wire::{Header, Kind, MAX_HEADER, short_head};
use zerocopy::IntoBytes;

/// Longest message that is sent without asking the target, where neither the user nor the transport
/// says otherwise.
const EAGER: u64 = 16 << 10;

/// Bytes that an interface may add to a user header for its own use.
const INTERFACE_ROOM: usize = 32;

/// An active message to send, in the terms of the interfaces above.
pub struct AmSend<'a, S = Source> {
    /// The task whose header handler runs.
    pub target: PeerId,
    /// Index in the target's handler table, or an address that the target's interface understands.
    pub handler: u64,
    /// Passed to the header handler; a multiple of 4 bytes, at most [`MAX_USER_HEADER`].
    pub user_header: &'a [u8],
    /// The data.
    pub source: S,
    /// Address of a counter at the target, 0 for none.
    pub target_counter: u64,
    /// Told when `source` may be reused.
    pub origin: Notify,
    /// Told when the completion handler has returned.
    pub completion: Notify,
}

impl<'a> AmSend<'a> {
    /// The same with a source that somebody has vouched for.
    ///
    /// # Safety
    /// As for [`Context::am_send`].
    #[inline(always)]
    unsafe fn trusted(self) -> AmSend<'a, TrustedSource> {
        let Self { target, handler, user_header, source, target_counter, origin, completion } = self;
        // SAFETY: `am_send`'s caller vouches for the source until `origin` is notified.
        let source = unsafe { TrustedSource::new(source) };
        AmSend { target, handler, user_header, source, target_counter, origin, completion }
    }
}

impl Context {
    /// Sends an active message. Returns as soon as the message is on its way; the notifications
    /// report its further progress.
    ///
    /// *LAPI Guide, LAPI_Amsend.*
    ///
    /// # Errors
    /// Bad target, user header or length; a target that is down or purged. Nothing has been sent
    /// then.
    ///
    /// # Safety
    /// The source's memory stays valid and unchanged until `origin` is notified; counters stay
    /// valid until they are notified; `target_counter` and an address in `handler` are what the
    /// target gave out.
    #[doc(alias = "LAPI_Amsend")]
    #[inline]
    pub unsafe fn am_send(&self, message: AmSend<'_>) -> Result<()> {
        self.usable()?;
        self.check_target(message.target)?;
        check_user_header(message.user_header)?;
        let mut locked = self.locked();
        if let Source::Contiguous(data, len) = message.source
            && len <= Short::LONGEST
            && let Some(told) = message.completion.plain()
        {
            let AmSend { target, handler, user_header, target_counter, .. } = message;
            // SAFETY: `am_send`'s caller vouches for the source (a null one has length 0), and has
            // handler and counter from the target.
            let short = unsafe { Short::new(target, handler, user_header, bytes(data, len), target_counter) };
            let sent = match told.0 {
                None => locked.send_short(&short, Attempt::None)?,
                Some(counter) => locked.send_counted(&short, counter),
            };
            if sent {
                message.origin.notify(&mut locked, target, Ok(()));
                return Ok(());
            }
        }
        // SAFETY: this is `am_send`.
        locked.am_send(unsafe { message.trusted() }, None)
    }

    /// [`am_send`](Self::am_send) with a preferred rail: data over a transport with several rails
    /// takes the one of this number, from 0, if it works. This applies to bytes that cross
    /// networks, in packets or by the transport's own transfers; not to memory that is mapped or
    /// copied within a host, nor to messages of a transport that sends all of them over one rail.
    ///
    /// # Errors
    /// As for [`am_send`](Self::am_send).
    ///
    /// # Safety
    /// As for [`am_send`](Self::am_send).
    pub unsafe fn am_send_over(&self, message: AmSend<'_>, rail: Option<u8>) -> Result<()> {
        if rail.is_some() {
            self.usable()?;
            self.check_target(message.target)?;
            check_user_header(message.user_header)?;
            let mut locked = self.locked();
            if locked.has_rails(message.target) {
                // SAFETY: this function demands what `am_send` does.
                return locked.am_send(unsafe { message.trusted() }, rail);
            }
        }
        // SAFETY: this function demands what `am_send` does.
        unsafe { self.am_send(message) }
    }

    /// Tries the shortest path. False: the message could not be sent in this way, and nothing has
    /// happened; [`am_send`](Self::am_send) reports why, or sends it otherwise.
    #[inline(always)]
    pub fn try_send_short(&self, message: &Short<'_>) -> bool {
        self.went_short(message, self.send_at_once(message))
    }

    /// The same for a message that [`send_in_slot`](Self::send_in_slot) has just found unfit.
    #[inline(always)]
    pub fn try_send_past_slot(&self, message: &Short<'_>) -> bool {
        self.went_short(message, self.send_past_slot(message))
    }

    /// Whether a message went by the shortest path, or by that of a thread that has no bias.
    #[inline(always)]
    fn went_short(&self, message: &Short<'_>, attempt: Attempt) -> bool {
        match attempt {
            Attempt::Sent => true,
            Attempt::None if message.target < self.shared.tasks && self.usable().is_ok() => {
                self.try_send_locked(&message.aside())
            }
            _ => false,
        }
    }

    /// The same by a thread that has no bias.
    #[inline(never)]
    fn try_send_locked(&self, message: &Aside<'_>) -> bool {
        self.locked().am_short(&message.short()) == Attempt::Sent
    }

    /// Sends a message that no lane takes, through the transport's table.
    #[inline(never)]
    pub(super) fn go_by_table(&self, section: ShortSection<'_>, message: &Aside<'_>) -> Attempt {
        let mut locked = section.keep();
        if self.usable().is_err() {
            return Attempt::Unfit;
        }
        locked.am_short_by_table(message)
    }

    /// [`am_send`](Self::am_send) with a hint about bulk transfer.
    ///
    /// # Errors
    /// As for [`am_send`](Self::am_send).
    ///
    /// # Safety
    /// As for [`am_send`](Self::am_send).
    pub unsafe fn am_send_by(&self, message: AmSend<'_>, bulk: Bulk) -> Result<()> {
        let (target, user) = (message.target, message.user_header.len());
        if bulk != Bulk::AsConfigured
            && target < self.tasks()
            && user <= MAX_USER_HEADER
            && user.is_multiple_of(4)
        {
            self.usable()?;
            let mut locked = self.locked();
            if locked.peers[target].state == PeerState::Up {
                let room = locked.room_to(target).saturating_sub(MAX_HEADER + user) as u64;
                if message.source.len() > room {
                    // SAFETY: this function demands what `am_send` does.
                    return locked.am_send_long(unsafe { message.trusted() }, bulk, None);
                }
            }
        }
        // What fits one packet is no matter of bulk transfer; whatever is wrong is found there,
        // too.
        // SAFETY: this function demands what `am_send` does.
        unsafe { self.am_send(message) }
    }
}

impl Locked<'_> {
    /// Sends a [short](Short) message, waiting for room if need be. False: it can't go as one, or
    /// not from where this is called; nothing has happened. `attempt`: how the first try went.
    ///
    /// # Errors
    /// The target is down or purged.
    #[inline(always)]
    pub(crate) fn send_short(&mut self, message: &Short<'_>, mut attempt: Attempt) -> Result<bool> {
        loop {
            match attempt {
                Attempt::Sent => return Ok(true),
                Attempt::None => {}
                Attempt::NoRoom if !self.may_not_wait(message.target) => {
                    self.wait_for_room(message.target)?
                }
                Attempt::NoRoom | Attempt::Unfit => return Ok(false),
            }
            attempt = self.am_short(message);
        }
    }

    /// Tries to send a [short](Short) message.
    #[inline(always)]
    pub(crate) fn am_short(&mut self, message: &Short<'_>) -> Attempt {
        match self.send_in_lane(message) {
            Some(0) => Attempt::Sent,
            sent => self.am_short_slow(&message.aside(), sent),
        }
    }

    /// The rest of it.
    #[inline(never)]
    fn am_short_slow(&mut self, message: &Aside<'_>, sent: Option<u32>) -> Attempt {
        match sent.or_else(|| self.send_in_lane_again(message)) {
            Some(0) => Attempt::Sent,
            Some(news) => self.attend(message.short().target, news),
            None => self.am_short_by_table(message),
        }
    }

    /// As [`am_short`](Self::am_short), where no lane takes the message.
    #[inline(always)]
    pub(super) fn am_short_by_table(&mut self, message: &Aside<'_>) -> Attempt {
        let Short { kind, target, handler, user_header, data, target_counter } = message.short();
        let Some(peer) = self.peers.get(target) else { return Attempt::Unfit };
        // With a user header there is more to look at.
        if peer.state != PeerState::Up || !user_header.is_empty() || data.len() as u64 > Short::LONGEST {
            return Attempt::Unfit;
        }
        let counted = target_counter != 0;
        let head = [short_head(kind, peer.next_number(), 0, counted), handler].map(u64::to_le);
        if !self.takes(target, size_of_val(&head) + usize::from(counted) * 8 + data.len()) {
            return Attempt::Unfit;
        }
        let submitted = match counted {
            false => self.submit_words_by_table(target, head, data),
            true => {
                let head = [head[0], head[1], target_counter.to_le()];
                self.submit_by_table(target, head.as_bytes(), data)
            }
        };
        match submitted {
            Submitted::Sent => {}
            Submitted::NoRoom => return Attempt::NoRoom,
            Submitted::Refused(_) => return Attempt::Unfit,
        }
        self.next_message(target);
        self.sending.ended += 1;
        self.count_sent(target, data.len());
        Attempt::Sent
    }

    /// [`Context::am_send`] with the lock held.
    #[inline(always)]
    fn am_send(&mut self, message: AmSend<'_, TrustedSource>, rail: Option<u8>) -> Result<()> {
        let target = message.target;
        let len = message.source.len();
        let state = &mut **self;
        let peer = &mut state.peers[target];
        if peer.state != PeerState::Up {
            return Err(peer.refusal(target));
        }
        if peer.route == Route::NONE {
            return Err(peer.refusal(target));
        }
        // It need be no more than a guess: whoever sends packets cuts them anew.
        let room = state.room_to(target).saturating_sub(MAX_HEADER + message.user_header.len()) as u64;
        if len > room {
            return self.am_send_long(message, Bulk::AsConfigured, rail);
        }
        self.am_send_packets(message, rail)
    }

    /// Sends a message in packets.
    #[inline]
    fn am_send_packets(&mut self, message: AmSend<'_, TrustedSource>, rail: Option<u8>) -> Result<()> {
        let AmSend { target, handler, user_header, source, target_counter, origin, completion } = message;
        let header = Header::new(Kind::Am, 0, handler).with_target_counter(target_counter).with_rail(rail);
        self.send_message(header, user_header, Outgoing::new(target, source, origin), completion)
    }

    /// A message that does not fit one packet.
    #[cold]
    fn am_send_long(
        &mut self,
        message: AmSend<'_, TrustedSource>,
        bulk: Bulk,
        rail: Option<u8>,
    ) -> Result<()> {
        let (target, len, user) = (message.target, message.source.len(), message.user_header.len());
        if len > MAX_MESSAGE {
            return Err(Error::DataLength { len, max: MAX_MESSAGE });
        }
        self.wait_for_operation_slot(target)?;
        let straight = self.goes_straight(target, &message.source, user, &message.origin);
        let config = &self.shared().config;
        let Some(link) = self.link_to(target) else {
            return Err(self.link_failed(target, Status::PeerDown));
        };
        let from = match config.eager_max.get() {
            Some(most) => most + 1,
            None if link.caps().contains(Caps::FAST_PACKETS) => u64::MAX,
            None if link.needs_keys() => LENT_FROM,
            None => EAGER + 1,
        };
        let way = way_of(link, link.fetching(), len, from, bulk, config);
        // A wish for bulk transfer may be ignored; that a short message is copied is a promise.
        let direct = way != Way::Packets
            && !self.may_copy(len, user, &message.origin)
            && message.source.contiguous().is_some();
        if !direct && !straight {
            return self.am_send_packets(message, rail);
        }
        let address = message.source.contiguous().map_or(LAYOUT, |data| data.addr() as u64);
        let mut loan = Loan { address, key: 0, lent: None };
        if let Some(from) = message.source.contiguous()
            && self.link_to(target).is_some_and(|link| link.needs_keys())
        {
            // SAFETY: the caller vouched for the source until it is notified, which happens after
            // the registration was released. Whoever is told of the key only reads.
            match unsafe { self.lend(target, (from.cast_mut(), len), PeerAccess::Read) } {
                Some(found) => loan = found,
                None => return self.am_send_packets(message, rail),
            }
        }
        if direct && way == Way::Bulk {
            self.statistics.bulk.count(len);
        }
        let AmSend { target, handler, user_header, source, target_counter, origin, completion } = message;
        let mut header =
            Header::new(Kind::AmPull, 0, handler).with_target_counter(target_counter).with_rail(rail);
        (header.user_header, header.total) = (user as u16, len);
        let layout = source.contiguous().is_none().then_some(source);
        self.announce_loan(target, (header, user_header), loan, layout, Tell { origin, completion })
    }

    /// Registers that `Complete` will come, and gives the operation that it must name.
    #[inline]
    pub(crate) fn expect_completion(&mut self, target: PeerId, completion: Notify) -> Result<u64> {
        self.wait_for_operation_slot(target)?;
        Ok(self.insert_completion(target, completion))
    }

    /// Waits until there is room for one more outstanding operation: the bound on memory.
    #[inline]
    pub(crate) fn wait_for_operation_slot(&mut self, target: PeerId) -> Result<()> {
        loop {
            let state = &mut **self;
            if state.operations.len() < super::MAX_OPERATIONS || state.dispatching > 0 {
                return Ok(());
            }
            self.wait_for_room(target)?;
        }
    }
}

impl State {
    /// The number for the next message to a peer.
    #[inline(always)]
    pub(crate) fn next_message(&mut self, target: PeerId) -> u32 {
        self.peers[target].take_number()
    }

    /// An operation that waits for `Complete` alone.
    pub(super) fn insert_completion(&mut self, target: PeerId, completion: Notify) -> u64 {
        self.operations.insert(Operation {
            peer: target,
            waiting: Waiting::Completion,
            origin: Notify::None,
            completion,
            target_counter: 0,
            sequence: 0,
        })
    }

    /// The number for the next operation that a fence with this peer waits for.
    #[inline(always)]
    pub(crate) fn next_operation(&mut self, target: PeerId) -> u32 {
        let peer = &mut self.peers[target];
        let number = peer.next_operation;
        peer.next_operation = number.wrapping_add(1);
        self.peers.operations_begun += 1;
        number
    }
}

#[inline(always)]
fn check_user_header(user_header: &[u8]) -> Result<()> {
    let len = user_header.len();
    if len > MAX_USER_HEADER + INTERFACE_ROOM {
        return Err(Error::UhdrTooBig { len, max: MAX_USER_HEADER });
    }
    if !len.is_multiple_of(4) {
        return Err(Error::UhdrMisaligned { len, align: 4 });
    }
    Ok(())
}

/// A slice of memory that the caller vouched for; null has length 0.
///
/// # Safety
/// `data` is readable for `len` bytes while the result is used.
#[inline(always)]
pub unsafe fn bytes<'a>(data: *const u8, len: u64) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: readable for `len` bytes by the contract above.
    unsafe { std::slice::from_raw_parts(data, len as usize) }
}
