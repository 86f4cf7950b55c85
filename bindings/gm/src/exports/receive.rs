//! Buffers, events, alarms, sleep.

use super::with;
use crate::abi::{Event, MAX_SIZE, MIN_SIZE, kind};
use crate::alarm::{Alarm, GmAlarm, SET};
use crate::events::Due;
use crate::events::Pending;
use crate::handle::{Handle, Inner, Work};
use crate::progress;
use lapis_core::sync::Arc;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_uint, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// For so long gm_blocking_receive looks before it sleeps.
const SPIN: Duration = Duration::from_millis(1);

/// What a call without a port answers: nothing has happened.
static NOTHING: Event = Event::none();

fn nothing() -> *mut Event {
    (&raw const NOTHING).cast_mut()
}

/// The event that the program was just shown.
fn shown(inner: &Inner) -> *mut Event {
    // The event is the first thing of what is shown.
    inner.shown.cast()
}

/// Provides a buffer for one message of this size class and priority.
///
/// # Safety
/// `p` is NULL or a port that is open; the buffer has room for the longest message of its size
/// class, and is left alone until it comes back in an event.
//= GM, gm_provide_receive_buffer
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_provide_receive_buffer(
    p: *mut Handle,
    buffer: *mut c_void,
    size: c_uint,
    priority: c_uint,
) {
    // SAFETY: the port and the buffer are as this call asks for, which that one does, too.
    unsafe { gm_provide_receive_buffer_with_tag(p, buffer, size, priority, 0) }
}

/// The same with a number of 0 to 255 that the event repeats.
///
/// # Safety
/// As for gm_provide_receive_buffer.
//= GM, gm_provide_receive_buffer_with_tag
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_provide_receive_buffer_with_tag(
    p: *mut Handle,
    buffer: *mut c_void,
    size: c_uint,
    priority: c_uint,
    tag: c_uint,
) {
    let sizes = MIN_SIZE..=MAX_SIZE;
    let (true, true, Ok(tag)) = (sizes.contains(&size), priority < 2 && !buffer.is_null(), u8::try_from(tag))
    else {
        tracing::error!(
            target: "lapis::gm",
            "gm_provide_receive_buffer: no buffer can be of size {size}, priority {priority} and tag {tag}, or it is NULL"
        );
        return;
    };
    let at = buffer.expose_provenance() as u64;
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, (), |inner| inner.port.provide(at, size, priority, tag)) }
}

/// The next event; GM_NO_RECV_EVENT if there is none. It stays until the next call of this kind.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_receive
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_receive(p: *mut Handle) -> *mut Event {
    let receive = |inner: &mut Inner| {
        inner.port.look();
        inner.show();
        shown(inner)
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, nothing(), receive) }
}

/// Whether gm_receive would have an event.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_receive_pending
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_receive_pending(p: *mut Handle) -> c_int {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { gm_next_event_peek(p, null_mut()) }.min(1)
}

/// What kind of event comes next, 0 if there is none; the node of a message is stored at `sender`.
///
/// # Safety
/// `p` is NULL or a port that is open; `sender` is NULL or can be written.
//= GM, gm_next_event_peek
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_next_event_peek(p: *mut Handle, sender: *mut u16) -> c_int {
    let peek = |inner: &mut Inner| {
        if inner.port.events.is_empty() {
            inner.port.poll();
        }
        let (kind, node) = inner.port.next_kind();
        if !sender.is_null() {
            // SAFETY: not NULL, and then it can be written: this call asks for that itself.
            unsafe { sender.write(node as u16) };
        }
        kind.into()
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, 0, peek) }
}

/// Waits for an event: looks for a millisecond, then sleeps.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_blocking_receive
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_blocking_receive(p: *mut Handle) -> *mut Event {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { blocking(p, SPIN) }
}

/// Waits for an event and sleeps at once.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_blocking_receive_no_spin
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_blocking_receive_no_spin(p: *mut Handle) -> *mut Event {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { blocking(p, Duration::ZERO) }
}

