//! PMIx, through the site's library: `libpmix.so.2`, which comes with Open MPI, PRRTE and Slurm
//! (versions 2.2 to 6 have that name).
//!
//! The library is loaded only if a launcher's variables announce PMIx. There is no
//! header here and no C compiler is needed: of PMIx's structures only two are touched, and of them
//! only what the calling convention fixes for all libraries of that name. A process is a name of
//! 256 bytes and a number; a value begins with a 16-bit kind, and its content follows where an
//! eight-byte member has to stand. Both live in buffers that are larger than any version's. Arrays
//! of attributes, whose elements have changed their size, are never passed. `tests/pmix_layout.rs`
//! checks this against the installed header.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY};

use super::mpi::{self, Phase};
use super::{Announced, Board};
use crate::bootstrap::environment::Environment;
use crate::bootstrap::error::BootstrapError;
use crate::bootstrap::protocol::MAX_TASKS;

const LIBRARY: &str = "libpmix.so.2";
const NAMESPACE: &str = "PMIX_NAMESPACE";
const RANK: &str = "PMIX_RANK";

const SUCCESS: c_int = 0;
/// Kinds of values.
const STRING: u16 = 3;
const UINT32: u16 = 14;
/// What is put is for all tasks of the job.
const GLOBAL: u8 = 3;
/// Stands for all tasks of a job.
const ALL: u32 = u32::MAX - 1;
/// Bytes of a namespace, its end included.
const NAME: usize = 256;

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proc {
    namespace: [c_char; NAME],
    rank: u32,
}

/// The beginning of `pmix_value_t`, with more room behind it than any version needs.
#[repr(C)]
struct Value {
    kind: u16,
    content: Content,
    _room: [u64; 16],
}

#[repr(C)]
union Content {
    string: *mut c_char,
    number: u32,
    _word: u64,
}

type Init = unsafe extern "C" fn(*mut Proc, *mut c_void, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Done = unsafe extern "C" fn(c_int, *mut c_void);
type FenceNb =
    unsafe extern "C" fn(*const Proc, usize, *const c_void, usize, Option<Done>, *mut c_void) -> c_int;
type Get = unsafe extern "C" fn(*const Proc, *const c_char, *const c_void, usize, *mut *mut Value) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut Proc, usize) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// What the variables say; `None` if they do not speak of PMIx.
pub(crate) fn announced(environment: &Environment) -> Result<Option<Announced>, BootstrapError> {
    if environment.get(NAMESPACE).is_none() {
        return Ok(None);
    }
    let task =
        environment.number(RANK, 0, MAX_TASKS - 1)?.ok_or_else(|| BootstrapError::MissingVariable {
            present: NAMESPACE.to_owned(),
            missing: RANK,
            remedy: format!("the launcher sets both: pass the whole environment on, or unset {NAMESPACE}"),
        })?;
    let sizes = ["OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMIX_SIZE"];
    let tasks = sizes.iter().find_map(|name| environment.get(name)?.trim().parse().ok());
    Ok(Some(Announced { protocol: "PMIx", task: Some(task), tasks }))
}

/// The functions that are used, for as long as the process lives.
struct Functions {
    finalize: Finalize,
    put: Put,
    commit: Commit,
    fence: FenceNb,
    get: Get,
    abort: Abort,
    error: ErrorString,
}

pub(super) struct Pmix {
    functions: Functions,
    me: Proc,
    tasks: u32,
    job: String,
    left: bool,
}

