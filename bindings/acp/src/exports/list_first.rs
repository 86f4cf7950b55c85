//! Lists of release 1.0: elements of one size, iterators that are numbers.

use super::{call, process, rank_of};
use crate::data::Element;
use crate::data::list::From;
use crate::data::numbered::ListIt;
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;
use std::ffi::{c_int, c_void};

/// What failed calls give in place of an iterator.
const NOWHERE: c_int = -1;

impl Process {
    fn numbered(&self, place: ListIt) -> Result<c_int> {
        self.iterators().number(place)
    }

    /// The place of an iterator, which is one of this list.
    fn place_of(&self, list: u64, it: c_int) -> Result<ListIt> {
        let place = self.iterators().place(it)?;
        if place.list == list { Ok(place) } else { Err(Error::Iterator).of("it", it) }
    }

    /// An element's source: as many bytes as the list's elements have.
    fn here(&self, list: u64, ptr: *const c_void) -> Result<(From, u64)> {
        let size = self.element_size(list)?;
        if size == 0 {
            // A list that was made of a set: its elements differ in size.
            return Err(Error::Structure).at("list", list);
        }
        if ptr.is_null() {
            return Err(Error::Null).at("ptr", 0);
        }
        Ok((From::Here(ptr.cast()), size))
    }
}

/// Makes an empty list of elements of one size; gives it, or 0.
//= ACP 1.0, acp_create_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_list(elsize: usize, rank: c_int) -> u64 {
    call("acp_create_list", 0, || {
        let process = process()?;
        if elsize == 0 {
            return Err(Error::Size).of("elsize", 0);
        }
        process.create_list(elsize as u64, rank_of(rank)?)
    })
}

/// Inserts a copy of an element before another one; gives its iterator, or −1.
///
/// # Safety
/// `ptr` is NULL or points to an element.
//= ACP 1.0, acp_insert_list
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_insert_list(list: u64, it: c_int, ptr: *const c_void, rank: c_int) -> c_int {
    call("acp_insert_list", NOWHERE, || {
        let process = process()?;
        let from = process.here(list, ptr)?;
        let place = process.place_of(list, it)?;
        process.numbered(process.insert_list(place, from, rank_of(rank)?)?)
    })
}

/// Frees an element; gives the iterator of the next one, or −1.
//= ACP 1.0, acp_erase_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_erase_list(list: u64, it: c_int) -> c_int {
    call("acp_erase_list", NOWHERE, || {
        let process = process()?;
        let place = process.place_of(list, it)?;
        let next = process.erase_list(place)?;
        process.iterators().forget(place);
        process.numbered(next)
    })
}

/// Appends a copy of an element.
///
/// # Safety
/// `ptr` is NULL or points to an element.
//= ACP 1.0, acp_push_back_list
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_push_back_list(list: u64, ptr: *const c_void, rank: c_int) {
    call("acp_push_back_list", (), || {
        let process = process()?;
        let from = process.here(list, ptr)?;
        process.push_list(list, from, rank_of(rank)?, false).map(drop)
    });
}

/// The iterator of the first element, or of the end; −1 if there is no such list.
//= ACP 1.0, acp_begin_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_begin_list(list: u64) -> c_int {
    call("acp_begin_list", NOWHERE, || {
        let process = process()?;
        process.numbered(process.end_of_list(list, false)?)
    })
}

/// The iterator of the end; −1 if there is no such list.
//= ACP 1.0, acp_end_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_end_list(list: u64) -> c_int {
    call("acp_end_list", NOWHERE, || {
        let process = process()?;
        process.numbered(process.end_of_list(list, true)?)
    })
}

/// Moves an iterator; one that fails stays as it is.
fn step(name: &'static str, it: *mut c_int, steps: i64) {
    call(name, (), || {
        let process = process()?;
        if it.is_null() {
            return Err(Error::Null).at("list", 0);
        }
        // SAFETY: not null; the program's iterator.
        let place = process.iterators().place(unsafe { *it })?;
        let number = process.numbered(process.step_list(place, steps)?)?;
        // SAFETY: the program's iterator, which is not null.
        unsafe { it.write(number) };
        Ok(())
    });
}

/// Moves an iterator to the next element, or the end.
///
/// # Safety
/// `it` is NULL or points to an iterator.
//= ACP 1.0, acp_increment_list
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_increment_list(it: *mut c_int) {
    step("acp_increment_list", it, 1);
}

/// Moves an iterator to the element before.
///
/// # Safety
/// `it` is NULL or points to an iterator.
//= ACP 1.0, acp_decrement_list
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_decrement_list(it: *mut c_int) {
    step("acp_decrement_list", it, -1);
}

/// Where an element's bytes are: what release 1.0 has no call for.
//= Lapis, after ACP 3.0, acp_dereference_list_it
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_list(it: c_int) -> Element {
    call("acp_dereference_list", Element::default(), || {
        let process = process()?;
        let place = process.iterators().place(it)?;
        process.dereference_list(place)
    })
}
