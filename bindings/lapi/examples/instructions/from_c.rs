//! The C interface: what a program in C calls, and what calls its header handlers.

use crate::counting::{BATCH, count, count_batches, count_within};
use crate::jobs::{BALL, CAUGHT, Meeting, Result, receive};
use lapi_r::abi::*;
use lapi_r::exports::*;
use lapis_core::Context;
use lapis_core::message::Short;
use std::cell::Cell;
use std::ffi::{c_ulong, c_void};
use std::hint::black_box;
use std::ptr::{null_mut, without_provenance_mut};

type Any = *mut c_void;

const NO_COUNTER: *mut lapi_cntr_t = null_mut();

unsafe extern "C" fn nothing(
    _: *mut lapi_handle_t,
    _: Any,
    _: *mut u32,
    _: *mut c_ulong,
    _: *mut Option<compl_hndlr_t>,
    _: *mut Any,
) -> Any {
    null_mut()
}

/// Counts a message of one packet, and looks at it where it is.
unsafe extern "C" fn caught(
    _: *mut lapi_handle_t,
    _: Any,
    _: *mut u32,
    info: *mut c_ulong,
    completion: *mut Option<compl_hndlr_t>,
    _: *mut Any,
) -> Any {
    // SAFETY: what the guide says of a header handler's arguments.
    unsafe {
        *completion = None;
        black_box((*info.cast::<lapi_return_info_t>()).udata_one_pkt_ptr);
    }
    CAUGHT.set(CAUGHT.get() + 1);
    null_mut()
}

fn init() -> lapi_handle_t {
    let mut handle = 0;
    // SAFETY: all zero bytes are what the guide asks for.
    unsafe {
        let mut info: lapi_info_t = std::mem::zeroed();
        assert_eq!(LAPI_Init(&mut handle, &mut info), LAPI_SUCCESS);
        LAPI_Senv(handle, INTERRUPT_SET, 0);
    }
    handle
}

/// A message to the header handler of an index, as programs send it.
///
/// # Safety
/// There are so many bytes of data.
unsafe fn amsend(handle: lapi_handle_t, to: u32, index: usize, data: Any, len: c_ulong) {
    let (handler, header, length) = (without_provenance_mut(index), null_mut(), 0);
    let none = NO_COUNTER;
    // SAFETY: this function's contract.
    let code =
        unsafe { LAPI_Amsend(black_box(handle), to, handler, header, length, data, len, none, none, none) };
    assert_eq!(code, LAPI_SUCCESS);
}

/// Calls to the task itself.
pub(crate) fn to_itself() {
    let handle = init();
    let (mut from, mut to, mut value) = (7u64, 0u64, 0);
    let (from, to) = ((&raw mut from).cast::<c_void>(), (&raw mut to).cast::<c_void>());
    // SAFETY: everything that is passed lives until the end.
    unsafe {
        LAPI_Addr_set(handle, nothing as *mut _, 1);
        count("C: LAPI_Qenv", 4, || {
            LAPI_Qenv(black_box(handle), INTERRUPT_SET, &mut value);
        });
        count("C: LAPI_Put to itself", 8, || {
            LAPI_Put(black_box(handle), 0, 8, to, from, NO_COUNTER, NO_COUNTER, NO_COUNTER);
        });
        count("C: LAPI_Amsend to itself, LAPI_Probe", 8, || {
            amsend(handle, 0, 1, from, 8);
            LAPI_Probe(handle);
        });
        assert_eq!(LAPI_Term(handle), LAPI_SUCCESS);
    }
}

/// A task in C and one in Rust, which take the same ways as two in C would.
pub(crate) fn to_another() -> Result<()> {
    let meeting = Meeting::new("c");
    for (name, value) in meeting.environment("0").into_iter().chain([("LAPIS_TRANSPORT", "shm")]) {
        // SAFETY: no other thread runs at present.
        unsafe { std::env::set_var(name, value) };
    }
    let (handle, other) = meeting.of_two(("shm", None), || {
        let handle = init();
        // SAFETY: the handle is live, and the handler follows the prototype.
        unsafe {
            LAPI_Addr_set(handle, caught as *mut _, BALL.0.into());
            LAPI_Gfence(handle);
        }
        handle
    })?;
    messages(handle, &other, 8);
    messages(handle, &other, 1 << 10);
    by_address(handle, &other);
    alone(handle, &other);
    transfers(handle, &other)
}

