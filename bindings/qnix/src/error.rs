//! Errors, their numbers and texts.

use std::fmt;

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $c:literal, $text:literal;)*) => {
        /// Why a call failed. [`number`](Self::number) is what C programs get.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Error {
            $(#[doc = $text] $name = $number,)*
        }

        impl Error {
            /// All there are.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name in `qx.h`.
            pub fn c_name(self) -> &'static str {
                match self {
                    $(Self::$name => $c,)*
                }
            }

            /// The text with a NUL at its end.
            pub(crate) fn c_text(self) -> &'static std::ffi::CStr {
                let text = match self {
                    $(Self::$name => concat!($text, "\0"),)*
                };
                std::ffi::CStr::from_bytes_until_nul(text.as_bytes()).unwrap_or_default()
            }
        }
    };
}

errors! {
    Null = -1, "QX_ERR_NULL", "a pointer is NULL that must not be";
    NotInitialized = -2, "QX_ERR_NOT_INITIALIZED", "this process has not called qx_init with success, or has called qx_end";
    Initialized = -3, "QX_ERR_INITIALIZED", "qx_init was called already";
    Name = -4, "QX_ERR_NAME", "the process's name, its group or the group's size contradict each other or other processes";
    Process = -5, "QX_ERR_PROCESS", "no process has that name";
    Length = -6, "QX_ERR_LENGTH", "a length is negative or too long";
    Size = -7, "QX_ERR_SIZE", "a size in packets or pages does not fit the length";
    Pool = -8, "QX_ERR_POOL", "there is no buffer pool, there is one already, or it has not so many pages";
    Address = -9, "QX_ERR_ADDRESS", "a physical address that qx_buffer_translate did not give, or that is unlocked again";
    Lock = -10, "QX_ERR_LOCK", "the system refuses to lock the memory (see RLIMIT_MEMLOCK), or it is not locked";
    NoContext = -11, "QX_ERR_NO_CONTEXT", "all contexts are in use";
    Context = -12, "QX_ERR_CONTEXT", "there is no such context, or it is free";
    State = -13, "QX_ERR_STATE", "the context has a command already, or none to poll for";
    Kind = -14, "QX_ERR_KIND", "a short command with data in pages, or a long one with data in registers";
    Doorbell = -15, "QX_ERR_DOORBELL", "the context was assigned without doorbell_flag";
    Group = -16, "QX_ERR_GROUP", "no group of that name is known here";
    GroupExists = -17, "QX_ERR_GROUP_EXISTS", "a group of that name is complete already, or is being joined by this process";
    GroupSize = -18, "QX_ERR_GROUP_SIZE", "the group's size differs from what others said";
    Member = -19, "QX_ERR_MEMBER", "the process is no member of the group";
    Truncated = -20, "QX_ERR_TRUNCATED", "the message was longer than the receiver's buffer, which has its beginning";
    Peer = -21, "QX_ERR_PEER", "a process that the command needs has ended";
    Job = -22, "QX_ERR_JOB", "the job can't be joined; a line on standard error says why";
    Memory = -23, "QX_ERR_MEMORY", "there is no memory";
    Count = -24, "QX_ERR_COUNT", "a negative number of receivers, or one that is named twice";
    Internal = -25, "QX_ERR_INTERNAL", "a defect of the library";
}

impl Error {
    /// The number that C programs get, below 0.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// The error of a number.
    pub fn of_number(number: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|error| error.number() == number)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.c_text().to_string_lossy())
    }
}

impl std::error::Error for Error {}

pub(crate) type Result<T = (), E = Error> = std::result::Result<T, E>;

/// From core's errors, whose details go to the diagnostics.
pub(crate) fn of_core(error: lapis_core::Error) -> Error {
    tracing::debug!(target: "lapis::qnix", "{}", error.with_causes());
    match error {
        lapis_core::Error::TargetDown { .. } | lapis_core::Error::NoConnectivity { .. } => Error::Peer,
        lapis_core::Error::MemoryExhausted { .. } => Error::Memory,
        // Another thread has called qx_end meanwhile.
        lapis_core::Error::HandleInvalid { .. } => Error::NotInitialized,
        _ => Error::Internal,
    }
}
