//! A registered program as the source or the destination of a message.

use super::ddm::Function;
use super::registry::{Program, acquire};
use crate::abi::*;
use crate::failure::{self, Outcome};
use crate::handlers::address::raise_later;
use crate::handles;
use lapis_core::handlers::Incoming;
use lapis_core::message::{Destination, Gather, Scatter, Source};
use lapis_core::{Context, Error, LapiCode};
use lapis_dgsp::{ErrorCode, Machine, Registered};
use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Messages up to so many bytes are gathered before they are sent.
pub(crate) const SHORT: usize = 512;

/// The first `len` bytes of a message that `program` gathers from memory at `base`, and the size of
/// its atoms.
///
/// Checks what could go wrong on the way, so that nothing does.
//= LAPI Guide, LAPI_Xfer, LAPI_ERR_DGSP_CTL for a CONTROL at the gather side
//= LAPI Guide, LAPI_Xfer, a DGSP transfer may have a NULL udata
pub(crate) fn source(
    program: Program,
    base: *const c_void,
    len: u64,
    both_contiguous: bool,
) -> Outcome<(Source, u64)> {
    check_gather(&program, len).map_err(failure::of)?;
    let atom = program.descriptor().atom_size.max(0) as u64;
    let base = base.cast::<u8>();
    let source = match program.contiguous(len) {
        _ if len == 0 => Source::Contiguous(std::ptr::null(), 0),
        Some(offset) if atom == 0 => Source::Contiguous(base.wrapping_offset(offset as isize), len),
        //= LAPI Guide, LAPI_Xfer, BUFFER_BOTH_CONTIGUOUS
        None if both_contiguous => {
            let from = base.wrapping_offset(program.descriptor().lext as isize);
            Source::of_atoms(from, len, atom)
        }
        _ => Source::Gather(Box::new(Origin { program, base: base.expose_provenance() }), len),
    };
    Ok((source, atom))
}

/// The bytes of a short message, gathered at once; `None` if it is not short or should go another
/// way.
///
/// # Safety
/// As [`Registered::pack_into`].
#[inline]
pub(crate) unsafe fn short<'r>(
    program: &Registered,
    base: *const c_void,
    len: u64,
    room: &'r mut [u8; SHORT],
) -> Option<&'r [u8]> {
    let sound = program.is_compiled() && program.span().is_some_and(|span| span.size > 0);
    if !sound || program.descriptor().atom_size != 0 || program.contiguous(len).is_some() {
        return None;
    }
    let out = room.get_mut(..len as usize)?;
    // SAFETY: the caller's promise.
    let packed = unsafe { program.pack_into(base.cast(), 0, out) };
    packed.is_ok_and(|n| n == out.len()).then_some(out)
}

/// Whether a program can move so many bytes without a function of the program's.
pub(crate) fn check_gather(program: &Registered, len: u64) -> Result<(), Error> {
    let refuse = |code, problem: &str| Err(Error::Dgsp { problem: problem.into(), code });
    if program.has_control() {
        return refuse(LapiCode::ERR_DGSP_CTL, "CONTROL has no meaning at the origin");
    }
    match program.span() {
        Some(span) if span.size > 0 || len == 0 => Ok(()),
        Some(_) => refuse(LapiCode::ERR_DGSP_OTHER, "the program moves no bytes, but the message has some"),
        None => trace(program, len),
    }
}

/// Runs a program that was not verified and breaks the rules, without moving anything: it fails
/// here or never.
fn trace(program: &Registered, len: u64) -> Result<(), Error> {
    let mut machine = Machine::new(program.descriptor()).map_err(|e| error(&e))?;
    let mut left = len;
    while left > 0 {
        let piece = machine.next_piece(usize::try_from(left).unwrap_or(usize::MAX)).map_err(|e| error(&e))?;
        if piece.control.is_some() {
            let problem = "CONTROL has no meaning at the origin".into();
            return Err(Error::Dgsp { problem, code: LapiCode::ERR_DGSP_CTL });
        }
        left -= piece.len as u64;
    }
    Ok(())
}

struct Origin {
    program: Program,
    base: usize,
}

