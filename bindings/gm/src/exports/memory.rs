//! Memory: registered, for transfers, by the page, and plain.

use super::{answer, with};
use crate::abi::Status;
use crate::handle::{Handle, Inner};
use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// The same for C.
#[unsafe(no_mangle)]
pub static GM_PAGE_LEN: c_ulong = PAGE as c_ulong;

/// Registers memory: others may reach it if they are allowed to at all. Nothing is asked of memory
/// that is only sent from or received into.
///
/// # Safety
/// `p` is NULL or a port that is open; the memory stays until it is deregistered.
//= GM, gm_register_memory
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_register_memory(p: *mut Handle, ptr: *mut c_void, length: c_ulong) -> c_int {
    let at = ptr.expose_provenance() as u64;
    let add = |inner: &mut Inner| match !ptr.is_null() && inner.port.regions.add(at, length) {
        true => Ok(()),
        false => Err(Status::InvalidParameter),
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), add) })
}

/// Registers memory that others reach at another address: theirs is `pvma` where gm_register_memory
/// has `ptr`. gm_deregister_memory takes `pvma`, too. Sends and buffers of this program's own use
/// `ptr`.
///
/// # Safety
/// As for gm_register_memory.
//= GM, gm_register_memory_ex
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_register_memory_ex(
    p: *mut Handle,
    ptr: *mut c_void,
    length: c_ulong,
    pvma: *mut c_void,
) -> c_int {
    let (own, at) = (ptr.expose_provenance() as u64, pvma.addr() as u64);
    let sound = !ptr.is_null() && !pvma.is_null();
    let add = |inner: &mut Inner| match sound && inner.port.regions.add_as(own, at, length) {
        true => Ok(()),
        false => Err(Status::InvalidParameter),
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), add) })
}

/// Takes a registration back: the same range as it was registered.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_deregister_memory
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_deregister_memory(p: *mut Handle, ptr: *mut c_void, length: c_ulong) -> c_int {
    let remove = |inner: &mut Inner| match inner.port.regions.remove(ptr.addr() as u64, length) {
        true => Ok(()),
        false => Err(Status::InvalidParameter),
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), remove) })
}

/// Lets every port of this user write to and read registered memory of this one.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_allow_remote_memory_access
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_allow_remote_memory_access(p: *mut Handle) -> c_int {
    let allow = |inner: &mut Inner| {
        inner.port.is_open_to_writes = true;
        Ok(())
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    answer(unsafe { with(p, Err(Status::InvalidParameter), allow) })
}

/// Memory with its length in front, in a page of its own.
fn allocate(length: usize) -> *mut c_void {
    let Some(whole) = length.max(1).checked_next_multiple_of(PAGE).and_then(|len| len.checked_add(PAGE))
    else {
        return null_mut();
    };
    let mut base = null_mut();
    // SAFETY: the alignment is a power of two.
    if unsafe { libc::posix_memalign(&raw mut base, PAGE, whole) } != 0 {
        return null_mut();
    }
    // SAFETY: the first page is there, and what is behind it is the program's.
    unsafe {
        base.cast::<usize>().write(length);
        base.byte_add(PAGE)
    }
}

/// # Safety
/// `ptr` came from [`allocate`].
unsafe fn length_of(ptr: *mut c_void) -> usize {
    // SAFETY: this is of what gm_dma_malloc gave: a page with the length lies in front.
    unsafe { ptr.byte_sub(PAGE).cast::<usize>().read() }
}

/// Memory that gm_dma_free was given, with the bytes that each piece has room for. It is given out
/// again and never back to the system: GM says so, and programs free what is still being sent.
static KEPT: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// The bytes of which a piece for so many is made. `None`: there can't be so many.
fn capacity(length: usize) -> Option<usize> {
    length.max(PAGE).checked_next_power_of_two()
}

/// A piece of memory for so many bytes that was kept, or a new one.
fn take_piece(length: usize) -> *mut c_void {
    let Some(room) = capacity(length) else { return null_mut() };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(at) = kept.iter().rposition(|(_, other)| *other == room) else {
        drop(kept);
        let ptr = allocate(room);
        if !ptr.is_null() {
            // SAFETY: the page in front is there.
            unsafe { ptr.byte_sub(PAGE).cast::<usize>().write(length) };
        }
        return ptr;
    };
    let ptr: *mut c_void = std::ptr::with_exposed_provenance_mut(kept.swap_remove(at).0);
    // SAFETY: it came from `allocate`, with a page in front.
    unsafe { ptr.byte_sub(PAGE).cast::<usize>().write(length) };
    ptr
}

/// Registered memory of so many bytes, at the beginning of a page. NULL: memory is short.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_dma_malloc
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_dma_malloc(p: *mut Handle, length: c_ulong) -> *mut c_void {
    let ptr = take_piece(length as usize);
    if !ptr.is_null() {
        let at = ptr.expose_provenance() as u64;
        // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
        unsafe { with(p, false, |inner| inner.port.regions.add(at, length)) };
    }
    ptr
}

/// The same for `count` things of `length` bytes, all zero.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_dma_calloc
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_dma_calloc(p: *mut Handle, count: c_ulong, length: c_ulong) -> *mut c_void {
    let Some(all) = count.checked_mul(length) else { return null_mut() };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    let ptr = unsafe { gm_dma_malloc(p, all) };
    if !ptr.is_null() {
        // SAFETY: so many bytes were just allocated.
        unsafe { ptr.cast::<u8>().write_bytes(0, all as usize) };
    }
    ptr
}

/// Gives it back. It stays mapped, and is given out again.
///
/// # Safety
/// `p` is NULL or a port that is open; `addr` is NULL or came from gm_dma_malloc or gm_dma_calloc.
//= GM, gm_dma_free
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_dma_free(p: *mut Handle, addr: *mut c_void) {
    if addr.is_null() {
        return;
    }
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    let length = unsafe {
        let length = length_of(addr);
        with(p, false, |inner| inner.port.regions.remove(addr.addr() as u64, length as u64));
        length
    };
    let piece = capacity(length).map(|room| (addr.expose_provenance(), room));
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).extend(piece);
}