impl Pmix {
    pub(super) fn open(
        environment: &Environment,
        patience: Duration,
    ) -> Result<Box<dyn Board>, BootstrapError> {
        let announced =
            format!("a PMIx launcher ({NAMESPACE}={})", environment.get(NAMESPACE).unwrap_or_default());
        let (functions, init) = load().map_err(|why| BootstrapError::NoService {
            announced,
            remedy: format!(
                "{LIBRARY} cannot be used ({why}): install the launcher's PMIx library (Debian: libpmix2) where the loader finds \
                 it, or have the launcher offer PMI (srun --mpi=pmi2), or use lapirun"
            ),
        })?;
        if mpi::phase() == Phase::Before && mpi::version().starts_with("Open MPI v5") {
            tracing::warn!(
                "this program has Open MPI 5 as well, whose MPI_Init fails where PMIx runs already: if it calls \
                 MPI_Init, it must do so before LAPI_Init"
            );
        }
        let mut me = Proc { namespace: [0; NAME], rank: 0 };
        // SAFETY: the process is large enough for what is stored; no attributes are passed.
        let status = unsafe { init(&raw mut me, std::ptr::null_mut(), 0) };
        let mut board = Self { functions, me, tasks: 0, job: String::new(), left: false };
        board.check(status, "PMIx_Init")?;
        // SAFETY: PMIx_Init has ended the name by a zero byte; the buffer's last one is zero if it
        // has not.
        board.job = unsafe { CStr::from_ptr(board.me.namespace.as_ptr()) }.to_string_lossy().into_owned();
        board.tasks = match board.get(ALL, c"pmix.job.size", patience)? {
            Found::Number(tasks) if (1..=MAX_TASKS).contains(&tasks) && board.me.rank < tasks => tasks,
            other => {
                let reason = format!("the launcher names {other:?} tasks, this one being {}", board.me.rank);
                return Err(BootstrapError::Manager { during: "PMIx_Get of pmix.job.size".into(), reason });
            }
        };
        Ok(Box::new(board))
    }

    fn check(&self, status: c_int, during: &str) -> Result<(), BootstrapError> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the library gives a text of its own for any number.
        let text = unsafe { (self.functions.error)(status) };
        let text = if text.is_null() {
            String::new()
        } else {
            // SAFETY: not null, ended by a zero byte, never freed.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(BootstrapError::Manager { during: during.to_owned(), reason: format!("{text} ({status})") })
    }

    fn get(&self, rank: u32, key: &CStr, _patience: Duration) -> Result<Found, BootstrapError> {
        let of = Proc { rank, ..self.me };
        let mut value: *mut Value = std::ptr::null_mut();
        // SAFETY: the process and the key live until the call returns; it stores a pointer to a
        // value that is ours then.
        let status =
            unsafe { (self.functions.get)(&raw const of, key.as_ptr(), std::ptr::null(), 0, &raw mut value) };
        self.check(status, &format!("PMIx_Get of {key:?} of task {rank}"))?;
        if value.is_null() {
            return Ok(Found::Other(0));
        }
        // SAFETY: the value's beginning, which all versions have in common; `read` through a raw
        // pointer, as what the library has made may be shorter than our type.
        let kind = unsafe { (&raw const (*value).kind).read() };
        let found = match kind {
            STRING => {
                // SAFETY: a value of this kind holds a pointer here.
                let text = unsafe { (&raw const (*value).content.string).read() };
                if text.is_null() {
                    Found::Text(String::new())
                } else {
                    // SAFETY: ended by a zero byte, as strings of this kind are.
                    let owned = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
                    // SAFETY: the library has made it by malloc for us, and nobody else has it.
                    unsafe { libc::free(text.cast()) };
                    Found::Text(owned)
                }
            }
            // SAFETY: a value of this kind holds 32 bits here.
            UINT32 => Found::Number(unsafe { (&raw const (*value).content.number).read() }),
            other => Found::Other(other),
        };
        // SAFETY: the library has made it by malloc for us, and nobody else has it.
        unsafe { libc::free(value.cast()) };
        Ok(found)
    }
}

