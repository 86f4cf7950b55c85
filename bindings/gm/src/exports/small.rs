//! Checksums, random numbers, mutexes, marks, lookaside lists and zones.

use crate::abi::Status;
use lapis_core::sync::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr::null_mut;

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let mut value = n as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[n] = value;
        n += 1;
    }
    table
}

static CRC: [u32; 256] = crc_table();

/// CRC-32 as Ethernet has it.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| CRC[(sum as u8 ^ byte) as usize] ^ sum >> 8;
    !bytes.iter().fold(!0, step)
}

/// The CRC-32 of so many bytes.
///
/// # Safety
/// They can be read.
//= GM, gm_crc
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_crc(ptr: *mut c_void, len: c_ulong) -> c_ulong {
    if ptr.is_null() || len == 0 {
        return 0;
    }
    // SAFETY: the program has so many bytes there.
    crc(unsafe { std::slice::from_raw_parts(ptr.cast::<u8>(), len as usize) }).into()
}

/// The CRC-32 of a string.
///
/// # Safety
/// It is one.
//= GM, gm_crc_str
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_crc_str(ptr: *const c_char) -> c_ulong {
    // SAFETY: the program gives strings, which end.
    crc(unsafe { CStr::from_ptr(ptr) }.to_bytes()).into()
}

static RANDOM: AtomicU64 = AtomicU64::new(1);

/// A number from 0 to 2^31 - 1: no secret, and the same after the same gm_srand.
//= GM, gm_rand
#[unsafe(no_mangle)]
pub extern "C" fn gm_rand() -> c_int {
    let next = |state: u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let state = RANDOM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(0);
    (state >> 33) as c_int
}

/// Where the numbers begin.
//= GM, gm_srand
#[unsafe(no_mangle)]
pub extern "C" fn gm_srand(seed: c_int) {
    RANDOM.store(u64::from(seed.cast_unsigned()) << 32 | 1, Ordering::Relaxed);
}

/// A number below `modulus`, 0 if that is 0.
//= GM, gm_rand_mod
#[unsafe(no_mangle)]
pub extern "C" fn gm_rand_mod(modulus: c_uint) -> c_uint {
    gm_rand().cast_unsigned().checked_rem(modulus).unwrap_or(0)
}

/// A mutex. NULL: memory is short.
//= GM, gm_create_mutex
#[unsafe(no_mangle)]
pub extern "C" fn gm_create_mutex() -> *mut libc::pthread_mutex_t {
    Box::into_raw(Box::new(libc::PTHREAD_MUTEX_INITIALIZER))
}

/// Ends a mutex.
///
/// # Safety
/// `mu` is NULL or came from gm_create_mutex, and nobody has it.
//= GM, gm_destroy_mutex
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_destroy_mutex(mu: *mut libc::pthread_mutex_t) {
    if !mu.is_null() {
        // SAFETY: the creating call made it of a box, and the program has no more use for it.
        unsafe {
            libc::pthread_mutex_destroy(mu);
            drop(Box::from_raw(mu));
        }
    }
}

/// Waits for a mutex and takes it.
///
/// # Safety
/// `mu` came from gm_create_mutex, and this thread does not have it.
//= GM, gm_mutex_enter
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_mutex_enter(mu: *mut libc::pthread_mutex_t) {
    // SAFETY: not NULL, so it is a mutex that gm_create_mutex made.
    unsafe { libc::pthread_mutex_lock(mu) };
}

/// Gives a mutex back.
///
/// # Safety
/// This thread has it.
//= GM, gm_mutex_exit
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_mutex_exit(mu: *mut libc::pthread_mutex_t) {
    // SAFETY: not NULL, so it is a mutex that gm_create_mutex made.
    unsafe { libc::pthread_mutex_unlock(mu) };
}

/// `struct gm_mark_set`: marks are numbers of places, which know whose mark they are.
#[derive(Debug, Default)]
pub struct MarkSet {
    owners: Vec<usize>,
    /// Places that nobody has.
    free: Vec<usize>,
}

impl MarkSet {
    /// # Safety
    /// `mark` is NULL or can be read.
    unsafe fn has(&self, mark: *mut c_ulong) -> bool {
        if mark.is_null() {
            return false;
        }
        // SAFETY: a mark can be read, as this asks for. What is in one that was never made is no
        // matter.
        let place = unsafe { mark.read() };
        self.owners.get(place as usize) == Some(&mark.addr())
    }
}

/// A set of marks, which is stored at `set`.
///
/// # Safety
/// `set` is NULL or can be written.
//= GM, gm_create_mark_set
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_create_mark_set(set: *mut *mut MarkSet, _init_count: c_ulong) -> c_int {
    if set.is_null() {
        return Status::InvalidParameter as c_int;
    }
    // SAFETY: not NULL, and then it can be written: this call asks for that itself.
    unsafe { set.write(Box::into_raw(Box::default())) };
    Status::Success as c_int
}

