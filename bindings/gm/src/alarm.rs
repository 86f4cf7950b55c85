//! Alarms: functions of the program's that run inside gm_unknown after some time.

use lapis_core::reliable::Nanos;
use std::ffi::c_void;

/// An alarm as the program has memory for it. Nothing in it but the state is the program's to read.
///
/// GM's `gm_alarm_t`.
#[repr(C)]
#[derive(Debug)]
pub struct GmAlarm {
    next: *mut c_void,
    pub(crate) state: i32,
    pub(crate) port: *mut c_void,
    callback: *mut c_void,
    context: *mut c_void,
    deadline: u64,
}

/// An alarm that is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    pub(crate) memory: *mut GmAlarm,
    pub(crate) deadline: Nanos,
    pub(crate) callback: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) context: *mut c_void,
}

pub(crate) const FREE: i32 = 0;
pub(crate) const SET: i32 = 1;

impl GmAlarm {
    /// # Safety
    /// `alarm` can be written.
    pub(crate) unsafe fn initialize(alarm: *mut Self) {
        let null = std::ptr::null_mut();
        let fresh = Self { next: null, state: FREE, port: null, callback: null, context: null, deadline: 0 };
        // SAFETY: not NULL, and then it can be written: this call asks for that itself.
        unsafe { alarm.write(fresh) };
    }
}

impl Alarm {
    /// # Safety
    /// As the program promised with its function.
    pub(crate) unsafe fn run(self) {
        if let Some(callback) = self.callback {
            // SAFETY: the program vouches for its function and what it is given, until it has run.
            unsafe { callback(self.context) };
        }
    }
}
