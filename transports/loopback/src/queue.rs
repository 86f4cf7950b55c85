//! The bounded queue between a task and itself.
//!
//! It has two buffers: one is filled while the other one is read. They change places when the
//! second has been read to its end. Until then, bytes that were read stay where they are, as core
//! needs it.

/// Bytes of one buffer: some thousand short messages, yet well within the second-level cache.
pub(crate) const CAPACITY: usize = 256 * 1024;

/// A message in a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    /// First byte.
    pub(crate) bytes: *mut u8,
    /// How many.
    pub(crate) len: usize,
}

struct Buffer {
    /// Allocated once; elements of 16 bytes give messages the alignment that their fields may need.
    store: Box<[u128]>,
    /// Elements in use.
    used: usize,
    messages: Vec<Message>,
}

/// See the module.
pub(crate) struct Queue {
    filling: Buffer,
    reading: Buffer,
    /// Messages of `reading` that were handed out.
    read: usize,
}

impl Default for Queue {
    fn default() -> Self {
        let buffer = || Buffer { store: vec![0; CAPACITY / 16].into(), used: 0, messages: Vec::new() };
        Self { filling: buffer(), reading: buffer(), read: 0 }
    }
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.filling.messages.is_empty() && self.read == self.reading.messages.len()
    }

    /// Appends a message of `len` bytes which `fill` writes; false, and `fill` not called, when
    /// there is no room now.
    #[inline(always)]
    pub(crate) fn push(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let b = &mut self.filling;
        // At least one element, so that empty messages are bounded too.
        let Some(place) = b.store.get_mut(b.used..b.used + len.div_ceil(16).max(1)) else { return false };
        let bytes = place.as_mut_ptr().cast::<u8>();
        // SAFETY: the place has at least `len` bytes, and no message before this one reaches into
        // it.
        fill(unsafe { std::slice::from_raw_parts_mut(bytes, len) });
        b.used += place.len();
        b.messages.push(Message { bytes, len });
        true
    }

    /// Begins a poll: what the last one handed out may go.
    #[inline(always)]
    pub(crate) fn turn(&mut self) {
        if self.read == self.reading.messages.len() {
            self.reading.used = 0;
            self.reading.messages.clear();
            self.read = 0;
            std::mem::swap(&mut self.filling, &mut self.reading);
        }
    }

    /// The next message. What was pushed after [`turn`](Self::turn) may have to wait for the next
    /// one.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Message> {
        let message = *self.reading.messages.get(self.read)?;
        self.read += 1;
        Some(message)
    }
}
