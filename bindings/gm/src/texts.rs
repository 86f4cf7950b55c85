//! What statuses mean, for people.

use std::ffi::CStr;

/// Every status of gm.h, in the order of its numbers.
const TEXTS: [&CStr; 48] = [
    c"success",
    c"failure",
    c"the input buffer is too small",
    c"the output buffer is too small",
    c"try again later",
    c"busy: somebody else has it",
    c"memory that is not registered, or not there",
    c"interrupted",
    c"an argument has a value that can't be",
    c"out of memory",
    c"no such command",
    c"permission denied",
    c"internal error",
    c"not attached",
    c"this device is not supported",
    c"the send timed out: no buffer was provided for the message",
    c"the send was rejected: the target does not take messages of this size",
    c"the target port is closed",
    c"the target node can't be reached",
    c"the send was dropped, as the program asked",
    c"the sending port is closed",
    c"the node has no identity yet",
    c"the port is still shutting down",
    c"the clone device is busy",
    c"no such device: no such board, or no services daemon",
    c"aborted",
    c"the library and the services daemon are of different releases",
    c"an error of the system that has no name here",
    c"access denied",
    c"not supported by the driver",
    c"too many references to a page",
    c"not supported in the kernel",
    c"not supported on this processor",
    c"no match: nothing of that name or number is known",
    c"an error of the user's",
    c"timed out",
    c"data were corrupted",
    c"the hardware is faulty",
    c"the send was orphaned",
    c"a counter overflowed",
    c"the page table is full",
    c"an error of the microcontroller",
    c"no such port number",
    c"no device file was found",
    c"the firmware does not run",
    c"no match in the yellow pages",
    c"a parity error in memory of the board",
    c"the firmware has stopped",
];

/// What a status means.
pub(crate) fn of(status: i32) -> &'static CStr {
    usize::try_from(status).ok().and_then(|at| TEXTS.get(at)).copied().unwrap_or(c"no status of GM's")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Status;

    #[test]
    fn statuses_have_their_texts() {
        assert_eq!(of(Status::SendTimedOut as i32), TEXTS[15]);
        assert!(of(Status::SendTargetPortClosed as i32).to_string_lossy().contains("target port"));
        assert!(of(Status::InvalidPortNumber as i32).to_string_lossy().contains("port number"));
        assert_eq!(of(-1), of(48));
    }
}
