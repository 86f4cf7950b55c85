//! Data gather/scatter programs: the commands of LAPI_Util, and LAPI_DGSP_XFER.

use super::amsend::user_header;
use super::transfer::hint;
use crate::abi::*;
use crate::copying::{Counts, covered};
use crate::dgsp::layout::{self, SHORT};
use crate::dgsp::registry::{self, Program};
use crate::failure::{self, Outcome};
use crate::handlers::internal::{ATOMS, note};
use crate::handlers::notify::send_notify;
use crate::handles::Instance;
use lapis_core::config::{Config, Environment};
use lapis_core::message::{AmSend, Bulk, Short};
use lapis_core::{Counter, Notify};
use lapis_dgsp::{Density, Descriptor, ErrorCode, Fault, Registered};
use std::mem::offset_of;

/// # Safety
/// `command` is a lapi_reg_dgsp_t.
//= LAPI Guide, LAPI_Util, LAPI_REGISTER_DGSP
pub(super) unsafe fn register(command: *mut lapi_reg_dgsp_t) -> Outcome {
    // SAFETY: the caller's promise; by the guide, the description is NULL or one with that many
    // words of code.
    unsafe {
        //= LAPI Guide, LAPI_Util, LAPI_ERR_DGSP
        let Some(descr) = (*command).idgsp.as_ref() else { return Err(LAPI_ERR_DGSP) };
        let verify = verifies()?;
        let program = read(descr, verify).map_err(|error| refused(&error, verify))?;
        (*command).dgsp_handle = registry::register(program, *descr)?;
    }
    Ok(())
}

/// The program of a description, checked as far as the guide wants it.
///
/// # Safety
/// The code has as many words as the description says.
//= LAPI Guide, LAPI_Util, LAPI_ERR_DGSP_ATOM, LAPI_ERR_DGSP_BRANCH, LAPI_ERR_DGSP_COPY_SZ, LAPI_ERR_DGSP_OPC, LAPI_ERR_DGSP_STACK
//= LAPI Guide, table 38, LAPI_VERIFY_DGSP
unsafe fn read(descr: &lapi_dgsp_descr_t, verify: bool) -> Result<Registered, lapis_dgsp::Error> {
    let words = if descr.code.is_null() { 0 } else { usize::try_from(descr.code_size).unwrap_or(0) };
    // SAFETY: not null; the caller's promise.
    let code = if words == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(descr.code, words) } };
    let density = Density::from_c(descr.density);
    #[allow(clippy::unnecessary_cast, reason = "long has 32 bits elsewhere")]
    let descriptor = Descriptor {
        code: code.into(),
        depth: descr.depth,
        density: density.unwrap_or_default(),
        size: descr.size as i64,
        extent: descr.extent as i64,
        lext: descr.lext as i64,
        rext: descr.rext as i64,
        atom_size: descr.atom_size,
    };
    if !verify {
        return Registered::new(descriptor);
    }
    if density.is_none() {
        return Err(lapis_dgsp::Error {
            code: ErrorCode::Other,
            at: None,
            fault: Fault::UnknownDensity(descr.density),
        });
    }
    Registered::verified(descriptor)
}

/// LAPI_VERIFY_DGSP, from the environment as it is: programs register before they initialise.
fn verifies() -> Outcome<bool> {
    const NAME: &str = "LAPI_VERIFY_DGSP";
    let process = Environment::of_process();
    let Some(value) = process.get(NAME) else { return Ok(false) };
    let environment = Environment::from_pairs([(NAME, value)]);
    let (config, _) = Config::from_env(&environment).map_err(|error| failure::of(error.into()))?;
    Ok(*config.verify_dgsp.get())
}

/// The code of an error of the engine. Who asked for verification wants to know which instruction
/// is at fault.
fn refused(error: &lapis_dgsp::Error, verify: bool) -> i32 {
    if verify {
        tracing::error!(target: "lapis::call", "LAPI_Util: {error}");
    } else {
        tracing::debug!(target: "lapis::call", "{error}");
    }
    error.code as i32
}

/// # Safety
/// `command` is a lapi_resv_dgsp_t.
//= LAPI Guide, LAPI_Util, LAPI_RESERVE_DGSP
pub(super) unsafe fn reserve(command: *mut lapi_resv_dgsp_t) -> Outcome {
    // SAFETY: the caller's promise.
    registry::reserve(unsafe { handle_of(command) })
}

/// # Safety
/// `command` is a lapi_dref_dgsp_t.
//= LAPI Guide, LAPI_Util, LAPI_UNRESERVE_DGSP
//= LAPI Guide, LAPI_Util, LAPI_ERR_DGSP_FREE
pub(super) unsafe fn unreserve(command: *mut lapi_dref_dgsp_t) -> Outcome {
    // SAFETY: the caller's promise; both structures are alike.
    registry::unreserve(unsafe { handle_of(command.cast()) })
}

