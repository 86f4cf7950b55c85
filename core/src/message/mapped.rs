//! Puts and gets by this task's own loads and stores, through a window into the peer's memory. They
//! need a message only for a counter at the target.

use super::Direction;
use super::packet::Submitted;
use crate::Context;
use crate::context::{Locked, Notify};
use crate::state::{PeerState, State};
use crate::sync::{Ordering, fence};
use crate::transport::copy::copy_watched;
use crate::transport::{Caps, PeerId, RawSlice, RemoteAddr, Status};
use crate::wire::{Header, Kind};

impl Context {
    /// Where a range of a peer's memory is mapped here, if it is. Takes a few loads and no lock,
    /// except for the first call for a peer in a large job, which contacts it.
    #[inline(always)]
    pub fn direct(&self, target: PeerId, remote: u64, len: u64) -> Option<*mut u8> {
        let window = self.shared.windows.get(target as usize)?;
        match window.find(remote, len) {
            None if window.is_unmet() => self.direct_after_contact(target, remote, len),
            found => found,
        }
    }

    /// Where a range of a peer's memory is mapped here, if that is known at once and the context
    /// can be used. Calls nothing; [`direct`](Self::direct) looks further.
    #[inline(always)]
    pub fn direct_at_once(&self, target: PeerId, remote: u64, len: u64) -> Option<*mut u8> {
        let window = self.shared.windows.get(target as usize)?;
        window.find(remote, len).filter(|_| self.is_usable())
    }

    /// The shortest put: to memory that is [mapped](Self::direct) here, without any notification.
    /// False: the memory is not mapped, or the context can't be used; nothing has happened.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes; `remote` is what the target gave out.
    #[inline(always)]
    pub unsafe fn put_mapped(&self, target: PeerId, remote: u64, from: *const u8, len: u64) -> bool {
        let Some(to) = self.direct(target, remote, len).filter(|_| self.usable().is_ok()) else {
            return false;
        };
        // SAFETY: `from` is readable by the contract above; the window is mapped as long as the
        // context lives.
        unsafe { copy_watched(from, to, len as usize) };
        self.count_direct(target, Direction::Out, len);
        true
    }

    /// The shortest get, as [`put_mapped`](Self::put_mapped).
    ///
    /// # Safety
    /// `to` is writable for `len` bytes; `remote` is what the target gave out.
    #[inline(always)]
    pub unsafe fn get_mapped(&self, target: PeerId, remote: u64, to: *mut u8, len: u64) -> bool {
        let Some(from) = self.direct(target, remote, len).filter(|_| self.usable().is_ok()) else {
            return false;
        };
        // SAFETY: `to` is writable by the contract above; the window is mapped as long as the
        // context lives.
        unsafe { copy_watched(from, to, len as usize) };
        self.count_direct(target, Direction::In, len);
        true
    }

    /// Reads a range of a peer's memory that need not be mapped here: the kernel copies it, and the
    /// peer does nothing. False: the peer's memory can't be read from here, or not that range; some
    /// bytes may have been copied.
    ///
    /// # Safety
    /// `into` is writable for `len` bytes.
    pub unsafe fn read_memory(&self, target: PeerId, remote: u64, into: *mut u8, len: usize) -> bool {
        // SAFETY: `into` is writable by the contract above.
        self.usable().is_ok() && unsafe { self.locked().read_memory(target, remote, into, len) }
    }

    /// The data has been copied by this task's own stores: counters count, and whoever waits is
    /// told.
    #[inline(always)]
    pub(super) fn after_direct(
        &self,
        target: PeerId,
        target_counter: u64,
        origin: Notify,
        completion: Notify,
    ) {
        if target_counter == 0
            && let (Some(origin), Some(completion)) = (origin.plain(), completion.plain())
        {
            origin.notify_by_call(self, target);
            completion.notify_by_call(self, target);
        } else {
            self.after_direct_locked(target, target_counter, origin, completion);
        }
    }

    #[inline(never)]
    fn after_direct_locked(&self, target: PeerId, target_counter: u64, origin: Notify, completion: Notify) {
        self.locked().after_direct(target, target_counter, origin, completion);
    }
}

