//! Remote atomics.

use super::{Operation, Waiting};
use crate::Context;
use crate::context::Locked;
use crate::context::Notify;
use crate::error::{Access, Error, Reason, Result};
use crate::state::PeerState;
use crate::transport::rmw::local_rmw;
use crate::transport::{PeerId, RmwOp, Status};
use crate::wire::{CHECKED, Header, Kind};

/// A remote atomic operation, in the terms of the interfaces above.
pub struct RmwArgs {
    /// The task that owns the variable.
    pub target: PeerId,
    /// What to do.
    pub op: RmwOp,
    /// Width of the variable in bytes, 4 or 8.
    pub width: u32,
    /// The variable's address in the target's address space, aligned to its width.
    pub remote: u64,
    /// Operand, or the new value of a compare-and-swap.
    pub operand: u64,
    /// What a compare-and-swap compares with.
    pub compare: u64,
    /// Where the answer goes: `width` bytes, null for nowhere.
    pub previous: *mut u8,
    /// Answer a compare-and-swap with 1 or 0 for success or failure, as in the guide, instead of
    /// the previous value.
    pub swap_answers_success: bool,
    /// Told when the answer is here.
    pub origin: Notify,
    /// Let the target check that the variable is registered there.
    pub checked: bool,
}

impl Context {
    /// Changes a variable of a task atomically.
    ///
    /// Every variable that is only changed this way, by `local_rmw` or by the processor's own
    /// atomics of that width is safe from torn and lost updates, by whatever route the operation
    /// travels.
    ///
    /// *LAPI Guide, LAPI_Rmw, LAPI_Rmw64.*
    ///
    /// # Errors
    /// Bad target; a width other than 4 or 8; a misaligned variable; a target that is down or
    /// purged.
    ///
    /// # Safety
    /// `remote` is what the target gave out; `previous` is writable until `origin` is notified.
    #[doc(alias = "LAPI_Rmw")]
    #[doc(alias = "LAPI_Rmw64")]
    #[inline(always)]
    pub unsafe fn rmw(&self, args: RmwArgs) -> Result<()> {
        // SAFETY: this function demands what `rmw_mapped` does.
        if unsafe { self.rmw_mapped(&args) } {
            args.origin.notify_unlocked(self, args.target, Ok(()));
            return Ok(());
        }
        // SAFETY: this is `rmw`.
        unsafe { self.rmw_by_message(args) }
    }

    /// [`rmw`](Self::rmw) of a variable that is not mapped here.
    ///
    /// # Safety
    /// As for [`rmw`](Self::rmw).
    #[inline(never)]
    pub(crate) unsafe fn rmw_by_message(&self, args: RmwArgs) -> Result<()> {
        self.usable()?;
        self.check_target(args.target)?;
        if args.width != 4 && args.width != 8 {
            return Err(Error::RmwSize { bits: args.width.saturating_mul(8) });
        }
        if !args.remote.is_multiple_of(u64::from(args.width)) {
            return Err(Error::Transport {
                transport: "core".into(),
                what: format!(
                    "the atomic variable at {:#x} in task {} is not aligned to its {} bytes",
                    args.remote, args.target, args.width
                ),
                source: None,
            });
        }
        self.locked().rmw(args)
    }

    /// The shortest atomic: on a variable that is [mapped](Self::direct) here. Stores the answer,
    /// without any notification. False: the variable is not mapped or not aligned, or the context
    /// can't be used; nothing has happened.
    ///
    /// # Safety
    /// As for [`rmw`](Self::rmw).
    #[inline(always)]
    pub unsafe fn rmw_mapped(&self, args: &RmwArgs) -> bool {
        let width = u64::from(args.width);
        if (width != 4 && width != 8) || !args.remote.is_multiple_of(width) {
            return false;
        }
        let Some(variable) = self.direct(args.target, args.remote, width).filter(|_| self.usable().is_ok())
        else {
            return false;
        };
        // SAFETY: mapped and aligned (windows are page-aligned); the place for the answer is
        // writable by `rmw`'s contract.
        unsafe {
            let previous = local_rmw(variable, args.width, args.op, args.operand, args.compare);
            if args.op == RmwOp::CompareAndSwap && answer(previous, args.width, Some(args.compare)) == 0 {
                self.shared.status.swap_failed(args.target, args.remote);
            }
            store_answer(args, previous);
        }
        true
    }
}

