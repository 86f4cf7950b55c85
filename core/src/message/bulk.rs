//! Direct copies by the transport between the memories of two tasks.
//!
//! The guide's bulk transfer is one use of them: if MP_USE_BULK_XFER or a hint requests it,
//! messages of MP_BULK_MIN_MSG_SIZE and more are copied directly. So are other messages from the
//! length on at which the transport declares direct copies to be faster. If the transport refuses a
//! piece, the message goes in packets.

use super::{Direction, Operation, SLICE, Waiting};
use crate::config::Config;
use crate::context::Locked;
use crate::context::Notify;
use crate::error::{Error, Result};
use crate::transport::{Caps, Link, PeerId, RawSlice, RemoteAddr, Status};

/// The largest piece of a bulk transfer.
pub const BULK_PIECE: usize = 32 << 20;
const _: () = assert!(SLICE <= BULK_PIECE);

/// Whether the caller of a transfer wants bulk transfer.
///
/// *LAPI Guide, LAPI_Xfer, LAPI_USE_BULK_XFER and LAPI_NOT_USE_BULK_XFER.*
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bulk {
    /// What MP_USE_BULK_XFER says for the task.
    #[default]
    AsConfigured,
    /// Bulk transfer, if the message is long enough for it.
    Use,
    /// Packets, whatever the transport could do.
    Avoid,
}

/// How the bytes of a message go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Packets,
    /// By direct copy because that is faster.
    Direct,
    /// By direct copy because bulk transfer is wanted.
    Bulk,
}

/// Which way a message of `len` bytes goes. `flavour` is the copy that it needs; direct copies that
/// nobody asked for begin at `from`, or where the transport says.
//= LAPI Guide, Bulk transfer of messages, from MP_BULK_MIN_MSG_SIZE on
pub(crate) fn way_of(link: &Link, flavour: Caps, len: u64, from: u64, bulk: Bulk, config: &Config) -> Way {
    let reaches = link.caps().contains(flavour | Caps::ANY_ADDRESS)
        || link.caps().contains(flavour) && link.needs_keys();
    if bulk == Bulk::Avoid || !reaches {
        return Way::Packets;
    }
    let wanted = bulk == Bulk::Use || *config.use_bulk_xfer.get();
    if wanted && len >= *config.bulk_min_msg_size.get() {
        Way::Bulk
    } else if len >= link.limits().zcopy_from.max(from) {
        Way::Direct
    } else {
        Way::Packets
    }
}

impl Locked<'_> {
    /// Copies straight between this task's memory at `local` and the peer's, letting go of the lock
    /// between pieces. False: a piece was refused, and packets must carry the message.
    ///
    /// # Safety
    /// Both ranges are valid, as [`Context::put`](crate::Context::put) and
    /// [`get`](crate::Context::get) demand.
    //= LAPI Guide, Bulk transfer of messages, packets if a step fails
    pub(super) unsafe fn copy_directly(
        &mut self,
        target: PeerId,
        direction: Direction,
        local: *mut u8,
        remote: u64,
        len: u64,
        way: Way,
    ) -> Result<bool> {
        let life = self.peers[target].life;
        let mut done = 0u64;
        while done < len {
            let n = (len - done).min(SLICE as u64) as usize;
            let slice = RawSlice { ptr: local.wrapping_add(done as usize), len: n };
            let there = RemoteAddr { addr: remote + done, key: 0 };
            // SAFETY: within the ranges, of which both are valid until this returns.
            let status = unsafe {
                self.transfer(target, |link, token| match direction {
                    Direction::Out => link.put_zcopy(target, slice, there, token),
                    Direction::In => link.get_zcopy(target, slice, there, token),
                })
            };
            if self.peers[target].life != life {
                return Err(Error::Purged { task: target });
            }
            match status {
                Status::Done => done += n as u64,
                Status::Again => {}
                Status::PeerDown => {
                    self.peer_down(target, "its memory could not be reached");
                    return Err(self.refusal(target));
                }
                Status::Panicked => return Err(self.link_failed(target, status)),
                // One side of the copy may be special memory: packets always work.
                _ => {
                    tracing::debug!(
                        target,
                        ?status,
                        done,
                        len,
                        "direct copy refused; the data goes in packets"
                    );
                    self.statistics.bulk.refused += 1;
                    return Ok(false);
                }
            }
            self.yield_lock();
            if self.peers[target].life != life {
                return Err(Error::Purged { task: target });
            }
        }
        if way == Way::Bulk {
            self.statistics.bulk.count(len);
        }
        Ok(true)
    }

    /// Runs one zero-copy operation of the link to a peer to its end.
    ///
    /// # Safety
    /// What `begin` starts works on memory that the caller keeps valid until this returns.
    unsafe fn transfer(&mut self, target: PeerId, begin: impl FnOnce(&mut Link, u64) -> Status) -> Status {
        let sequence = self.next_operation(target);
        let state = &mut **self;
        let token = state.operations.insert(Operation {
            peer: target,
            waiting: Waiting::Transport(None),
            origin: Notify::None,
            completion: Notify::None,
            target_counter: 0,
            sequence,
        });
        let mut status = state.link_to(target).map_or(Status::PeerDown, |link| begin(link, token));
        while status == Status::InProgress {
            match self.operations.get_mut(token).map(|o| &o.waiting) {
                Some(Waiting::Transport(Some(ended))) => status = *ended,
                Some(_) => {
                    // Even if the peer is gone: the memory is the transport's until it says so.
                    let _ = self.wait_for_room(target);
                }
                // The context has ended.
                None => status = Status::PeerDown,
            }
        }
        let state = &mut **self;
        state.operations.remove(token);
        state.peers[target].answered.done(sequence);
        status
    }
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "bulk_tests.rs"]
mod tests;
