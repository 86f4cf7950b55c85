//! Active messages: the sending side.

use super::bulk::{Bulk, Way, way_of};
use super::self_send::LAYOUT;
use super::send::Departure;
use super::{MAX_MESSAGE, MAX_USER_HEADER, Operation, Source, State, Waiting};
use crate::Context;
use crate::completion::Notify;
use crate::config::Origin;
use crate::context::Locked;
use crate::context::{PeerState, Route};
use crate::error::{Error, Result};
use crate::stats::Path;
use crate::transport::{Caps, PeerId, Status};
use crate::wire::{Header, Kind, MAX_HEADER, short_head};
use zerocopy::IntoBytes;

/// Longest message that is sent without asking the target, where neither the user nor the transport says otherwise.
const EAGER: u64 = 16 << 10;

/// Bytes that an interface may add to a user header for its own use.
const INTERFACE_ROOM: usize = 32;

/// An active message to send, in the terms of the interfaces above.
pub struct AmSend<'a> {
    /// The task whose header handler runs.
    pub target: PeerId,
    /// Index in the target's handler table, or an address that the target's interface understands.
    pub handler: u64,
    /// Passed to the header handler; a multiple of 4 bytes, at most [`MAX_USER_HEADER`].
    pub user_header: &'a [u8],
    /// The data.
    pub source: Source,
    /// Address of a counter at the target, 0 for none.
    pub target_counter: u64,
    /// Told when `source` may be reused.
    pub origin: Notify,
    /// Told when the completion handler has returned.
    pub completion: Notify,
}

/// An active message whose bytes are copied at once and of which nobody at the origin wants to hear again.
#[derive(Clone, Copy)]
pub struct Short<'a> {
    /// As in [`AmSend`].
    pub target: PeerId,
    /// As in [`AmSend`].
    pub handler: u64,
    /// As in [`AmSend`].
    pub user_header: &'a [u8],
    /// The data.
    pub data: &'a [u8],
    /// Address of a counter at the target, 0 for none.
    pub target_counter: u64,
}

impl<'a> Short<'a> {
    /// Data beyond this length, in bytes, don't count as short.
    pub const LONGEST: u64 = 4096;

    /// One with data alone.
    #[inline(always)]
    pub fn plain(target: PeerId, handler: u64, data: &'a [u8]) -> Self {
        Self { target, handler, user_header: &[], data, target_counter: 0 }
    }
}

impl Context {
    /// Sends an active message. Returns as soon as the message is on its way; the notifications tell the rest.
    ///
    /// *LAPI Guide, LAPI_Amsend.*
    ///
    /// # Errors
    /// Bad target, user header or length; a target that is down or purged. Nothing has been sent then.
    ///
    /// # Safety
    /// The source's memory stays valid and unchanged until `origin` is told; counters stay valid until they are told;
    /// `target_counter` and an address in `handler` are what the target gave out.
    #[doc(alias = "LAPI_Amsend")]
    #[inline]
    pub unsafe fn am_send(&self, message: AmSend<'_>) -> Result<()> {
        self.usable()?;
        self.check_target(message.target)?;
        let user = message.user_header.len();
        if user > MAX_USER_HEADER + INTERFACE_ROOM {
            return Err(Error::UhdrTooBig { len: user, max: MAX_USER_HEADER });
        }
        if !user.is_multiple_of(4) {
            return Err(Error::UhdrMisaligned { len: user, align: 4 });
        }
        let mut locked = self.locked();
        if let Source::Contiguous(data, len) = message.source
            && message.completion.is_none()
            && len <= Short::LONGEST
        {
            // SAFETY: a null source has length 0.
            let data = unsafe { bytes(data, len) };
            let AmSend { target, handler, user_header, target_counter, .. } = message;
            // SAFETY: the caller promises that handler and counter are what the target gave out.
            if unsafe { locked.am_short(Short { target, handler, user_header, data, target_counter }) } {
                message.origin.notify(&mut locked, target, Ok(()));
                return Ok(());
            }
        }
        // SAFETY: the caller's promise about the source is handed on.
        unsafe { locked.am_send(message) }
    }

