//! From the trait to the table: one thunk per operation, generated for each transport by its type.
//!
//! Every thunk catches panics, poisons the instance and answers `Status::Panicked` from then on:
//! an unwinding that crossed `extern "C"` would abort the program.

use super::abi::{
    self, ErrorText, HostTable, RawAttributes, RawDeclaration, RawOpenParams, TableHead, TransportOps,
};
use super::instance::{Instance, flatten, refuse, write_text};
use super::lane::{ReceiveLanes, SendLane};
use super::types::{
    Caps, DatagramBatch, Event, OpenParams, PeerAccess, RailReport, RawSlice, RegionInfo, RemoteAddr,
    TransportError, Window,
};
use super::{Host, Transport, Waiter};
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
            was_am_zcopy: None,
            was_put_short: None,
            was_get_short: None,
            put_zcopy: when!(caps, PUT_ZCOPY, Self::put_zcopy),
            get_zcopy: when!(caps, GET_ZCOPY, Self::get_zcopy),
            was_rmw: None,
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
            rails: Some(Self::rails),
            prefer_rail: when!(caps, PREFER_RAIL, Self::prefer_rail),
            put_short: when!(caps, PUT_SHORT, Self::put_short),
            mem_lend: when!(caps, REGISTER, Self::mem_lend),
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
            // SAFETY: the job's name is valid for the call.
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
            Instance::<T>::set_up(instance, std::ptr::null_mut(), |t| {
                let a = t.attributes();
                *out = RawAttributes { caps: a.caps.bits(), limits: a.limits };
                write_text(note, &a.note);
                Ok(abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn address(instance: *mut c_void, buf: *mut u8, capacity: u32) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; `buf` has
        // `capacity` bytes.
        unsafe {
            Instance::<T>::set_up(instance, std::ptr::null_mut(), |t| {
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
        // SAFETY: a live instance, which the table lets one thread call at a time; the address is
        // valid for the call.
        unsafe {
            Instance::<T>::set_up(i, error, |t| {
                t.connect(peer, slice(address, len as usize)).map(|()| abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn progress_connect(i: *mut c_void, error: *mut ErrorText) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe {
            Instance::<T>::set_up(i, error, |t| {
                t.progress_connect().map(|done| if done { abi::status::OK } else { abi::status::AGAIN })
            })
        }
    }

    unsafe extern "C" fn disconnect(i: *mut c_void, peer: u32) {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::quietly(i, |t| t.disconnect(peer)) }
    }

    unsafe extern "C" fn mem_register(
        i: *mut c_void,
        range: RawSlice,
        out: *mut RegionInfo,
        e: *mut ErrorText,
    ) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; `out` is valid,
        // and the range's promise is handed on.
        unsafe {
            Instance::<T>::set_up(i, e, |t| {
                *out = t.mem_register(range)?;
                Ok(abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn mem_lend(
        i: *mut c_void,
        range: RawSlice,
        access: u32,
        out: *mut RegionInfo,
        e: *mut ErrorText,
    ) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; `out` is valid,
        // and the range's promise is handed on.
        unsafe {
            Instance::<T>::set_up(i, e, |t| {
                let access = PeerAccess::from_raw(access).ok_or_else(|| {
                    TransportError::Invalid(format!("{access} is no access that peers have"))
                })?;
                *out = t.mem_lend(range, access)?;
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
        // SAFETY: a live instance, which the table lets one thread call at a time; `out` is valid.
        unsafe {
            Instance::<T>::set_up(i, e, |t| {
                *out = t.mem_alloc(len)?;
                Ok(abi::status::OK)
            })
        }
    }

    unsafe extern "C" fn mem_release(i: *mut c_void, id: u64) {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::quietly(i, |t| t.mem_release(id)) }
    }

    unsafe extern "C" fn window(i: *mut c_void, peer: u32, out: *mut Window) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; `out` is valid.
        unsafe {
            Instance::<T>::set_up(i, std::ptr::null_mut(), |t| {
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
        unsafe { Instance::<T>::data(i, |t| t.am_short(peer, slice(h, hl as usize), slice(b, bl as usize))) }
    }

    unsafe extern "C" fn am_packed(
        i: *mut c_void,
        peer: u32,
        len: usize,
        pack: abi::PackFn,
        arg: *mut c_void,
    ) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; the callback
        // gets the range that it is promised.
        unsafe {
            Instance::<T>::data(i, |t| {
                t.am_packed(peer, len, &mut |into: &mut [u8]| pack(arg, into.as_mut_ptr(), into.len()))
            })
        }
    }

    unsafe extern "C" fn put_zcopy(
        i: *mut c_void,
        peer: u32,
        local: RawSlice,
        remote: RemoteAddr,
        token: u64,
    ) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; ranges are
        // valid.
        unsafe { Instance::<T>::data(i, |t| t.put_zcopy(peer, local, remote, token)) }
    }

    unsafe extern "C" fn get_zcopy(
        i: *mut c_void,
        peer: u32,
        local: RawSlice,
        remote: RemoteAddr,
        token: u64,
    ) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; ranges are
        // valid.
        unsafe { Instance::<T>::data(i, |t| t.get_zcopy(peer, local, remote, token)) }
    }

    unsafe extern "C" fn send_datagrams(i: *mut c_void, batches: *const DatagramBatch, count: u32) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; the batches are
        // valid for the call.
        unsafe {
            Instance::<T>::counted(i, |t| {
                t.send_datagrams(std::slice::from_raw_parts(batches, count as usize))
            })
        }
    }

    unsafe extern "C" fn poll(i: *mut c_void, events: *mut Event, capacity: u32) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; the array has
        // `capacity` initialised events.
        unsafe {
            Instance::<T>::counted(i, |t| t.poll(std::slice::from_raw_parts_mut(events, capacity as usize)))
        }
    }

    /// Hosts before minor 4 want the entry, and call it once before a context ends.
    unsafe extern "C" fn flush(_: *mut c_void) {}

    unsafe extern "C" fn arm(i: *mut c_void) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::data(i, T::arm) }
    }

    unsafe extern "C" fn disarm(i: *mut c_void) {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::quietly(i, T::disarm) }
    }

    unsafe extern "C" fn set_interrupts(i: *mut c_void, on: i32) {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::quietly(i, |t| t.set_interrupts(on != 0)) }
    }

    unsafe extern "C" fn wait(i: *mut c_void, timeout_ns: u64) {
        // SAFETY: a live instance; any thread may wait.
        let waiter = unsafe { Instance::<T>::waiter(i) };
        let _ = catch_unwind(AssertUnwindSafe(|| waiter.wait(timeout_ns)));
    }

    unsafe extern "C" fn wake(i: *mut c_void) {
        // SAFETY: a live instance; any thread may ask.
        let waiter = unsafe { Instance::<T>::waiter(i) };
        let _ = catch_unwind(AssertUnwindSafe(|| waiter.wake()));
    }

    unsafe extern "C" fn wait_fd(i: *mut c_void) -> i32 {
        // SAFETY: a live instance; any thread may ask.
        let waiter = unsafe { Instance::<T>::waiter(i) };
        catch_unwind(AssertUnwindSafe(|| waiter.fd())).unwrap_or(-1)
    }

    unsafe extern "C" fn send_lane(i: *mut c_void, peer: u32) -> *mut SendLane {
        let mut lane = std::ptr::null_mut();
        // SAFETY: contract of the table: a live instance, one caller at a time.
        unsafe { Instance::<T>::quietly(i, |t| lane = t.send_lane(peer)) };
        lane
    }

    unsafe extern "C" fn receive_lanes(i: *mut c_void) -> *const ReceiveLanes {
        let mut lanes = std::ptr::null();
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::quietly(i, |t| lanes = t.receive_lanes()) };
        lanes
    }

    unsafe extern "C" fn rails(i: *mut c_void, reports: *mut RailReport, capacity: u32) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; `reports` has
        // room for `capacity` of them, all of them values.
        unsafe {
            Instance::<T>::counted(i, |t| t.rails(std::slice::from_raw_parts_mut(reports, capacity as usize)))
        }
    }

    unsafe extern "C" fn prefer_rail(i: *mut c_void, rail: u32) {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::quietly(i, |t| t.prefer_rail(rail)) }
    }

    unsafe extern "C" fn put_short(
        i: *mut c_void,
        peer: u32,
        data: *const u8,
        len: u32,
        remote: RemoteAddr,
    ) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time; the bytes are
        // readable for the call, and core vouches for the remote side.
        unsafe { Instance::<T>::data(i, |t| t.put_short(peer, slice(data, len as usize), remote)) }
    }

    unsafe extern "C" fn attend(i: *mut c_void, peer: u32, attention: u32) -> i32 {
        // SAFETY: a live instance, which the table lets one thread call at a time.
        unsafe { Instance::<T>::data(i, |t| t.attend(peer, attention)) }
    }
}

/// # Safety
/// `ptr` and `len` describe readable memory for as long as the result is used; a null pointer needs
/// `len` 0.
unsafe fn slice<'a>(ptr: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: readable for `len` bytes by the contract above.
    unsafe { std::slice::from_raw_parts(ptr, len) }
}
