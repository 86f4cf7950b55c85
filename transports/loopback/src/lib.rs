//! The self transport of Lapis, and the template for others.
//!
//! Messages of a task to itself go through a bounded queue; puts and gets are plain copies.
//! `docs/writing-a-transport.md` walks through this file; to write a transport of your own, copy the
//! crate.

mod declaration;
mod notifier;
mod queue;

use lapis_core::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, OpenParams, PeerId, RawSlice, RegionInfo, RemoteAddr,
    Status, Transport, TransportError, Waiter, Window,
};
use notifier::Notifier;
use std::collections::HashMap;

/// Longest message that is copied: a quarter of the queue, so that one doesn't fill it.
const MAX_COPIED: usize = queue::CAPACITY / 4;
/// Longest put or get: as much as there can be.
const MAX_ZCOPY: usize = isize::MAX as usize;
/// The unit of allocated regions, so that no two share a page. Its size is that of the null page,
/// too.
#[repr(align(4096))]
#[derive(Clone)]
struct Page(#[expect(dead_code, reason = "its bytes are for others")] [u8; 4096]);

/// One task's way to itself.
#[derive(Default)]
pub struct Loopback {
    task: PeerId,
    /// Core connects a task to itself like to any other; until then the peer is unknown.
    connected: bool,
    queue: queue::Queue,
    /// Somebody sleeps or is about to (`arm`), or may at any time (interrupt mode).
    armed: bool,
    interrupts: bool,
    notifier: Notifier,
    /// Allocated regions by id; dropping the instance frees them.
    regions: HashMap<u64, Box<[Page]>>,
    next_region: u64,
}

// SAFETY: the pointers in the queue are to memory that it owns or that core promised to keep; no
// thread matters.
unsafe impl Send for Loopback {}

impl Loopback {
    /// Peers and lengths are checked, not trusted: what is refused is `Invalid`, never undefined.
    #[inline(always)]
    fn admits(&self, peer: PeerId, len: usize, limit: usize) -> bool {
        peer == self.task && self.connected && len <= limit
    }

    /// Queues a message; `accepted` is the answer if there is room. If not: core polls, which makes
    /// room, and retries.
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Status {
        if !self.queue.push(len, fill) {
            return Status::Again;
        }
        // One predictable branch when nobody sleeps; a lock and a system call only when somebody
        // may.
        if self.armed || self.interrupts {
            self.notifier.wake();
        }
        Status::Done
    }

    /// # Safety
    /// `from` is readable and `to` writable for `len` bytes.
    #[inline(always)]
    unsafe fn copy(&self, peer: PeerId, from: *const u8, to: *mut u8, len: usize, limit: usize) -> Status {
        if !self.admits(peer, len, limit) {
            return Status::Invalid;
        }
        // SAFETY: the caller's promise. Not `copy_nonoverlapping`: a task's own ranges may overlap.
        unsafe { std::ptr::copy(from, to, len) };
        Status::Done
    }
}

impl Transport for Loopback {
    const NAME: &'static str = "loopback";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    /// All operations but datagrams and lanes; then the promises about them.
    const CAPS: Caps = Caps::OPERATIONS
        .difference(Caps::DATAGRAM.union(Caps::PREFER_RAIL).union(Caps::PUT_SHORT))
        .union(Caps::RELIABLE)
        .union(Caps::ORDERED)
        .union(Caps::ANY_ADDRESS)
        .union(Caps::QUIET_POLLS)
        .union(Caps::SELF_ONLY);
    const DECLARATION: Declaration = declaration::DECLARATION;
    type Waiter = Notifier;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, Notifier), TransportError> {
        // Not `tracing`: a loaded plugin has its own copy of that, to which nobody listens.
        host.debug(format_args!("loopback of task {} of {}", params.task, params.tasks));
        let notifier = Notifier::default();
        let (task, interrupts) = (params.task, params.interrupts);
        let transport = Self { task, interrupts, notifier: notifier.clone(), ..Self::default() };
        Ok((transport, notifier))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits {
            max_short: MAX_COPIED as u32,
            max_packed: MAX_COPIED as u32,
            max_zcopy: MAX_ZCOPY as u64,
            max_peers: 1,
            ..Limits::default() // the others are about datagrams, or 0: zero-copy puts are always best
        };
        // Nothing to probe: what the code has works on every machine.
        Attributes { caps: Self::CAPS, limits, note: "messages to itself".to_owned() }
    }

    fn address(&self) -> Vec<u8> {
        self.task.to_le_bytes().to_vec()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        if peer != self.task || address != self.task.to_le_bytes() {
            let text = format!("task {peer} is not this task ({}): loopback reaches only itself", self.task);
            return Err(TransportError::Unreachable(text));
        }
        self.connected = true;
        Ok(())
    }

    fn disconnect(&mut self, peer: PeerId) {
        if peer == self.task {
            // What was under way is dropped.
            (self.connected, self.queue) = (false, queue::Queue::default());
        }
    }

    #[inline(always)]
    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        let len = head.len() + body.len();
        if !self.admits(peer, len, MAX_COPIED) {
            return Status::Invalid;
        }
        self.send(len, |into| {
            let (h, b) = into.split_at_mut(head.len());
            h.copy_from_slice(head);
            b.copy_from_slice(body);
        })
    }

    #[inline(always)]
    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        if !self.admits(peer, len, MAX_COPIED) {
            return Status::Invalid;
        }
        // `pack` runs only once there is room: its call means that the message is accepted.
        self.send(len, pack)
    }

    // What is `Done` on return has no completion event: the tokens go unused.
    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.copy(peer, data.ptr, remote.addr as *mut u8, data.len, MAX_ZCOPY) }
    }

    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.copy(peer, remote.addr as *const u8, into.ptr, into.len, MAX_ZCOPY) }
    }

    #[inline(always)]
    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.queue.turn();
        for (n, event) in events.iter_mut().enumerate() {
            let Some(message) = self.queue.pop() else { return n };
            *event = Event::message(self.task, message.bytes, message.len as u32);
        }
        events.len()
    }

    fn arm(&mut self) -> Status {
        self.armed = self.queue.is_empty();
        if self.armed { Status::Done } else { Status::Again }
    }

    fn disarm(&mut self) {
        self.armed = false;
    }

    fn set_interrupts(&mut self, on: bool) {
        self.interrupts = on;
    }

    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        // Any address will do (ANY_ADDRESS); the key is not looked at, and there is nothing to
        // undo.
        self.next_region += 1;
        Ok(RegionInfo { addr: range.ptr as u64, len: range.len as u64, id: self.next_region, key: 0 })
    }

    fn mem_alloc(&mut self, len: usize) -> Result<RegionInfo, TransportError> {
        let count = len.div_ceil(size_of::<Page>()).max(1);
        let mut pages = Vec::new();
        let exhausted = |e| TransportError::Exhausted(format!("no memory for a region of {len} bytes: {e}"));
        pages.try_reserve_exact(count).map_err(exhausted)?;
        pages.resize(count, Page([0; size_of::<Page>()]));
        self.next_region += 1;
        let pages = self.regions.entry(self.next_region).insert_entry(pages.into()).into_mut();
        Ok(RegionInfo { addr: pages.as_mut_ptr() as u64, len: len as u64, id: self.next_region, key: 0 })
    }

    fn mem_release(&mut self, id: u64) {
        self.regions.remove(&id);
    }

    fn window(&mut self, peer: PeerId) -> Option<Window> {
        // The peer's address space is this one: everything but the null page, shifted by nothing.
        let start = size_of::<Page>();
        let local_base = std::ptr::with_exposed_provenance_mut(start);
        let len = (isize::MAX as usize - start) as u64;
        self.admits(peer, 0, 0).then_some(Window { remote_base: start as u64, len, local_base })
    }
}

lapis_core::export_transport!(Loopback, "loopback", env!("CARGO_PKG_VERSION"));
