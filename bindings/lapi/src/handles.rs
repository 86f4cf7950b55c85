//! The table of contexts, by handle.
//!
//! A process has at most 16 contexts, which the guide calls instances. The table has a fixed size,
//! so looking up a handle takes two loads from one cache line and a comparison. A handle is
//! `generation × 32 + instance`. The first handle of an instance is the instance's number. The
//! generation tells a handle of a context that has ended from that of the context in its place.

use crate::abi::{LAPI_ERR_HNDL_INVALID, LAPI_ERR_UNKNOWN, lapi_handle_t};
use crate::sync::lock;
use lapis_core::context::Call;
use lapis_core::sync::blocking::Mutex;
use lapis_core::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, CachePadded, Ordering};
use lapis_core::{Context, Error};
use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

/// Instances of LAPI that a task may have: MAX_PORTS.
//= LAPI Guide, LAPI_Init, instance_no is 1 to 16
pub(crate) const MAX_INSTANCES: usize = 16;

/// Instances that ended are kept until so many others have ended: a thread that is still inside of
/// a call of one, which the guide forbids, finds memory there and an error.
const KEPT: usize = 1;

/// Bits of a handle that name the instance.
const INSTANCE_BITS: u32 = 5;

/// An initialised LAPI context.
pub(crate) struct Instance {
    pub(crate) context: Context,
    pub(crate) handle: lapi_handle_t,
    /// Whether the program asked for the persistent subsystem.
    pub(crate) persistent: bool,
    /// Where header handlers are, here and at other tasks.
    pub(crate) code: crate::code::Code,
    /// MAX_PKT_SZ: user header and data that fit one packet to any task.
    pub(crate) packet_size: c_int,
    /// One collective call at a time, whatever thread makes it.
    pub(crate) collective: AtomicBool,
    /// Counters that tell whom they wait for.
    pub(crate) watches: crate::calls::watches::Watches,
    /// Vector gets that wait for their data.
    pub(crate) gets: crate::vector::pending::Pending,
    /// Send completion handlers that have begun, or are to.
    pub(crate) send_handlers: crate::handlers::nesting::SendHandlers,
    /// Tasks that were reported for their silence.
    pub(crate) silent: Mutex<BTreeSet<u32>>,
    /// The function that CONTROL instructions pass data to.
    pub(crate) ddm: crate::dgsp::ddm::Slot,
    /// What lapis_alloc gave.
    pub(crate) blocks: crate::blocks::Blocks,
    /// Teams and what goes with them.
    pub(crate) collectives: crate::collectives::state::Collectives,
    /// Purges so far, so that waits notice one.
    pub(crate) purges: AtomicU64,
}

struct Slot {
    /// The live handle, 0 if there is none.
    handle: AtomicU32,
    /// The handle of the instance that is being ended, 0 if none is.
    ending: AtomicU32,
    instance: AtomicPtr<Instance>,
    generation: AtomicU32,
    /// Whether an instance is being set up, lives, or is being ended.
    taken: AtomicBool,
}

impl Slot {
    const fn new(handle: lapi_handle_t) -> CachePadded<Self> {
        CachePadded::new(Self {
            handle: AtomicU32::new(handle),
            ending: AtomicU32::new(0),
            instance: AtomicPtr::new(null_mut()),
            generation: AtomicU32::new(0),
            taken: AtomicBool::new(false),
        })
    }
}

/// There is no instance 0: its place holds what is no handle of that place, so that 0, which means
/// none at all others, is not found there.
static TABLE: [CachePadded<Slot>; 1 << INSTANCE_BITS] = {
    let mut table = [const { Slot::new(0) }; 1 << INSTANCE_BITS];
    table[0] = Slot::new(1);
    table
};

/// What handlers are given a pointer to, by context number: set before anything can call one. Apart
/// from the rest, so that finding it is one step.
static FOR_HANDLERS: [AtomicU32; MAX_INSTANCES] = [const { AtomicU32::new(0) }; MAX_INSTANCES];