/// A page.
//= GM, gm_page_alloc
#[unsafe(no_mangle)]
pub extern "C" fn gm_page_alloc() -> *mut c_void {
    gm_alloc_pages(PAGE as c_ulong)
}

/// Gives a page back.
///
/// # Safety
/// `addr` is NULL or came from gm_page_alloc.
//= GM, gm_page_free
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_page_free(addr: *mut c_void) {
    // SAFETY: it came from the system's allocator, and the program uses it no more.
    unsafe { libc::free(addr) }
}

/// So many bytes that begin a page. NULL: memory is short.
//= GM, gm_alloc_pages
#[unsafe(no_mangle)]
pub extern "C" fn gm_alloc_pages(len: c_ulong) -> *mut c_void {
    let mut base = null_mut();
    // SAFETY: the alignment is a power of two.
    match unsafe { libc::posix_memalign(&raw mut base, PAGE, (len as usize).max(1)) } {
        0 => base,
        _ => null_mut(),
    }
}

/// Gives them back.
///
/// # Safety
/// `addr` is NULL or came from gm_alloc_pages.
//= GM, gm_free_pages
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_free_pages(addr: *mut c_void, _len: c_ulong) {
    // SAFETY: it came from the system's allocator, and the program uses it no more.
    unsafe { libc::free(addr) }
}

/// The C library's malloc.
//= GM, gm_malloc
#[unsafe(no_mangle)]
pub extern "C" fn gm_malloc(len: c_ulong) -> *mut c_void {
    // SAFETY: any length may be asked for.
    unsafe { libc::malloc(len as usize) }
}

/// The C library's calloc.
//= GM, gm_calloc
#[unsafe(no_mangle)]
pub extern "C" fn gm_calloc(len: c_ulong, cnt: c_ulong) -> *mut c_void {
    // SAFETY: any length may be asked for.
    unsafe { libc::calloc(len as usize, cnt as usize) }
}

/// The C library's free.
///
/// # Safety
/// `ptr` is NULL or came from gm_malloc, gm_calloc or gm_strdup.
//= GM, gm_free
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_free(ptr: *mut c_void) {
    // SAFETY: it came from the system's allocator, and the program uses it no more.
    unsafe { libc::free(ptr) }
}
