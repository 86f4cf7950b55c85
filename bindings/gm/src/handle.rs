//! What a C program has of a port: an address, a lock, and the event that it was shown.

use crate::abi::{Status, kind};
use crate::alarm::Alarm;
use crate::events::Shown;
use crate::forks::Maker;
use crate::port::Port;
use crate::settings::Settings;
use lapis_adapters::bell::Bell;
use lapis_core::lock::{Exclusive, ExclusiveGuard};
use lapis_core::sync::{Arc, AtomicU32, Ordering};
use std::ffi::c_void;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Ports that are open, by the address of their handle: at the program's end they go on with what
/// is under way.
static OPEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// How many ports were closed.
static CLOSED: AtomicU32 = AtomicU32::new(0);

/// How long the end of the program waits for other threads to leave a port.
const IN_A_CALL: Duration = Duration::from_millis(20);

extern "C" fn ends() {
    for at in OPEN.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let handle: *mut Handle = std::ptr::with_exposed_provenance_mut(at);
        // SAFETY: a handle is in the list from its opening to its closing.
        let handle = unsafe { &*handle };
        if !handle.maker.is_here() {
            continue;
        }
        // Another thread may be in a call, but this one may be, too.
        let began = Instant::now();
        while began.elapsed() < IN_A_CALL {
            if let Some(mut inner) = handle.inner.try_lock() {
                inner.port.finish();
                break;
            }
            std::thread::yield_now();
        }
    }
}

/// What the lock guards.
pub(crate) struct Inner {
    pub(crate) port: Port,
    /// What the program was shown last; it reads it until it asks for the next.
    pub(crate) shown: *mut Shown,
}

// SAFETY: the event is written under the lock only; who reads it is the program's business.
unsafe impl Send for Inner {}

/// `struct gm_port`.
pub struct Handle {
    inner: Exclusive<Inner>,
    pub(crate) wake: Arc<Bell>,
    maker: Maker,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Handle {
    /// Opens a port for a program that was written for GM 1 or a later one.
    pub(crate) fn open(board: u32, number: u32, name: &str, is_gm1: bool) -> Result<*mut Self, Status> {
        let mut port = Port::open(Settings::of_process(), board, number, name)?;
        if is_gm1 {
            port.ends_without_buffers();
        }
        Ok(Self::of(port))
    }

    /// The handle of a port that is open.
    pub(crate) fn of(port: Port) -> *mut Self {
        static HOOKS: Once = Once::new();
        HOOKS.call_once(|| {
            // SAFETY: the function lives as long as the library, which is never unloaded while the
            // program has ports.
            unsafe { libc::atexit(ends) };
        });
        let wake = Arc::clone(&port.wake);
        let inner = Exclusive::new(Inner { port, shown: Box::into_raw(Box::new(Shown::new())) });
        let handle = Box::into_raw(Box::new(Self { inner, wake, maker: Maker::this_process() }));
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).push(handle.expose_provenance());
        handle
    }

    /// Whether an address that the program has kept is that of a port which is open.
    pub(crate) fn is_open(handle: *mut Self) -> bool {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).contains(&handle.addr())
    }

    /// How many ports were closed so far, for [`is_open_since`](Self::is_open_since).
    pub(crate) fn closed_so_far() -> u32 {
        CLOSED.load(Ordering::Relaxed)
    }

    /// Whether a port that was open when so many had been closed is open still: the function of the
    /// program's that has just run may have closed it.
    #[inline]
    pub(crate) fn is_open_since(handle: *mut Self, closed: u32) -> bool {
        // Ports that other threads close are others.
        closed == Self::closed_so_far() || Self::is_open(handle)
    }

    /// Ends a port.
    ///
    /// # Safety
    /// The handle came from [`open`](Self::open), and nobody uses it any more.
    pub(crate) unsafe fn close(handle: *mut Self) {
        CLOSED.fetch_add(1, Ordering::Relaxed);
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|at| *at != handle.addr());
        // SAFETY: it is what `of` made of a box, and nobody uses it any more.
        let handle = unsafe { Box::from_raw(handle) };
        if !handle.maker.is_here() {
            // The port is the parent's: it goes on there.
            std::mem::forget(handle);
            return;
        }
        let inner = handle.inner.into_inner();
        inner.port.close();
        // SAFETY: it came from a box, and the program's time with it is over.
        drop(unsafe { Box::from_raw(inner.shown) });
    }

    /// Ends a port without going on with what is under way.
    ///
    /// # Safety
    /// As for [`close`](Self::close).
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) unsafe fn abandon(handle: *mut Self) {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|at| *at != handle.addr());
        // SAFETY: it is what `of` made of a box, and nobody uses it any more.
        let handle = unsafe { Box::from_raw(handle) };
        let inner = handle.inner.into_inner();
        // SAFETY: it came from a box, and the program's time with it is over.
        drop(unsafe { Box::from_raw(inner.shown) });
    }

    /// The port, for this thread alone. `None`: it is the parent's of this process.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Option<ExclusiveGuard<'_, Inner>> {
        if self.maker.is_here() {
            return Some(self.inner.lock());
        }
        Maker::is_elsewhere();
        None
    }
}

impl Inner {
    /// Shows the program the next event, or that there is none. Answers whether there was one.
    #[inline]
    pub(crate) fn show(&mut self) -> bool {
        // SAFETY: it came from a box, and is written under the lock only.
        let shown = unsafe { &mut *self.shown };
        if self.port.events.is_empty() {
            shown.begin(kind::NONE);
            return false;
        }
        self.port.take_event(shown)
    }
}

/// Alarms and callbacks that are to run now, without the lock.
pub(crate) enum Work {
    /// A send has ended.
    Ended(crate::events::Due),
    /// An alarm is due.
    Alarm(Alarm),
}

impl Work {
    /// Runs the program's function.
    ///
    /// # Safety
    /// No lock is held; what the program gave with its function is as it promised.
    pub(crate) unsafe fn run(self, handle: *mut Handle) {
        match self {
            Self::Ended(due) => {
                if let crate::stream::Teller::Call { callback: Some(callback), context } = due.teller {
                    // SAFETY: the program vouches for its function and what it is given, until it
                    // has run.
                    unsafe { callback(handle.cast::<c_void>(), context, due.status as i32) };
                }
            }
            // SAFETY: the alarm's memory stays until it has run or is cancelled, as gm_set_alarm
            // asks for.
            Self::Alarm(alarm) => unsafe { alarm.run() },
        }
    }
}
