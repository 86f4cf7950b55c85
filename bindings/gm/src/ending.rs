//! The end of a port whose program provides no buffers, as GM 1 has it.
//!
//! A message that waits too long for a buffer fails at its sender. GM 2 leaves it at that, and the
//! sender may resume. GM 1 also closes the port that had no buffer. So the version of the API that
//! a program was written for decides.

use crate::abi::Status;
use crate::port::{Ending, Port};

impl Port {
    /// The port's program was written for GM 1.
    pub(crate) fn ends_without_buffers(&mut self) {
        self.ending = Ending::WithoutBuffers;
    }

    /// A message has waited too long for a buffer.
    pub(crate) fn lacks_buffers(&mut self) {
        if self.ending == Ending::WithoutBuffers {
            self.ending = Ending::Due;
        }
    }

    /// Closes the port, and fails what is still to be sent. What has been received stays to be
    /// read, and the program still closes its handle.
    #[cold]
    pub(crate) fn end(&mut self) {
        self.ending = Ending::Over;
        tracing::error!(
            target: "lapis::gm",
            "port {} of board {} is closed: its program provided no buffer for a message within {:?}, and was written for GM 1, \
             which has that end the port; gm_close it, and gm_open it anew",
            self.number, self.board, self.settings.timeout
        );
        // Senders hear of the message that waited first.
        self.finish();
        self.registration.close();
        self.waiting.clear();
        for peer in 0..self.peers.len() {
            self.part_from(peer);
            self.fail_all(peer, Status::SendPortClosed);
        }
    }

    /// Whether the port is closed, though its program has its handle still.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.ending == Ending::Over
    }
}
