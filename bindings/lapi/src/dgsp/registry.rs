//! The registered programs of this process.
//!
//! As the guide has it, a handle is the address of the cached description. A handle is checked
//! without reading what it points to: the slots lie in a few blocks that never move, and an address
//! that is no slot's is no handle. Every transfer looks up a handle, so this takes no lock.
//!
//! A slot has two counts in one word: the guide's user count, and the count of our own operations.
//! Operations may begin while there are users. When both counts are 0, the program is freed and the
//! slot waits to be used again. The slot that has waited longest is used first, so that stale
//! handles are recognised for a long time.

use crate::abi::*;
use crate::failure::Outcome;
use crate::sync::lock;
use lapis_core::sync::blocking::Mutex;
use lapis_core::sync::{AtomicPtr, AtomicU64, Ordering};
use lapis_dgsp::Registered;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Slots of the first block; each block has twice as many as the one before.
const FIRST: usize = 64;
const BLOCKS: usize = 24;

/// One user, in the word that counts both.
const USER: u64 = 1 << 32;

#[repr(C)]
struct Slot {
    /// First: the handle may be cast to a pointer to it.
    descr: UnsafeCell<lapi_dgsp_descr_t>,
    /// Users times [`USER`] plus operations.
    counts: AtomicU64,
    program: UnsafeCell<Option<Registered>>,
}

// SAFETY: description and program are written while the counts are 0 and only this module's free
// list knows the slot, and read while they are not.
unsafe impl Sync for Slot {}

static SLOTS: [AtomicPtr<Slot>; BLOCKS] = [const { AtomicPtr::new(null_mut()) }; BLOCKS];
static FREE: Mutex<VecDeque<&'static Slot>> = Mutex::new(VecDeque::new());

