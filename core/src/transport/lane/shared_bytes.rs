//! Plain bytes shared with another task, in a form that the model checker can watch.
//!
//! In shipped builds these types are bare memory. Under `--cfg loom` every access to them is
//! reported to the model checker, which then fails a test when two unordered accesses meet.

#[cfg(loom)]
use crate::sync::UnsafeCell;

#[cfg(not(loom))]
mod imp {
    /// A stretch of shared bytes, by the address of its first one.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub struct Area(pub *mut u8);

    impl Area {
        /// None.
        pub const fn none() -> Self {
            Self(std::ptr::null_mut())
        }

        /// `len` bytes from offset `at`, about to be written.
        ///
        /// # Safety
        /// The range lies inside the stretch.
        #[inline(always)]
        pub unsafe fn for_write(self, at: usize, _len: usize) -> *mut u8 {
            // SAFETY: the range lies inside the stretch, the caller says.
            unsafe { self.0.add(at) }
        }

        /// `len` bytes from offset `at`, about to be read.
        ///
        /// # Safety
        /// The range lies inside the stretch.
        #[inline(always)]
        pub unsafe fn for_read(self, at: usize, _len: usize) -> *mut u8 {
            // SAFETY: the range lies inside the stretch, the caller says.
            unsafe { self.0.add(at) }
        }
    }
}

#[cfg(loom)]
mod imp {
    use super::*;

    /// The bytes, and a watched cell for every 64 of them.
    #[derive(Debug)]
    pub struct Watched {
        cells: Vec<UnsafeCell<()>>,
        bytes: Box<[UnsafeBytes]>,
    }
    type UnsafeBytes = std::cell::UnsafeCell<u8>;

    impl Watched {
        /// So many bytes, all zero.
        pub fn new(len: usize) -> Self {
            Self {
                cells: (0..len.div_ceil(64)).map(|_| UnsafeCell::new(())).collect(),
                bytes: (0..len).map(|_| UnsafeBytes::new(0)).collect(),
            }
        }
    }

    /// A stretch of shared bytes.
    #[derive(Clone, Copy, Debug)]
    pub struct Area(pub *const Watched);

    impl Area {
        /// None.
        pub const fn none() -> Self {
            Self(std::ptr::null())
        }

        /// `len` bytes from offset `at`, about to be written.
        ///
        /// # Safety
        /// The range lies inside the stretch, which is alive.
        pub unsafe fn for_write(self, at: usize, len: usize) -> *mut u8 {
            // SAFETY: the caller promises that the stretch is alive.
            let w = unsafe { &*self.0 };
            assert!(at + len <= w.bytes.len());
            w.cells[at / 64..(at + len).div_ceil(64)].iter().for_each(|c| c.with_mut(|_| ()));
            w.bytes[at].get()
        }

        /// `len` bytes from offset `at`, about to be read.
        ///
        /// # Safety
        /// The range lies inside the stretch, which is alive.
        pub unsafe fn for_read(self, at: usize, len: usize) -> *mut u8 {
            // SAFETY: the caller promises that the stretch is alive.
            let w = unsafe { &*self.0 };
            assert!(at + len <= w.bytes.len());
            w.cells[at / 64..(at + len).div_ceil(64)].iter().for_each(|c| c.with(|_| ()));
            w.bytes[at].get()
        }
    }
}

pub use imp::Area;
#[cfg(loom)]
pub use imp::Watched;