/// The handle of a command that reserves or gives up. The guide's examples use the structure of the
/// registration for these commands, too, which has the handle where these have `in_usr_func`, and
/// the program's own description, or nothing, where these have the handle. No function is a
/// registered handle, so both are understood. A handle that was ever given out counts as it stands:
/// if its program has gone, a registration in the same union may have left another handle beside
/// it.
///
/// # Safety
/// `command` is a lapi_resv_dgsp_t, or a lapi_reg_dgsp_t.
//= LAPI Guide, LAPI_Util, C examples 2 and 3
unsafe fn handle_of(command: *const lapi_resv_dgsp_t) -> lapi_dg_handle_t {
    const OTHER: usize = offset_of!(lapi_reg_dgsp_t, dgsp_handle);
    const _: () = assert!(OTHER == offset_of!(lapi_resv_dgsp_t, in_usr_func));
    const _: () = assert!(size_of::<lapi_resv_dgsp_t>() == size_of::<lapi_dref_dgsp_t>());
    // SAFETY: the caller's promise; both places lie within either structure.
    let (own, other) =
        unsafe { ((*command).dgsp_handle, command.byte_add(OTHER).cast::<lapi_dg_handle_t>().read()) };
    if !registry::was_given_out(own) && registry::is_registered(other) { other } else { own }
}

/// # Safety
/// `command` is a lapi_reg_ddm_t.
//= LAPI Guide, LAPI_Util, LAPI_REG_DDM_FUNC
pub(super) unsafe fn set_function(instance: &Instance, command: *mut lapi_reg_ddm_t) -> Outcome {
    // SAFETY: the caller's promise.
    instance.ddm.set(unsafe { (*command).ddm_func });
    Ok(())
}

/// # Safety
/// `command` is a lapi_pack_dgsp_t.
//= LAPI Guide, LAPI_Util, LAPI_DGSP_PACK
pub(super) unsafe fn pack(_: &Instance, command: *mut lapi_pack_dgsp_t) -> Outcome {
    // SAFETY: the caller's promise; the buffers are as large as the command says.
    unsafe {
        let c = &mut *command;
        let program = registry::acquire(c.dgsp_handle).ok_or(LAPI_ERR_DGSP)?;
        let (at, bytes) = within(c.position, c.bytes, c.out_size)?;
        if bytes == 0 {
            return Ok(());
        }
        if c.out_buf.is_null() {
            return Err(LAPI_ERR_TGT_ADDR_NULL);
        }
        let out = std::slice::from_raw_parts_mut(c.out_buf.cast::<u8>().add(at), bytes);
        let packed = program.pack_into(c.in_buf.cast(), 0, out).map_err(|error| refused(&error, false))?;
        moved(packed, bytes)?;
        c.position += c.bytes;
    }
    Ok(())
}

/// # Safety
/// `command` is a lapi_unpack_dgsp_t.
//= LAPI Guide, LAPI_Util, LAPI_DGSP_UNPACK
pub(super) unsafe fn unpack(instance: &Instance, command: *mut lapi_unpack_dgsp_t) -> Outcome {
    // SAFETY: the caller's promise; the buffers are as large as the command says.
    unsafe {
        let c = &mut *command;
        let program = registry::acquire(c.dgsp_handle).ok_or(LAPI_ERR_DGSP)?;
        let (at, bytes) = within(c.position, c.bytes, c.in_size)?;
        if bytes == 0 {
            return Ok(());
        }
        if c.buf.is_null() {
            return Err(LAPI_ERR_ORG_ADDR_NULL);
        }
        lands_within(&program, bytes as u64, c.out_size)?;
        let data = std::slice::from_raw_parts(c.buf.cast::<u8>().add(at), bytes);
        let function = instance.ddm.get(program.descriptor().atom_size as u64);
        let run = || layout::scatter(&program, c.out_buf.cast(), 0, data, function);
        // The function may call, also where the program holds the lock.
        instance.context.lending(run).map_err(failure::of)?;
        c.position += c.bytes;
    }
    Ok(())
}

/// Where in the packed buffer, and how many bytes, if that many are there.
//= LAPI Guide, appendix C, LAPI_ERR_PACK_SZ
fn within(position: u64, bytes: u64, size: u64) -> Outcome<(usize, usize)> {
    match position.checked_add(bytes) {
        Some(end) if end <= size => Ok((position as usize, bytes as usize)),
        _ => Err(LAPI_ERR_PACK_SZ),
    }
}

