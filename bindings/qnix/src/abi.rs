//! What `qx.h` declares, for Rust. A test compares the two.

use lapis_core::sync::{AtomicI32, Ordering};
use std::ffi::{c_int, c_long};

/// Send Contexts, and as many Receive Contexts.
#[doc(alias = "QX_CONTEXTS")]
pub const CONTEXTS: usize = 64;
/// Bytes of a packet.
#[doc(alias = "QX_PACKET_SIZE")]
pub const PACKET_SIZE: usize = 1024;
/// Bytes that a context's registers hold.
#[doc(alias = "QX_SHORT_MAX")]
pub const SHORT_MAX: usize = 4096;
/// Bytes of a message.
#[doc(alias = "QX_SEND_MAX")]
pub const SEND_MAX: usize = 2 << 20;
/// Bytes of the buffer pool.
#[doc(alias = "QX_POOL_MAX")]
pub const POOL_MAX: usize = 8 << 20;

/// States of a doorbell.
pub(crate) mod doorbell {
    #[doc(alias = "QX_DOORBELL_FREE")]
    pub(crate) const FREE: i32 = 0;
    #[doc(alias = "QX_DOORBELL_BUSY")]
    pub(crate) const BUSY: i32 = 1;
    #[doc(alias = "QX_DOORBELL_DONE")]
    pub(crate) const DONE: i32 = 2;
}

/// The visible part of a context.
#[repr(C)]
#[derive(Default)]
pub(crate) struct VisibleContext {
    pub(crate) proc_name: [AtomicI32; 2],
    pub(crate) tag: AtomicI32,
    pub(crate) doorbell_flag: AtomicI32,
    pub(crate) size: AtomicI32,
    pub(crate) buffer_pool_index: AtomicI32,
    pub(crate) len: lapis_core::sync::AtomicUsize,
    pub(crate) state: AtomicI32,
    pub(crate) result: AtomicI32,
}

/// The Host Parameter Structure. The program reads it at any time.
#[repr(C)]
pub(crate) struct Hps {
    pub(crate) proc_name: [c_int; 2],
    pub(crate) group_name: c_int,
    pub(crate) group_size: c_int,
    pub(crate) page_size: c_int,
    pub(crate) buffer_pool_pages: AtomicI32,
    pub(crate) buffer_pool: lapis_core::sync::AtomicPtr<u8>,
    pub(crate) send_doorbell: [AtomicI32; CONTEXTS],
    pub(crate) receive_doorbell: [AtomicI32; CONTEXTS],
    pub(crate) send_context: [VisibleContext; CONTEXTS],
    pub(crate) receive_context: [VisibleContext; CONTEXTS],
}

const _: () = assert!(size_of::<c_long>() == size_of::<isize>());
const _: () = assert!(size_of::<VisibleContext>() == 40 || size_of::<isize>() != 8);

impl Hps {
    /// The doorbells of the Send Contexts, or of the Receive Contexts.
    #[inline(always)]
    pub(crate) fn bells<const SENDING: bool>(&self) -> &[AtomicI32; CONTEXTS] {
        if SENDING { &self.send_doorbell } else { &self.receive_doorbell }
    }

    pub(crate) fn new(proc_name: [c_int; 2], group_size: c_int, page_size: usize) -> Self {
        Self {
            proc_name,
            group_name: proc_name[0],
            group_size,
            page_size: page_size as c_int,
            buffer_pool_pages: AtomicI32::new(0),
            buffer_pool: Default::default(),
            send_doorbell: std::array::from_fn(|_| AtomicI32::new(doorbell::FREE)),
            receive_doorbell: std::array::from_fn(|_| AtomicI32::new(doorbell::FREE)),
            send_context: std::array::from_fn(|_| VisibleContext::default()),
            receive_context: std::array::from_fn(|_| VisibleContext::default()),
        }
    }
}

/// Rings or silences a doorbell.
#[inline(always)]
pub(crate) fn ring(bell: &AtomicI32, state: i32) {
    // SYNC: Release pairs with the Acquire of `state_of`, and with whoever reads the visible
    // structure: what was received precedes it.
    bell.store(state, Ordering::Release);
}

/// What a doorbell says.
#[inline(always)]
pub(crate) fn state_of(bell: &AtomicI32) -> i32 {
    // SYNC: Acquire pairs with `ring`.
    bell.load(Ordering::Acquire)
}
