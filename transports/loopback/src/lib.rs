//! The self transport of Lapis, and the template for others.
//!
//! Messages of a task to itself go through a bounded queue; puts, gets and atomics are plain memory
//! accesses. `docs/writing-a-transport.md` walks through this file; to write a transport of your
//! own, copy the crate.

// The atomics come from `lapis_core::sync`; the lint sees through it.
#![allow(clippy::disallowed_types)]

mod declaration;
mod notifier;
mod queue;

use lapis_core::sync::Ordering;
use lapis_core::sync::placed::{AtomicU32, AtomicU64};
use lapis_core::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, OpenParams, PeerId, RawSlice, RegionInfo, RemoteAddr,
    RmwRequest, Status, Transport, TransportError, Waiter, Window,
};
use notifier::Notifier;
use std::collections::HashMap;

/// Longest message that is copied: a quarter of the queue, so that one doesn't fill it.
const MAX_COPIED: usize = queue::CAPACITY / 4;
/// Longest head of a zero-copy message.
const MAX_HEAD: usize = 1024;
/// Longest zero-copy operation: an event's length has 32 bits, and a message is one event.
const MAX_ZCOPY: usize = u32::MAX as usize - MAX_HEAD;
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
    /// Zero-copy messages put together for delivery; like those in the queue, they live until the
    /// next poll.
    assembled: Vec<Box<[u8]>>,
    /// Token of the zero-copy message delivered last: its completion is the next event.
    completed: Option<u64>,
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
    fn send(&mut self, len: usize, rest: Option<(RawSlice, u64)>, fill: impl FnOnce(&mut [u8])) -> Status {
        if !self.queue.push(len, rest, fill) {
            return Status::Again;
        }
        // One predictable branch when nobody sleeps; a lock and a system call only when somebody
        // may.
        if self.armed || self.interrupts {
            self.notifier.wake();
        }
        if rest.is_some() { Status::InProgress } else { Status::Done }
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
    /// The first 13 bits, one for each operation below, but for datagrams; then the promises about
    /// them.
    const CAPS: Caps = Caps::OPERATIONS
        .difference(Caps::DATAGRAM)
        .union(Caps::RELIABLE)
        .union(Caps::ORDERED)
        .union(Caps::ANY_ADDRESS)
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
            max_head: MAX_HEAD as u32,
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
            // What was under way is dropped, and with it the use of zero-copy bodies.
            (self.connected, self.queue, self.completed) = (false, queue::Queue::default(), None);
        }
    }

    #[inline(always)]
    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        let len = head.len() + body.len();
        if !self.admits(peer, len, MAX_COPIED) {
            return Status::Invalid;
        }
        self.send(len, None, |into| {
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
        self.send(len, None, pack)
    }

    unsafe fn am_zcopy(&mut self, peer: PeerId, head: &[u8], body: RawSlice, token: u64) -> Status {
        if !self.admits(peer, body.len, MAX_ZCOPY) || head.len() > MAX_HEAD {
            return Status::Invalid;
        }
        // The head is copied, the body read when the message is delivered; then comes the
        // completion.
        self.send(head.len(), Some((body, token)), |into| into.copy_from_slice(head))
    }

    // What is `Done` on return has no completion event: the tokens go unused.
    #[inline(always)]
    unsafe fn put_short(&mut self, peer: PeerId, data: &[u8], remote: RemoteAddr) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.copy(peer, data.as_ptr(), remote.addr as *mut u8, data.len(), MAX_COPIED) }
    }

    #[inline(always)]
    unsafe fn get_short(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.copy(peer, remote.addr as *const u8, into.ptr, into.len, MAX_COPIED) }
    }

    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.copy(peer, data.ptr, remote.addr as *mut u8, data.len, MAX_ZCOPY) }
    }

    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.copy(peer, remote.addr as *const u8, into.ptr, into.len, MAX_ZCOPY) }
    }

    #[inline(always)]
    unsafe fn rmw(&mut self, peer: PeerId, r: &RmwRequest, previous: *mut u64, _token: u64) -> Status {
        // SYNC: pairs with the same access by the program's other threads, for which the variable
        // may be a lock.
        const BOTH: Ordering = Ordering::AcqRel;
        // SYNC: a failed comparison, too, sees what the thread wrote that released the value found.
        const READ: Ordering = Ordering::Acquire;
        macro_rules! apply {
            ($atomic:ident, $int:ty) => {{
                // SAFETY: an aligned variable (checked below) that may be changed by the caller's
                // promise.
                let v = unsafe { $atomic::from_ptr(r.remote.addr as *mut $int) };
                let (operand, compare) = (r.operand as $int, r.compare as $int);
                u64::from(match r.op {
                    0 => v.fetch_add(operand, BOTH),
                    1 => v.fetch_or(operand, BOTH),
                    2 => v.swap(operand, BOTH),
                    3 => v.compare_exchange(compare, operand, BOTH, READ).unwrap_or_else(|found| found),
                    _ => return Status::Invalid,
                })
            }};
        }
        let aligned = r.remote.addr != 0 && r.remote.addr.is_multiple_of(u64::from(r.width));
        let old = match r.width {
            4 if aligned && self.admits(peer, 0, 0) => apply!(AtomicU32, u32),
            8 if aligned && self.admits(peer, 0, 0) => apply!(AtomicU64, u64),
            _ => return Status::Invalid,
        };
        // SAFETY: the caller's promise.
        unsafe { previous.write(old) };
        Status::Done
    }

    #[inline(always)]
    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.queue.turn();
        self.assembled.clear();
        for (n, event) in events.iter_mut().enumerate() {
            if let Some(token) = self.completed.take() {
                *event = Event::complete(self.task, token, Status::Done);
                continue;
            }
            let Some(message) = self.queue.pop() else { return n };
            let (mut bytes, mut len) = (message.bytes, message.len);
            if let Some((body, token)) = message.rest {
                // An event is one range of bytes, so this is where the one copy happens.
                let mut whole = Vec::with_capacity(len + body.len);
                // SAFETY: the head lies in the queue; core keeps the body until the completion; the
                // room is reserved.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes, whole.as_mut_ptr(), len);
                    std::ptr::copy_nonoverlapping(body.ptr, whole.as_mut_ptr().add(len), body.len);
                    whole.set_len(len + body.len);
                }
                self.assembled.push(whole.into());
                let whole = self.assembled.last_mut().expect("just pushed");
                (bytes, len) = (whole.as_mut_ptr(), whole.len());
                self.completed = Some(token);
            }
            *event = Event::message(self.task, bytes, len as u32);
        }
        events.len()
    }

    fn arm(&mut self) -> Status {
        self.armed = self.queue.is_empty() && self.completed.is_none();
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

    fn window(&self, peer: PeerId) -> Option<Window> {
        // The peer's address space is this one: everything but the null page, shifted by nothing.
        let start = size_of::<Page>();
        let local_base = std::ptr::with_exposed_provenance_mut(start);
        let len = (isize::MAX as usize - start) as u64;
        self.admits(peer, 0, 0).then_some(Window { remote_base: start as u64, len, local_base })
    }
}

lapis_core::export_transport!(Loopback, "loopback", env!("CARGO_PKG_VERSION"));
