//! Hash tables with the program's functions, and those for common keys.

use crate::abi::Status;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::ptr::null_mut;

type Compare = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_long;
type HashOf = unsafe extern "C" fn(*mut c_void) -> c_ulong;

/// A key or a datum: bytes of the table's, or, if the table has length 0 for them, the program's
/// pointer itself.
enum Value {
    Bytes(Box<[u8]>),
    Pointer(*mut c_void),
}

impl Value {
    /// # Safety
    /// `from` has `len` bytes.
    unsafe fn new(from: *mut c_void, len: usize) -> Self {
        if len == 0 {
            return Self::Pointer(from);
        }
        // SAFETY: the program has so many bytes there.
        Self::Bytes(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), len) }.into())
    }

    fn pointer(&mut self) -> *mut c_void {
        match self {
            Self::Bytes(bytes) => bytes.as_mut_ptr().cast(),
            Self::Pointer(pointer) => *pointer,
        }
    }
}

struct Entry {
    key: Value,
    datum: Value,
}

/// `struct gm_hash`.
pub struct GmHash {
    compare: Option<Compare>,
    hash: Option<HashOf>,
    key_len: usize,
    data_len: usize,
    entries: HashMap<c_ulong, Vec<Entry>>,
    /// What was removed last: its datum may be read until the next is removed.
    removed: Option<Entry>,
}

impl std::fmt::Debug for GmHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GmHash").field("keys", &self.entries.len()).finish_non_exhaustive()
    }
}

impl GmHash {
    /// # Safety
    /// `key` is one of the table's kind.
    unsafe fn hash_of(&self, key: *mut c_void) -> c_ulong {
        match self.hash {
            // SAFETY: the program vouches for its function.
            Some(hash) => unsafe { hash(key) },
            None if self.key_len == 0 => gm_hash_hash_ptr(key),
            // SAFETY: the key has the bytes that the table's kind demands, as this call asks for.
            None => unsafe { super::small::gm_crc(key, self.key_len as c_ulong) },
        }
    }

    /// # Safety
    /// As for [`hash_of`](Self::hash_of).
    unsafe fn place(&mut self, key: *mut c_void) -> (c_ulong, Option<usize>) {
        let (compare, len) = (self.compare, self.key_len);
        // SAFETY: the key has the bytes that the table's kind demands, as this call asks for.
        let hash = unsafe { self.hash_of(key) };
        let same = |entry: &mut Entry| {
            let other = entry.key.pointer();
            // SAFETY: both are keys of the table's kind.
            unsafe {
                match compare {
                    Some(compare) => compare(other, key) == 0,
                    None if len == 0 => other == key,
                    None => libc::memcmp(other, key, len) == 0,
                }
            }
        };
        let found = self.entries.get_mut(&hash).and_then(|chain| chain.iter_mut().position(same));
        (hash, found)
    }

    /// # Safety
    /// As for [`hash_of`](Self::hash_of).
    unsafe fn take(&mut self, key: *mut c_void) -> Option<Entry> {
        // SAFETY: the key has the bytes that the table's kind demands, as this call asks for.
        let (hash, found) = unsafe { self.place(key) };
        let chain = self.entries.get_mut(&hash)?;
        let entry = chain.remove(found?);
        if chain.is_empty() {
            self.entries.remove(&hash);
        }
        Some(entry)
    }
}

/// A table. `compare` and `hash` NULL: keys are compared byte by byte, or as pointers if they have
/// none. Of length 0, keys or data are the program's pointers; otherwise so many bytes are copied.
///
/// # Safety
/// The functions can be called with keys.
//= GM, gm_create_hash
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_create_hash(
    compare: Option<Compare>,
    hash: Option<HashOf>,
    key_len: c_ulong,
    data_len: c_ulong,
    _min_entries: c_ulong,
    _flags: c_int,
) -> *mut GmHash {
    let (key_len, data_len) = (key_len as usize, data_len as usize);
    let table = GmHash { compare, hash, key_len, data_len, entries: HashMap::new(), removed: None };
    Box::into_raw(Box::new(table))
}

/// Ends a table.
///
/// # Safety
/// `h` is NULL or came from gm_create_hash, and nobody uses it any more.
//= GM, gm_destroy_hash
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_destroy_hash(h: *mut GmHash) {
    if !h.is_null() {
        // SAFETY: the creating call made it of a box, and the program has no more use for it.
        drop(unsafe { Box::from_raw(h) });
    }
}

/// The datum of a key. NULL: there is none.
///
/// # Safety
/// `h` is NULL or a table; `key` is one of its kind.
//= GM, gm_hash_find
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_find(h: *mut GmHash, key: *mut c_void) -> *mut c_void {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe {
        let Some(table) = h.as_mut() else { return null_mut() };
        let (hash, found) = table.place(key);
        let chain = table.entries.get_mut(&hash);
        chain.zip(found).map_or(null_mut(), |(chain, at)| chain[at].datum.pointer())
    }
}

