//! What the target needs to know of a layout: descriptions, and data that comes behind them.

use super::layout::{Layout, Stream};
use crate::copying::{Counts, covered};
use crate::failure::Outcome;
use lapis_core::Context;
use lapis_core::message::{Destination, Scatter, Source};
use lapis_core::{Delivery, Run};

/// The words of a description or user header.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(std::array::from_fn(|i| word[i])))
}

/// Type and count in one word.
pub(crate) fn shape_word(vec_type: i32, count: u32) -> u64 {
    u64::from(vec_type as u32) << 32 | u64::from(count)
}

/// The opposite of [`shape_word`].
pub(crate) fn shape_of(word: u64) -> (i32, u32) {
    ((word >> 32) as i32, word as u32)
}

/// The data of a message with a description, behind a user header of the program's of so many
/// bytes and a word of ours.
///
/// # Safety
/// The layout's memory can be read until the message's origin is told.
pub(super) unsafe fn source(context: &Context, stream: Stream, user_header: usize) -> Outcome<Source> {
    const SHAPE: u64 = 8;
    let (len, data) = (stream.len(), stream.layout.len());
    let counts = Counts { program: data + user_header as u64, added: len - data + SHAPE };
    // SAFETY: the caller's promise.
    unsafe { covered(context, counts, Source::Gather(Box::new(stream), len)) }
}

/// Delivers data behind a description of `need` bytes into the layout that `build` makes of it.
pub(crate) fn described(
    need: u64,
    first: &[u8],
    mut build: impl FnMut(&[u8]) -> Layout + Send + 'static,
) -> Destination {
    match first.get(..need as usize) {
        Some(description) => behind(need, build(description)),
        None => Destination::Scatter(Box::new(Described::new(need, move |bytes| Some(build(bytes))))),
    }
}

/// Delivers data behind a description of `need` bytes that has led to this layout.
pub(super) fn behind(need: u64, layout: Layout) -> Destination {
    Destination::Scatter(Box::new(Behind { skip: need, layout }))
}

/// A delivery without completion handler.
pub(crate) fn plainly(into: Destination) -> Delivery {
    Delivery { into, drop: false, completion: None, run: Run::Thread }
}

/// A layout that begins some bytes into the message.
struct Behind {
    skip: u64,
    layout: Layout,
}

impl Scatter for Behind {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        let past = self.skip.saturating_sub(position).min(bytes.len() as u64);
        let at = (position + past).saturating_sub(self.skip);
        // SAFETY: the caller's promise.
        unsafe { self.layout.write(at, &bytes[past as usize..]) };
    }
}

/// Makes a layout of its description. `None`: not now.
type Build = dyn FnMut(&[u8]) -> Option<Layout> + Send;

/// A layout that is known once its description has arrived.
pub(super) struct Described {
    missing: usize,
    bytes: Vec<u8>,
    build: Box<Build>,
    layout: Option<Layout>,
    /// Data that came before the layout was known.
    early: Vec<(u64, Vec<u8>)>,
}

impl Described {
    pub(super) fn new(need: u64, build: impl FnMut(&[u8]) -> Option<Layout> + Send + 'static) -> Self {
        let need = need as usize;
        let (bytes, build) = (vec![0; need], Box::new(build));
        Self { missing: need, bytes, build, layout: None, early: Vec::new() }
    }

    /// Whether the layout is known. If the description is all there, it is asked for again.
    ///
    /// # Safety
    /// The layout's memory can be written.
    pub(super) unsafe fn settle(&mut self) -> bool {
        if self.layout.is_some() {
            return true;
        }
        let built = if self.missing == 0 { (self.build)(&self.bytes) } else { None };
        let Some(mut layout) = built else { return false };
        for (position, bytes) in self.early.drain(..) {
            // SAFETY: the caller's promise.
            unsafe { layout.write(position, &bytes) };
        }
        self.layout = Some(layout);
        true
    }
}

impl Scatter for Described {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        let need = self.bytes.len() as u64;
        let past = need.saturating_sub(position).min(bytes.len() as u64) as usize;
        if past > 0 {
            let at = position as usize;
            self.bytes[at..at + past].copy_from_slice(&bytes[..past]);
            self.missing = self.missing.saturating_sub(past);
            // SAFETY: the caller's promise.
            unsafe { self.settle() };
        }
        let rest = &bytes[past..];
        if rest.is_empty() {
            return;
        }
        let at = position + past as u64 - need;
        match &mut self.layout {
            // SAFETY: the caller's promise.
            Some(layout) => unsafe { layout.write(at, rest) },
            None => self.early.push((at, rest.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Block;
    use super::*;

    fn layout_of(memory: &mut [u8]) -> Layout {
        let base = memory.as_mut_ptr().expose_provenance() as u64;
        Layout::blocks(vec![Block { addr: base, len: 3 }, Block { addr: base + 5, len: 4 }]).unwrap()
    }

    #[test]
    fn a_description_may_arrive_after_the_data_that_it_describes() {
        let message: Vec<u8> = (0..15).collect();
        for pieces in
            [vec![0..8, 8..15], vec![8..15, 0..8], vec![10..15, 4..10, 0..4], vec![0..7, 12..15, 7..12]]
        {
            let mut memory = [0u8; 10];
            let mut layout = Some(layout_of(&mut memory));
            let Destination::Scatter(mut scatter) = described(8, &[], move |bytes| {
                assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7]);
                layout.take().unwrap()
            }) else {
                panic!("a description makes a layout");
            };
            for piece in pieces {
                // SAFETY: the layout lies in `memory`.
                unsafe { scatter.write(piece.start as u64, &message[piece]) };
            }
            assert_eq!(memory, [8, 9, 10, 0, 0, 11, 12, 13, 14, 0]);
        }
    }

    #[test]
    fn data_is_kept_until_there_is_a_layout() {
        let message: Vec<u8> = (0..15).collect();
        for piece in [1, 4, 8, 15] {
            let mut memory = [0u8; 10];
            let mut layout = Some(layout_of(&mut memory));
            let mut refusals = 2;
            let mut described = Described::new(8, move |_| {
                refusals -= 1;
                if refusals < 0 { layout.take() } else { None }
            });
            // SAFETY: the layout lies in `memory`.
            unsafe {
                assert!(!described.settle(), "the description is not there: nobody is asked");
                for (n, bytes) in message.chunks(piece).enumerate() {
                    described.write((n * piece) as u64, bytes);
                }
                assert!(!described.settle() && memory == [0; 10]);
                assert!(described.settle() && described.settle());
            }
            assert_eq!(memory, [8, 9, 10, 0, 0, 11, 12, 13, 14, 0]);
        }
    }

    #[test]
    fn a_description_that_is_there_is_skipped() {
        let mut memory = [0u8; 10];
        let mut layout = Some(layout_of(&mut memory));
        let Destination::Scatter(mut scatter) =
            described(4, &[1, 2, 3, 4, 5], move |_| layout.take().unwrap())
        else {
            panic!("a description makes a layout");
        };
        // SAFETY: the layout lies in `memory`.
        unsafe {
            scatter.write(0, &[1, 2, 3, 4, 5]);
            scatter.write(5, &[6, 7, 8]);
        }
        assert_eq!(memory, [5, 6, 7, 0, 0, 8, 0, 0, 0, 0]);
    }

    #[test]
    fn shapes_go_there_and_back() {
        assert_eq!(shape_of(shape_word(2, u32::MAX)), (2, u32::MAX));
        assert_eq!(shape_of(shape_word(-1, 7)), (-1, 7));
    }
}