/// # Safety
/// `p` is NULL or a port that is open.
unsafe fn blocking(p: *mut Handle, spin: Duration) -> *mut Event {
    // SAFETY: NULL, or a port that stays open as long as its program is in a call.
    let Some(handle) = (unsafe { p.as_ref() }) else { return nothing() };
    let mut since = None;
    loop {
        let Some(mut inner) = handle.enter() else { return nothing() };
        inner.port.look();
        if inner.show() || inner.port.is_over() {
            return shown(&inner);
        }
        if !spin.is_zero() && since.get_or_insert_with(Instant::now).elapsed() < spin {
            drop(inner);
            std::hint::spin_loop();
            continue;
        }
        let Some(longest) = inner.port.before_sleep() else { continue };
        inner.port.note_sleep(longest);
        // SAFETY: the port stays open, with these descriptors, while its program waits for it.
        let lent = |fd: BorrowedFd<'_>| unsafe { BorrowedFd::borrow_raw(fd.as_raw_fd()) };
        let bell = lent(inner.port.net.window.bell().as_fd());
        let wires: Vec<_> = inner.port.net.wire.iter().flat_map(|wire| wire.sockets().map(lent)).collect();
        // Another thread that calls the port may find another daemon meanwhile.
        let daemon = (!inner.port.is_alone).then(|| Arc::clone(&inner.port.daemon));
        // Others may send meanwhile.
        drop(inner);
        progress::sleep((bell, &*handle.wake), (&wires, daemon), longest);
        let Some(mut inner) = handle.enter() else { return nothing() };
        inner.port.after_sleep();
        if handle.wake.quiet() {
            inner.port.poll();
            inner.show();
            return shown(&inner);
        }
    }
}

/// Lets a thread that waits in gm_blocking_receive return, with GM_NO_RECV_EVENT if nothing has
/// happened. Any thread may call it.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_wake
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_wake(p: *mut Handle) {
    // SAFETY: NULL, or a port that stays open as long as its program is in a call.
    if let Some(handle) = unsafe { p.as_ref() } {
        handle.wake.ring();
    }
}

/// Does what an event that the program does not know asks for: callbacks and alarms run here, and
/// nowhere else. The buffer of a message is provided again.
///
/// # Safety
/// `p` is NULL or a port that is open; `e` is NULL or an event.
//= GM, gm_unknown
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_unknown(p: *mut Handle, e: *mut Event) {
    // SAFETY: NULL, or an event that the program was shown and has not asked for the next.
    let Some(event) = (unsafe { e.as_ref() }) else { return };
    let kind = event.kind();
    if let Some((buffer, size, priority, tag)) = event.received() {
        // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
        return unsafe { with(p, (), |inner| inner.port.provide(buffer, size, priority, tag)) };
    }
    if kind == kind::ALARM || kind == kind::FLUSHED_ALARM {
        // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
        return unsafe { run_alarms(p) };
    }
    if kind == kind::SENT_TOKENS {
        // SAFETY: a port that gm_open gave, as gm_unknown demands.
        unsafe { run_callbacks(p) };
    }
}

thread_local! {
    /// Memory of callbacks that have run, for the next ones.
    static SPARE: Cell<VecDeque<Due>> = const { Cell::new(VecDeque::new()) };
}

/// Runs the callbacks that the program's event is about.
///
/// # Safety
/// As for gm_unknown.
unsafe fn run_callbacks(p: *mut Handle) {
    let spare = SPARE.take();
    let take = |inner: &mut Inner| std::mem::replace(&mut inner.port.announced, spare);
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    let mut all = unsafe { with(p, VecDeque::new(), take) };
    let closed = Handle::closed_so_far();
    for due in all.drain(..) {
        // SAFETY: no lock is held; the program vouches for its functions.
        unsafe { Work::Ended(due).run(p) };
        if !Handle::is_open_since(p, closed) {
            // The others would be handed memory that is no port any more.
            break;
        }
    }
    // Not to the port, which a callback may have closed.
    SPARE.set(all);
}

