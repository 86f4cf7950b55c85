//! What the program says about the threads of LAPI.

use crate::abi::com_thread_info_t;
use lapis_core::context::RawHooks;
use std::ffi::c_void;
use std::io;
use std::sync::Arc;

/// How the threads of a context are started.
#[derive(Clone, Default)]
pub(crate) struct Threads {
    stack_size: Option<usize>,
    /// What each of them calls first.
    prepare: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Threads {
    /// # Safety
    /// By the guide, attributes that are initialised or NULL, and a function of one pointer or
    /// NULL.
    //= LAPI Guide, LAPI_Init, lapi_thread_attr
    pub(crate) unsafe fn of(info: &com_thread_info_t) -> Self {
        let mut threads = Self::default();
        if !info.attr.is_null() {
            let mut size = 0;
            // SAFETY: not null, so initialised attributes by the caller's promise.
            if unsafe { libc::pthread_attr_getstacksize(info.attr, &mut size) } == 0 {
                threads.stack_size = Some(size);
            }
        }
        if !info.init_func.is_null() {
            // SAFETY: a pointer to a function of one pointer, by the caller's promise.
            let function = unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(info.init_func)
            };
            let argument = info.init_arg.expose_provenance();
            threads.prepare = Some(Arc::new(move || {
                // SAFETY: the program's own function and argument, for the threads of LAPI.
                unsafe { function(std::ptr::with_exposed_provenance_mut(argument)) };
            }));
        }
        threads
    }

    /// For the threads that core starts.
    pub(crate) fn tell(&self, hooks: &mut RawHooks) {
        hooks.stack_size = self.stack_size;
        if let Some(prepare) = self.prepare.clone() {
            hooks.thread_start = Some(Box::new(move || prepare()));
        }
    }

    /// Starts one that nobody waits for.
    ///
    /// # Errors
    /// There can be no more threads.
    pub(crate) fn start(&self, name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut builder = std::thread::Builder::new().name(name.into());
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        let prepare = self.prepare.clone();
        lapis_core::threads::spawn(builder, move || {
            if let Some(prepare) = prepare {
                prepare();
            }
            body();
        })
        .map(drop)
    }
}