/// A transport may have no room at first, several times in a row under LAPIS_CHAOS.
const READ_TRIES: usize = 100;

impl<C> State<C> {
    /// [`Context::read_memory`] with the lock held.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn read_memory(
        &mut self,
        peer: PeerId,
        remote: u64,
        into: *mut u8,
        len: usize,
    ) -> bool {
        let reads = Caps::GET_ZCOPY | Caps::ANY_ADDRESS;
        let Some(link) = self.link_to(peer).filter(|link| link.caps().contains(reads)) else {
            return false;
        };
        let (into, remote) = (RawSlice { ptr: into, len }, RemoteAddr { addr: remote, key: 0 });
        // SAFETY: the caller's promise. Where any address can be read, the copy has ended when the
        // call returns.
        let read = || unsafe { link.get_zcopy(peer, into, remote, 0) };
        std::iter::repeat_with(read).take(READ_TRIES).find(|status| *status != Status::Again)
            == Some(Status::Done)
    }
}

impl Locked<'_> {
    /// [`Context::after_direct`] with the lock held.
    pub(super) fn after_direct(
        &mut self,
        target: PeerId,
        target_counter: u64,
        origin: Notify,
        completion: Notify,
    ) {
        origin.notify(self, target, Ok(()));
        if target_counter == 0 {
            return completion.notify(self, target, Ok(()));
        }
        // SYNC: Release: the message that counts follows the data; it pairs with the target's
        // Acquire of the packet.
        fence(Ordering::Release);
        if self.may_not_wait(target) || self.peers[target].state != PeerState::Up {
            self.count_remote(target, target_counter, completion);
        } else {
            self.count_remote_in_turn(target, target_counter, completion);
        }
    }

    /// [`count_remote`](Self::count_remote) for a call of the program, which waits until there is
    /// room for the message: copies are made faster than their counters count.
    fn count_remote_in_turn(&mut self, target: PeerId, counter: u64, completion: Notify) {
        let mut header = Header::new(Kind::Counter, 0, 0).with_target_counter(counter);
        if !completion.is_none() {
            if self.wait_for_operation_slot(target).is_err() {
                return self.counter_out_of_reach(target, completion);
            }
            header = header.with_completion(self.insert_completion(target, completion));
        }
        loop {
            header.message = self.peers[target].next_number();
            match self.try_packet(target, &header, &[], &[][..]) {
                Submitted::Sent => break,
                Submitted::NoRoom if self.may_not_wait(target) => {
                    self.defer(target, &header, &[], &[]);
                    break;
                }
                Submitted::NoRoom if self.wait_for_room(target).is_ok() => {}
                // The loss of the peer, or a purge, has ended the operation, and told.
                Submitted::NoRoom => return,
                // The loss of the peer is about to be noticed: it ends the operation, and is
                // reported. A counter alone would hear of no refusal.
                Submitted::Refused(status) => return self.packet_refused(target, status),
            }
        }
        self.peers[target].take_number();
    }

    /// Counts a counter of the target's by message. `completion` is told when that has been done.
    ///
    /// *LAPI Guide, LAPI_Put.*
    pub(crate) fn count_remote(&mut self, target: PeerId, counter: u64, completion: Notify) {
        if self.peers[target].state != PeerState::Up {
            return self.counter_out_of_reach(target, completion);
        }
        let number = self.next_message(target);
        let mut header = Header::new(Kind::Counter, number, 0).with_target_counter(counter);
        if !completion.is_none() {
            header = header.with_completion(self.insert_completion(target, completion));
        }
        self.reply_packet(target, &header, &[]);
    }

    /// The data is in place, but the target's counter can't be counted any more.
    #[cold]
    fn counter_out_of_reach(&mut self, target: PeerId, completion: Notify) {
        let outcome = match self.peers[target].state {
            // Nobody looks at the counter of a task that has ended in good order: nothing is
            // missing, and nothing else would tell those who wait.
            PeerState::Ended => Ok(()),
            _ => Err(self.refusal(target)),
        };
        completion.notify(self, target, outcome);
    }
}
