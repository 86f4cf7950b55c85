//! The shortest way of a short active message: it is written in place, in the lanes of
//! [`crate::transport::lane`], without a call of the transport. [`super::lane_receive`] reads it
//! there.

use super::{Aside, Attempt, Short};
use crate::Context;
use crate::context::State;
use crate::context::{Held, Locked, ShortSection};
use crate::error::Result;
use crate::state::Peer;
use crate::stats::Path;
use crate::transport::lane::{INLINE, SendLane, copy_short};
use crate::transport::{PeerId, Status};

/// Longest user header of a message whose bytes go into a data ring from here: with all that can
/// stand before it, it fits one cache line.
const USER_HEADER_OF_LONG: usize = 64 - 24;

/// Puts and gets of up to so many bytes go in the lane without asking which way is the quicker one.
pub(super) const LONGEST_SHORT: u64 = 1 << 10;

impl State {
    /// Sends a message that fits a slot in the lane to its target; gives what the target's
    /// attention word says. `None`: it can't go this way, nothing has happened.
    #[inline(always)]
    pub(super) fn send_in_lane(&mut self, message: &Short<'_>) -> Option<u32> {
        let &Short { data, .. } = message;
        let peer = self.peers.get_mut(message.target)?;
        let lane = peer.lane.or_closed();
        if !message.fits_slot() {
            return None;
        }
        let before = message.before();
        let len = before + data.len();
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user. As much is written as was counted.
        let news = unsafe {
            if !(*lane).has_room() {
                return None;
            }
            let reserved = (*lane).reserve(len);
            message.write_head(peer.take_number(), reserved.bytes);
            copy_short(data.as_ptr(), reserved.bytes.add(before), data.len());
            (*lane).commit(reserved)
        };
        self.sent_in_lane(data.len());
        Some(news)
    }

    /// As [`send_in_lane`](Self::send_in_lane), where that found no room: looks how far the
    /// receiver has got.
    #[inline(never)]
    pub(super) fn send_in_lane_again(&mut self, message: &Aside<'_>) -> Option<u32> {
        let message = message.short();
        let lane = self.peers.get(message.target)?.lane.get()?.as_ptr();
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user.
        if unsafe { !(*lane).has_room() && !(*lane).refresh() } {
            return None;
        }
        // A long user header makes a message of little data too long for a slot.
        self.send_in_lane(&message).or_else(|| self.send_in_data_ring(&message))
    }

    /// Sends a message that is too long for a slot, and no longer than [`Short::LONGEST`], by the
    /// data ring of the lane to its target; the rest is as with
    /// [`send_in_lane`](Self::send_in_lane).
    #[inline(always)]
    fn send_in_data_ring(&mut self, message: &Short<'_>) -> Option<u32> {
        let &Short { user_header, data, .. } = message;
        let peer = self.peers.get_mut(message.target)?;
        let lane = peer.lane.get()?.as_ptr();
        let before = message.before();
        let alone = self.links.inbound.was_answered();
        debug_assert!(data.len() as u64 <= Short::LONGEST);
        if before + data.len() <= INLINE
            || user_header.len() > USER_HEADER_OF_LONG
            || !user_header.len().is_multiple_of(4)
        {
            return None;
        }
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user. There is room for a slot.
        let news = unsafe {
            if !(*lane).has_room() && !(*lane).refresh() {
                return None;
            }
            match alone {
                true => write_long::<true>(lane, peer, message)?,
                false => write_long::<false>(lane, peer, message)?,
            }
        };
        self.sent_in_lane(data.len());
        Some(news)
    }

    /// Whether no lane leads to a task: as with all that datagrams lead to.
    #[inline(always)]
    fn has_no_lane(&self, target: PeerId) -> bool {
        self.peers.get(target).is_none_or(|peer| peer.lane.get().is_none())
    }

    /// A message of so many bytes of data has gone into its target's lane.
    #[inline(always)]
    pub(super) fn sent_in_lane(&mut self, data: usize) {
        self.sending.ended += 1;
        self.links.inbound.expect_answer();
        self.count_in_lane(data);
    }

    #[inline(always)]
    fn count_in_lane(&mut self, data: usize) {
        let counts = self.statistics.path_mut(Path::SharedMemory);
        counts.packets_sent += 1;
        counts.data_sent += data as u64;
    }

    /// A packet without data has gone into its target's lane.
    #[inline(always)]
    pub(super) fn asked_in_lane(&mut self) {
        self.links.inbound.expect_answer();
        self.statistics.path_mut(Path::SharedMemory).packets_sent += 1;
    }