/// Instances that have ended, oldest first.
#[allow(clippy::vec_box, reason = "threads may still hold references: instances don't move")]
static RETIRED: Mutex<Vec<Box<Instance>>> = Mutex::new(Vec::new());

fn slot(handle: lapi_handle_t) -> &'static Slot {
    &TABLE[(handle & ((1 << INSTANCE_BITS) - 1)) as usize]
}

/// An instance during a call of the program's.
pub(crate) struct Entered {
    instance: &'static Instance,
    call: Call,
}

impl std::ops::Deref for Entered {
    type Target = Instance;

    #[inline(always)]
    fn deref(&self) -> &Instance {
        self.instance
    }
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        self.instance.context.end_call(self.call);
    }
}

/// Begins a call of the program's with the instance that a handle names. Refused is a call from a
/// signal handler that interrupted another call where it changes what both would use.
#[inline(always)]
pub(crate) fn get(handle: lapi_handle_t) -> Result<Entered, c_int> {
    enter(live(handle)?)
}

/// The same with the instance.
#[inline(always)]
pub(crate) fn enter(instance: &'static Instance) -> Result<Entered, c_int> {
    match instance.context.begin_call() {
        Call::Amid => Err(amid()),
        call => Ok(Entered { instance, call }),
    }
}

/// Refuses a call in the midst of another. Says so once, in a way that is allowed where memory is
/// being allocated, too.
#[cold]
pub(crate) fn amid() -> c_int {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        let line = "lapis: a signal handler called LAPI while its thread was in the midst of another call: refused with \
                    LAPI_ERR_UNKNOWN; let the handler set a flag, and call from the program\n";
        // SAFETY: the line is readable for its length. Nothing is to be done about a failure.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    }
    LAPI_ERR_UNKNOWN
}

/// The instance that a handle names, for what needs no lock or has begun already.
#[inline(always)]
pub(crate) fn live(handle: lapi_handle_t) -> Result<&'static Instance, c_int> {
    let slot = slot(handle);
    // SYNC: Acquire pairs with `publish`: whoever sees the handle sees the instance.
    if slot.handle.load(Ordering::Acquire) == handle {
        // SAFETY: a live handle's instance is live; an ended one is kept for long (see `KEPT`).
        return Ok(unsafe { &*slot.instance.load(Ordering::Relaxed) });
    }
    Err(LAPI_ERR_HNDL_INVALID)
}

/// As [`live`], or the instance that is just being ended: the thread that holds its lock gives it
/// back by the handle that it knows.
pub(crate) fn live_or_ending(handle: lapi_handle_t) -> Result<&'static Instance, c_int> {
    live(handle).or_else(|code| {
        let slot = slot(handle);
        // SYNC: Acquire pairs with `withdraw`.
        if handle != 0 && slot.ending.load(Ordering::Acquire) == handle {
            // SAFETY: it has not been retired, and is kept for long afterwards (see `KEPT`).
            return Ok(unsafe { &*slot.instance.load(Ordering::Relaxed) });
        }
        Err(code)
    })
}

/// The instance behind a context that calls a hook, also while it is being ended: until its last
/// thread has ended, messages arrive. `None` while it is being set up.
pub(crate) fn of_context(context: &Context) -> Option<&'static Instance> {
    let slot = slot(context.number() + 1);
    match slot.handle.load(Ordering::Relaxed) {
        0 => live_or_ending(slot.ending.load(Ordering::Relaxed)).ok(),
        handle => live_or_ending(handle).ok(),
    }
}

/// What handlers of a context are given to name it.
#[inline(always)]
pub(crate) fn for_handlers(context: &Context) -> *mut lapi_handle_t {
    FOR_HANDLERS[context.number() as usize % MAX_INSTANCES].as_ptr()
}

/// A place of the table that is being set up. Dropped without [`publish`](Self::publish), it
/// becomes free again.
pub(crate) struct Reservation {
    number: u32,
    handle: lapi_handle_t,
    published: bool,
}