    /// Tries the shortest path. False: the message could not go this way, nothing has happened; [`am_send`](Self::am_send) finds
    /// out why, or another way.
    ///
    /// # Safety
    /// `target_counter` and an address in `handler` are what the target gave out.
    #[inline(always)]
    pub unsafe fn try_send_short(&self, message: Short<'_>) -> bool {
        // SAFETY: the caller's promise.
        if unsafe { self.send_at_once(message) } {
            return true;
        }
        // A user header needs a lane or the general path, which looks for one again.
        if message.target >= self.shared.tasks
            || !message.user_header.is_empty()
            || message.data.len() as u64 > Short::LONGEST
            || self.usable().is_err()
        {
            return false;
        }
        // SAFETY: the caller promises that handler and counter are what the target gave out.
        unsafe { self.locked().am_short(message) }
    }

    /// [`am_send`](Self::am_send) with a wish about bulk transfer.
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
            if locked.peers[target as usize].state == PeerState::Up {
                let room = locked.room_to(target).saturating_sub(MAX_HEADER + user) as u64;
                if message.source.len() > room {
                    // SAFETY: the caller's promise about the source is handed on.
                    return unsafe { locked.am_send_long(message, bulk) };
                }
            }
        }
        // What fits one packet is no matter of bulk transfer; whatever is wrong is found there, too.
        // SAFETY: the promise is handed on.
        unsafe { self.am_send(message) }
    }
}

