//! From the trait to the table: one thunk per operation, generated for each transport by its type.
//!
//! Every thunk catches panics, poisons the instance and answers [`Status::Panicked`] from then on:
//! an unwinding that crossed `extern "C"` would abort the program.

use super::abi::{
    self, ErrorText, HostTable, RawAttributes, RawDeclaration, RawOpenParams, TableHead, TransportOps,
};
use super::lane::{ReceiveLanes, SendLane};
use super::types::{
    Caps, DatagramBatch, Event, OpenParams, RawSlice, RegionInfo, RemoteAddr, RmwRequest, Status,
    TransportError, Window,
};
use super::{Host, Transport, Waiter};
use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an instance pointer points to.
pub struct Instance<T: Transport> {
    transport: UnsafeCell<T>,
    waiter: T::Waiter,
    poisoned: Cell<bool>,
}

impl<T: Transport> Instance<T> {
    /// An instance to be used, and closed, through the table of `T`.
    pub(super) fn new_raw(transport: T, waiter: T::Waiter) -> *mut c_void {
        let poisoned = Cell::new(false);
        Box::into_raw(Box::new(Self { transport: UnsafeCell::new(transport), waiter, poisoned })).cast()
    }
}

/// Names the table of `T`. `NAME` and `VERSION` come NUL-terminated from the macro.
pub struct Exported<T>(PhantomData<T>);

/// `Some(thunk)` exactly when the capability is there: the table can't disagree with the bits.
macro_rules! when {
    ($caps:expr, $bit:ident, $thunk:expr) => {
        if $caps.contains(Caps::$bit) { Some($thunk) } else { None }
    };
}

impl<T: Transport> Exported<T> {
    /// The operation table for the transport. `declaration` is null, or what it declares.
    pub const fn table(
        name: &'static CStr,
        version: &'static CStr,
        declaration: *const RawDeclaration,
    ) -> TransportOps {
        let caps = T::CAPS;
        TransportOps {
            head: TableHead {
                magic: abi::MAGIC,
                abi_major: abi::ABI_MAJOR,
                abi_minor: abi::ABI_MINOR,
                struct_size: size_of::<TransportOps>() as u32,
                reserved: 0,
                layout_hash: abi::LAYOUT_HASH,
                name: name.as_ptr(),
                version: version.as_ptr(),
            },
            caps: caps.bits(),
            open: Some(Self::open),
            close: Some(Self::close),
            attributes: Some(Self::attributes),
            address: Some(Self::address),
            connect: Some(Self::connect),
            progress_connect: Some(Self::progress_connect),
            disconnect: Some(Self::disconnect),
            mem_register: when!(caps, REGISTER, Self::mem_register),
            mem_alloc: when!(caps, ALLOCATE, Self::mem_alloc),
            mem_release: Some(Self::mem_release),
            window: when!(caps, WINDOW, Self::window),
            am_short: when!(caps, AM_SHORT, Self::am_short),
            am_packed: when!(caps, AM_PACKED, Self::am_packed),
            am_zcopy: when!(caps, AM_ZCOPY, Self::am_zcopy),
            put_short: when!(caps, PUT_SHORT, Self::put_short),
            get_short: when!(caps, GET_SHORT, Self::get_short),
            put_zcopy: when!(caps, PUT_ZCOPY, Self::put_zcopy),
            get_zcopy: when!(caps, GET_ZCOPY, Self::get_zcopy),
            rmw: when!(caps, RMW, Self::rmw),
            send_datagrams: when!(caps, DATAGRAM, Self::send_datagrams),
            poll: Some(Self::poll),
            flush: Some(Self::flush),
            arm: when!(caps, WAIT, Self::arm),
            disarm: Some(Self::disarm),
            set_interrupts: Some(Self::set_interrupts),
            wait: when!(caps, WAIT, Self::wait),
            wake: when!(caps, WAIT, Self::wake),
            wait_fd: when!(caps, WAIT, Self::wait_fd),
            send_lane: when!(caps, LANES, Self::send_lane),
            receive_lanes: when!(caps, LANES, Self::receive_lanes),
            attend: when!(caps, LANES, Self::attend),
            declaration,
        }
    }

