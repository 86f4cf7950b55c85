//! Registration: a program checked once, compiled once, then run at any position for any number of
//! bytes.
#![allow(unsafe_code, reason = "the calls here take the user's raw pointers and hand them to the engine")]

use crate::ddm::Ddm;
use crate::decode;
use crate::descriptor::Descriptor;
use crate::engine::kernels::{Direction, Pack, Unpack};
use crate::engine::plan::Plan;
use crate::engine::run;
use crate::error::{Error, ErrorCode, Fault};
use crate::interp::Machine;
use crate::routines::Routines;
use crate::verify::{self, Verified};

/// A registered program (*LAPI Guide, LAPI_Util, LAPI_REGISTER_DGSP*). Immutable, so that any
/// number of operations may use it at once; share it by `Arc` for the guide's reference counts.
///
/// A *position* counts bytes of the message, from 0. The program repeats at its extent for as long
/// as it is asked to, so every position up to the end of the message is valid, in any order:
/// packets may arrive as they like.
///
/// ```
/// use lapis_dgsp::{Layout, Registered};
/// # fn main() -> Result<(), lapis_dgsp::Error> {
/// let every_other = Layout::vector(3, 1, 2, &Layout::bytes(2)?)?.compile()?;
/// let dgsp = Registered::new(every_other)?;
/// let mem = *b"ab..cd..ef";
/// let mut packet = [0; 4];
/// // The bytes of the message from position 1 on.
/// let n = dgsp.pack_slice(&mem, 0, 1, &mut packet)?;
/// assert_eq!((n, &packet), (4, b"bcde"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Registered {
    desc: Descriptor,
    /// Known where control flow is sound.
    routines: Option<Routines>,
    /// Known where, besides, nothing needs the interpreter.
    plan: Option<Plan>,
    /// Whether a CONTROL can be reached.
    control: bool,
    /// True bounds and size of one application, where control flow is sound.
    span: Option<Span>,
    verified: bool,
}

/// What one application moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes moved.
    pub size: u64,
    /// Offset of the lowest byte.
    pub lo: i64,
    /// Offset past the highest byte.
    pub hi: i64,
}

impl Registered {
    /// Registers without verification, the guide's default. A program that breaks the rules is
    /// accepted if its header is sound; running it fails, at the instruction at fault, when it
    /// comes there.
    pub fn new(desc: Descriptor) -> Result<Self, Error> {
        desc.check_header()?;
        Ok(Self::build(desc, false))
    }

    /// Registers with verification (`LAPI_VERIFY_DGSP=yes`).
    pub fn verified(desc: Descriptor) -> Result<Self, Error> {
        let verified: Verified = verify::verify(&desc)?;
        Ok(Self::build(verified.descriptor().clone(), true))
    }

    /// What the user registered.
    pub fn descriptor(&self) -> &Descriptor {
        &self.desc
    }

    /// Whether [`Registered::verified`] made it.
    pub fn is_verified(&self) -> bool {
        self.verified
    }

    /// Whether it runs compiled; the rest runs in the plain interpreter.
    pub fn is_compiled(&self) -> bool {
        self.plan.is_some()
    }

    /// Whether a CONTROL can be reached, so that it can only scatter, with a DDM function.
    pub fn has_control(&self) -> bool {
        self.control
    }

    /// What one application moves, computed from the code. `None` where control flow breaks the
    /// rules.
    pub fn span(&self) -> Option<Span> {
        self.span
    }

    /// If `bytes` bytes from the start are one contiguous stretch: its offset. The code decides,
    /// not the density label.
    pub fn contiguous(&self, bytes: u64) -> Option<i64> {
        match self.plan.as_ref()? {
            Plan::Bytes { off, len } if bytes <= *len as u64 => Some(*off as i64),
            Plan::Strided { off, len, .. } | Plan::Grid { off, len, .. } if bytes <= *len as u64 => {
                Some(*off as i64)
            }
            Plan::Fields { off, fields, .. } if bytes <= fields.first()?.len as u64 => {
                Some((off + fields.first()?.off) as i64)
            }
            _ => None,
        }
    }

    /// Offsets, from the user's buffer, between which `bytes` bytes from the start lie.
    pub fn reach(&self, bytes: u64) -> Option<(i128, i128)> {
        self.reach_from(0, bytes)
    }