impl Locked<'_> {
    fn rmw(&mut self, args: RmwArgs) -> Result<()> {
        let target = args.target;
        let peer = &self.peers[target];
        if peer.state != PeerState::Up {
            return Err(peer.refusal(target));
        }
        self.wait_for_operation_slot(target)?;
        let sequence = self.next_operation(target);
        let compare = (args.swap_answers_success && args.op == RmwOp::CompareAndSwap).then_some(args.compare);
        let id = self.operations.insert(Operation {
            peer: target,
            waiting: Waiting::Rmw {
                previous: args.previous.cast(),
                width: args.width,
                compare,
                variable: args.remote,
            },
            origin: args.origin,
            completion: Notify::None,
            target_counter: 0,
            sequence,
        });
        let mut header = Header::new(Kind::Rmw, 0, args.remote);
        header.user_header = args.op as u16 + 16 * args.width as u16;
        header.extra = [args.operand, args.compare, id];
        if args.checked {
            header.flags |= CHECKED;
        }
        self.send_request(target, header, &[], id)
    }

    /// A peer's atomic on a variable of ours.
    pub(crate) fn rmw_arrived(&mut self, source: PeerId, header: &Header) {
        let (op, width) = (header.user_header % 16, u32::from(header.user_header / 16));
        let op = match op {
            0 => RmwOp::FetchAndAdd,
            1 => RmwOp::FetchAndOr,
            2 => RmwOp::Swap,
            3 => RmwOp::CompareAndSwap,
            _ => return self.refuse_rmw(source, header, Reason::Unknown),
        };
        let addr = header.subject;
        if (width != 4 && width != 8) || addr == 0 || !addr.is_multiple_of(u64::from(width)) {
            return self.refuse_rmw(source, header, Reason::NoVariable);
        }
        if !self.may_touch(header, addr, u64::from(width)) {
            return self.refuse_rmw(source, header, Reason::Outside);
        }
        // SAFETY: the origin names a variable that this task gave out.
        let previous =
            unsafe { local_rmw(addr as usize as *mut u8, width, op, header.extra[0], header.extra[1]) };
        let mut reply = Header::new(Kind::RmwReply, 0, header.extra[2]);
        reply.extra[0] = previous;
        self.reply_packet(source, &reply, &[]);
        self.done_here(source, header.message);
    }

    #[cold]
    fn refuse_rmw(&mut self, source: PeerId, header: &Header, reason: Reason) {
        let width = u64::from(header.user_header / 16);
        self.refuse(source, header, header.extra[2], (Access::Atomic, width, reason));
    }

    pub(crate) fn rmw_reply_arrived(&mut self, header: &Header) {
        let state = &mut **self;
        let Some(operation) = state.operations.get_mut(header.subject) else { return };
        let Waiting::Rmw { previous, width, compare, variable } = operation.waiting else { return };
        // SAFETY: the origin promised that the place is writable until it is notified.
        unsafe { store(previous.cast(), width, answer(header.extra[0], width, compare)) };
        let failed = compare.is_some_and(|_| answer(header.extra[0], width, compare) == 0);
        let peer = operation.peer;
        if failed {
            self.shared().status.swap_failed(peer, variable);
        }
        self.end_operation(header.subject, Status::Done);
    }
}

#[inline(always)]
fn answer(previous: u64, width: u32, compare: Option<u64>) -> u64 {
    let mask = if width == 4 { u64::from(u32::MAX) } else { u64::MAX };
    compare.map_or(previous, |expected| u64::from(previous & mask == expected & mask))
}

/// # Safety
/// `args.previous` is null or writable for `args.width` bytes.
#[inline(always)]
unsafe fn store_answer(args: &RmwArgs, previous: u64) {
    let compare = (args.swap_answers_success && args.op == RmwOp::CompareAndSwap).then_some(args.compare);
    // SAFETY: writable by the contract above.
    unsafe { store(args.previous, args.width, answer(previous, args.width, compare)) };
}

/// # Safety
/// `at` is null or writable for `width` bytes.
#[inline(always)]
unsafe fn store(at: *mut u8, width: u32, value: u64) {
    if at.is_null() {
        return;
    }
    // SAFETY: writable by the contract above; alignment is not assumed.
    unsafe {
        if width == 4 {
            at.cast::<u32>().write_unaligned(value as u32);
        } else {
            at.cast::<u64>().write_unaligned(value);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_guides_answer_to_a_swap_is_success_or_failure_in_the_variables_width() {
        assert_eq!(answer(3, 8, None), 3);
        assert_eq!(answer(3, 8, Some(3)), 1);
        assert_eq!(answer(4, 8, Some(3)), 0);
        assert_eq!(answer(0x1_0000_0003, 4, Some(3)), 1);
    }
}