    unsafe extern "C" fn open(
        host: *const HostTable,
        params: *const RawOpenParams,
        instance: *mut *mut c_void,
        error: *mut ErrorText,
    ) -> i32 {
        let opened = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: core passes a valid struct whose pointers are valid for the call.
            let p = unsafe { &*params };
            // SAFETY: as above.
            let job = unsafe { std::slice::from_raw_parts(p.job, p.job_len) };
            let params = OpenParams {
                task: p.task,
                tasks: p.tasks,
                context: p.context,
                incarnation: p.incarnation,
                job: std::str::from_utf8(job)
                    .map_err(|_| TransportError::Invalid("the job's name is not UTF-8".into()))?,
                // SAFETY: core passes 32 bytes.
                secret: unsafe { &*p.secret.cast::<[u8; 32]>() },
                interrupts: p.interrupts != 0,
            };
            // SAFETY: the host's table is static.
            T::open(unsafe { Host::from_raw(host, T::NAME) }, &params)
        }));
        match flatten(opened) {
            Ok((transport, waiter)) => {
                // SAFETY: core passes a valid place.
                unsafe { *instance = Instance::new_raw(transport, waiter) };
                abi::status::OK
            }
            // SAFETY: core passes a valid or null text buffer.
            Err(e) => unsafe { refuse(e, error) },
        }
    }

    unsafe extern "C" fn close(instance: *mut c_void) {
        // SAFETY: the pointer came from `open` and core closes once.
        let boxed = unsafe { Box::from_raw(instance.cast::<Instance<T>>()) };
        // A panic in a destructor must not cross the border; there is nobody left to tell.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(boxed)));
    }

    unsafe extern "C" fn attributes(
        instance: *mut c_void,
        out: *mut RawAttributes,
        note: *mut ErrorText,
    ) -> i32 {
        // SAFETY: contract of the table: a live instance, one caller at a time.
        unsafe {
            Self::set_up(instance, std::ptr::null_mut(), |t| {
                let a = t.attributes();
                *out = RawAttributes { caps: a.caps.bits(), limits: a.limits };
                write_text(note, &a.note);
                Ok(abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn address(instance: *mut c_void, buf: *mut u8, capacity: u32) -> i32 {
        // SAFETY: as above; `buf` has `capacity` bytes.
        unsafe {
            Self::set_up(instance, std::ptr::null_mut(), |t| {
                let a = t.address();
                if a.len() > capacity as usize {
                    return Ok(abi::status::INVALID);
                }
                std::ptr::copy_nonoverlapping(a.as_ptr(), buf, a.len());
                Ok(a.len() as i32)
            })
        }
    }

    unsafe extern "C" fn connect(
        i: *mut c_void,
        peer: u32,
        address: *const u8,
        len: u32,
        error: *mut ErrorText,
    ) -> i32 {
        // SAFETY: as above; the address is valid for the call.
        unsafe {
            Self::set_up(i, error, |t| {
                t.connect(peer, slice(address, len as usize)).map(|()| abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn progress_connect(i: *mut c_void, error: *mut ErrorText) -> i32 {
        // SAFETY: as above.
        unsafe {
            Self::set_up(i, error, |t| {
                t.progress_connect().map(|done| if done { abi::status::OK } else { abi::status::AGAIN })
            })
        }
    }

    unsafe extern "C" fn disconnect(i: *mut c_void, peer: u32) {
        // SAFETY: as above.
        unsafe { Self::quietly(i, |t| t.disconnect(peer)) }
    }

    unsafe extern "C" fn mem_register(
        i: *mut c_void,
        range: RawSlice,
        out: *mut RegionInfo,
        e: *mut ErrorText,
    ) -> i32 {
        // SAFETY: as above; `out` is valid; the range's promise is handed on.
        unsafe {
            Self::set_up(i, e, |t| {
                *out = t.mem_register(range)?;
                Ok(abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn mem_alloc(
        i: *mut c_void,
        len: usize,
        out: *mut RegionInfo,
        e: *mut ErrorText,
    ) -> i32 {
        // SAFETY: as above.
        unsafe {
            Self::set_up(i, e, |t| {
                *out = t.mem_alloc(len)?;
                Ok(abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn mem_release(i: *mut c_void, id: u64) {
        // SAFETY: as above.
        unsafe { Self::quietly(i, |t| t.mem_release(id)) }
    }

    unsafe extern "C" fn window(i: *mut c_void, peer: u32, out: *mut Window) -> i32 {
        // SAFETY: as above.
        unsafe {
            Self::set_up(i, std::ptr::null_mut(), |t| {
                let Some(w) = t.window(peer) else { return Ok(abi::status::UNREACHABLE) };
                *out = w;
                Ok(abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn am_short(
        i: *mut c_void,
        peer: u32,
        h: *const u8,
        hl: u32,
        b: *const u8,
        bl: u32,
    ) -> i32 {
        // SAFETY: contract of the table: a live instance, one caller at a time, valid ranges.
        unsafe { Self::data(i, |t| t.am_short(peer, slice(h, hl as usize), slice(b, bl as usize))) }
    }

    unsafe extern "C" fn am_packed(
        i: *mut c_void,
        peer: u32,
        len: usize,
        pack: abi::PackFn,
        arg: *mut c_void,
    ) -> i32 {
        // SAFETY: as above; the callback gets the range it is promised.
        unsafe {
            Self::data(i, |t| {
                t.am_packed(peer, len, &mut |into: &mut [u8]| pack(arg, into.as_mut_ptr(), into.len()))
            })
        }
    }

    unsafe extern "C" fn am_zcopy(
        i: *mut c_void,
        peer: u32,
        h: *const u8,
        hl: u32,
        body: RawSlice,
        token: u64,
    ) -> i32 {
        // SAFETY: as above; the body's promise is handed on.
        unsafe { Self::data(i, |t| t.am_zcopy(peer, slice(h, hl as usize), body, token)) }
    }

    unsafe extern "C" fn put_short(i: *mut c_void, peer: u32, local: RawSlice, remote: RemoteAddr) -> i32 {
        // SAFETY: as above.
        unsafe { Self::data(i, |t| t.put_short(peer, slice(local.ptr, local.len), remote)) }
    }

    unsafe extern "C" fn get_short(i: *mut c_void, peer: u32, local: RawSlice, remote: RemoteAddr) -> i32 {
        // SAFETY: as above.
        unsafe { Self::data(i, |t| t.get_short(peer, local, remote)) }
    }

    unsafe extern "C" fn put_zcopy(
        i: *mut c_void,
        peer: u32,
        local: RawSlice,
        remote: RemoteAddr,
        token: u64,
    ) -> i32 {
        // SAFETY: as above.
        unsafe { Self::data(i, |t| t.put_zcopy(peer, local, remote, token)) }
    }

    unsafe extern "C" fn get_zcopy(
        i: *mut c_void,
        peer: u32,
        local: RawSlice,
        remote: RemoteAddr,
        token: u64,
    ) -> i32 {
        // SAFETY: as above.
        unsafe { Self::data(i, |t| t.get_zcopy(peer, local, remote, token)) }
    }

    unsafe extern "C" fn rmw(
        i: *mut c_void,
        peer: u32,
        r: *const RmwRequest,
        previous: *mut u64,
        token: u64,
    ) -> i32 {
        // SAFETY: as above; the request is valid for the call.
        unsafe { Self::data(i, |t| t.rmw(peer, &*r, previous, token)) }
    }

    unsafe extern "C" fn send_datagrams(i: *mut c_void, batches: *const DatagramBatch, count: u32) -> i32 {
        // SAFETY: as above; the batches are valid for the call.
        unsafe { Self::counted(i, |t| t.send_datagrams(std::slice::from_raw_parts(batches, count as usize))) }
    }

    unsafe extern "C" fn poll(i: *mut c_void, events: *mut Event, capacity: u32) -> i32 {
        // SAFETY: as above; the array has `capacity` initialised events.
        unsafe { Self::counted(i, |t| t.poll(std::slice::from_raw_parts_mut(events, capacity as usize))) }
    }

    /// Hosts before minor 4 want the entry, and call it once before a context ends.
    unsafe extern "C" fn flush(_: *mut c_void) {}

    unsafe extern "C" fn arm(i: *mut c_void) -> i32 {
        // SAFETY: as above.
        unsafe { Self::data(i, T::arm) }
    }

    unsafe extern "C" fn disarm(i: *mut c_void) {
        // SAFETY: as above.
        unsafe { Self::quietly(i, T::disarm) }
    }

    unsafe extern "C" fn set_interrupts(i: *mut c_void, on: i32) {
        // SAFETY: as above.
        unsafe { Self::quietly(i, |t| t.set_interrupts(on != 0)) }
    }

    unsafe extern "C" fn wait(i: *mut c_void, timeout_ns: u64) {
        // SAFETY: a live instance; the waiter is `Sync` and never borrowed mutably.
        let waiter = unsafe { &(*i.cast::<Instance<T>>()).waiter };
        let _ = catch_unwind(AssertUnwindSafe(|| waiter.wait(timeout_ns)));
    }

    unsafe extern "C" fn wake(i: *mut c_void) {
        // SAFETY: as for `wait`.
        let waiter = unsafe { &(*i.cast::<Instance<T>>()).waiter };
        let _ = catch_unwind(AssertUnwindSafe(|| waiter.wake()));
    }

    unsafe extern "C" fn wait_fd(i: *mut c_void) -> i32 {
        // SAFETY: as for `wait`.
        let waiter = unsafe { &(*i.cast::<Instance<T>>()).waiter };
        catch_unwind(AssertUnwindSafe(|| waiter.fd())).unwrap_or(-1)
    }

    unsafe extern "C" fn send_lane(i: *mut c_void, peer: u32) -> *mut SendLane {
        let mut lane = std::ptr::null_mut();
        // SAFETY: contract of the table: a live instance, one caller at a time.
        unsafe { Self::quietly(i, |t| lane = t.send_lane(peer)) };
        lane
    }

    unsafe extern "C" fn receive_lanes(i: *mut c_void) -> *const ReceiveLanes {
        let mut lanes = std::ptr::null();
        // SAFETY: as above.
        unsafe { Self::quietly(i, |t| lanes = t.receive_lanes()) };
        lanes
    }

    unsafe extern "C" fn attend(i: *mut c_void, peer: u32, attention: u32) -> i32 {
        // SAFETY: as above.
        unsafe { Self::data(i, |t| t.attend(peer, attention)) }
    }

    /// A data-path call.
    ///
    /// # Safety
    /// `i` is a live instance of `T` and no other thread is in a call other than the waiter's.
    #[inline(always)]
    unsafe fn data(i: *mut c_void, f: impl FnOnce(&mut T) -> Status) -> i32 {
        // SAFETY: the caller's promise.
        let instance = unsafe { &*i.cast::<Instance<T>>() };
        if instance.poisoned.get() {
            return Status::Panicked as i32;
        }
        // SAFETY: one caller at a time, so this is the only reference to the transport.
        match catch_unwind(AssertUnwindSafe(|| f(unsafe { &mut *instance.transport.get() }))) {
            Ok(status) => status as i32,
            Err(_) => {
                instance.poisoned.set(true);
                Status::Panicked as i32
            }
        }
    }

    /// A call that answers with a number.
    ///
    /// # Safety
    /// As for [`Self::data`].
    #[inline(always)]
    unsafe fn counted(i: *mut c_void, f: impl FnOnce(&mut T) -> usize) -> i32 {
        // SAFETY: the caller's promise.
        let instance = unsafe { &*i.cast::<Instance<T>>() };
        if instance.poisoned.get() {
            return Status::Panicked as i32;
        }
        // SAFETY: one caller at a time.
        match catch_unwind(AssertUnwindSafe(|| f(unsafe { &mut *instance.transport.get() }))) {
            Ok(n) => n as i32,
            Err(_) => {
                instance.poisoned.set(true);
                Status::Panicked as i32
            }
        }
    }

    /// A call without an answer.
    ///
    /// # Safety
    /// As for [`Self::data`].
    #[inline(always)]
    unsafe fn quietly(i: *mut c_void, f: impl FnOnce(&mut T)) {
        // SAFETY: the caller's promise.
        unsafe {
            Self::data(i, |t| {
                f(t);
                Status::Done
            });
        }
    }

    /// A set-up call, whose failure comes with a text.
    ///
    /// # Safety
    /// As for [`Self::data`]; `error` is null or valid.
    unsafe fn set_up(
        i: *mut c_void,
        error: *mut ErrorText,
        f: impl FnOnce(&mut T) -> Result<i32, TransportError>,
    ) -> i32 {
        // SAFETY: the caller's promise.
        let instance = unsafe { &*i.cast::<Instance<T>>() };
        if instance.poisoned.get() {
            return Status::Panicked as i32;
        }
        // SAFETY: one caller at a time.
        match flatten(catch_unwind(AssertUnwindSafe(|| f(unsafe { &mut *instance.transport.get() })))) {
            Ok(status) => status,
            Err(e) => {
                instance.poisoned.set(matches!(e, TransportError::Panicked(_)));
                // SAFETY: the caller's promise.
                unsafe { refuse(e, error) }
            }
        }
    }
}

type Caught<R> = Result<Result<R, TransportError>, Box<dyn std::any::Any + Send>>;

fn flatten<R>(caught: Caught<R>) -> Result<R, TransportError> {
    caught.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(TransportError::Panicked(text))
    })
}

/// # Safety
/// `error` is null or valid.
unsafe fn refuse(e: TransportError, error: *mut ErrorText) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { write_text(error, &e.to_string()) };
    match e {
        TransportError::Unsupported => abi::status::UNSUPPORTED,
        TransportError::Invalid(_) => abi::status::INVALID,
        TransportError::Unreachable(_) => abi::status::UNREACHABLE,
        TransportError::Exhausted(_) => abi::status::EXHAUSTED,
        TransportError::Io(_) => abi::status::IO,
        TransportError::Panicked(_) => abi::status::PANICKED,
    }
}

/// # Safety
/// `out` is null or valid.
unsafe fn write_text(out: *mut ErrorText, text: &str) {
    // SAFETY: the caller's promise.
    let Some(out) = (unsafe { out.as_mut() }) else { return };
    let mut len = text.len().min(out.capacity as usize);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    // SAFETY: the buffer has `capacity` ≥ `len` bytes.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), out.buf, len) };
    out.len = len as u32;
}

/// # Safety
/// `ptr` and `len` describe readable memory for as long as the result is used; a null pointer needs
/// `len` 0.
unsafe fn slice<'a>(ptr: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(ptr, len) }
}