    /// Sends a packet in the lane to its target; the transport's table is called only if the lane's
    /// receiver asks for something. `None`: it can't go this way, nothing has happened.
    #[inline(always)]
    pub(super) fn packet_in_lane(&mut self, target: PeerId, head: &[u8], data: &[u8]) -> Option<Status> {
        let peer = &self.peers[target];
        let lane = peer.lane.get()?.as_ptr();
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user.
        let news = unsafe { write_packet(lane, head, data)? };
        self.count_in_lane(data.len());
        if self.dispatching == 0 {
            // What is sent while something is handled is an answer, not a question.
            self.links.inbound.expect_answer();
        }
        if news == 0 {
            return Some(Status::Done);
        }
        Some(self.attend_to(target, news))
    }

    /// Has the transport do what the attention word of a task asked for.
    #[cold]
    pub(super) fn attend_to(&mut self, target: PeerId, news: u32) -> Status {
        self.link_to(target).map_or(Status::PeerDown, |link| link.attend(target, news))
    }
}

/// Puts a message that is too long for a slot into a lane's data ring, if there is room for it as
/// far as was looked, `APART` from the next one or not; gives what the receiver's attention word
/// says.
///
/// # Safety
/// The lane is alive and has room for a slot, and the caller is its only user.
#[inline(always)]
unsafe fn write_long<const APART: bool>(
    lane: *mut SendLane,
    peer: &mut Peer,
    message: &Short<'_>,
) -> Option<u32> {
    // SAFETY: the caller's promise; as much is written as is said.
    unsafe {
        (*lane).send_parts::<APART>(
            message.before(),
            #[inline(always)]
            |place| message.write_head(peer.take_number(), place),
            message.data,
        )
    }
}

/// Puts a packet into a lane, if there is room for it; gives what the receiver's attention word
/// says.
///
/// # Safety
/// The lane is alive, and the caller is its only user.
#[inline(always)]
pub(super) unsafe fn write_packet(lane: *mut SendLane, head: &[u8], data: &[u8]) -> Option<u32> {
    // SAFETY: the lane is alive and the caller's; there is room for a slot.
    unsafe {
        if !(*lane).has_room() && !(*lane).refresh() {
            None
        } else if head.len() + data.len() <= INLINE {
            Some((*lane).send(head, data))
        } else {
            (*lane).send_data(head, data)
        }
    }
}

impl Context {
    /// The whole way of a short message, if nothing stands in it.
    #[inline(always)]
    pub(crate) fn send_at_once(&self, message: &Short<'_>) -> Attempt {
        match self.send_in_slot(message) {
            InSlot::Sent => Attempt::Sent,
            InSlot::Wanted(wanted) => self.attend_attempt(message.target, wanted),
            InSlot::Unfit => self.send_past_slot(message),
        }
    }

    /// The same for a message that [`send_in_slot`](Self::send_in_slot) has just found unfit.
    #[inline(always)]
    pub(super) fn send_past_slot(&self, message: &Short<'_>) -> Attempt {
        let &Short { target, handler, data, .. } = message;
        match message.is_plain() {
            false => self.send_other(&message.aside()),
            true if !message.fits_slot() => match self.send_long_plain(target, handler, data) {
                InSlot::Sent => Attempt::Sent,
                InSlot::Wanted(wanted) => self.attend_attempt(target, wanted),
                InSlot::Unfit => self.send_plain(target, handler, data),
            },
            true => self.send_plain(target, handler, data),
        }
    }

    /// Sends a message that fits a slot in the lane to its target, from a call of the program that
    /// is not nested in another one: [`begin_call`](Self::begin_call) is not needed.
    ///
    /// Nothing beside the message is stored, and nothing is called: see [`Short`].
    #[inline(always)]
    pub fn send_in_slot(&self, message: &Short<'_>) -> InSlot {
        if !message.fits_slot() || !self.shared.alive.here() {
            return InSlot::Unfit;
        }
        let Some(mut section) = self.outermost_section() else { return InSlot::Unfit };
        section.send_in_lane(message).into()
    }

    /// Does what the receiver of the message just sent requests, such as waking it.
    ///
    /// # Errors
    /// The receiver is gone.
    #[cold]
    #[inline(never)]
    pub fn attend(&self, target: PeerId, wanted: Wanted) -> Result<()> {
        let mut locked = self.locked();
        match locked.attend(target, wanted.0) {
            Attempt::Unfit => Err(locked.link_failed(target, Status::PeerDown)),
            _ => Ok(()),
        }
    }

    /// The same; the message is not sent if its receiver is gone.
    #[cold]
    #[inline(never)]
    fn attend_attempt(&self, target: PeerId, wanted: Wanted) -> Attempt {
        self.locked().attend(target, wanted.0)
    }

    /// As [`send_in_slot`](Self::send_in_slot), for a message of data alone, as most are, that no
    /// slot has room for.
    #[inline(never)]
    fn send_long_plain(&self, target: PeerId, handler: u64, data: &[u8]) -> InSlot {
        // SAFETY: the caller that made the message vouched for its handler.
        let message = unsafe { Short::plain(target, handler, data) };
        if data.len() as u64 > Short::LONGEST || !self.shared.alive.here() {
            return InSlot::Unfit;
        }
        let Some(mut section) = self.outermost_section() else { return InSlot::Unfit };
        section.send_in_data_ring(&message).into()
    }