/// Takes the place of instance `wanted`, 1 to 16, or with 0 the first that is free.
pub(crate) fn reserve(wanted: c_uint) -> Result<Reservation, Error> {
    let refused = |why| Error::InstanceRefused { wanted, max: MAX_INSTANCES, why };
    let candidates = match wanted {
        0 => 1..=MAX_INSTANCES as u32,
        1..=16 => wanted..=wanted,
        _ => return Err(refused("there is no such instance")),
    };
    for number in candidates {
        let slot = slot(number);
        // SYNC: Acquire pairs with the Release of `Reservation::drop` and `retire`.
        if !slot.taken.swap(true, Ordering::Acquire) {
            let generation = slot.generation.fetch_add(1, Ordering::Relaxed);
            let handle = generation << INSTANCE_BITS | number;
            FOR_HANDLERS[number as usize - 1].store(handle, Ordering::Relaxed);
            return Ok(Reservation { number, handle, published: false });
        }
    }
    Err(if wanted == 0 {
        Error::AllHandlesInUse { max: MAX_INSTANCES }
    } else {
        refused("this task uses it already")
    })
}

impl Reservation {
    /// The context number, which core counts from 0.
    pub(crate) fn number(&self) -> u32 {
        self.number - 1
    }

    pub(crate) fn handle(&self) -> lapi_handle_t {
        self.handle
    }

    /// Makes the handle usable.
    pub(crate) fn publish(mut self, instance: Instance) -> &'static Instance {
        self.published = true;
        let slot = slot(self.number);
        let instance = Box::into_raw(Box::new(instance));
        slot.instance.store(instance, Ordering::Relaxed);
        // SYNC: Release pairs with `live`.
        slot.handle.store(self.handle, Ordering::Release);
        // SAFETY: just made; freed no sooner than `retire` says.
        unsafe { &*instance }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.published {
            // SYNC: Release pairs with `reserve`.
            slot(self.number).taken.store(false, Ordering::Release);
        }
    }
}

/// Takes the handle out of use; only one caller gets the instance. The caller holds the context's
/// lock, so that nobody else who does is left with a handle that is none.
pub(crate) fn withdraw(handle: lapi_handle_t) -> Result<&'static Instance, c_int> {
    let instance = live(handle)?;
    let slot = slot(handle);
    // SYNC: Acquire: as in `live`.
    slot.handle
        .compare_exchange(handle, 0, Ordering::Acquire, Ordering::Relaxed)
        .map_err(|_| LAPI_ERR_HNDL_INVALID)?;
    // SYNC: Release pairs with `live_or_ending`.
    slot.ending.store(handle, Ordering::Release);
    Ok(instance)
}

/// Puts a handle back into use whose context could not be ended.
pub(crate) fn restore(instance: &Instance) {
    let slot = slot(instance.handle);
    // SYNC: Release pairs with `live`.
    slot.handle.store(instance.handle, Ordering::Release);
    slot.ending.store(0, Ordering::Relaxed);
}

/// Frees the place of an instance that was withdrawn and has ended.
pub(crate) fn retire(instance: &'static Instance) {
    let slot = slot(instance.handle);
    slot.ending.store(0, Ordering::Relaxed);
    let pointer = slot.instance.load(Ordering::Relaxed);
    let mut retired = lock(&RETIRED);
    // SAFETY: it came from `publish`, and each is retired once because it is withdrawn once.
    retired.push(unsafe { Box::from_raw(pointer) });
    let old = if retired.len() > KEPT { Some(retired.remove(0)) } else { None };
    drop(retired);
    // SYNC: Release pairs with `reserve`.
    slot.taken.store(false, Ordering::Release);
    drop(old);
}

/// All live instances.
pub(crate) fn all() -> impl Iterator<Item = &'static Instance> {
    TABLE[1..].iter().filter_map(|slot| live(slot.handle.load(Ordering::Relaxed)).ok())
}