impl Gather for Origin {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let base = std::ptr::with_exposed_provenance(self.base);
        // SAFETY: the caller's promise.
        let read = unsafe { self.program.pack_into(base, position, out) };
        debug_assert!(read.is_ok_and(|n| n == out.len()), "checked before the message began");
    }

    fn atom(&self) -> u64 {
        self.program.descriptor().atom_size.max(1) as u64
    }

    fn local(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// Where a message goes whose header handler asked for a DGSP. `atom` is the atom size of the
/// origin's program.
//= LAPI Guide, LAPI_Xfer, scatter-side DGSP processing
//= LAPI Guide, The enhanced header handler interface, bytes may be less than the message length
#[inline(never)]
pub(crate) fn destination(
    context: &Context,
    incoming: &Incoming<'_>,
    info: &lapi_return_info_t,
    buffer: *mut c_void,
    atom: u64,
) -> Destination {
    let source = incoming.source;
    if info.ctl_flags == LAPI_DROP_PKT {
        // The message is delivered again, and the handler's request with it.
        return Destination::Discard;
    }
    let Some(program) = acquire(info.dgsp_handle) else {
        let problem = "the handle that a header handler returned is not registered".into();
        raise_later(context, source, Error::Dgsp { problem, code: LapiCode::ERR_DGSP });
        return Destination::Discard;
    };
    let bytes = info.bytes.min(incoming.len);
    let buffer = buffer.cast::<u8>();
    if bytes == incoming.len
        && let Some(offset) = program.contiguous(bytes)
        && let Some(at) = NonNull::new(buffer.wrapping_offset(offset as isize))
    {
        return Destination::Contiguous(at);
    }
    let instance = handles::of_context(context);
    let function = instance.and_then(|instance| instance.ddm.get(atom)).filter(|_| atom > 0);
    if let Err(problem) = check_scatter(&program, function, atom) {
        raise_later(context, source, problem);
        return Destination::Discard;
    }
    // Part of an operand would be no operand.
    let bytes = if program.has_control() { bytes - bytes % atom } else { bytes };
    let handle = instance.map_or(0, |instance| instance.handle);
    let mut target = Target { program, base: buffer.expose_provenance(), bytes, function, source, handle };
    if let Some(data) = incoming.data() {
        // All of it is here: no need to keep anything.
        // SAFETY: the header handler vouched for the memory that its program names.
        unsafe { target.write(0, data) };
        return Destination::Discard;
    }
    Destination::Scatter(Box::new(target))
}

/// What can be known before data comes.
fn check_scatter(program: &Registered, function: Option<Function>, atom: u64) -> Result<(), Error> {
    if !program.has_control() {
        return Ok(());
    }
    let problem = match (function, atom) {
        //= LAPI Guide, LAPI_Xfer, LAPI_ERR_DGSP_CTL for a CONTROL without an atom size at the gather side
        (_, 0) => "CONTROL needs an atom size in the origin's DGSP, so that no operand is split",
        (None, _) => "CONTROL needs a DDM function; register one with LAPI_REG_DDM_FUNC",
        _ => return Ok(()),
    };
    Err(Error::Dgsp { problem: problem.into(), code: LapiCode::ERR_DGSP_CTL })
}

struct Target {
    program: Program,
    base: usize,
    /// What is to be delivered: 0 once the program has failed.
    bytes: u64,
    function: Option<Function>,
    /// Who sent the message, and the context that it came to: for complaints.
    source: u32,
    handle: lapi_handle_t,
}

impl Scatter for Target {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        let wanted = self.bytes.saturating_sub(position).min(bytes.len() as u64) as usize;
        if wanted == 0 {
            return;
        }
        let (base, data) = (std::ptr::with_exposed_provenance_mut(self.base), &bytes[..wanted]);
        // SAFETY: the caller's promise.
        let run = || unsafe { scatter(&self.program, base, position, data, self.function) };
        let lender = self.function.and_then(|_| handles::live_or_ending(self.handle).ok());
        let outcome = match lender {
            // Core writes with the lock held; the function may call, as a header handler may.
            Some(instance) => instance.context.lending_held(run),
            None => run(),
        };
        self.note(outcome);
    }

    unsafe fn fetch(&mut self, position: u64, from: &dyn Any, len: u64) -> bool {
        let Some(origin) = from.downcast_ref::<Origin>() else { return false };
        let wanted = self.bytes.saturating_sub(position).min(len);
        let (src, dst) = (&origin.program, &self.program);
        let src_base: *const u8 = std::ptr::with_exposed_provenance(origin.base);
        let dst_base: *mut u8 = std::ptr::with_exposed_provenance_mut(self.base);
        // Programs that the plain interpreter runs say what is wrong with them only piece by piece.
        let known = src.is_compiled() && dst.is_compiled();
        if !known || !lapis_dgsp::apart(src, src_base, dst, dst_base, position + wanted) {
            return false;
        }
        // SAFETY: the caller's promise; both sides were just found to have no byte in common.
        let moved =
            unsafe { lapis_dgsp::copy(src, src_base, position, dst, dst_base, position, wanted as usize) };
        self.note(all(moved, wanted as usize));
        true
    }
}

impl Target {
    /// One report a message; what comes after it is not wanted.
    fn note(&mut self, outcome: Result<(), Error>) {
        let Err(problem) = outcome else { return };
        self.bytes = 0;
        if let Ok(instance) = handles::live(self.handle) {
            raise_later(&instance.context, self.source, problem);
        }
    }
}

/// Scatters all of `data`.
///
/// # Safety
/// As [`Registered::unpack_with`].
pub(crate) unsafe fn scatter(
    program: &Registered,
    base: *mut u8,
    position: u64,
    data: &[u8],
    function: Option<Function>,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    let moved = unsafe {
        match &function {
            None => program.unpack_from(base, position, data),
            Some(function) => program.unpack_with(base, position, data, function),
        }
    };
    all(moved, data.len())
}

/// Whether a program has moved all that it was asked for.
fn all(moved: Result<usize, lapis_dgsp::Error>, wanted: usize) -> Result<(), Error> {
    match moved {
        Ok(n) if n == wanted => Ok(()),
        Ok(_) => Err(Error::Dgsp {
            problem: "the program moves no bytes, but the message has some".into(),
            code: LapiCode::ERR_DGSP_OTHER,
        }),
        Err(problem) => Err(error(&problem)),
    }
}

const _: () = assert!(ErrorCode::Other as i32 == LAPI_ERR_DGSP_OTHER);

/// The error for what the engine refuses.
fn error(error: &lapis_dgsp::Error) -> Error {
    let code = LapiCode::from_i32(error.code as i32).unwrap_or(LapiCode::ERR_DGSP_OTHER);
    Error::Dgsp { problem: error.to_string(), code }
}
