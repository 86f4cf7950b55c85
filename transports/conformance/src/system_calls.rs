//! Whether code calls the system: the kernel tells, by a signal before each call of the thread
//! (`PR_SET_SYSCALL_USER_DISPATCH`, prctl(2)). The call is then made after all.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Once;

const PR_SET_SYSCALL_USER_DISPATCH: libc::c_int = 59;
const OFF: libc::c_ulong = 0;
const ON: libc::c_ulong = 1;

/// What the kernel reads before each call: whether it is made, or the signal is sent. Nobody but
/// the thread itself, in the signal's handler, writes it meanwhile.
const MADE: u8 = 0;
const TOLD: u8 = 1;

thread_local! {
    // tidy-allow(statics): the kernel and the signal's handler know each thread's by its address.
    static SELECTOR: Cell<u8> = const { Cell::new(MADE) };
    // tidy-allow(statics): as long as a thread is watched, another watch of it would end the first.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Watches the calling thread until it is dropped.
pub(crate) struct Watch {
    of_this_thread: PhantomData<*const ()>,
}

impl Watch {
    /// `None`: the system can't do that.
    pub(crate) fn begin() -> Option<Self> {
        static HANDLER: Once = Once::new();
        if !cfg!(target_arch = "x86_64") || WATCHED.get() {
            return None;
        }
        HANDLER.call_once(install);
        let selector = SELECTOR.with(Cell::as_ptr);
        // SAFETY: the selector lives as long as the thread, and the watch ends before.
        let begun = unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, ON, 0usize, 0usize, selector) };
        WATCHED.set(begun == 0);
        (begun == 0).then_some(Self { of_this_thread: PhantomData })
    }

    /// Runs something. Answers whether it has called the system, and what it gave.
    pub(crate) fn calls<R>(&mut self, of: impl FnOnce() -> R) -> (bool, R) {
        select(TOLD);
        let result = of();
        // SAFETY: this thread's own, which is initialised.
        let now = SELECTOR.with(|selector| unsafe { selector.as_ptr().read_volatile() });
        select(MADE);
        (now == MADE, result)
    }
}

/// Tells the kernel what is to become of the thread's calls from here on. Volatile, because the
/// kernel reads it, and the signal's handler interrupts the thread and writes it.
fn select(what: u8) {
    // SAFETY: this thread's own, which only it and its signal handler touch, and no reference to it
    // is kept.
    SELECTOR.with(|selector| unsafe { selector.as_ptr().write_volatile(what) });
}

impl Drop for Watch {
    fn drop(&mut self) {
        select(MADE);
        // SAFETY: nothing of the thread's is named any more.
        unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, OFF, 0usize, 0usize, 0usize) };
        WATCHED.set(false);
    }
}

/// Has the signal come to [`told`].
fn install() {
    // SAFETY: plain data, valid as zeros.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = told as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler keeps to what signals' handlers may do.
    unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) };
}

/// A call was about to be made: it is noted, and made when this returns.
extern "C" fn told(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // This function returns by a call, too.
    select(MADE);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel gives the interrupted thread's registers. The program counter is behind
    // the instruction of the call, two bytes long, whose number is still in its register.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        context.uc_mcontext.gregs[libc::REG_RIP as usize] -= 2;
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = context;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_seen_and_made_and_its_absence_is_seen() {
        let Some(mut watch) = Watch::begin() else { return };
        for _ in 0..3 {
            // SAFETY: a call without arguments.
            let (called, parent) = watch.calls(|| unsafe { libc::syscall(libc::SYS_getppid) });
            assert!(called);
            assert_eq!(parent as u32, std::os::unix::process::parent_id());
            assert_eq!(watch.calls(|| std::hint::black_box(2) + 2), (false, 4));
        }
        drop(watch);
        assert_ne!(std::process::id(), 0, "calls work as before");
    }
}
