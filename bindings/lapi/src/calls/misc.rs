//! LAPI_Fence, LAPI_Gfence, LAPI_Probe, LAPI_Msgpoll and LAPI_Msg_string.

use crate::abi::*;
use crate::failure::{self, Outcome, code, cold, of_wait};
use crate::handles::{self, Instance};
use lapis_core::LapiCode;
use lapis_core::sync::Ordering;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Runs a collective call while no other thread of this task runs one: the order is the program's
/// business, that they don't mix is ours. `name`: the call's.
//= LAPI Guide, Making global fence calls, calls of several threads are serialized
pub(super) fn collectively<T>(
    instance: &Instance,
    name: &'static str,
    call: impl FnOnce() -> lapis_core::Result<T>,
) -> Outcome<T> {
    // SYNC: Acquire pairs with the Release of `Turn::drop`.
    let take = || !instance.collective.swap(true, Ordering::Acquire);
    instance.context.wait_until(take).map_err(of_wait(name))?;
    struct Turn<'a>(&'a Instance);
    impl Drop for Turn<'_> {
        fn drop(&mut self) {
            // SYNC: Release pairs with `take`.
            self.0.collective.store(false, Ordering::Release);
            self.0.context.wake();
        }
    }
    let _turn = Turn(instance);
    call().map_err(of_wait(name))
}

//= LAPI Guide, LAPI_Fence, waits for the data of all operations
pub(crate) unsafe extern "C" fn fence(hndl: lapi_handle_t) -> c_int {
    const FENCE: &str = "LAPI_Fence";
    cold(FENCE, || complete(&*handles::get(hndl)?, FENCE))
}

/// Core's fence, and the vector gets, whose answers are messages of their own.
fn complete(instance: &Instance, name: &'static str) -> Outcome {
    let gets = instance.gets.mark();
    instance.context.fence().map_err(of_wait(name))?;
    let mut lost = Ok(());
    let ended = || match instance.gets.done(&instance.context, gets) {
        Ok(done) => done,
        Err(error) => {
            lost = Err(error);
            true
        }
    };
    instance.context.wait_until(ended).and(lost).map_err(of_wait(name))
}

//= LAPI Guide, LAPI_Gfence, fences and synchronizes all tasks
pub(crate) unsafe extern "C" fn gfence(hndl: lapi_handle_t) -> c_int {
    const GFENCE: &str = "LAPI_Gfence";
    cold(GFENCE, || {
        let instance = handles::get(hndl)?;
        // Not after a fence that waits for whoever is not there any more.
        instance.context.collectives_go_on().map_err(failure::of)?;
        complete(&instance, GFENCE)?;
        collectively(&instance, GFENCE, || instance.context.gfence())
    })
}

//= LAPI Guide, LAPI_Probe, one round of the dispatcher
pub(crate) unsafe extern "C" fn probe(hndl: lapi_handle_t) -> c_int {
    let probe = || {
        handles::get(hndl)?.context.progress().map_err(failure::of)?;
        Ok(())
    };
    code(probe())
}

//= LAPI Guide, LAPI_Msgpoll, loops until a message completes
pub(crate) unsafe extern "C" fn msgpoll(
    hndl: lapi_handle_t,
    cnt: c_uint,
    info: *mut lapi_msg_info_t,
) -> c_int {
    let poll = || {
        let instance = handles::get(hndl)?;
        //= LAPI Guide, LAPI_Msgpoll, LAPI_ERR_MSG_INFO_NULL
        if info.is_null() {
            return Err(LAPI_ERR_MSG_INFO_NULL);
        }
        let status = poll(&instance, cnt)?;
        // SAFETY: not null; the caller's promise.
        unsafe { (*info).status = status };
        Ok(())
    };
    code(poll())
}

fn poll(instance: &Instance, cnt: c_uint) -> Outcome<lapi_msg_state_t> {
    Ok(match instance.context.poll_for_messages(cnt).map_err(failure::of)? {
        //= LAPI Guide, LAPI_Msgpoll, LAPI_POLLING_NET
        None => LAPI_POLLING_NET,
        Some((false, false)) => LAPI_DISP_CNTR,
        Some((true, false)) => LAPI_SEND_COMPLETE,
        Some((false, true)) => LAPI_RECV_COMPLETE,
        Some((true, true)) => LAPI_SEND_COMPLETE | LAPI_RECV_COMPLETE | LAPI_BOTH_COMPLETE,
    })
}

//= LAPI Guide, LAPI_Msg_string, LAPI_ERR_RET_PTR_NULL and LAPI_ERR_CODE_UNKNOWN
pub(crate) unsafe extern "C" fn msg_string(error_code: c_int, buf: *mut c_void) -> c_int {
    if buf.is_null() {
        return LAPI_ERR_RET_PTR_NULL;
    }
    let (text, outcome) = match LapiCode::from_i32(error_code) {
        Some(code) => (format!("{}: {}", code.name(), code.text()), LAPI_SUCCESS),
        None => match text_of_system(error_code) {
            Some(text) => (text, LAPI_SUCCESS),
            None => (format!("{error_code} is not a code of LAPI."), LAPI_ERR_CODE_UNKNOWN),
        },
    };
    let most = LAPI_MAX_ERR_STRING as usize - 1;
    let mut len = text.len().min(most);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    // SAFETY: not null; by the guide, the buffer has LAPI_MAX_ERR_STRING bytes.
    unsafe {
        let buf = buf.cast::<c_char>();
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buf, len);
        *buf.add(len) = 0;
    }
    outcome
}

/// The text of a code that comes from the system.
fn text_of_system(code: c_int) -> Option<String> {
    let text = |code| std::io::Error::from_raw_os_error(code).to_string();
    // Of what is no code the system says so, in the program's language, with its number.
    let of_none = text(c_int::MAX).replace(&c_int::MAX.to_string(), &code.to_string());
    Some(text(code)).filter(|text| *text != of_none)
}
