//! libfabric's shared library: found at run time, never unloaded.

use crate::ffi::{fi_fabric_attr, fi_info, fid, fid_fabric};
use lapis_core::transport::TransportError;
use libloading::os::unix::{Library as Object, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The version of the interface that this code speaks: 1.14, the oldest that is supported.
pub(crate) const API: u32 = version(1, 14);

const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;
type OpenFabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;

/// The functions that libfabric exports; everything else is reached through its objects.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    get_info: GetInfo,
    free_info: unsafe extern "C" fn(*mut fi_info),
    dup_info: unsafe extern "C" fn(*const fi_info) -> *mut fi_info,
    open_fabric: OpenFabric,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: u32,
}

impl Library {
    /// Loads libfabric.
    pub(crate) fn load() -> Result<Self, TransportError> {
        let before = SignalActions::now();
        // SAFETY: libfabric's initialisers have no preconditions of ours.
        let opened = unsafe { Object::open(Some("libfabric.so.1"), RTLD_NOW | RTLD_LOCAL) };
        before.restore();
        let object = opened.map_err(|e| {
            TransportError::Io(format!("libfabric.so.1 not found: apt-get install libfabric1 ({e})"))
        })?;
        // Providers start threads and keep thread-local data: it stays.
        let object = std::mem::ManuallyDrop::new(object);
        fn symbol<T: Copy>(object: &Object, name: &str) -> Result<T, TransportError> {
            // SAFETY: the types are those of libfabric's headers for these names.
            unsafe { object.get::<T>(name) }.map(|found| *found).map_err(|e| {
                TransportError::Io(format!("libfabric.so.1 has no {name}: is it libfabric? ({e})"))
            })
        }
        let running: unsafe extern "C" fn() -> u32 = symbol(&object, "fi_version")?;
        // SAFETY: takes nothing and has no preconditions.
        let running = unsafe { running() };
        if running < API {
            return Err(TransportError::Io(format!(
                "libfabric {}.{} is too old: 1.14 or newer is needed",
                running >> 16,
                running & 0xffff
            )));
        }
        Ok(Self {
            get_info: symbol(&object, "fi_getinfo")?,
            free_info: symbol(&object, "fi_freeinfo")?,
            dup_info: symbol(&object, "fi_dupinfo")?,
            open_fabric: symbol(&object, "fi_fabric")?,
            strerror: symbol(&object, "fi_strerror")?,
            version: running,
        })
    }

    /// Major and minor version of what was loaded.
    pub(crate) fn version(&self) -> (u32, u32) {
        (self.version >> 16, self.version & 0xffff)
    }

    /// An empty description, to be filled in as hints.
    pub(crate) fn hints(&self) -> Result<Info, TransportError> {
        // SAFETY: a null pointer asks for an empty description.
        let head = unsafe { (self.dup_info)(std::ptr::null()) };
        if head.is_null() {
            return Err(TransportError::Exhausted("no memory for libfabric's hints".to_owned()));
        }
        Ok(Info { head, library: *self })
    }

    /// What is there that fits the hints. `source`: a numeric address or name of this host to use.
    pub(crate) fn info(&self, source: Option<&CStr>, hints: &Info) -> Result<Info, i32> {
        let mut head = std::ptr::null_mut();
        let (node, flags) = source.map_or((std::ptr::null(), 0), |s| (s.as_ptr(), crate::ffi::FI_SOURCE));
        // SAFETY: all pointers are valid for the call; the answer is freed by `Info`.
        let code = unsafe { (self.get_info)(API, node, std::ptr::null(), flags, hints.head, &mut head) };
        if code == 0 { Ok(Info { head, library: *self }) } else { Err(-code) }
    }

    /// Opens the fabric of a description.
    pub(crate) fn fabric(&self, info: &fi_info) -> Result<*mut fid_fabric, i32> {
        let mut fabric = std::ptr::null_mut();
        // SAFETY: the description came from libfabric and outlives the call.
        let code = unsafe { (self.open_fabric)(info.fabric_attr, &mut fabric, std::ptr::null_mut()) };
        if code == 0 { Ok(fabric) } else { Err(-code) }
    }

    /// libfabric's words for an error number of its own or of the system's.
    pub(crate) fn text(&self, code: i32) -> String {
        // SAFETY: any number may be asked; the answer is a static string.
        let text = unsafe { (self.strerror)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: the static string is NUL-terminated.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// What the process does on signals. Libraries under some providers take signals over when they are
/// loaded; which signals mean what is the program's to say.
struct SignalActions(Vec<(c_int, libc::sigaction)>);

impl SignalActions {
    fn now() -> Self {
        Self((1..libc::SIGRTMIN()).filter_map(|signal| Some((signal, exchange(signal, None)?))).collect())
    }

    fn restore(self) {
        for (signal, action) in self.0 {
            exchange(signal, Some(&action));
        }
    }
}

/// Sets what a signal does, if that is given; gives what it did. `None` for signals that can't be
/// handled.
fn exchange(signal: c_int, action: Option<&libc::sigaction>) -> Option<libc::sigaction> {
    // SAFETY: all zeros is a value of this plain struct.
    let mut was: libc::sigaction = unsafe { std::mem::zeroed() };
    let new = action.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the structs outlive the call; actions that are set were in force before.
    (unsafe { libc::sigaction(signal, new, &mut was) } == 0).then_some(was)
}

/// A list of descriptions that libfabric allocated.
pub(crate) struct Info {
    head: *mut fi_info,
    library: Library,
}

impl Info {
    /// The first of them.
    pub(crate) fn first_mut(&mut self) -> &mut fi_info {
        // SAFETY: never null, and owned by this.
        unsafe { &mut *self.head }
    }

    /// All of them, in libfabric's order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &fi_info> {
        // SAFETY: each points to the next or is null; they live as long as the list.
        std::iter::successors(unsafe { self.head.as_ref() }, |info| unsafe { info.next.as_ref() })
    }

    /// A copy of one of them.
    pub(crate) fn pick(&self, one: &fi_info) -> Result<Self, TransportError> {
        // SAFETY: `one` is a valid description; a copy has no successor.
        let head = unsafe { (self.library.dup_info)(one) };
        if head.is_null() {
            return Err(TransportError::Exhausted("no memory for libfabric's answer".to_owned()));
        }
        Ok(Self { head, library: self.library })
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: allocated by libfabric and freed once.
        unsafe { (self.library.free_info)(self.head) };
    }
}

/// Closes an object of libfabric's.
///
/// # Safety
/// `object` is null or begins with the head of an open libfabric object that nobody uses any more.
pub(crate) unsafe fn close(object: *mut fid) {
    if object.is_null() {
        return;
    }
    // SAFETY: the caller's promise: it is open and has its table.
    unsafe {
        if let Some(close) = (*(*object).ops).close {
            close(object);
        }
    }
}
