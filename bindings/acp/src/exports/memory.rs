//! Global memory management, and the memory that acp_malloc gives.

use super::{call, command, process};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Registers memory; gives its key, or 0.
//= ACP 1.0, acp_register_memory
#[unsafe(no_mangle)]
pub extern "C" fn acp_register_memory(addr: *mut c_void, size: usize, color: c_int) -> u64 {
    call("acp_register_memory", 0, || {
        let process = process()?;
        if addr.is_null() {
            return Err(Error::Null).at("addr", 0);
        }
        let known = u32::try_from(color).ok().filter(|colour| *colour < process.space.colours());
        let colour = known.ok_or(Error::Color).of("color", color)?;
        let registered = process.regions().register(addr.expose_provenance(), size as u64, colour);
        let key = registered.size_of("size", size as u64)?;
        process.colours.note(colour);
        let world = process.world();
        Ok(world.space.address(world.rank, key))
    })
}

/// The position of a key of this process's.
fn position_of_key(process: &Process, atkey: u64) -> Result<u64> {
    let world = process.world();
    if world.rank_of(atkey).ok() != Some(world.rank) {
        return Err(Error::Key).at("atkey", atkey);
    }
    Ok(world.space.position(atkey))
}

/// Unregisters memory. Waits for accesses that are under way.
//= ACP 1.0, acp_unregister_memory
#[unsafe(no_mangle)]
pub extern "C" fn acp_unregister_memory(atkey: u64) -> c_int {
    command("acp_unregister_memory", |process| {
        let position = position_of_key(process, atkey)?;
        let mut region = process.regions().unregister(position).at("atkey", atkey)?;
        process.wait_for_owners(&mut region)
    })
}

/// The global address of registered memory, or 0.
//= ACP 1.0, acp_query_ga
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_ga(atkey: u64, addr: *mut c_void) -> u64 {
    call("acp_query_ga", 0, || {
        let process = process()?;
        let (world, key) = (process.world(), position_of_key(process, atkey)?);
        process.regions().of_key(key).at("atkey", atkey)?;
        let position = process.regions().position(key, addr.addr()).at("addr", addr.addr() as u64)?;
        Ok(world.space.address(world.rank, position))
    })
}

/// Number of colours.
//= ACP 1.0, acp_colors
#[unsafe(no_mangle)]
pub extern "C" fn acp_colors() -> c_int {
    call("acp_colors", -1, || Ok(process()?.space.colours().cast_signed()))
}

/// The rank whose memory an address names, or −1.
//= ACP 1.0, acp_query_rank
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_rank(ga: u64) -> c_int {
    call("acp_query_rank", -1, || Ok(process()?.world().rank_of(ga).at("ga", ga)?.cast_signed()))
}

/// The colour of an address, or −1.
//= ACP 1.0, acp_query_color
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_color(ga: u64) -> c_int {
    call("acp_query_color", -1, || {
        let process = process()?;
        process.world().rank_of(ga).at("ga", ga)?;
        let colour = process.space.colour(ga);
        if colour >= process.space.colours() {
            return Err(Error::Address).at("ga", ga);
        }
        Ok(colour.cast_signed())
    })
}

/// Where memory of this process is, or NULL.
//= ACP 1.0, acp_query_address
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_address(ga: u64) -> *mut c_void {
    call("acp_query_address", null_mut(), || {
        let process = process()?;
        let world = process.world();
        if world.rank_of(ga).at("ga", ga)? != world.rank {
            return Err(Error::NotLocal).at("ga", ga);
        }
        match process.place(ga, 1).at("ga", ga)? {
            crate::operation::Place::Near(at, _) => Ok(at.cast()),
            crate::operation::Place::Far(_) => Err(Error::NotLocal),
        }
    })
}

/// The global address of a process's starter memory, or 0.
//= ACP 1.0, acp_query_starter_ga
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_starter_ga(rank: c_int) -> u64 {
    call("acp_query_starter_ga", 0, || {
        let world = process()?.world();
        let known =
            u32::try_from(rank).map_err(|_| Error::Rank).and_then(|known| world.block(known).map(|_| known));
        Ok(world.space.address(known.of("rank", rank)?, 0))
    })
}

/// Takes memory from a process's heap; gives its global address, or 0.
//= ACP 1.0, acp_malloc
#[unsafe(no_mangle)]
pub extern "C" fn acp_malloc(size: usize, rank: c_int) -> u64 {
    call("acp_malloc", 0, || {
        let process = process()?;
        super::allocated(process.allocate(size as u64, super::rank_of(rank)?), size, rank)
    })
}

/// Gives memory back.
//= ACP 1.0, acp_free
#[unsafe(no_mangle)]
pub extern "C" fn acp_free(ga: u64) {
    // As free(3) does nothing for NULL.
    if ga != 0 {
        call("acp_free", (), || process()?.free(ga).at("ga", ga));
    }
}