    /// Gathers `out.len()` bytes of the message from `position` on, and answers how many: fewer
    /// only if the program moves nothing at all.
    ///
    /// # Safety
    /// All bytes that the program names for these positions, relative to `base`, are readable and
    /// not in `out`. For a verified program they lie between `lext` and `rext` of the applications
    /// concerned; an unverified one may name any.
    #[inline]
    pub unsafe fn pack_into(&self, base: *const u8, position: u64, out: &mut [u8]) -> Result<usize, Error> {
        if self.has_control() {
            return Err(Error::whole(ErrorCode::Ctl, Fault::ControlInGather));
        }
        // SAFETY: the caller's promise; `out` is a valid slice.
        unsafe { self.run::<Pack>(base.cast_mut(), position, out.as_mut_ptr(), out.len()) }
    }

    /// Scatters `data`, the bytes of the message from `position` on, and answers how many it
    /// stored: fewer only if the program moves nothing at all. A program with CONTROL needs
    /// [`Registered::unpack_with`].
    ///
    /// # Safety
    /// As [`Registered::pack_into`], with the bytes writable.
    #[inline]
    pub unsafe fn unpack_from(&self, base: *mut u8, position: u64, data: &[u8]) -> Result<usize, Error> {
        if self.has_control() {
            return Err(Error::whole(ErrorCode::Ctl, Fault::NoDdm));
        }
        // SAFETY: the caller's promise; `data` is a valid slice, which `Unpack` only reads.
        unsafe { self.run::<Unpack>(base, position, data.as_ptr().cast_mut(), data.len()) }
    }

    /// Scatters like [`Registered::unpack_from`]; what is under CONTROL goes through `ddm`.
    ///
    /// If the descriptor has an atom size, `position` and `data` must be whole atoms (the last
    /// packet's included), so that no operand is split.
    ///
    /// # Safety
    /// As [`Registered::unpack_from`], and `ddm` keeps to the bytes it is given.
    pub unsafe fn unpack_with(
        &self,
        base: *mut u8,
        position: u64,
        data: &[u8],
        ddm: &dyn Ddm,
    ) -> Result<usize, Error> {
        if self.plan.is_some() {
            // SAFETY: the caller's promise.
            return unsafe { self.unpack_from(base, position, data) };
        }
        let atom = self.desc.atom_size.max(1) as usize;
        if self.has_control() && !(position.is_multiple_of(atom as u64) && data.len().is_multiple_of(atom)) {
            let fault = Fault::SplitAtom { bytes: data.len() as i64, atom: self.desc.atom_size };
            return Err(Error::whole(ErrorCode::Atom, fault));
        }
        let from = data.as_ptr().cast_mut();
        // SAFETY: the caller's promise.
        unsafe { self.interpret::<Unpack>(base, position, from, data.len(), Some(ddm)) }
    }

    /// [`Registered::pack_into`] for memory that is a slice; `origin` is the index of the user's
    /// buffer in it.
    pub fn pack_slice(
        &self,
        mem: &[u8],
        origin: usize,
        position: u64,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        self.check_range(mem.len(), origin, position, out.len())?;
        // SAFETY: all bytes named were just found to lie in `mem`, which can't overlap `out`. The
        // buffer itself may begin behind it.
        unsafe { self.pack_into(mem.as_ptr().wrapping_add(origin), position, out) }
    }

    /// [`Registered::unpack_from`] for memory that is a slice; `origin` is the index of the user's
    /// buffer in it.
    pub fn unpack_slice(
        &self,
        mem: &mut [u8],
        origin: usize,
        position: u64,
        data: &[u8],
    ) -> Result<usize, Error> {
        self.check_range(mem.len(), origin, position, data.len())?;
        // SAFETY: all bytes named were just found to lie in `mem`, which can't overlap `data`. As
        // above.
        unsafe { self.unpack_from(mem.as_mut_ptr().wrapping_add(origin), position, data) }
    }

