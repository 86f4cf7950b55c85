//! Copies of many bytes between a program's memory and a buffer that two tasks share.
//!
//! The C library's `memcpy` uses `rep movsb` for them on many processors, which fetches its source
//! too late when that lies in another core's cache or in memory: wide loads take half the time.

#[cfg_attr(any(not(target_arch = "x86_64"), miri), allow(unused_imports, reason = "wide copies"))]
use lapis_ablation::{Optimization, without};
use std::mem::MaybeUninit;

/// A word as it is. What a program sends may be padding that nobody wrote, which is no number, or
/// part of a pointer, which as a number would lose what it may access.
pub(super) type Raw<Word> = MaybeUninit<Word>;

/// Shorter copies are left to the C library.
const LONG: usize = 1024;
/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Copies bytes that will be used soon, here or on another core.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`].
#[inline(always)]
pub unsafe fn copy_long(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller promises two valid ranges that don't overlap, which is all that any of the
    // copies asks for; the processor has what it was asked about.
    unsafe {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if len >= LONG && !without(Optimization::WideCopies) {
            return wide::copy_if_there(from, to, len);
        }
        std::ptr::copy_nonoverlapping(from, to, len);
    }
}

/// Copies to memory that the program may be watching: aligned words whole, and each of them once.
///
/// The C library's `memcpy` stores a range of no round length in parts that overlap, and 8 bytes as
/// twice the same 8. A flag that its owner has seen and taken back between the two would be set
/// again. Ranges that overlap get `memmove`.
///
/// # Safety
/// Both ranges are valid.
#[inline(always)]
pub unsafe fn copy_watched(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller promises `len` valid bytes at both ends; alignment is not assumed.
    unsafe {
        match len {
            8 => to.cast::<Raw<u64>>().write_unaligned(from.cast::<Raw<u64>>().read_unaligned()),
            4 => to.cast::<Raw<u32>>().write_unaligned(from.cast::<Raw<u32>>().read_unaligned()),
            0 => {}
            _ => copy_other(from, to, len),
        }
    }
}

/// # Safety
/// Both ranges are valid.
#[inline(never)]
unsafe fn copy_other(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller promises `len` valid bytes at both ends; each part lies within them, and
    // what overlaps was moved before.
    unsafe {
        if from.addr().abs_diff(to.addr()) < len {
            return std::ptr::copy(from, to, len);
        }
        let most = if len <= WATCHED { 0 } else { before_words(len) };
        if most > 0 {
            std::ptr::copy_nonoverlapping(from, to, most);
        }
        copy_words(from.add(most), to.add(most), len - most);
    }
}

/// As [`copy_watched`], for bytes that another core has just written, as [`copy_long`].
///
/// # Safety
/// Both ranges are valid and don't overlap.
#[inline(always)]
pub unsafe fn copy_long_watched(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller promises `len` valid bytes at both ends, apart; each part lies within
    // them.
    unsafe {
        if len < LONG {
            return copy_watched(from, to, len);
        }
        let most = before_words(len);
        copy_long(from, to, most);
        copy_words(from.add(most), to.add(most), len - most);
    }
}

/// Longer copies leave all but their last bytes to others: flags stand alone, among few, or at the
/// end.
const WATCHED: usize = 256;

/// How many bytes of a longer copy are left to others. Whole lines, so that the alignment stays.
#[inline(always)]
fn before_words(len: usize) -> usize {
    (len - LINE) & !(LINE - 1)
}

/// # Safety
/// Both ranges are valid and don't overlap.
#[inline]
unsafe fn copy_words(from: *const u8, to: *mut u8, len: usize) {
    let mut at = 0;
    if to.addr().is_multiple_of(8) {
        // As nearly always: nothing to ask before each word.
        for word in 0..len / 8 {
            // SAFETY: the caller promises `len` valid bytes at both ends; the place is aligned.
            unsafe {
                let (from, to) = (from.cast::<Raw<u64>>(), to.cast::<Raw<u64>>());
                to.add(word).write_volatile(from.add(word).read_unaligned());
            }
        }
        at = len & !7;
        if at == len {
            return;
        }
    }
    // Volatile: the compiler would make a call of `memcpy` of the loops.
    macro_rules! words {
        ($word:ty, $while:expr) => {
            while at + size_of::<$word>() <= len && $while(to.addr() + at) {
                // SAFETY: the caller promises `len` valid bytes at both ends, of which a word is
                // left; the place is aligned, or written byte by byte until it is.
                unsafe {
                    let word = from.add(at).cast::<Raw<$word>>().read_unaligned();
                    to.add(at).cast::<Raw<$word>>().write_volatile(word);
                }
                at += size_of::<$word>();
            }
        };
    }
    words!(u8, |place: usize| !place.is_multiple_of(2));
    words!(u16, |place: usize| !place.is_multiple_of(4));
    words!(u32, |place: usize| !place.is_multiple_of(8));
    words!(u64, |_| true);
    words!(u32, |_| true);
    words!(u16, |_| true);
    words!(u8, |_| true);
}

/// The first line of what is stored past the caches, whose beginning is written where it is made.
#[repr(align(8))]
pub(super) struct FirstLine([MaybeUninit<u8>; LINE]);

impl FirstLine {
    /// Nothing is written.
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self([MaybeUninit::uninit(); LINE])
    }

    /// Where its bytes go.
    #[inline(always)]
    pub(super) const fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Puts the first `before` bytes of `line` and `body` one behind the other, bypassing the caches,
/// straight to memory: for a reader that shares no cache with this core. What is stored afterwards
/// is seen after them. Whole cache lines are written, so that none of them has to be fetched; what
/// is behind the end in the last one is lost. Without such stores, a copy like any other.
///
/// # Safety
/// `to` is at the beginning of a cache line and writable to the end of the line in which the bytes
/// end; it overlaps neither source. `before` bytes of the line are written, and it has as many.
#[inline(always)]
pub(super) unsafe fn store_past_caches(line: &mut FirstLine, before: usize, body: &[u8], to: *mut u8) {
    // SAFETY: the caller promises a line's beginning, whole lines to write to and no overlap, which
    // is all that either copy asks for; the processor has what it was asked about.
    unsafe {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if body.len() >= LONG {
            return wide::store_if_there(line, before, body, to);
        }
        std::ptr::copy_nonoverlapping(line.as_mut_ptr(), to, before);
        copy_long(body.as_ptr(), to.add(before), body.len());
    }
}

/// Copies bypassing the caches, straight to memory: for a reader that shares no cache with this
/// core. What is stored afterwards is seen after the bytes. Without such stores, a copy like any
/// other.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`].
#[inline]
pub unsafe fn copy_past_caches(from: *const u8, to: *mut u8, len: usize) {
    let before = to.align_offset(LINE).min(len);
    let lines = (len - before) & !(LINE - 1);
    let behind = before + lines;
    // SAFETY: the caller promises two valid ranges that don't overlap, of which these are three
    // parts; the middle one is whole lines.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, before);
        std::ptr::copy_nonoverlapping(from.add(behind), to.add(behind), len - behind);
        let line = &mut FirstLine::new();
        store_past_caches(line, 0, std::slice::from_raw_parts(from.add(before), lines), to.add(before));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    use super::{FirstLine, LINE};
    use crate::sync::{Ordering, placed::AtomicU32};
    use std::arch::x86_64::{
        __m256i, _mm_sfence, _mm256_loadu_si256, _mm256_store_si256, _mm256_stream_si256,
    };

    /// Bytes of a store.
    const WIDTH: usize = size_of::<__m256i>();
    /// Bytes of a step.
    const STEP: usize = 4 * WIDTH;

    /// Whether the processor has wide loads and stores, once that was asked.
    // tidy-allow(statics): each copy of the library finds the same processor.
    static WIDE: AtomicU32 = AtomicU32::new(UNKNOWN);
    const UNKNOWN: u32 = 0;
    const NO: u32 = 1;
    const YES: u32 = 2;

    #[cold]
    fn ask() {
        let there = if is_x86_feature_detected!("avx") { YES } else { NO };
        WIDE.store(there, Ordering::Relaxed);
    }

    /// By wide loads, or as the C library copies where there are none. All that is called here is
    /// called last, so that little is done before it.
    ///
    /// # Safety
    /// As [`std::ptr::copy_nonoverlapping`]; `len` is at least a step.
    #[inline(never)]
    pub(super) unsafe fn copy_if_there(from: *const u8, to: *mut u8, len: usize) {
        // SAFETY: this function demands what either copy does; the processor has what it was asked
        // about.
        unsafe {
            match WIDE.load(Ordering::Relaxed) {
                YES => copy(from, to, len),
                NO => std::ptr::copy_nonoverlapping(from, to, len),
                _ => first_copy(from, to, len),
            }
        }
    }

    /// # Safety
    /// As for `copy_if_there`.
    #[cold]
    #[inline(never)]
    unsafe fn first_copy(from: *const u8, to: *mut u8, len: usize) {
        ask();
        // SAFETY: this function demands what that one does.
        unsafe { copy_if_there(from, to, len) }
    }

    /// Bypassing the caches, or as any other copy where there are no wide stores.
    ///
    /// # Safety
    /// As for the function above that calls this; there is more than a line in all.
    #[inline(never)]
    pub(super) unsafe fn store_if_there(line: &mut FirstLine, before: usize, body: &[u8], to: *mut u8) {
        // SAFETY: this function demands what either does; the processor has what it was asked
        // about.
        unsafe {
            match WIDE.load(Ordering::Relaxed) {
                YES => store_past_caches(line, before, body, to),
                NO => {
                    std::ptr::copy_nonoverlapping(line.as_mut_ptr(), to, before);
                    std::ptr::copy_nonoverlapping(body.as_ptr(), to.add(before), body.len());
                }
                _ => first_store(line, before, body, to),
            }
        }
    }

    /// # Safety
    /// As for `store_if_there`.
    #[cold]
    #[inline(never)]
    unsafe fn first_store(line: &mut FirstLine, before: usize, body: &[u8], to: *mut u8) {
        ask();
        // SAFETY: this function demands what that one does.
        unsafe { store_if_there(line, before, body, to) }
    }

    /// # Safety
    /// As [`std::ptr::copy_nonoverlapping`]; `len` is at least a step, and the processor has AVX.
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
        debug_assert!(len >= STEP);
        // SAFETY: every access lies within the two ranges: `at` is first less than a store, the
        // loop ends before a step would pass the end, and what it leaves is less than a step. The
        // places of stores are aligned.
        unsafe {
            let mut at = to.align_offset(WIDTH);
            std::ptr::copy_nonoverlapping(from, to, at);
            while at + STEP <= len {
                // Four variables: an array would travel through the stack.
                let a = _mm256_loadu_si256(from.add(at).cast());
                let b = _mm256_loadu_si256(from.add(at + WIDTH).cast());
                let c = _mm256_loadu_si256(from.add(at + 2 * WIDTH).cast());
                let d = _mm256_loadu_si256(from.add(at + 3 * WIDTH).cast());
                _mm256_store_si256(to.add(at).cast(), a);
                _mm256_store_si256(to.add(at + WIDTH).cast(), b);
                _mm256_store_si256(to.add(at + 2 * WIDTH).cast(), c);
                _mm256_store_si256(to.add(at + 3 * WIDTH).cast(), d);
                at += STEP;
            }
            std::ptr::copy_nonoverlapping(from.add(at), to.add(at), len - at);
        }
    }

    /// # Safety
    /// As for `store_if_there`; the processor has AVX.
    #[target_feature(enable = "avx")]
    unsafe fn store_past_caches(line: &mut FirstLine, before: usize, body: &[u8], to: *mut u8) {
        let (beside, rest) = body.split_at(LINE - before);
        let line = line.as_mut_ptr();
        // SAFETY: `beside` is as long as what is left of the line, all of which is written from
        // then on; whole lines up to the one in which the bytes end are writable.
        unsafe {
            std::ptr::copy_nonoverlapping(beside.as_ptr(), line.add(before), beside.len());
            stream(line, to);
            let (lines, last) = rest.as_chunks::<LINE>();
            for (i, line) in lines.iter().enumerate() {
                stream(line.as_ptr(), to.add((i + 1) * LINE));
            }
            if !last.is_empty() {
                std::ptr::copy_nonoverlapping(last.as_ptr(), line, last.len());
                stream(line, to.add((lines.len() + 1) * LINE));
            }
        }
        // SYNC: such stores are ordered by this fence only; the store that tells of them comes
        // after it.
        _mm_sfence();
    }

    /// # Safety
    /// A line can be read, and `to` is at the beginning of one that may be written; the processor
    /// has AVX.
    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn stream(from: *const u8, to: *mut u8) {
        // SAFETY: the caller promises a line at either end; both halves lie within it.
        unsafe {
            let a = _mm256_loadu_si256(from.cast());
            let b = _mm256_loadu_si256(from.add(WIDTH).cast());
            _mm256_stream_si256(to.cast(), a);
            _mm256_stream_si256(to.add(WIDTH).cast(), b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of them; under Miri, which is a few hundred times as slow, each way through the copies
    /// once.
    fn dose<T: Copy>(all: impl Iterator<Item = T>, under_miri: &[T]) -> Vec<T> {
        if cfg!(miri) { under_miri.to_vec() } else { all.collect() }
    }

    /// Numbers none of which is 0.
    fn numbers(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 % 251) as u8 + 1).collect()
    }

    #[test]
    fn a_watched_copy_moves_exactly_its_bytes_whatever_the_alignment() {
        let from = numbers(2 * LONG);
        let ways: [unsafe fn(*const u8, *mut u8, usize); 2] = [copy_watched, copy_long_watched];
        let lengths = dose(
            (0..260).chain(LONG - 3..LONG + 3),
            &[0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 24, 63, 100, 256, 257, LONG - 1, LONG, LONG + 1],
        );
        let places = dose(
            (0..9).flat_map(|s| (0..9).map(move |t| (s, t))),
            &[(0, 0), (1, 0), (0, 1), (3, 2), (4, 4), (5, 7)],
        );
        for (len, copy) in lengths.into_iter().flat_map(|len| ways.map(|way| (len, way))) {
            for &(source, target) in &places {
                let mut to = vec![0; len + 32];
                // SAFETY: both ranges lie within their vectors.
                unsafe { copy(from.as_ptr().add(source), to.as_mut_ptr().add(target), len) };
                let mut expected = vec![0; to.len()];
                expected[target..target + len].copy_from_slice(&from[source..source + len]);
                assert!(to == expected, "length {len}, {source} to {target}");
            }
        }
    }

    #[test]
    fn a_watched_copy_moves_ranges_that_overlap() {
        for (from, to, len) in [(0, 3, 100), (5, 0, 100), (9, 9, 60), (0, 8, 24)] {
            let mut bytes = numbers(128);
            let expected = bytes[from..from + len].to_vec();
            let at = bytes.as_mut_ptr();
            // SAFETY: both ranges lie within the vector.
            unsafe { copy_watched(at.add(from), at.add(to), len) };
            assert_eq!(bytes[to..to + len], expected, "{len} bytes from {from} to {to}");
        }
    }

    #[test]
    fn a_long_copy_moves_exactly_its_bytes_whatever_the_alignment() {
        let ways: [unsafe fn(*const u8, *mut u8, usize); 2] = [copy_long, copy_past_caches];
        let from = numbers(3 * LONG + 64);
        let lengths = (0..260).chain(LONG - 3..LONG + 200).chain([2 * LONG, 3 * LONG]);
        let lengths = dose(lengths, &[0, 1, 255, LONG - 1, LONG, LONG + 77]);
        for (len, copy) in lengths.into_iter().flat_map(|len| ways.map(|way| (len, way))) {
            for (source, target) in [(0, 0), (1, 0), (0, 1), (7, 31), (33, 8)] {
                let mut to = vec![0; from.len() + 128];
                // SAFETY: both ranges lie within their vectors.
                unsafe { copy(from[source..].as_ptr(), to[64 + target..].as_mut_ptr(), len) };
                let mut expected = vec![0; to.len()];
                expected[64 + target..][..len].copy_from_slice(&from[source..][..len]);
                assert!(to == expected, "length {len}, {source} to {target}");
            }
        }
    }

    #[test]
    fn stores_past_the_caches_move_all_bytes_and_write_no_further_than_the_last_line() {
        #[repr(align(64))]
        struct Lines([u8; 4 * LONG]);
        let from = numbers(2 * LONG);
        let bodies = dose((LONG - 70..LONG + 200).chain([0, 5, 2 * LONG - 7]), &[0, 5, LONG + 3]);
        for head in [0, 1, 24, 63, LINE] {
            for &body in &bodies {
                let (head, body) = (&from[..head], &from[1..][..body]);
                let mut to = Box::new(Lines([0; 4 * LONG]));
                let line = &mut FirstLine::new();
                // SAFETY: all of it is ours, from the beginning of a line on.
                unsafe {
                    line.as_mut_ptr().copy_from_nonoverlapping(head.as_ptr(), head.len());
                    store_past_caches(line, head.len(), body, to.0.as_mut_ptr());
                }
                let all = [head, body].concat();
                assert_eq!(to.0[..all.len()], all, "{} and {} bytes", head.len(), body.len());
                let behind = &to.0[all.len().next_multiple_of(LINE)..];
                assert!(behind == vec![0; behind.len()], "{} and {} bytes", head.len(), body.len());
            }
        }
    }

    /// Words that point somewhere, each beside one that nobody has written. Only Miri can tell.
    #[test]
    fn watched_copies_move_pointers_and_padding_as_they_are() {
        static NUMBERS: [u64; 2] = [3, 14];
        type Pair = (Raw<&'static u64>, Raw<u64>);
        let ways: [unsafe fn(*const u8, *mut u8, usize); 2] = [copy_watched, copy_long_watched];
        for copy in ways {
            for pairs in [1, 3, 15, 16, 17, LONG / 16, LONG / 16 + 1] {
                let from: Vec<Pair> =
                    (0..pairs).map(|i| (Raw::new(&NUMBERS[i % 2]), Raw::uninit())).collect();
                let mut to: Vec<Pair> = vec![(Raw::uninit(), Raw::uninit()); pairs];
                // Without the last pair's padding: one word is as common a length as two.
                let bytes = size_of::<Pair>() * pairs - 8;
                // SAFETY: both ranges lie within their vectors; the pointers of all pairs are
                // copied.
                unsafe {
                    copy(from.as_ptr().cast(), to.as_mut_ptr().cast(), bytes);
                    for (i, (pointer, _)) in to.iter().enumerate() {
                        assert_eq!(pointer.assume_init(), &NUMBERS[i % 2], "{pairs} pairs");
                    }
                }
            }
        }
    }

    #[test]
    fn watched_copies_move_bytes_that_nobody_wrote() {
        for (source, target) in [(0, 0), (1, 0), (0, 3), (5, 6)] {
            for len in [1, 4, 8, 15, 40] {
                let from = [Raw::<u8>::uninit(); 64];
                let mut to = [Raw::new(7_u8); 64];
                // SAFETY: both ranges lie within their arrays, and what is read of the target was
                // written before.
                unsafe {
                    copy_watched(from[source..].as_ptr().cast(), to[target..].as_mut_ptr().cast(), len);
                    assert_eq!(to[target + len].assume_init(), 7, "{len} bytes");
                }
            }
        }
    }
}
