//! Copies from one layout to another in one address space, without packing the message in between.
#![allow(unsafe_code, reason = "the call takes the user's raw pointers")]

use crate::engine::kernels::{Pack, Unpack};
use crate::engine::lockstep;
use crate::engine::plan::Plan;
use crate::engine::run;
use crate::engine::walk;
use crate::error::{Error, ErrorCode, Fault};
use crate::registered::Registered;
use lapis_ablation::{Optimization, without};

/// Blocks at least this long on either side are copied one by one; below, finding the other side
/// costs more than staging.
const DIRECT_BLOCK: usize = 2048;
/// Bytes staged at a time between two layouts of short blocks; they stay in the first-level cache.
const STAGE: usize = 8192;

/// Copies `bytes` bytes of the message, from position `src_pos` in the layout `src` of memory at
/// `src_base`, to position `dst_pos` in the layout `dst` of memory at `dst_base`. Answers how many:
/// fewer only if a program moves nothing at all.
///
/// The message is never packed as a whole: one side contiguous, layouts as far as they are built
/// alike, blocks of one length at two strides, and long blocks are copied straight from place to
/// place; what is left passes through a few kilobytes on the stack.
///
/// # Safety
/// As [`Registered::pack_into`] for the source and [`Registered::unpack_from`] for the target, for
/// all `bytes` bytes; and no byte of one side is a byte of the other.
pub unsafe fn copy(
    src: &Registered,
    src_base: *const u8,
    src_pos: u64,
    dst: &Registered,
    dst_base: *mut u8,
    dst_pos: u64,
    bytes: usize,
) -> Result<usize, Error> {
    if src.has_control() || dst.has_control() {
        return Err(Error::whole(ErrorCode::Ctl, Fault::NoDdm));
    }
    let from = src_base.cast_mut();
    let mut done = 0;
    if let (Some(s), Some(d), Ok(s_skip), Ok(d_skip)) =
        (src.plan(), dst.plan(), usize::try_from(src_pos), usize::try_from(dst_pos))
    {
        // SAFETY: the caller's promise, in each arm.
        unsafe {
            if let Some(off) = stretch(d, d_skip, bytes) {
                return Ok(run::run::<Pack>(s, from, s_skip, dst_base.wrapping_offset(off), bytes));
            }
            if let Some(off) = stretch(s, s_skip, bytes) {
                return Ok(run::run::<Unpack>(d, dst_base, d_skip, from.wrapping_offset(off), bytes));
            }
            if let Some(n) = same_blocks(s, from, s_skip, d, dst_base, d_skip, bytes) {
                return Ok(n);
            }
            if s_skip == d_skip && !without(Optimization::DgspLockstep) {
                let cut = lockstep::to_block(s, d, s_skip).min(bytes);
                if cut > 0 {
                    done = staged(src, src_base, src_pos, dst, dst_base, dst_pos, cut)?;
                }
                done += lockstep::common(s, from, d, dst_base, s_skip + done, bytes - done);
            }
            let (s_block, d_block) = (mean_block(s), mean_block(d));
            if done < bytes && s_block.max(d_block) >= DIRECT_BLOCK {
                let (src, dst) = ((s, from, s_skip + done), (d, dst_base, d_skip + done));
                return Ok(done + by_blocks(src, dst, bytes - done, s_block >= d_block));
            }
        }
    }
    let (src_pos, dst_pos) = (src_pos + done as u64, dst_pos + done as u64);
    // SAFETY: the caller's promise.
    Ok(done + unsafe { staged(src, src_base, src_pos, dst, dst_base, dst_pos, bytes - done) }?)
}

/// Whether the first `bytes` bytes of two messages certainly have no byte of memory in common, as
/// [`copy`] demands. What is only known to lie between bytes of the message counts as a byte of it.
pub fn apart(
    src: &Registered,
    src_base: *const u8,
    dst: &Registered,
    dst_base: *const u8,
    bytes: u64,
) -> bool {
    let place = |program: &Registered, base: *const u8| {
        let (lo, hi) = program.reach(bytes)?;
        let base = base.addr() as i128;
        Some((base + lo, base + hi))
    };
    match (place(src, src_base), place(dst, dst_base)) {
        (Some(a), Some(b)) => a.1 <= b.0 || b.1 <= a.0,
        _ => false,
    }
}

