//! Memory for messages: buffers of one size, page-aligned, registered if the provider requires it.

use crate::endpoint::{Access, Context, Endpoint, Registration};
use lapis_core::transport::TransportError;

#[repr(align(4096))]
#[derive(Clone)]
struct Page(#[expect(dead_code, reason = "its bytes are libfabric's")] [u8; 4096]);

/// Buffers of equal size, each with the context of the operation that uses it.
pub(crate) struct Buffers {
    // Before the memory, so that it is closed first.
    registration: Option<Registration>,
    // Reached through `first` only: a provider may be writing into it.
    _pages: Box<[Page]>,
    first: *mut u8,
    size: usize,
    contexts: Box<[Context]>,
}

impl Buffers {
    /// `size` is a multiple of 8. `key` differs between registrations of one endpoint.
    pub(crate) fn new(
        endpoint: &mut Endpoint,
        count: usize,
        size: usize,
        (access, key): (Access, u64),
    ) -> Result<Self, TransportError> {
        let mut pages = vec![Page([0; 4096]); (count * size).div_ceil(4096)].into_boxed_slice();
        let first = pages.as_mut_ptr().cast::<u8>();
        // SAFETY: the pages are freed after the registration, by the order of the fields.
        let registration = unsafe { endpoint.register(first, count * size, access, key) }?;
        let contexts = (0..count).map(|_| Context::new()).collect();
        Ok(Self { registration, _pages: pages, first, size, contexts })
    }

    pub(crate) fn count(&self) -> usize {
        self.contexts.len()
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn registration(&self) -> Option<&Registration> {
        self.registration.as_ref()
    }

    /// Closes the registration: nothing uses the buffers from here on.
    pub(crate) fn unregister(&mut self) {
        self.registration = None;
    }

    /// The first byte of a buffer.
    pub(crate) fn at(&self, index: usize) -> *mut u8 {
        assert!(index < self.count());
        // SAFETY: the memory has `count` buffers.
        unsafe { self.first.add(index * self.size) }
    }

    /// The context of the operation on a buffer.
    pub(crate) fn context(&mut self, index: usize) -> *mut Context {
        &raw mut self.contexts[index]
    }

    /// Which buffer's context a completion named; `None` for one of others.
    pub(crate) fn index_of(&self, context: *mut std::ffi::c_void) -> Option<usize> {
        let offset = (context.addr()).checked_sub(self.contexts.as_ptr().addr())?;
        let index = offset / size_of::<Context>();
        (offset % size_of::<Context>() == 0 && index < self.count()).then_some(index)
    }
}
