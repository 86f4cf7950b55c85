//! What a shape is.

use lapis_dgsp::Layout;

/// One array of a shape; what the numbers mean is the hand loop's affair (for boxes: whole size,
/// part, start, in elements, slowest first).
#[derive(Clone, Default)]
pub(crate) struct Array {
    pub(crate) at: usize,
    pub(crate) size: [usize; 3],
    pub(crate) sub: [usize; 3],
    pub(crate) start: [usize; 3],
}

/// A layout, its memory, and its hand-written copy.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) layout: Layout,
    /// Applications of the layout.
    pub(crate) reps: u64,
    /// Bytes of memory that the layout lives in.
    pub(crate) memory: usize,
    pub(crate) arrays: Vec<Array>,
    pub(crate) index: Vec<i32>,
    pub(crate) hand: Both,
}

impl Shape {
    pub(crate) fn bytes(&self) -> usize {
        (self.layout.size() * self.reps) as usize
    }
}

/// Moves one application's bytes between memory and buffer.
pub(crate) type Hand = unsafe fn(&Shape, *mut u8, *mut u8);

/// A loop in both directions.
#[derive(Clone, Copy)]
pub(crate) struct Both {
    pub(crate) pack: Hand,
    pub(crate) unpack: Hand,
}
