//! Receiving: a few large buffers, each of which takes messages until little room is left.

use crate::buffers::Buffers;
use crate::endpoint::{Access, Endpoint};
use lapis_core::transport::TransportError;
use std::ffi::c_void;

/// Bytes of one buffer.
const SIZE: usize = 512 << 10;
const COUNT: usize = 4;

/// See the module.
pub(crate) struct Receiver {
    buffers: Buffers,
    /// Buffers that take nothing more. Their messages may be in use until the next poll.
    released: Vec<usize>,
}

impl Receiver {
    pub(crate) fn new(endpoint: &mut Endpoint, key: u64) -> Result<Self, TransportError> {
        let buffers = Buffers::new(endpoint, COUNT, SIZE, (Access::Messages, key))?;
        let released = (0..COUNT).collect();
        Ok(Self { buffers, released })
    }

    /// Gives released buffers to libfabric again; what was received into them is void.
    #[inline]
    pub(crate) fn post(&mut self, endpoint: &mut Endpoint) -> Result<(), i32> {
        while let Some(&index) = self.released.last() {
            let context = self.buffers.context(index);
            let (at, len) = (self.buffers.at(index), self.buffers.size());
            // SAFETY: buffer and context stay as they are until libfabric releases them.
            unsafe { endpoint.receive_into(at, len, self.buffers.registration(), context) }?;
            self.released.pop();
        }
        Ok(())
    }

    /// libfabric is done with a buffer.
    pub(crate) fn release(&mut self, context: *mut c_void) {
        if let Some(index) = self.buffers.index_of(context)
            && !self.released.contains(&index)
        {
            self.released.push(index);
        }
    }

    /// The endpoint is closed, and has left all buffers alone.
    pub(crate) fn reset(&mut self) {
        self.released = (0..COUNT).collect();
    }

    /// The endpoint, to which the registration is bound, closes for good.
    pub(crate) fn unregister(&mut self) {
        self.buffers.unregister();
    }

    #[cfg(test)]
    pub(crate) fn is_registered(&self) -> bool {
        self.buffers.registration().is_some()
    }

    /// Whether every buffer waits to be given to libfabric, so that nothing can arrive.
    pub(crate) fn is_stopped(&self) -> bool {
        self.released.len() == COUNT
    }
}