/// As the Rust rows settle their contexts.
fn settle(handle: lapi_handle_t, other: &Context) {
    for _ in 0..4 {
        // SAFETY: the handle is live.
        unsafe { LAPI_Probe(handle) };
        while other.progress().expect("the peer is there").events > 0 {}
    }
}

/// Polls until all messages that are under way have come.
fn probe(handle: lapi_handle_t, until: u64) {
    while CAUGHT.get() < until {
        // SAFETY: the handle is live.
        unsafe { LAPI_Probe(handle) };
    }
}

fn messages(handle: lapi_handle_t, other: &Context, bytes: usize) {
    let mut data = vec![7u8; bytes];
    let (from, len) = (data.as_mut_ptr().cast::<c_void>(), bytes as c_ulong);
    let end = Cell::new(0);
    let before = || end.set(CAUGHT.get() + BATCH);
    settle(handle, other);
    // SAFETY: there are so many bytes of data.
    let send = || unsafe { amsend(handle, 1, BALL.0.into(), from, len) };
    count_within("C: message: send", bytes, BATCH, before, send, || receive(other, end.get()));
    let data = vec![7u8; bytes];
    let sent = || {
        before();
        (0..BATCH).for_each(|_| other.send(0, BALL, &[], &data).expect("the peer is there"));
    };
    settle(handle, other);
    count_within("C: message: receive", bytes, 1, sent, || probe(handle, end.get()), || {});
}

/// A message that travels alone, which a call that waits finds at its first look.
fn alone(handle: lapi_handle_t, other: &Context) {
    let end = Cell::new(0);
    let sent = || {
        end.set(CAUGHT.get() + 1);
        other.send(0, BALL, &[], &[7; 8]).expect("the peer is there");
    };
    let poll = || {
        // SAFETY: all zero bytes are such a structure, and the handle is live.
        unsafe {
            let mut info: lapi_msg_info_t = std::mem::zeroed();
            while CAUGHT.get() < end.get() {
                LAPI_Msgpoll(black_box(handle), 100, &mut info);
            }
        }
    };
    settle(handle, other);
    count_batches("C: LAPI_Msgpoll, one message", 8, (1, 1), sent, poll, || {});
}

/// Messages that name the address of their header handler, as LAPI_Address_init gives it.
fn by_address(handle: lapi_handle_t, other: &Context) {
    let end = Cell::new(0);
    let handler = caught as *const () as u64;
    let sent = || {
        end.set(CAUGHT.get() + BATCH);
        for _ in 0..BATCH {
            // SAFETY: the address of a header handler of the target, which is this process.
            let message = unsafe { Short::plain(0, handler, &[7; 8]) };
            assert!(other.try_send_short(&message), "there is room for it");
        }
    };
    settle(handle, other);
    count_within("C: message by address: receive", 8, 1, sent, || probe(handle, end.get()), || {});
}

/// Puts, gets and atomics of eight bytes.
fn transfers(handle: lapi_handle_t, other: &Context) -> Result<()> {
    let shared = other.alloc(64)?;
    let mapped = shared.as_ptr().cast::<c_void>();
    let any = vec![0u64; 8].leak().as_mut_ptr().cast::<c_void>();
    let (mut here, mut one, mut before) = (7u64, 1i64, 0i64);
    let here = (&raw mut here).cast::<c_void>();
    let none = NO_COUNTER;
    // SAFETY: all of it lives until the end, or until the process ends.
    unsafe {
        count("C: put, mapped memory", 8, || {
            LAPI_Put(black_box(handle), 1, 8, mapped, here, none, none, none);
        });
        count("C: get, mapped memory", 8, || {
            LAPI_Get(black_box(handle), 1, 8, mapped, here, none, none);
        });
        count("C: fetch and add, mapped memory", 8, || {
            LAPI_Rmw64(black_box(handle), FETCH_AND_ADD, 1, mapped.cast(), &mut one, &mut before, none);
        });
        settle(handle, other);
        count("C: put, any memory", 8, || {
            LAPI_Put(black_box(handle), 1, 8, any, here, none, none, none);
            other.progress().expect("there is something");
        });
    }
    Ok(())
}