/// What a value holds, of what is asked for here.
#[derive(Debug)]
enum Found {
    Text(String),
    Number(u32),
    /// Of another kind.
    Other(#[allow(dead_code, reason = "shown in messages")] u16),
}

fn load() -> Result<(Functions, Init), libloading::Error> {
    // SAFETY: the launcher's own library, of a name that says which interface it has. Global, as
    // its plugins look for it.
    let library = unsafe { Library::open(Some(LIBRARY), RTLD_LAZY | RTLD_GLOBAL) }?;
    // SAFETY: the names have these types in every library of that name.
    let found = unsafe {
        let functions = Functions {
            finalize: *library.get::<Finalize>(b"PMIx_Finalize")?,
            put: *library.get::<Put>(b"PMIx_Put")?,
            commit: *library.get::<Commit>(b"PMIx_Commit")?,
            fence: *library.get::<FenceNb>(b"PMIx_Fence_nb")?,
            get: *library.get::<Get>(b"PMIx_Get")?,
            abort: *library.get::<Abort>(b"PMIx_Abort")?,
            error: *library.get::<ErrorString>(b"PMIx_Error_string")?,
        };
        (functions, *library.get::<Init>(b"PMIx_Init")?)
    };
    // Its threads run on: it is never unloaded.
    std::mem::forget(library);
    Ok(found)
}

/// Called by the library's thread when all tasks have come.
unsafe extern "C" fn fenced(status: c_int, to: *mut c_void) {
    // SAFETY: the box that `fence` has given away, once.
    let to = unsafe { Box::from_raw(to.cast::<Sender<c_int>>()) };
    // Whoever has lost patience does not listen any more.
    let _ = to.send(status);
}

impl Board for Pmix {
    fn task(&self) -> u32 {
        self.me.rank
    }

    fn tasks(&self) -> u32 {
        self.tasks
    }

    fn job(&self) -> &str {
        &self.job
    }

    fn pin(&mut self, key: &str, text: &str) -> Result<(), BootstrapError> {
        let (key, text) = (c_string(key)?, c_string(text)?);
        let mut value =
            Value { kind: STRING, content: Content { string: text.as_ptr().cast_mut() }, _room: [0; 16] };
        // SAFETY: key and value live until the call returns, which copies both.
        let status = unsafe { (self.functions.put)(GLOBAL, key.as_ptr(), &raw mut value) };
        self.check(status, "PMIx_Put")
    }

    fn fence(&mut self, patience: Duration) -> Result<(), BootstrapError> {
        // SAFETY: takes nothing.
        let status = unsafe { (self.functions.commit)() };
        self.check(status, "PMIx_Commit")?;
        let (send, receive) = channel::<c_int>();
        let send = Box::into_raw(Box::new(send));
        // Without attributes nothing is collected: a text travels when it is read.
        // SAFETY: no processes and no attributes: all tasks of the job; the box goes to the
        // callback, which the library calls once unless the call fails.
        let status = unsafe {
            (self.functions.fence)(std::ptr::null(), 0, std::ptr::null(), 0, Some(fenced), send.cast())
        };
        if status != SUCCESS {
            // SAFETY: the call has failed, so the callback does not come.
            drop(unsafe { Box::from_raw(send) });
            return self.check(status, "PMIx_Fence_nb");
        }
        match receive.recv_timeout(patience) {
            Ok(status) => self.check(status, "the fence of PMIx"),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(BootstrapError::Timeout {
                during: "the fence of PMIx".into(),
                waited: patience,
                detail: "not all tasks of the job have come".into(),
            }),
        }
    }

    fn read(&mut self, from: u32, key: &str, patience: Duration) -> Result<String, BootstrapError> {
        match self.get(from, &c_string(key)?, patience)? {
            Found::Text(text) => Ok(text),
            other => Err(BootstrapError::Manager {
                during: format!("PMIx_Get of {key:?} of task {from}"),
                reason: format!("it is {other:?} and no text"),
            }),
        }
    }

    fn abort(&mut self, code: i32, message: &str) {
        if let Ok(message) = c_string(message) {
            // SAFETY: the text lives until the call returns; no processes: all of the job.
            unsafe { (self.functions.abort)(code, message.as_ptr(), std::ptr::null_mut(), 0) };
        }
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.left, true) {
            // SAFETY: no attributes.
            let status = unsafe { (self.functions.finalize)(std::ptr::null(), 0) };
            if let Err(error) = self.check(status, "PMIx_Finalize") {
                tracing::debug!(%error, "the launcher did not hear that this task is done");
            }
        }
    }
}

fn c_string(text: &str) -> Result<CString, BootstrapError> {
    CString::new(text.replace('\0', " ")).map_err(|e| BootstrapError::Manager {
        during: format!("passing {text:?} to PMIx"),
        reason: e.to_string(),
    })
}