/// Ends a set.
///
/// # Safety
/// `set` is NULL or came from gm_create_mark_set, and nobody uses it any more.
//= GM, gm_destroy_mark_set
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_destroy_mark_set(set: *mut MarkSet) {
    if !set.is_null() {
        // SAFETY: the creating call made it of a box, and the program has no more use for it.
        drop(unsafe { Box::from_raw(set) });
    }
}

/// Makes `m` a mark of the set. It is one only where it is: a copy is none.
///
/// # Safety
/// `set` came from gm_create_mark_set; `m` can be written. NULL for either is refused.
//= GM, gm_mark
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_mark(set: *mut MarkSet, m: *mut c_ulong) -> c_int {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe {
        let Some(set) = set.as_mut().filter(|_| !m.is_null()) else {
            return Status::InvalidParameter as c_int;
        };
        if !set.has(m) {
            let place = set.free.pop().unwrap_or_else(|| {
                set.owners.push(0);
                set.owners.len() - 1
            });
            set.owners[place] = m.addr();
            m.write(place as c_ulong);
        }
    }
    Status::Success as c_int
}

/// Whether `m` is a mark of the set.
///
/// # Safety
/// `set` came from gm_create_mark_set; `m` can be read. NULL for either is no mark.
//= GM, gm_mark_is_valid
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_mark_is_valid(set: *mut MarkSet, m: *mut c_ulong) -> c_int {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe { set.as_ref().is_some_and(|set| set.has(m)).into() }
}

/// Makes a mark none.
///
/// # Safety
/// As for gm_mark_is_valid.
//= GM, gm_unmark
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_unmark(set: *mut MarkSet, m: *mut c_ulong) {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe {
        if let Some(set) = set.as_mut()
            && set.has(m)
        {
            let place = m.read() as usize;
            set.owners[place] = 0;
            set.free.push(place);
        }
    }
}

/// Makes all marks none.
///
/// # Safety
/// `set` came from gm_create_mark_set.
//= GM, gm_unmark_all
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_unmark_all(set: *mut MarkSet) {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    if let Some(set) = unsafe { set.as_mut() } {
        set.owners.clear();
        set.free.clear();
    }
}

/// `struct gm_lookaside`: entries of one length, kept for the next who wants one.
#[derive(Debug)]
pub struct Lookaside {
    len: usize,
    free: Vec<*mut c_void>,
}

/// In front of an entry: whose it is.
const FRONT: usize = 16;

/// A list of entries of so many bytes.
//= GM, gm_create_lookaside
#[unsafe(no_mangle)]
pub extern "C" fn gm_create_lookaside(entry_len: c_ulong, _min_entry_cnt: c_ulong) -> *mut Lookaside {
    Box::into_raw(Box::new(Lookaside { len: entry_len as usize, free: Vec::new() }))
}

/// Ends a list whose entries were all given back.
///
/// # Safety
/// `l` is NULL or came from gm_create_lookaside, and nobody uses it or its entries any more.
//= GM, gm_destroy_lookaside
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_destroy_lookaside(l: *mut Lookaside) {
    if l.is_null() {
        return;
    }
    // SAFETY: the creating call made it of a box, and the program has no more use for it.
    let list = unsafe { Box::from_raw(l) };
    for base in list.free {
        // SAFETY: it came from malloc.
        unsafe { libc::free(base) };
    }
}

/// An entry. NULL: memory is short.
///
/// # Safety
/// `l` came from gm_create_lookaside.
//= GM, gm_lookaside_alloc
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_lookaside_alloc(l: *mut Lookaside) -> *mut c_void {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe {
        let Some(list) = l.as_mut() else { return null_mut() };
        let Some(len) = list.len.checked_add(FRONT) else { return null_mut() };
        let base = list.free.pop().unwrap_or_else(|| libc::malloc(len));
        if base.is_null() {
            return null_mut();
        }
        base.cast::<*mut Lookaside>().write(l);
        base.byte_add(FRONT)
    }
}

/// An entry, all zero.
///
/// # Safety
/// As for gm_lookaside_alloc.
//= GM, gm_lookaside_zalloc
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_lookaside_zalloc(l: *mut Lookaside) -> *mut c_void {
    // SAFETY: the list is open, as this call asks for, and what it gives has its length.
    unsafe {
        let entry = gm_lookaside_alloc(l);
        if !entry.is_null() {
            entry.cast::<u8>().write_bytes(0, (*l).len);
        }
        entry
    }
}

/// Gives an entry back to its list.
///
/// # Safety
/// `ptr` is NULL or came from a list that has not been ended.
//= GM, gm_lookaside_free
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_lookaside_free(ptr: *mut c_void) {
    if ptr.is_null() {
        return;
    }
    // SAFETY: what the program gives back came from a list, and that list stands in front.
    unsafe {
        let base = ptr.byte_sub(FRONT);
        (*base.cast::<*mut Lookaside>().read()).free.push(base);
    }
}