/// Runs the alarms that are due by now.
///
/// # Safety
/// As for gm_unknown.
unsafe fn run_alarms(p: *mut Handle) {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    let now = unsafe { with(p, 0, |inner| inner.port.net.now()) };
    let closed = Handle::closed_so_far();
    while Handle::is_open_since(p, closed) {
        // SAFETY: `p` is NULL or a port that is open: this call asks for that itself, and what has
        // run has not closed it.
        let Some(alarm) = (unsafe { with(p, None, |inner| inner.port.due_alarm(now)) }) else { return };
        // SAFETY: no lock is held; the program vouches for its functions.
        unsafe { Work::Alarm(alarm).run(p) };
    }
}

/// What gm_unknown does with GM_SENT_TOKENS_EVENT.
///
/// # Safety
/// As for gm_unknown.
//= GM, gm_handle_sent_tokens
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_handle_sent_tokens(p: *mut Handle, e: *mut Event) {
    // SAFETY: port and event are as gm_unknown asks for, by this call's own terms.
    unsafe { gm_unknown(p, e) }
}

/// What gm_unknown does with the events that GM 1 had for directed sends. None comes here.
///
/// # Safety
/// As for gm_unknown.
//= GM, gm_handle_put_notification
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_handle_put_notification(p: *mut Handle, e: *mut Event) {
    // SAFETY: port and event are as gm_unknown asks for, by this call's own terms.
    unsafe { gm_unknown(p, e) }
}

/// Prepares memory for an alarm.
///
/// # Safety
/// `alarm` is NULL or can be written.
//= GM, gm_initialize_alarm
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_initialize_alarm(alarm: *mut GmAlarm) {
    if !alarm.is_null() {
        // SAFETY: not NULL, and then the program's memory for an alarm.
        unsafe { GmAlarm::initialize(alarm) };
    }
}

/// Has `callback` run inside gm_unknown after so many microseconds, once. An alarm that is set
/// already is set anew.
///
/// # Safety
/// `p` is NULL or a port that is open; `alarm` is NULL or initialized, and stays until it has run
/// or is cancelled.
//= GM, gm_set_alarm
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_set_alarm(
    p: *mut Handle,
    alarm: *mut GmAlarm,
    usecs: u64,
    callback: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
) {
    if alarm.is_null() {
        return;
    }
    // SAFETY: initialized, as this call asks for.
    unsafe { take_back(alarm) };
    let set = |inner: &mut Inner| {
        let new = Alarm { memory: alarm, deadline: 0, callback, context };
        // SAFETY: the alarm is initialized, and stays until it has run or is cancelled.
        unsafe { inner.port.set_alarm(new, p.cast(), Duration::from_micros(usecs)) };
    };
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, (), set) }
}

/// Has an event come now, _GM_FLUSHED_ALARM_EVENT, that says how many microseconds are left until
/// the next alarm. gm_unknown runs those that are due when it is passed this event; the others
/// stay.
///
/// # Safety
/// `p` is NULL or a port that is open.
//= GM, gm_flush_alarm
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_flush_alarm(p: *mut Handle) {
    // SAFETY: `p` is NULL or a port that is open: this call asks for that itself.
    unsafe { with(p, (), |inner| inner.port.events.push_back(Pending::FlushedAlarm)) }
}

/// Takes an alarm back. One that is not set stays so, as does one whose port was closed.
///
/// # Safety
/// `alarm` is NULL or initialized.
//= GM, gm_cancel_alarm
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_cancel_alarm(alarm: *mut GmAlarm) {
    if !alarm.is_null() {
        // SAFETY: initialized, as this call asks for.
        unsafe { take_back(alarm) };
    }
}

/// # Safety
/// The alarm is initialized.
unsafe fn take_back(alarm: *mut GmAlarm) {
    // SAFETY: the alarm is initialized, so its memory can be read. Its port is used only if it is
    // open, which is asked first, by its address alone.
    unsafe {
        let port: *mut Handle = (*alarm).port.cast();
        if (*alarm).state == SET && Handle::is_open(port) {
            with(port, (), |inner| inner.port.cancel_alarm(alarm));
        }
    }
}