    /// Sends a message of data alone, which travels in registers.
    #[inline(never)]
    fn send_plain(&self, target: PeerId, handler: u64, data: &[u8]) -> Attempt {
        // SAFETY: the caller that made the message vouched for its handler.
        let message = unsafe { Short::plain(target, handler, data) };
        self.send_in_section(&message)
    }

    /// Sends any other.
    #[inline(never)]
    fn send_other(&self, message: &Aside<'_>) -> Attempt {
        self.send_in_section(&message.short())
    }

    /// Sends a message by a thread that has the lock's bias.
    #[inline(always)]
    fn send_in_section(&self, message: &Short<'_>) -> Attempt {
        // Longer ones need not be tried in every way that short ones have.
        if message.data.len() as u64 > Short::LONGEST || !self.shared.alive.here() {
            return Attempt::Unfit;
        }
        let Some(mut section) = self.short_section() else { return Attempt::None };
        let sent = match message.fits_slot() {
            true => section.send_in_lane(message),
            false => section.send_in_data_ring(message),
        };
        match sent {
            Some(0) => Attempt::Sent,
            None if section.has_no_lane(message.target) => self.go_by_table(section, &message.aside()),
            sent => self.send_in_section_slow(section, &message.aside(), sent),
        }
    }

    /// Sends a short put, of [`LONGEST_SHORT`] bytes at most, in the lane to its target. False: it
    /// can't go this way, nothing has happened.
    #[inline(always)]
    pub(super) fn put_at_once(&self, put: &Short<'_>) -> bool {
        if !self.shared.alive.here() {
            return false;
        }
        let Some(mut section) = self.short_section() else { return false };
        match section.send_in_lane(put).or_else(|| section.send_in_data_ring(put)) {
            None => false,
            Some(0) => true,
            Some(news) => section.keep().attend(put.target, news) == Attempt::Sent,
        }
    }

    /// The rest of it where there is no room as far as was looked, no lane leads to the target, or
    /// the lane's reader wants something.
    #[inline(never)]
    fn send_in_section_slow(
        &self,
        mut section: ShortSection<'_>,
        message: &Aside<'_>,
        sent: Option<u32>,
    ) -> Attempt {
        match sent.or_else(|| section.send_in_lane_again(message)) {
            Some(0) => Attempt::Sent,
            sent => self.attend_or_go_by_table(section, message, sent),
        }
    }

    /// What calls the transport: for a message that is in its lane and whose reader wants
    /// something, or for one that no lane takes.
    #[cold]
    #[inline(never)]
    fn attend_or_go_by_table(
        &self,
        section: ShortSection<'_>,
        message: &Aside<'_>,
        sent: Option<u32>,
    ) -> Attempt {
        match sent {
            Some(news) => section.keep().attend(message.short().target, news),
            None => self.go_by_table(section, message),
        }
    }
}

impl Held<'_> {
    /// As [`Context::try_send_short`].
    #[inline(always)]
    pub fn try_send_short(self, message: &Short<'_>) -> bool {
        let context = self.context();
        if !message.fits_slot() {
            return context.try_send_short(message);
        }
        if !context.shared.alive.here() {
            return false;
        }
        // SAFETY: this thread holds the lock as long as there is `self`, which code outside of core
        // has: whatever works with the state further out is lent.
        let mut section = unsafe { context.section_within() };
        match section.send_in_lane(message) {
            Some(0) => true,
            sent => context.send_in_section_slow(section, &message.aside(), sent) == Attempt::Sent,
        }
    }
}

/// How a try of [`Context::send_in_slot`] went.
pub enum InSlot {
    /// The message is on its way.
    Sent,
    /// So it is, and its receiver wants something: [`Context::attend`] does it.
    Wanted(Wanted),
    /// It can't go this way; nothing has happened.
    Unfit,
}

impl From<Option<u32>> for InSlot {
    /// From what the target's attention word says.
    #[inline(always)]
    fn from(news: Option<u32>) -> Self {
        match news {
            Some(0) => Self::Sent,
            Some(news) => Self::Wanted(Wanted(news)),
            None => Self::Unfit,
        }
    }
}

/// What the receiver of a message wants of its sender: to be woken, mostly.
#[must_use = "the receiver may sleep"]
pub struct Wanted(u32);

impl Locked<'_> {
    /// Does what the attention word of a task asked for after a message in its lane. If the task is
    /// gone, nobody reads the message: it counts as one that was not sent.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&mut self, target: PeerId, news: u32) -> Attempt {
        if self.attend_to(target, news) != Status::PeerDown {
            return Attempt::Sent;
        }
        self.peers[target].give_number_back();
        self.sending.ended -= 1;
        Attempt::Unfit
    }
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "lanes_tests.rs"]
mod tests;