/// `struct gm_zone`: memory of the program's, given out in pieces. What is known of them lies
/// outside it.
#[derive(Debug)]
pub struct Zone {
    base: *mut c_void,
    len: usize,
    /// Pieces that are taken, by where they begin, with their lengths.
    taken: BTreeMap<usize, usize>,
}

/// Pieces begin at multiples of this from the zone's beginning.
const PIECE: usize = 16;

/// A zone of so many bytes.
///
/// # Safety
/// They are the zone's until it is ended.
//= GM, gm_zone_create_zone
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_zone_create_zone(base: *mut c_void, len: c_ulong) -> *mut Zone {
    if base.is_null() {
        return null_mut();
    }
    Box::into_raw(Box::new(Zone { base, len: len as usize, taken: BTreeMap::new() }))
}

/// Ends a zone.
///
/// # Safety
/// `zone` is NULL or came from gm_zone_create_zone, and nobody uses it any more.
//= GM, gm_zone_destroy_zone
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_zone_destroy_zone(zone: *mut Zone) {
    if !zone.is_null() {
        // SAFETY: the creating call made it of a box, and the program has no more use for it.
        drop(unsafe { Box::from_raw(zone) });
    }
}

/// A piece of a zone. NULL: there is no room in one piece.
///
/// # Safety
/// `zone` is NULL or came from gm_zone_create_zone.
//= GM, gm_zone_malloc
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_zone_malloc(zone: *mut Zone, length: c_ulong) -> *mut c_void {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    let Some(zone) = (unsafe { zone.as_mut() }) else { return null_mut() };
    let Some(length) = (length as usize).max(1).checked_next_multiple_of(PIECE) else { return null_mut() };
    let mut at = 0;
    for (begin, len) in &zone.taken {
        if begin - at >= length {
            break;
        }
        at = begin + len;
    }
    if zone.len < at || zone.len - at < length {
        return null_mut();
    }
    zone.taken.insert(at, length);
    // SAFETY: it lies within the zone.
    unsafe { zone.base.byte_add(at) }
}

/// The same for `count` things of `length` bytes, all zero.
///
/// # Safety
/// As for gm_zone_malloc.
//= GM, gm_zone_calloc
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_zone_calloc(zone: *mut Zone, count: c_ulong, length: c_ulong) -> *mut c_void {
    let Some(all) = count.checked_mul(length) else { return null_mut() };
    // SAFETY: the zone is open, as this call asks for, and the piece is as long as was asked.
    unsafe {
        let piece = gm_zone_malloc(zone, all);
        if !piece.is_null() {
            piece.cast::<u8>().write_bytes(0, all as usize);
        }
        piece
    }
}

/// Gives a piece back. Answers NULL; the piece itself if it is none of the zone's.
///
/// # Safety
/// As for gm_zone_malloc.
//= GM, gm_zone_free
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_zone_free(zone: *mut Zone, a: *mut c_void) -> *mut c_void {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    let Some(zone) = (unsafe { zone.as_mut() }) else { return a };
    let at = a.addr().wrapping_sub(zone.base.addr());
    if zone.taken.remove(&at).is_some() { null_mut() } else { a }
}

/// Whether an address lies in a zone.
///
/// # Safety
/// As for gm_zone_malloc.
//= GM, gm_zone_addr_in_zone
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_zone_addr_in_zone(zone: *mut Zone, p: *mut c_void) -> c_int {
    // SAFETY: NULL, or an event that the program was shown and has not asked for the next.
    let zone = unsafe { zone.as_ref() };
    zone.is_some_and(|zone| p.addr().wrapping_sub(zone.base.addr()) < zone.len).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_marks_are_used_again() {
        // More than one could look through for each of them.
        let mut marks = vec![c_ulong::MAX; 300_000];
        let base = marks.as_mut_ptr();
        let (count, mut set) = (marks.len(), MarkSet::default());
        let set = &raw mut set;
        // SAFETY: the marks and the set outlive the calls.
        unsafe {
            for at in 0..count {
                assert_eq!(gm_mark(set, base.add(at)), 0);
            }
            for at in (0..count).step_by(3) {
                gm_unmark(set, base.add(at));
                gm_unmark(set, base.add(at));
                assert_eq!(gm_mark_is_valid(set, base.add(at)), 0);
            }
            for at in (0..count).step_by(3) {
                assert_eq!(gm_mark(set, base.add(at)), 0);
            }
            assert!((0..count).all(|at| gm_mark_is_valid(set, base.add(at)) == 1));
            assert_eq!(((*set).owners.len(), (*set).free.len()), (count, 0));
            gm_unmark(set, base);
            gm_unmark_all(set);
            assert!((0..count).all(|at| gm_mark_is_valid(set, base.add(at)) == 0));
            assert_eq!((gm_mark(set, base.add(1)), gm_mark(set, base)), (0, 0));
            assert_eq!((*base, *base.add(1)), (1, 0));
        }
    }
}