    pub(crate) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// The plain interpreter at a position, for what must go piece by piece.
    pub(crate) fn machine(&self, position: u64) -> Result<Machine<'_>, Error> {
        let mut machine = Machine::with_routines(&self.desc, self.routines.as_ref());
        machine.skip(position)?;
        Ok(machine)
    }

    fn build(desc: Descriptor, verified: bool) -> Self {
        let routines = Routines::scan(&desc).ok().filter(|r| r.main().depth <= desc.frames());
        let body = routines.as_ref().and_then(|r| decode::decode(&desc, r).ok());
        let plan = body.and_then(|b| Plan::endless(&b, desc.extent).ok());
        let span = routines.as_ref().map(|r| {
            let main = r.main();
            Span { size: main.size as u64, lo: main.lo, hi: main.hi }
        });
        let control = routines.as_ref().is_some_and(|r| r.main().control);
        Self { desc, routines, plan, control, span, verified }
    }

    /// # Safety
    /// See the callers.
    #[inline]
    unsafe fn run<D: Direction>(
        &self,
        base: *mut u8,
        position: u64,
        buf: *mut u8,
        len: usize,
    ) -> Result<usize, Error> {
        let Some(plan) = &self.plan else {
            // SAFETY: the caller's promise.
            return unsafe { self.interpret::<D>(base, position, buf, len, None) };
        };
        let Ok(skip) = usize::try_from(position) else { return Ok(0) };
        // SAFETY: the caller's promise.
        Ok(unsafe { run::run::<D>(plan, base, skip, buf, len) })
    }

    /// # Safety
    /// See the callers.
    unsafe fn interpret<D: Direction>(
        &self,
        base: *mut u8,
        position: u64,
        buf: *mut u8,
        len: usize,
        ddm: Option<&dyn Ddm>,
    ) -> Result<usize, Error> {
        if self.span.is_some_and(|s| s.size == 0) {
            return Ok(0);
        }
        let mut machine = self.machine(position)?;
        let mut done = 0;
        while done < len {
            let piece = machine.next_piece(len - done)?;
            let (mem, at) = (base.wrapping_offset(piece.offset as isize), buf.wrapping_add(done));
            // SAFETY: the caller's promise: this piece is among the bytes that the program names.
            unsafe {
                match (piece.control, ddm) {
                    (None, _) => D::copy::<crate::engine::lengths::Long>(mem, at, piece.len),
                    (Some(_), None) => return Err(Error::whole(ErrorCode::Ctl, Fault::NoDdm)),
                    (Some((operation, operand)), Some(ddm)) => {
                        crate::ddm::apply_all(ddm, at, mem, piece.len, operand, operation)?;
                    }
                }
            }
            done += piece.len;
        }
        Ok(done)
    }

    /// Bounds of the applications that the stretch concerns.
    fn reach_from(&self, position: u64, bytes: u64) -> Option<(i128, i128)> {
        let span = self.span?;
        if span.size == 0 || bytes == 0 {
            return Some((0, 0));
        }
        let at = |rep: u64| i128::from(rep) * i128::from(self.desc.extent);
        let (first, last) = (position / span.size, (position.saturating_add(bytes) - 1) / span.size);
        let (a, b) = (at(first), at(last));
        Some((a.min(b) + i128::from(span.lo), a.max(b) + i128::from(span.hi)))
    }

    fn check_range(&self, size: usize, origin: usize, position: u64, bytes: usize) -> Result<(), Error> {
        let from = origin as i128;
        let (lo, hi) = match self.reach_from(position, bytes as u64) {
            Some(reach) => reach,
            None => self.trace(position, bytes)?,
        };
        if lo + from < 0 || hi + from > size as i128 {
            let fault = Fault::Range { lo: lo + from, hi: hi + from, size };
            return Err(Error::whole(ErrorCode::Other, fault));
        }
        Ok(())
    }

    /// The bounds of a program that only running it can tell.
    fn trace(&self, position: u64, bytes: usize) -> Result<(i128, i128), Error> {
        let mut machine = self.machine(position)?;
        let (mut lo, mut hi, mut left) = (0, 0, bytes);
        while left > 0 {
            let piece = machine.next_piece(left)?;
            let at = i128::from(piece.offset);
            let whole = left == bytes;
            lo = if whole { at } else { at.min(lo) };
            hi = if whole { at + piece.len as i128 } else { (at + piece.len as i128).max(hi) };
            left -= piece.len;
        }
        Ok((lo, hi))
    }
}