impl Locked<'_> {
    /// The whole path of a [short](Short) message. False: it could not go this way, nothing has happened.
    ///
    /// # Safety
    /// As for [`am_send`](Self::am_send).
    #[inline(always)]
    pub(crate) unsafe fn am_short(&mut self, message: Short<'_>) -> bool {
        // SAFETY: the caller promises that handler and counter are what the target gave out.
        unsafe {
            match self.send_in_lane(message) {
                Some(news) => news == 0 || self.attend(message.target, news),
                None => self.am_short_by_table(message),
            }
        }
    }

    /// As [`am_short`](Self::am_short), through the transport's table.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    pub(super) unsafe fn am_short_by_table(&mut self, message: Short<'_>) -> bool {
        let Short { target, handler, user_header, data, target_counter } = message;
        let state = &mut **self;
        let peer = &mut state.peers[target as usize];
        let index = peer.route.index();
        let Some(link) = state.links.get_mut(index) else { return false };
        // With a user header there is more to look at.
        if peer.state != PeerState::Up || peer.epochs.hold() || !user_header.is_empty() {
            return false;
        }
        let head = [short_head(peer.next_message, 0, target_counter != 0), handler, target_counter];
        let words = if target_counter == 0 { 2 } else { 3 };
        let head = head.map(u64::to_le);
        let head = head[..words].as_bytes();
        let total = head.len() + data.len();
        let status = match state.datagrams[index].as_deref_mut() {
            Some(datagrams) if datagrams.has_room(target, total) => {
                datagrams.send(link, target, head, data, state.dispatching > 0)
            }
            None if total <= link.limits().max_short as usize => link.am_short(target, head, data),
            _ => return false,
        };
        if status != Status::Done {
            return false;
        }
        peer.next_message = peer.next_message.wrapping_add(1);
        state.ended_sends += 1;
        let path = state.paths[index];
        if path == Path::Local {
            state.self_pending += 1;
        }
        let counts = state.statistics.path_mut(path);
        counts.packets_sent += 1;
        counts.data_sent += data.len() as u64;
        self.wake_for_timer();
        true
    }

    /// # Safety
    /// As for [`am_send`](Self::am_send); the lock is held.
    #[inline(always)]
    unsafe fn am_send(&mut self, message: AmSend<'_>) -> Result<()> {
        let target = message.target;
        let len = message.source.len();
        let state = &mut **self;
        let peer = &mut state.peers[target as usize];
        if peer.state != PeerState::Up {
            return Err(peer.refusal(target));
        }
        if peer.route == Route::NONE {
            return Err(peer.refusal(target));
        }
        // It need be no more than a guess: whoever sends packets cuts them anew.
        let room = state.room_to(target).saturating_sub(MAX_HEADER + message.user_header.len()) as u64;
        if len > room {
            // SAFETY: as for this function.
            return unsafe { self.am_send_long(message, Bulk::AsConfigured) };
        }
        // SAFETY: as for this function.
        unsafe { self.am_send_packets(message) }
    }

    /// Sends a message in packets.
    ///
    /// # Safety
    /// As for [`am_send`](Self::am_send); the lock is held.
    #[inline]
    unsafe fn am_send_packets(&mut self, message: AmSend<'_>) -> Result<()> {
        let AmSend { target, handler, user_header, source, target_counter, origin, completion } = message;
        let header = Header::new(Kind::Am, 0, handler).with_target_counter(target_counter);
        // SAFETY: the caller's promise.
        unsafe { self.send_message(Departure { target, header, user_header, source, origin, completion }) }
    }

    /// A message that does not fit one packet.
    ///
    /// # Safety
    /// As for [`am_send`](Self::am_send); the lock is held.
    #[cold]
    unsafe fn am_send_long(&mut self, message: AmSend<'_>, bulk: Bulk) -> Result<()> {
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
            None => EAGER + 1,
        };
        let way = way_of(link, Caps::GET_ZCOPY, len, from, bulk, config);
        // Who sets the length up to which messages are copied wants that more than one copy less.
        let copied = way == Way::Direct
            && config.rexmit_buf_size.origin() != Origin::Default
            && self.may_copy(len, user, &message.origin);
        let direct = way != Way::Packets && !copied && matches!(message.source, Source::Contiguous(..));
        if !direct && !straight {
            // SAFETY: the caller's promise.
            return unsafe { self.am_send_packets(message) };
        }
        if direct && way == Way::Bulk {
            self.statistics.bulk.count(len);
        }
        self.am_announce(message)
    }

    /// Tells the target of a message whose data it is to fetch.
    fn am_announce(&mut self, message: AmSend<'_>) -> Result<()> {
        let AmSend { target, handler, user_header, source, target_counter, origin, completion } = message;
        let mut header = Header::new(Kind::AmPull, 0, handler).with_target_counter(target_counter);
        header.user_header = user_header.len() as u16;
        header.total = source.len();
        let (address, layout) = match source {
            Source::Contiguous(data, _) => (data.addr() as u64, None),
            Source::Gather(layout, _) => (LAYOUT, Some(layout)),
        };
        let wants_completion = !completion.is_none();
        let sequence = self.next_operation(target);
        let id = self.operations.insert(Operation {
            peer: target,
            waiting: Waiting::Pull(layout),
            origin,
            completion,
            target_counter: 0,
            sequence,
        });
        header.extra = [address, id, 0];
        if wants_completion {
            header = header.with_completion(id);
        }
        self.send_request(target, header, user_header, id)
    }

    /// Registers that `Complete` will come, and gives the operation that it must name.
    #[inline]
    pub(crate) fn expect_completion(&mut self, target: PeerId, completion: Notify) -> Result<u64> {
        self.wait_for_operation_slot(target)?;
        let state = &mut **self;
        Ok(state.operations.insert(Operation {
            peer: target,
            waiting: Waiting::Completion,
            origin: Notify::None,
            completion,
            target_counter: 0,
            sequence: 0,
        }))
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
        let peer = &mut self.peers[target as usize];
        let number = peer.next_message;
        peer.next_message = number.wrapping_add(1);
        number
    }

    /// The number for the next operation that a fence with this peer waits for.
    #[inline(always)]
    pub(crate) fn next_operation(&mut self, target: PeerId) -> u32 {
        let peer = &mut self.peers[target as usize];
        let number = peer.next_operation;
        peer.next_operation = number.wrapping_add(1);
        number
    }
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
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, len as usize) }
}
