//! An open transport instance as core's data path sees it.
//!
//! The operation table is copied, and operations that the instance lacks are replaced by stubs
//! which answer [`Status::Unsupported`]: the data path calls through the table without a test.

use super::abi::{self, RawAttributes, RawOpenParams, TransportOps};
use super::host_table;
use super::lane::{ReceiveLanes, SendLane};
use super::sleeper::{Opened, Sleeper};
use super::stubs::resolve;
use super::text::{TextBuffer, caps_text, error_of, outcome, region, with_text};
use super::types::{
    Caps, DatagramBatch, Event, Limits, MAX_ADDRESS, OpenParams, PeerAccess, PeerId, RailReport, RawSlice,
    RegionInfo, RemoteAddr, Status, TransportError, Window,
};
use super::unusable::Unusable;
use crate::sync::Arc;
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

/// An open instance. Methods are those of [`Transport`](super::Transport), which documents them.
///
/// Everything that calls the transport takes `&mut self`: the contract's "one thread at a time".
/// Sleeping goes through a [`Sleeper`], which other threads may use meanwhile. The instance is
/// closed when the link is gone and all its sleepers are, too, or [released](Sleeper::release).
pub struct Link {
    instance: *mut c_void,
    ops: TransportOps,
    caps: Caps,
    limits: Limits,
    // Cold from here on.
    panic_reported: bool,
    name: &'static str,
    version: &'static str,
    note: String,
    /// The transport that stands by (`standby`).
    pub(super) standby: Option<&'static str>,
    opened: Arc<Opened>,
}

// SAFETY: an instance is `Send` by the contract (`Transport: Send`; C plugins promise the same),
// and `&Link` gives access to plain data only.
unsafe impl Send for Link {}
// SAFETY: no method taking `&self` calls the transport, but for those of the waiter, made for any
// thread.
unsafe impl Sync for Link {}

/// Calls an entry of the resolved table.
macro_rules! call {
    ($self:ident . $entry:ident ( $($arg:expr),* $(,)? )) => {
        ($self.ops.$entry.unwrap_unchecked())($self.instance, $($arg),*)
    };
}

impl Link {
    /// Opens an instance of a table that passed the loader's checks.
    pub(super) fn open(
        name: &'static str,
        version: &'static str,
        table: &TransportOps,
        params: &OpenParams<'_>,
    ) -> Result<Self, Unusable> {
        let raw = RawOpenParams {
            struct_size: size_of::<RawOpenParams>() as u32,
            task: params.task,
            tasks: params.tasks,
            context: params.context,
            incarnation: params.incarnation,
            interrupts: u32::from(params.interrupts),
            job: params.job.as_ptr(),
            job_len: params.job.len(),
            secret: params.secret.as_ptr(),
        };
        let mut instance = std::ptr::null_mut();
        let (Some(open), Some(_)) = (table.open, table.close) else {
            return Err(Unusable::MandatoryNull { entry: "open" });
        };
        with_text(|text| {
            // SAFETY: the parameters and places are valid for the call.
            unsafe { open(host_table(), &raw, &mut instance, text) }
        })
        .map_err(Unusable::Open)?;
        Self::around(name, version, table, instance)
    }

    /// A link to an open instance of a table.
    pub(super) fn around(
        name: &'static str,
        version: &'static str,
        table: &TransportOps,
        instance: *mut c_void,
    ) -> Result<Self, Unusable> {
        let mut link = Self {
            instance,
            ops: resolve(table, Caps::empty()),
            caps: Caps::empty(),
            limits: Limits::default(),
            panic_reported: false,
            name,
            version,
            note: String::new(),
            standby: None,
            opened: Arc::new(Opened::new(instance, *table)),
        };
        link.refresh_attributes()?;
        Ok(link)
    }

    /// The transport's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The transport's version.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// What the instance can do, as of the last [`refresh_attributes`](Self::refresh_attributes).
    #[inline(always)]
    pub fn caps(&self) -> Caps {
        self.caps
    }

    /// Whether it carries puts and gets by keys alone.
    pub(crate) fn needs_keys(&self) -> bool {
        self.caps.contains(Caps::REGISTER) && !self.caps.intersects(Caps::ANY_ADDRESS | Caps::SELF_ONLY)
    }

    /// How data of a peer's comes here without packets: by a get, or by a put that the peer is
    /// asked for.
    #[inline(always)]
    pub(crate) fn fetching(&self) -> Caps {
        let gets = self.caps.contains(Caps::GET_ZCOPY) || !self.needs_keys();
        if gets { Caps::GET_ZCOPY } else { Caps::PUT_ZCOPY }
    }