/// The offset of the bytes concerned, if they are one stretch.
fn stretch(plan: &Plan, skip: usize, bytes: usize) -> Option<isize> {
    match plan {
        Plan::Bytes { off, len } if skip.checked_add(bytes)? <= *len => Some(off.wrapping_add_unsigned(skip)),
        _ => None,
    }
}

/// Two runs of blocks of one length, each at its own stride, from a block's start on: one kernel
/// does both sides.
///
/// # Safety
/// As [`copy`].
unsafe fn same_blocks(
    s: &Plan,
    s_base: *mut u8,
    s_skip: usize,
    d: &Plan,
    d_base: *mut u8,
    d_skip: usize,
    bytes: usize,
) -> Option<usize> {
    let Plan::Strided { off: s_off, count: s_count, stride: s_stride, len, kernels } = s else { return None };
    let Plan::Strided { off: d_off, count: d_count, stride: d_stride, len: d_len, .. } = d else {
        return None;
    };
    if len != d_len
        || !s_skip.is_multiple_of(*len)
        || !d_skip.is_multiple_of(*len)
        || !bytes.is_multiple_of(*len)
    {
        return None;
    }
    let (i, j, n) = (s_skip / len, d_skip / len, bytes / len);
    if i.checked_add(n)? > *s_count || j.checked_add(n)? > *d_count {
        return None;
    }
    let from = s_base.wrapping_offset(s_off.wrapping_add(s_stride.wrapping_mul(i as isize)));
    let to = d_base.wrapping_offset(d_off.wrapping_add(d_stride.wrapping_mul(j as isize)));
    // SAFETY: `n` blocks of either side, which the caller promises.
    unsafe { (kernels.pack.strided)(from, *s_stride, to, *d_stride, n, *len) };
    Some(bytes)
}

/// Walks the side with the longer blocks and lets the other side's engine fill or empty each.
///
/// # Safety
/// As [`copy`].
unsafe fn by_blocks(
    (s, s_base, s_skip): (&Plan, *mut u8, usize),
    (d, d_base, d_skip): (&Plan, *mut u8, usize),
    bytes: usize,
    walk_source: bool,
) -> usize {
    let mut done = 0;
    if walk_source {
        walk::walk(s, s_skip, bytes, &mut |off, len| {
            // SAFETY: `off` and `len` are a stretch of the source.
            done += unsafe { run::run::<Unpack>(d, d_base, d_skip + done, s_base.wrapping_offset(off), len) };
        });
    } else {
        walk::walk(d, d_skip, bytes, &mut |off, len| {
            // SAFETY: `off` and `len` are a stretch of the target.
            done += unsafe { run::run::<Pack>(s, s_base, s_skip + done, d_base.wrapping_offset(off), len) };
        });
    }
    done
}

/// # Safety
/// As [`copy`].
unsafe fn staged(
    src: &Registered,
    src_base: *const u8,
    src_pos: u64,
    dst: &Registered,
    dst_base: *mut u8,
    dst_pos: u64,
    bytes: usize,
) -> Result<usize, Error> {
    let mut stage = [0; STAGE];
    let mut done = 0;
    while done < bytes {
        let part = &mut stage[..STAGE.min(bytes - done)];
        // SAFETY: the caller's promise; the stage is ours.
        unsafe {
            let n = src.pack_into(src_base, src_pos + done as u64, part)?;
            let m = dst.unpack_from(dst_base, dst_pos + done as u64, &part[..n])?;
            done += m;
            if m < part.len() {
                break;
            }
        }
    }
    Ok(done)
}

/// Mean length of a plan's blocks.
fn mean_block(plan: &Plan) -> usize {
    plan.size() / plan.blocks().max(1)
}