/// Whether the program keeps within the buffer that it unpacks to. A size of 0 says nothing, and
/// what lies below the buffer's address is the program's business: its description may have a
/// negative lext.
fn lands_within(program: &Program, bytes: u64, size: u64) -> Outcome {
    let fits = |hi: i128| size == 0 || hi <= i128::from(size);
    match program.reach(bytes) {
        Some((_, hi)) if fits(hi) => return Ok(()),
        // The bounds are those of whole applications: look at the bytes themselves.
        Some(_) => {}
        None if size == 0 => return Ok(()),
        None => {}
    }
    let mut machine =
        lapis_dgsp::Machine::new(program.descriptor()).map_err(|error| refused(&error, false))?;
    let mut left = bytes as usize;
    while left > 0 {
        let piece = machine.next_piece(left).map_err(|error| refused(&error, false))?;
        if !fits(i128::from(piece.offset) + piece.len as i128) {
            return Err(LAPI_ERR_PACK_SZ);
        }
        left -= piece.len;
    }
    Ok(())
}

/// A program that moves nothing can't move what was asked for.
fn moved(done: usize, bytes: usize) -> Outcome {
    if done == bytes { Ok(()) } else { Err(LAPI_ERR_DGSP_OTHER) }
}

/// LAPI_DGSP_XFER: an active message whose data a program gathers.
///
/// # Safety
/// `command` is a lapi_amdgsp_t.
//= LAPI Guide, LAPI_Xfer, table 26
pub(super) unsafe fn xfer(instance: &Instance, command: *const lapi_amdgsp_t) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    unsafe {
        let c = &*command;
        let user_header = user_header(instance, c.tgt, c.hdr_hdl, c.uhdr, c.uhdr_len)?;
        if user_header.len() % 4 != 0 {
            return Err(LAPI_ERR_HDR_LEN);
        }
        if c.udata_len > LAPI_MAX_MSG_SZ {
            return Err(LAPI_ERR_DATA_LEN);
        }
        let program = registry::acquire(c.dgsp).ok_or(LAPI_ERR_DGSP)?;
        let both_contiguous = c.flags & BUFFER_BOTH_CONTIGUOUS != 0;
        let plain = user_header.is_empty() && c.hdr_hdl != 0 && c.cmpl_cntr.is_null() && c.shdlr.is_none();
        if plain && !both_contiguous && send_short(instance, &program, c) {
            return Ok(());
        }
        let (source, atom) = layout::source(program, c.udata, c.udata_len, both_contiguous)?;
        let message = AmSend {
            target: c.tgt,
            handler: instance.code.portable(c.tgt, c.hdr_hdl),
            user_header,
            source,
            target_counter: c.tgt_cntr,
            origin: send_notify(c.org_cntr, c.shdlr, c.sinfo),
            completion: Notify::counter(c.cmpl_cntr.cast::<Counter>()),
        };
        send(instance, message, atom, hint(c.flags))
    }
}

/// The shortest path, for messages that are gathered at once and of which nobody wants to hear
/// again. False: nothing happened.
///
/// # Safety
/// As for [`xfer`].
unsafe fn send_short(instance: &Instance, program: &Program, c: &lapi_amdgsp_t) -> bool {
    let mut room = [0; SHORT];
    // SAFETY: the caller's promise.
    unsafe {
        let Some(data) = layout::short(program, c.udata, c.udata_len, &mut room) else { return false };
        let handler = instance.code.portable(c.tgt, c.hdr_hdl);
        let message = Short::new(c.tgt, handler, &[], data, c.tgt_cntr);
        if !instance.context.try_send_short(&message) {
            return false;
        }
        if let Some(counter) = c.org_cntr.cast::<Counter>().as_ref() {
            instance.context.count(counter, c.tgt);
        }
    }
    true
}

/// # Safety
/// As for [`lapis_core::Context::am_send`].
unsafe fn send(instance: &Instance, message: AmSend<'_>, atom: u64, bulk: Bulk) -> Outcome {
    if atom == 0 {
        // Bulk transfer moves one piece of memory: a layout that is none here goes by packets
        // whatever the flags request.
        // SAFETY: the caller's promise.
        return unsafe { instance.context.am_send_by(message, bulk) }.map_err(failure::of);
    }
    let note = note(atom);
    let header = [message.user_header, &note].concat();
    let program = message.source.len() + message.user_header.len() as u64;
    let counts = Counts { program, added: note.len() as u64 };
    // SAFETY: the caller's promise.
    unsafe {
        let source = covered(&instance.context, counts, message.source)?;
        let message = AmSend { handler: ATOMS | message.handler, user_header: &header, source, ..message };
        instance.context.am_send(message).map_err(failure::of)
    }
}