    /// How much fits, as of the last [`refresh_attributes`](Self::refresh_attributes).
    #[inline(always)]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What was probed, in readable form.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// A readable description of the present state of the instance. Capabilities are not re-read.
    pub fn present_note(&mut self) -> String {
        let (mut raw, mut note) = (RawAttributes { caps: 0, limits: Limits::default() }, TextBuffer::new());
        // SAFETY: the places are valid for the call; the entry is there (checked by the loader).
        let status = unsafe { call!(self.attributes(&mut raw, note.as_raw())) };
        if outcome(status, "attributes").is_ok() { note.text() } else { String::new() }
    }

    /// Asks the instance again what it can do: some learn it when peers connect. Operations that
    /// went away become stubs.
    pub fn refresh_attributes(&mut self) -> Result<(), Unusable> {
        let mut raw = RawAttributes { caps: 0, limits: Limits::default() };
        let mut note = TextBuffer::new();
        // SAFETY: the places are valid for the call; the entry is there (checked by the loader).
        let status = unsafe { call!(self.attributes(&mut raw, note.as_raw())) };
        outcome(status, "attributes").map_err(Unusable::Open)?;
        let lacking = raw.caps & !self.opened.table.caps;
        if lacking != 0 {
            return Err(Unusable::CapabilitiesGrew { extra: caps_text(lacking) });
        }
        self.caps = Caps::from_bits_truncate(raw.caps);
        if self.opened.table.head.abi_minor < abi::WHOLE_LANES {
            self.caps -= Caps::LANES;
        }
        self.limits = raw.limits;
        self.note = note.text();
        self.ops = resolve(&self.opened.table, self.caps);
        Ok(())
    }

    /// The bytes peers need to connect.
    pub fn address(&mut self) -> Result<Vec<u8>, TransportError> {
        let most = if self.standby.is_some() { 2 * (2 + MAX_ADDRESS) } else { MAX_ADDRESS };
        let mut bytes = vec![0u8; most];
        // SAFETY: the buffer has the capacity given.
        let len = unsafe { call!(self.address(bytes.as_mut_ptr(), most as u32)) };
        let len = usize::try_from(len)
            .map_err(|_| error_of(len, format!("transport {} gave no address (status {len})", self.name)))?;
        if len > most {
            let text = format!("transport {}: address of {len} bytes, the limit is {most}", self.name);
            return Err(TransportError::Invalid(text));
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    /// See [`Transport::connect`](super::Transport::connect).
    pub fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        let len = u32::try_from(address.len())
            .map_err(|_| TransportError::Invalid("the address is longer than 4 GiB".into()))?;
        // SAFETY: the range is valid for the call.
        with_text(|text| unsafe { call!(self.connect(peer, address.as_ptr(), len, text)) }).map(|_| ())
    }

    /// See [`Transport::progress_connect`](super::Transport::progress_connect).
    pub fn progress_connect(&mut self) -> Result<bool, TransportError> {
        // SAFETY: a live instance.
        with_text(|text| unsafe { call!(self.progress_connect(text)) }).map(|s| s == abi::status::OK)
    }

    /// See [`Transport::disconnect`](super::Transport::disconnect).
    pub fn disconnect(&mut self, peer: PeerId) {
        // SAFETY: a live instance.
        unsafe { call!(self.disconnect(peer)) }
    }

    /// See [`Transport::am_short`](super::Transport::am_short).
    #[inline(always)]
    pub fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        // SAFETY: a live instance; the ranges are valid for the call. Lengths beyond 32 bits can't
        // come from slices that respect the limits; they are cut to a length that no transport
        // accepts.
        let raw = unsafe {
            call!(self.am_short(peer, head.as_ptr(), len32(head.len()), body.as_ptr(), len32(body.len())))
        };
        self.answer(raw)
    }