/// Puts a key and its datum in; another datum of the same key goes.
///
/// # Safety
/// `h` is NULL or a table; key and datum are of its kind.
//= GM, gm_hash_insert
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_insert(h: *mut GmHash, key: *mut c_void, datum: *mut c_void) -> c_int {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe {
        let Some(table) = h.as_mut() else { return Status::InvalidParameter as c_int };
        // Before the former entry goes: the datum may be that of the table itself.
        let entry = Entry { key: Value::new(key, table.key_len), datum: Value::new(datum, table.data_len) };
        let hash = table.hash_of(key);
        table.take(key);
        table.entries.entry(hash).or_default().push(entry);
    }
    Status::Success as c_int
}

/// Takes a key out; its datum can be read until the next one is taken. NULL: there is none.
///
/// # Safety
/// `h` is NULL or a table; `key` is one of its kind.
//= GM, gm_hash_remove
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_remove(h: *mut GmHash, key: *mut c_void) -> *mut c_void {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe {
        let Some(table) = h.as_mut() else { return null_mut() };
        table.removed = table.take(key);
        table.removed.as_mut().map_or(null_mut(), |entry| entry.datum.pointer())
    }
}

/// Gives a datum another key.
///
/// # Safety
/// `h` is NULL or a table; the keys are of its kind.
//= GM, gm_hash_rekey
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_rekey(h: *mut GmHash, old_key: *mut c_void, new_key: *mut c_void) {
    // SAFETY: NULL, or what the creating call made, which one thread at a time uses.
    unsafe {
        let Some(table) = h.as_mut() else { return };
        if let Some(entry) = table.take(old_key) {
            table.take(new_key);
            let hash = table.hash_of(new_key);
            let entry = Entry { key: Value::new(new_key, table.key_len), ..entry };
            table.entries.entry(hash).or_default().push(entry);
        }
    }
}

/// Spreads a number's bits.
fn spread(number: u64) -> c_ulong {
    let mixed = (number ^ number >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// Compares strings.
///
/// # Safety
/// Both keys are strings.
//= GM, gm_hash_compare_strings
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_compare_strings(key1: *mut c_void, key2: *mut c_void) -> c_long {
    // SAFETY: the program gives strings, which end.
    unsafe { libc::strcmp(key1.cast(), key2.cast()) }.into()
}

/// Hashes a string.
///
/// # Safety
/// The key is one.
//= GM, gm_hash_hash_string
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_hash_string(key: *mut c_void) -> c_ulong {
    // SAFETY: the program gives strings, which end.
    let bytes = unsafe { CStr::from_ptr(key.cast::<c_char>()) }.to_bytes();
    super::small::crc(bytes).into()
}

/// Compares the longs that keys point to.
///
/// # Safety
/// Both do.
//= GM, gm_hash_compare_longs
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_compare_longs(key1: *mut c_void, key2: *mut c_void) -> c_long {
    // SAFETY: a key of this kind of table has the bytes of its number.
    let (a, b) = unsafe { (key1.cast::<c_long>().read_unaligned(), key2.cast::<c_long>().read_unaligned()) };
    a.cmp(&b) as c_long
}

/// Hashes the long that a key points to.
///
/// # Safety
/// It does.
//= GM, gm_hash_hash_long
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_hash_long(key: *mut c_void) -> c_ulong {
    // SAFETY: a key of this kind of table has the bytes of its number.
    spread(unsafe { key.cast::<c_ulong>().read_unaligned() })
}

/// Compares the ints that keys point to.
///
/// # Safety
/// Both do.
//= GM, gm_hash_compare_ints
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_compare_ints(key1: *mut c_void, key2: *mut c_void) -> c_long {
    // SAFETY: a key of this kind of table has the bytes of its number.
    let (a, b) = unsafe { (key1.cast::<c_int>().read_unaligned(), key2.cast::<c_int>().read_unaligned()) };
    a.cmp(&b) as c_long
}

/// Hashes the int that a key points to.
///
/// # Safety
/// It does.
//= GM, gm_hash_hash_int
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hash_hash_int(key: *mut c_void) -> c_ulong {
    // SAFETY: a key of this kind of table has the bytes of its number.
    spread(unsafe { key.cast::<u32>().read_unaligned() }.into())
}

/// Compares keys that are pointers and nothing else: of length 0.
//= GM, gm_hash_compare_ptrs
#[unsafe(no_mangle)]
pub extern "C" fn gm_hash_compare_ptrs(key1: *mut c_void, key2: *mut c_void) -> c_long {
    key1.addr().cmp(&key2.addr()) as c_long
}

/// Hashes a key that is a pointer.
//= GM, gm_hash_hash_ptr
#[unsafe(no_mangle)]
pub extern "C" fn gm_hash_hash_ptr(key: *mut c_void) -> c_ulong {
    spread(key.addr() as u64)
}