/// A registered program that an operation depends on. It stays until the last of these is gone,
/// whatever becomes of its users.
pub(crate) struct Program(&'static Slot);

/// Caches a program for its first user.
pub(crate) fn register(program: Registered, descr: lapi_dgsp_descr_t) -> Outcome<lapi_dg_handle_t> {
    let slot = free_slot()?;
    // SAFETY: a free slot is nobody else's until the counts say otherwise.
    unsafe {
        // Programs get read access to a copy of ours.
        let code = program.descriptor().code.as_ptr().cast_mut();
        *slot.descr.get() = lapi_dgsp_descr_t { code, ..descr };
        *slot.program.get() = Some(program);
    }
    // SYNC: Release pairs with the Acquire of `add`: whoever sees a user sees the program.
    slot.counts.store(USER, Ordering::Release);
    Ok(std::ptr::from_ref(slot).cast_mut().cast())
}

/// Whether a handle is that of a program which has users.
pub(crate) fn is_registered(handle: lapi_dg_handle_t) -> bool {
    find(handle).is_some_and(|slot| slot.counts.load(Ordering::Relaxed) >= USER)
}

/// Whether a handle is, or once was, that of a program.
pub(crate) fn was_given_out(handle: lapi_dg_handle_t) -> bool {
    find(handle).is_some()
}

/// Adds a user.
pub(crate) fn reserve(handle: lapi_dg_handle_t) -> Outcome {
    find(handle).and_then(|slot| slot.add(USER)).map(|_| ()).ok_or(LAPI_ERR_DGSP)
}

/// Takes a user away.
pub(crate) fn unreserve(handle: lapi_dg_handle_t) -> Outcome {
    let slot = find(handle).ok_or(LAPI_ERR_DGSP_FREE)?;
    slot.remove_user().ok_or(LAPI_ERR_DGSP_FREE)
}

/// The program of a handle, for an operation.
pub(crate) fn acquire(handle: lapi_dg_handle_t) -> Option<Program> {
    find(handle)?.add(1).map(Program)
}

impl std::ops::Deref for Program {
    type Target = Registered;

    #[inline(always)]
    fn deref(&self) -> &Registered {
        // SAFETY: this value is one of the counted operations, so the program is there and nobody
        // writes.
        unsafe { (*self.0.program.get()).as_ref().unwrap_unchecked() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.0.subtract(1);
    }
}

impl Slot {
    /// Adds to the counts of a registered program.
    #[inline]
    fn add(&'static self, what: u64) -> Option<&'static Self> {
        let mut counts = self.counts.load(Ordering::Relaxed);
        while counts >= USER {
            // SYNC: Acquire pairs with the Release of `register`.
            match self.counts.compare_exchange_weak(
                counts,
                counts + what,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(self),
                Err(now) => counts = now,
            }
        }
        None
    }

    fn remove_user(&'static self) -> Option<()> {
        let mut counts = self.counts.load(Ordering::Relaxed);
        while counts >= USER {
            // SYNC: Release and Acquire pair with those of `subtract`: whoever frees comes after
            // all others' use.
            match self.counts.compare_exchange_weak(
                counts,
                counts - USER,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    if counts == USER {
                        self.free();
                    }
                    return Some(());
                }
                Err(now) => counts = now,
            }
        }
        None
    }

    #[inline]
    fn subtract(&'static self, what: u64) {
        // SYNC: Release and Acquire pair with those of `remove_user`.
        if self.counts.fetch_sub(what, Ordering::AcqRel) == what {
            self.free();
        }
    }

    /// The last one has gone, and nobody can come: the counts stay 0 until the slot is taken from
    /// the list.
    #[cold]
    fn free(&'static self) {
        // SAFETY: as argued above.
        let program = unsafe { (*self.program.get()).take() };
        drop(program);
        lock(&FREE).push_back(self);
    }
}

/// The slot that a handle names, whether or not it is in use.
#[inline]
fn find(handle: *mut c_void) -> Option<&'static Slot> {
    for (number, block) in SLOTS.iter().enumerate() {
        // SYNC: Acquire pairs with the Release of `free_slot`: a block that is seen is filled.
        let first = block.load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        let offset = handle.addr().wrapping_sub(first.addr());
        if offset < (FIRST << number) * size_of::<Slot>() {
            let whole = offset.is_multiple_of(size_of::<Slot>());
            // SAFETY: within the block, which stays.
            return whole.then(|| unsafe { &*first.add(offset / size_of::<Slot>()) });
        }
    }
    None
}

fn free_slot() -> Outcome<&'static Slot> {
    let mut free = lock(&FREE);
    if let Some(slot) = free.pop_front() {
        return Ok(slot);
    }
    let (number, block) = SLOTS
        .iter()
        .enumerate()
        .find(|(_, block)| block.load(Ordering::Relaxed).is_null())
        .ok_or(LAPI_ERR_MEMORY_EXHAUSTED)?;
    let empty = lapi_dgsp_descr_t {
        code: null_mut(),
        code_size: 0,
        depth: 0,
        density: LAPI_DGSM_SPARSE,
        size: 0,
        extent: 0,
        lext: 0,
        rext: 0,
        atom_size: 0,
    };
    let mut slots = Vec::new();
    slots.try_reserve_exact(FIRST << number).map_err(|_| LAPI_ERR_MEMORY_EXHAUSTED)?;
    slots.extend((0..FIRST << number).map(|_| Slot {
        descr: UnsafeCell::new(empty),
        counts: AtomicU64::new(0),
        program: UnsafeCell::new(None),
    }));
    let slots: &'static [Slot] = slots.leak();
    // SYNC: Release pairs with `find`.
    block.store(slots.as_ptr().cast_mut(), Ordering::Release);
    free.extend(slots);
    free.pop_front().ok_or(LAPI_ERR_MEMORY_EXHAUSTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_dgsp::Layout;

    fn handle() -> lapi_dg_handle_t {
        let desc = Layout::vector(4, 1, 3, &Layout::bytes(2).unwrap()).unwrap().compile().unwrap();
        let descr = lapi_dgsp_descr_t {
            code: null_mut(),
            code_size: desc.code.len() as i32,
            depth: desc.depth,
            density: desc.density as lapi_dgsp_density_t,
            size: desc.size as _,
            extent: desc.extent as _,
            lext: desc.lext as _,
            rext: desc.rext as _,
            atom_size: desc.atom_size,
        };
        register(Registered::new(desc).unwrap(), descr).unwrap()
    }

    #[test]
    fn a_handle_is_a_description_until_its_last_user_goes() {
        let handle = handle();
        // SAFETY: the guide's cast.
        let descr = unsafe { &*handle.cast::<lapi_dgsp_descr_t>() };
        assert_eq!((descr.size, descr.extent, descr.rext), (8, 20, 20));
        assert_eq!(reserve(handle), Ok(()));
        assert_eq!(unreserve(handle), Ok(()));
        assert!(acquire(handle).is_some());
        assert_eq!(unreserve(handle), Ok(()));
        assert_eq!(unreserve(handle), Err(LAPI_ERR_DGSP_FREE));
        assert_eq!(reserve(handle), Err(LAPI_ERR_DGSP));
        assert!(acquire(handle).is_none());
    }

    #[test]
    fn an_operation_keeps_its_program_but_lets_no_other_begin() {
        let handle = handle();
        let program = acquire(handle).unwrap();
        assert_eq!(unreserve(handle), Ok(()));
        assert!(acquire(handle).is_none());
        assert_eq!(program.descriptor().size, 8);
        drop(program);
        assert!(acquire(handle).is_none());
    }

    #[test]
    fn what_is_no_handle_is_found_out_untouched() {
        let handle = handle();
        let inside = handle.wrapping_byte_add(8);
        for wrong in
            [null_mut(), inside, std::ptr::without_provenance_mut(16), (&raw const FREE).cast_mut().cast()]
        {
            assert_eq!(reserve(wrong), Err(LAPI_ERR_DGSP));
            assert_eq!(unreserve(wrong), Err(LAPI_ERR_DGSP_FREE));
        }
        assert_eq!(unreserve(handle), Ok(()));
    }

    #[test]
    fn many_threads_and_more_programs_than_a_block_has() {
        let shared = handle().expose_provenance();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    let shared = std::ptr::with_exposed_provenance_mut(shared);
                    let rounds = if cfg!(miri) { 20 } else { 500 };
                    let mut mine = Vec::new();
                    for round in 0..rounds {
                        reserve(shared).unwrap();
                        let used = acquire(shared).unwrap();
                        unreserve(shared).unwrap();
                        mine.push(handle());
                        assert_eq!(used.descriptor().size, 8);
                        if round % 3 == 0 {
                            unreserve(mine.remove(0)).unwrap();
                        }
                    }
                    mine.into_iter().for_each(|handle| unreserve(handle).unwrap());
                });
            }
        });
        assert_eq!(unreserve(std::ptr::with_exposed_provenance_mut(shared)), Ok(()));
    }
}