    /// See [`Transport::am_packed`](super::Transport::am_packed). A panic of `pack` continues here
    /// after the transport has returned.
    #[inline(always)]
    pub fn am_packed<F: FnOnce(&mut [u8])>(&mut self, peer: PeerId, len: usize, pack: F) -> Status {
        struct Call<F> {
            pack: Option<F>,
            panic: Option<Box<dyn Any + Send>>,
        }
        unsafe extern "C" fn run<F: FnOnce(&mut [u8])>(arg: *mut c_void, into: *mut u8, len: usize) {
            // SAFETY: `arg` is the `Call` below, which outlives the operation; the plugin hands it
            // back unchanged.
            let call = unsafe { &mut *arg.cast::<Call<F>>() };
            // A plugin that calls twice has sent the first packing; the second is ignored.
            let Some(pack) = call.pack.take() else { return };
            // SAFETY: the plugin gives `len` writable bytes of its own.
            let into = if len == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(into, len) } };
            call.panic = catch_unwind(AssertUnwindSafe(|| pack(into))).err();
        }
        let mut state = Call { pack: Some(pack), panic: None };
        // SAFETY: a live instance; the callback and its argument are valid for the call.
        let raw = unsafe { call!(self.am_packed(peer, len, run::<F>, (&raw mut state).cast())) };
        if let Some(panic) = state.panic {
            resume_unwind(panic);
        }
        self.answer(raw)
    }

    /// See [`Transport::put_zcopy`](super::Transport::put_zcopy).
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn put_zcopy(
        &mut self,
        peer: PeerId,
        data: RawSlice,
        remote: RemoteAddr,
        token: u64,
    ) -> Status {
        // SAFETY: a live instance; the caller's promise.
        let raw = unsafe { call!(self.put_zcopy(peer, data, remote, token)) };
        self.answer(raw)
    }

    /// See [`Transport::get_zcopy`](super::Transport::get_zcopy).
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn get_zcopy(
        &mut self,
        peer: PeerId,
        into: RawSlice,
        remote: RemoteAddr,
        token: u64,
    ) -> Status {
        // SAFETY: a live instance; the caller's promise.
        let raw = unsafe { call!(self.get_zcopy(peer, into, remote, token)) };
        self.answer(raw)
    }

    /// See [`Transport::prefer_rail`](super::Transport::prefer_rail); does nothing without a
    /// preference.
    #[inline(always)]
    pub fn prefer_rail(&mut self, rail: Option<u8>) {
        if let Some(rail) = rail {
            // SAFETY: a live instance.
            unsafe { call!(self.prefer_rail(rail.into())) }
        }
    }

    /// See [`Transport::put_short`](super::Transport::put_short).
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn put_short(&mut self, peer: PeerId, data: &[u8], remote: RemoteAddr) -> Status {
        // SAFETY: a live instance; the bytes are readable for the call; the rest is the caller's
        // promise.
        let raw = unsafe { call!(self.put_short(peer, data.as_ptr(), len32(data.len()), remote)) };
        self.answer(raw)
    }

    /// See [`Transport::send_datagrams`](super::Transport::send_datagrams).
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> Result<usize, Status> {
        // SAFETY: a live instance; the caller's promise.
        let n = unsafe { call!(self.send_datagrams(batches.as_ptr(), len32(batches.len()))) };
        self.count(n, batches.len())
    }

    /// See [`Transport::poll`](super::Transport::poll).
    #[inline(always)]
    pub fn poll(&mut self, events: &mut [Event]) -> Result<usize, Status> {
        // SAFETY: a live instance; the array has as many elements as said.
        let n = unsafe { call!(self.poll(events.as_mut_ptr(), len32(events.len()))) };
        self.count(n, events.len())
    }

    /// See [`Transport::send_lane`](super::Transport::send_lane).
    pub(crate) fn send_lane(&mut self, peer: PeerId) -> Option<NonNull<SendLane>> {
        // SAFETY: a live instance.
        NonNull::new(unsafe { call!(self.send_lane(peer)) })
    }

    /// See [`Transport::receive_lanes`](super::Transport::receive_lanes).
    pub(crate) fn receive_lanes(&mut self) -> Option<NonNull<ReceiveLanes>> {
        // SAFETY: a live instance.
        NonNull::new(unsafe { call!(self.receive_lanes()) }.cast_mut())
    }

    /// See [`Transport::attend`](super::Transport::attend).
    #[cold]
    pub(crate) fn attend(&mut self, peer: PeerId, attention: u32) -> Status {
        // SAFETY: a live instance.
        self.answer(unsafe { call!(self.attend(peer, attention)) })
    }

    /// See [`Transport::arm`](super::Transport::arm).
    #[inline(always)]
    pub fn arm(&mut self) -> Status {
        // SAFETY: a live instance.
        let raw = unsafe { call!(self.arm()) };
        self.answer(raw)
    }

    /// See [`Transport::disarm`](super::Transport::disarm).
    #[inline(always)]
    pub fn disarm(&mut self) {
        // SAFETY: a live instance.
        unsafe { call!(self.disarm()) }
    }

    /// See [`Transport::set_interrupts`](super::Transport::set_interrupts).
    pub fn set_interrupts(&mut self, on: bool) {
        // SAFETY: a live instance.
        unsafe { call!(self.set_interrupts(i32::from(on))) }
    }

    /// See [`Transport::mem_register`](super::Transport::mem_register).
    ///
    /// # Safety
    /// As there.
    pub unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        // SAFETY: the place is valid for the call; the caller's promise for the range.
        region(|out, text| unsafe { call!(self.mem_register(range, out, text)) })
    }

    /// See [`Transport::mem_lend`](super::Transport::mem_lend).
    ///
    /// # Safety
    /// As there.
    pub unsafe fn mem_lend(
        &mut self,
        range: RawSlice,
        access: PeerAccess,
    ) -> Result<RegionInfo, TransportError> {
        region(|out, text| match self.ops.mem_lend {
            // SAFETY: a live instance; the place is valid; the caller's promise for the range.
            Some(lend) => unsafe { lend(self.instance, range, access as u32, out, text) },
            // SAFETY: the place is valid for the call; the caller's promise for the range.
            None => unsafe { call!(self.mem_register(range, out, text)) },
        })
    }

    /// See [`Transport::mem_alloc`](super::Transport::mem_alloc).
    pub fn mem_alloc(&mut self, len: usize) -> Result<RegionInfo, TransportError> {
        // SAFETY: the place is valid for the call.
        region(|out, text| unsafe { call!(self.mem_alloc(len, out, text)) })
    }

    /// See [`Transport::mem_release`](super::Transport::mem_release).
    ///
    /// # Safety
    /// The region is no longer used, neither here nor at a peer; `id` is not released twice.
    pub unsafe fn mem_release(&mut self, id: u64) {
        // SAFETY: a live instance; the caller's promise.
        unsafe { call!(self.mem_release(id)) }
    }

    /// See [`Transport::window`](super::Transport::window).
    pub fn window(&mut self, peer: PeerId) -> Option<Window> {
        let mut out = Window { remote_base: 0, len: 0, local_base: std::ptr::null_mut() };
        // SAFETY: the place is valid for the call.
        let status = unsafe { call!(self.window(peer, &mut out)) };
        (status == abi::status::OK).then_some(out)
    }

    /// See [`Transport::rails`](super::Transport::rails).
    pub fn rails(&mut self, reports: &mut [RailReport]) -> usize {
        let Some(rails) = self.ops.rails else { return 0 };
        // SAFETY: a live instance; the reports are values, as many as is said.
        let told = unsafe { rails(self.instance, reports.as_mut_ptr(), reports.len() as u32) };
        usize::try_from(told).unwrap_or(0).min(reports.len())
    }

    /// The handle for sleeping, to be kept outside the context's lock.
    pub fn sleeper(&self) -> Sleeper {
        Sleeper::new(&self.ops, &self.opened)
    }

    /// See [`Waiter::wait`](super::Waiter::wait).
    pub fn wait(&self, timeout_ns: u64) {
        // SAFETY: a live instance; the entry is made for any thread.
        unsafe { call!(self.wait(timeout_ns)) }
    }

    /// See [`Waiter::wake`](super::Waiter::wake).
    pub fn wake(&self) {
        // SAFETY: a live instance; the entry is made for any thread.
        unsafe { call!(self.wake()) }
    }

    /// See [`Waiter::fd`](super::Waiter::fd).
    pub fn wait_fd(&self) -> i32 {
        // SAFETY: a live instance; the entry is made for any thread.
        unsafe { call!(self.wait_fd()) }
    }

    /// The status behind the number a data-path entry returned.
    #[inline(always)]
    fn answer(&mut self, raw: i32) -> Status {
        match raw {
            0 => Status::Done,
            1 => Status::InProgress,
            2 => Status::Again,
            _ => self.failure(raw),
        }
    }

    #[inline(always)]
    fn count(&mut self, raw: i32, capacity: usize) -> Result<usize, Status> {
        // More than fits can only be a plugin's mistake; what was written is at most the capacity.
        if raw >= 0 { Ok((raw as usize).min(capacity)) } else { Err(self.failure(raw)) }
    }

    #[cold]
    fn failure(&mut self, raw: i32) -> Status {
        let status = Status::from_raw(raw);
        if status == Status::Panicked && !self.panic_reported {
            self.panic_reported = true;
            tracing::error!(
                target: "lapis::transport",
                transport = self.name,
                "transport {} {} panicked inside an operation: this instance answers nothing any more",
                self.name,
                self.version
            );
        }
        status
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("caps", &self.caps)
            .field("limits", &self.limits)
            .field("note", &self.note)
            .finish_non_exhaustive()
    }
}

#[inline(always)]
fn len32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
