//! Why a call fails. Each cause has a number of errno(3), which is what `ACP_ERRNO` holds.

use std::ffi::c_int;

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// Before acp_init or after acp_finalize, or in a forked child.
    NotInitialized,
    /// acp_init was called already.
    Initialized,
    /// The job could not be joined; the log says why.
    Job,
    /// An argument of the command line that begins with `--acp-` and means nothing.
    Option,
    /// A null pointer or a null address.
    Null,
    /// A rank that no process has.
    Rank,
    /// New ranks of which two are one, or one is no process's.
    Ranks,
    /// Both ends of a channel or segmented buffer, or neither, would be this process's.
    Ends,
    /// A colour that there is not.
    Color,
    /// A size of 0, or one that nothing has.
    Size,
    /// No registered memory at a global address, or not as much.
    Address,
    /// An atomic operation on an address that is no multiple of the variable's size.
    Alignment,
    /// Memory of another process, where only the caller's will do.
    NotLocal,
    /// No key of registered memory.
    Key,
    /// No memory or address space left.
    Memory,
    /// The channel is not one, or is being freed.
    Channel,
    /// The request is not one.
    Request,
    /// No end of a segmented buffer, or one without the direction or state that the call needs.
    Segbuf,
    /// A segmented buffer whose other end is not there yet, or no more.
    Unconnected,
    /// A segmented buffer without a segment to write, or without one to read.
    Segments,
    /// No vector, list, deque, set or map of the kind that the call needs.
    Structure,
    /// An iterator of another structure, of an element that was erased, or beyond an end.
    Iterator,
    /// Somebody else changes the structure just now. The library asks again; no call gives this.
    Busy,
    /// A process that the operation needs has ended.
    Peer,
    /// A wait from where waiting could never end.
    Wait,
    /// A defect in Lapis.
    Internal,
}

/// What calls give.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// All of them.
    pub const ALL: [Self; 26] = [
        Self::NotInitialized,
        Self::Initialized,
        Self::Job,
        Self::Option,
        Self::Null,
        Self::Rank,
        Self::Ranks,
        Self::Ends,
        Self::Color,
        Self::Size,
        Self::Address,
        Self::Alignment,
        Self::NotLocal,
        Self::Key,
        Self::Memory,
        Self::Channel,
        Self::Request,
        Self::Segbuf,
        Self::Unconnected,
        Self::Segments,
        Self::Structure,
        Self::Iterator,
        Self::Busy,
        Self::Peer,
        Self::Wait,
        Self::Internal,
    ];

    /// The number of errno(3) that `ACP_ERRNO` holds.
    pub fn number(self) -> c_int {
        match self {
            Self::NotInitialized | Self::Unconnected => libc::ENOTCONN,
            Self::Initialized => libc::EALREADY,
            Self::Job => libc::ENETUNREACH,
            Self::Option
            | Self::Rank
            | Self::Ranks
            | Self::Ends
            | Self::Color
            | Self::Size
            | Self::Alignment
            | Self::Iterator => libc::EINVAL,
            Self::Null | Self::Address => libc::EFAULT,
            Self::NotLocal => libc::EREMOTE,
            Self::Key | Self::Channel | Self::Request | Self::Segbuf | Self::Structure => libc::EBADF,
            Self::Memory => libc::ENOMEM,
            Self::Busy | Self::Segments => libc::EAGAIN,
            Self::Peer => libc::EHOSTDOWN,
            Self::Wait => libc::EDEADLK,
            Self::Internal => libc::ENOTRECOVERABLE,
        }
    }

    /// How messages name it.
    pub(crate) fn code(self) -> u64 {
        Self::ALL.iter().position(|error| *error == self).map_or(0, |at| at as u64 + 1)
    }

    /// What [`code`](Self::code) stands for; 0 is no error.
    pub(crate) fn of_code(code: u64) -> Result {
        match code.checked_sub(1) {
            None => Ok(()),
            Some(at) => Err(Self::ALL.get(at as usize).copied().unwrap_or(Self::Internal)),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotInitialized => "this process has not called acp_init, or has called acp_finalize",
            Self::Initialized => "acp_init was called before",
            Self::Job => "the job could not be joined; an earlier line says why",
            Self::Option => "an argument --acp-... that ACP does not take; an earlier line says why",
            Self::Null => "a null pointer or null global address",
            Self::Rank => "a rank outside of the job",
            Self::Ranks => "the new ranks of all processes are not 0, 1, 2 and so on, each of them once",
            Self::Ends => "both ends would be this process's, or neither would",
            Self::Color => "a colour outside of what acp_colors says",
            Self::Size => "a size that is not possible",
            Self::Address => "no registered memory at the global address, or less than the size",
            Self::Alignment => "an atomic operation at an address that is no multiple of its width",
            Self::NotLocal => "memory of another process, where the caller's own is needed",
            Self::Key => "no address translation key, or one of memory that was unregistered",
            Self::Memory => {
                "no memory or address space left; --acp-startermemsize-dl=BYTES gives acp_malloc more"
            }
            Self::Channel => "no channel of this process in this direction, or one being freed",
            Self::Request => "no request, or one that was waited for before",
            Self::Segbuf => "no segmented buffer, or not the end or the state that the call needs",
            Self::Unconnected => "the other end of the segmented buffer is not there",
            Self::Segments => "no segment of the buffer is free to be written, or none has come",
            Self::Structure => "no structure of this kind, or one that was destroyed",
            Self::Iterator => {
                "an iterator of another structure, of an element that was erased, or beyond an end"
            }
            Self::Busy => "others change the structure just now",
            Self::Peer => "a process that this needs has ended",
            Self::Wait => "a wait from within a handler, where it could never end",
            Self::Internal => "a defect in Lapis; an earlier line says what",
        })
    }
}

impl std::error::Error for Error {}

/// What an error of core means to a program.
pub(crate) fn of_core(error: lapis_core::Error) -> Error {
    use lapis_core::Error as Core;
    match error {
        Core::TargetDown { .. } | Core::Timeout { .. } | Core::NoConnectivity { .. } => Error::Peer,
        Core::HandleInvalid { .. } | Core::ForkedChild { .. } => Error::NotInitialized,
        // The line of the call that fails says which one it is.
        Core::NotAllowed { .. } => Error::Wait,
        Core::MemoryExhausted { .. } | Core::SharedMemory { .. } => Error::Memory,
        other => {
            tracing::error!(target: "lapis::acp", "{}", other.with_causes());
            Error::Internal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_meaning_on_the_way() {
        for error in Error::ALL {
            assert_eq!(Error::of_code(error.code()), Err(error));
            assert!(error.number() > 0);
        }
        assert_eq!(Error::of_code(0), Ok(()));
    }
}
