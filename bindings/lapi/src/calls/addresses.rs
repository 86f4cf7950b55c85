//! LAPI_Addr_set, LAPI_Addr_get, LAPI_Address, LAPI_Address_init and LAPI_Address_init64.

use super::misc::collectively;
use crate::abi::*;
use crate::failure::{self, Outcome, cold};
use crate::handlers::arrivals;
use crate::handles::{self, Entered, Instance};
use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::with_exposed_provenance_mut;

/// The index of a table entry; core refuses those outside the table.
fn index(addr_hndl: c_int) -> usize {
    usize::try_from(addr_hndl).unwrap_or(0)
}

//= LAPI Guide, LAPI_Addr_set, LAPI_ERR_ADDR_HNDL_RANGE
pub(crate) unsafe extern "C" fn addr_set(hndl: lapi_handle_t, addr: *mut c_void, addr_hndl: c_int) -> c_int {
    cold("LAPI_Addr_set", || {
        let instance = handles::get(hndl)?;
        let (index, address) = (index(addr_hndl), addr.addr() as u64);
        let context = &instance.context;
        // SAFETY: by the guide, the address of a header handler.
        unsafe { arrivals::register(context, index, address) }.map_err(failure::of)
    })
}

//= LAPI Guide, LAPI_Addr_get, LAPI_ERR_ADDR_HNDL_RANGE
pub(crate) unsafe extern "C" fn addr_get(
    hndl: lapi_handle_t,
    addr: *mut *mut c_void,
    addr_hndl: c_int,
) -> c_int {
    cold("LAPI_Addr_get", || {
        let instance = handles::get(hndl)?;
        if addr.is_null() {
            return Err(LAPI_ERR_RET_PTR_NULL);
        }
        let found = instance.context.handler_address(index(addr_hndl)).map_err(failure::of)?;
        // SAFETY: not null; the caller's promise.
        unsafe { *addr = with_exposed_provenance_mut(found as usize) };
        Ok(())
    })
}

//= LAPI Guide, LAPI_Address, LAPI_ERR_ORG_ADDR_NULL and LAPI_ERR_TGT_ADDR_NULL
pub(crate) unsafe extern "C" fn address(my_addr: *mut c_void, ret_addr: *mut c_ulong) -> c_int {
    if my_addr.is_null() {
        return LAPI_ERR_ORG_ADDR_NULL;
    }
    if ret_addr.is_null() {
        return LAPI_ERR_TGT_ADDR_NULL;
    }
    // SAFETY: not null; the caller's promise.
    unsafe { *ret_addr = my_addr.addr() as c_ulong };
    LAPI_SUCCESS
}

//= LAPI Guide, LAPI_Address_init, exchanges addresses
pub(crate) unsafe extern "C" fn address_init(
    hndl: lapi_handle_t,
    my_addr: *mut c_void,
    add_tab: *mut *mut c_void,
) -> c_int {
    const NAME: &str = "LAPI_Address_init";
    cold(NAME, || {
        let instance = usable(hndl, add_tab.is_null())?;
        for (task, address) in exchange(&instance, NAME, my_addr.addr() as u64)?.enumerate() {
            // SAFETY: by the guide, the table has an entry for each task.
            unsafe { *add_tab.add(task) = with_exposed_provenance_mut(address as usize) };
        }
        Ok(())
    })
}

//= LAPI Guide, LAPI_Address_init64, exchanges 64-bit addresses
pub(crate) unsafe extern "C" fn address_init64(
    hndl: lapi_handle_t,
    my_addr: lapi_long_t,
    add_tab: *mut lapi_long_t,
) -> c_int {
    const NAME: &str = "LAPI_Address_init64";
    cold(NAME, || {
        let instance = usable(hndl, add_tab.is_null())?;
        for (task, address) in exchange(&instance, NAME, my_addr)?.enumerate() {
            // SAFETY: by the guide, the table has an entry for each task.
            unsafe { *add_tab.add(task) = address };
        }
        Ok(())
    })
}

//= LAPI Guide, LAPI_Address_init, LAPI_ERR_RET_PTR_NULL and LAPI_ERR_COLLECTIVE_PSS
fn usable(hndl: lapi_handle_t, no_table: bool) -> Outcome<Entered> {
    let instance = handles::get(hndl)?;
    if instance.persistent {
        return Err(LAPI_ERR_COLLECTIVE_PSS);
    }
    if no_table {
        return Err(LAPI_ERR_RET_PTR_NULL);
    }
    Ok(instance)
}

fn exchange(instance: &Instance, name: &'static str, address: u64) -> Outcome<impl Iterator<Item = u64>> {
    let all = collectively(instance, name, || instance.context.all_gather(&address.to_le_bytes()))?;
    let all: Vec<_> =
        all.chunks_exact(8).map(|word| u64::from_le_bytes(std::array::from_fn(|b| word[b]))).collect();
    for (task, theirs) in (0..).zip(&all).filter(|(_, theirs)| **theirs != address) {
        instance.code.note(task, *theirs);
    }
    Ok(all.into_iter())
}
