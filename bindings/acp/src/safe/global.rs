//! Places in global memory, with a type; and memory of this process's that everybody may reach.

use super::Job;
use crate::error::{Error, Result};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Types whose values are plain bytes.
///
/// # Safety
/// Any bytes are a valid value, all bytes of a value are initialised (there is no padding), and the
/// type's alignment is at most 16.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($of:ty)*) => {
        $(
            // SAFETY: a number of this kind is any bytes of its width.
            unsafe impl Plain for $of {}
        )*
    };
}

plain! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 usize isize }

// SAFETY: elements follow each other without padding.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

// SAFETY: a number, for any type.
unsafe impl<T: Plain> Plain for Global<T> {}

/// The bytes of a value.
pub(super) fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: all bytes of a plain value are initialised, and it is borrowed as long.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// The value with these bytes.
pub(super) fn from_bytes<T: Plain>(bytes: &[u8]) -> Result<T> {
    if bytes.len() != size_of::<T>() {
        return Err(Error::Size);
    }
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: both have this length, and any bytes are a value.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.as_mut_ptr().cast(), bytes.len());
        Ok(value.assume_init())
    }
}

/// The place of a value in the memory of some process: a number that can be sent to any other one.
///
/// It is not a reference: the methods of [`Job`] read and write the value.
#[doc(alias = "acp_ga_t")]
#[repr(transparent)]
pub struct Global<T> {
    pub(super) address: u64,
    pub(super) marker: PhantomData<fn() -> T>,
}

/// The places of consecutive values.
#[doc(alias = "acp_ga_t")]
pub struct GlobalSlice<T> {
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) marker: PhantomData<fn() -> T>,
}

macro_rules! by_value {
    ($of:ident) => {
        impl<T> Clone for $of<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $of<T> {}

        impl<T> std::fmt::Debug for $of<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({:#x})", stringify!($of), self.address)
            }
        }
    };
}

by_value!(Global);
by_value!(GlobalSlice);

impl<T> PartialEq for Global<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for Global<T> {}

impl<T: Plain> Global<T> {
    /// The place that a number names. Only the first access shows whether it is valid.
    pub fn of_address(address: u64) -> Self {
        Self { address, marker: PhantomData }
    }

    /// The number, as in C programs.
    pub fn address(self) -> u64 {
        self.address
    }

    /// `len` values from here on.
    pub fn slice(self, len: u64) -> GlobalSlice<T> {
        GlobalSlice { address: self.address, len, marker: PhantomData }
    }
}

impl<T: Plain> GlobalSlice<T> {
    /// The number of values.
    pub fn len(self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The place of one value.
    ///
    /// # Errors
    /// [`Error::Size`]: beyond the end.
    pub fn at(self, index: u64) -> Result<Global<T>> {
        self.part(index, 1).map(Self::first)
    }

    /// The place of the first value, if there is one.
    pub fn first(self) -> Global<T> {
        Global { address: self.address, marker: PhantomData }
    }

    /// `len` values, from the one with index `from` on.
    ///
    /// # Errors
    /// [`Error::Size`]: beyond the end.
    pub fn part(self, from: u64, len: u64) -> Result<Self> {
        if from > self.len || len > self.len - from {
            return Err(Error::Size);
        }
        // A length that no memory has may be in a slice all the same.
        let offset = from.checked_mul(size_of::<T>() as u64);
        let address = offset.and_then(|offset| self.address.checked_add(offset)).ok_or(Error::Size)?;
        Ok(Self { address, len, marker: PhantomData })
    }

    /// The same bytes as values of another type.
    ///
    /// # Errors
    /// [`Error::Size`]: the length is no multiple of the new type's.
    pub fn cast<U: Plain>(self) -> Result<GlobalSlice<U>> {
        let bytes = self.len.checked_mul(size_of::<T>() as u64).ok_or(Error::Size)?;
        let width = size_of::<U>() as u64;
        if width == 0 || !bytes.is_multiple_of(width) {
            return Err(Error::Size);
        }
        Ok(GlobalSlice { address: self.address, len: bytes / width, marker: PhantomData })
    }

    /// How many bytes these are; more than any memory has if that is no number.
    pub(super) fn bytes(self) -> u64 {
        self.len.saturating_mul(size_of::<T>() as u64)
    }
}

/// Registered memory of this process, which all processes can access until it is dropped or taken
/// back.
///
/// This process accesses it in the same way as all others. Dropping it waits for outstanding
/// accesses; later ones fail.
pub struct Registered<'job, T: Plain> {
    job: &'job Job,
    memory: Vec<T>,
    key: u64,
}

impl<T: Plain> std::fmt::Debug for Registered<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registered").field("place", &self.global()).field("len", &self.memory.len()).finish()
    }
}

impl<'job, T: Plain> Registered<'job, T> {
    pub(super) fn new(job: &'job Job, mut memory: Vec<T>, color: u32) -> Result<Self> {
        let base = memory.as_mut_ptr().expose_provenance();
        let len = size_of_val(memory.as_slice()) as u64;
        let key = job.process.regions().register(base, len, color)?;
        job.process.colours.note(color);
        Ok(Self { job, memory, key })
    }

    /// Its place.
    pub fn global(&self) -> GlobalSlice<T> {
        let world = self.job.process.world();
        let address = world.space.address(world.rank, self.key);
        GlobalSlice { address, len: self.memory.len() as u64, marker: PhantomData }
    }

    /// The colour that it was registered with.
    #[doc(alias = "acp_query_color")]
    pub fn color(&self) -> u32 {
        self.job.process.space.colour(self.global().address)
    }

    /// Takes the memory back.
    #[doc(alias = "acp_unregister_memory")]
    pub fn into_inner(mut self) -> Vec<T> {
        self.unregister();
        std::mem::take(&mut self.memory)
    }

    /// Ends all access to the memory.
    fn unregister(&mut self) {
        let process = self.job.process;
        let Ok(mut region) = process.regions().unregister(self.key) else { return };
        if process.wait_for_owners(&mut region).is_err() {
            // Somebody may still write there: better lost than given to somebody else.
            std::mem::forget(std::mem::take(&mut self.memory));
        }
    }
}

impl<T: Plain> Drop for Registered<'_, T> {
    fn drop(&mut self) {
        self.unregister();
    }
}
