//! Classes of block lengths: how one block is copied.
//!
//! Lengths that are known at compile time become a few moves; others fall into classes that overlap
//! two moves, align their stores, or call memcpy.
//!
//! What is moved may be padding that nobody wrote, or part of a pointer: moves are of
//! `MaybeUninit`, which takes any bytes as they are. A number would have to be initialized, and
//! what a pointer may access would be lost.
#![allow(unsafe_code, reason = "copies raw memory")]

use crate::engine::throttle::opaque;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A class of block lengths.
pub(crate) trait Length {
    /// The length, where it is known at compile time, else `len` itself.
    fn of(len: usize) -> usize;
    /// Bytes that `copy_spilling` writes; 0 if there is no such copy.
    const SPILL: usize = 0;
    /// Whether blocks are of two cache lines or more.
    const LONG: bool = false;
    /// Copies with one store, which writes undefined bytes behind the block.
    ///
    /// # Safety
    /// As `copy`, with `dst` writable for `SPILL` bytes.
    #[inline(always)]
    unsafe fn copy_spilling(src: *const u8, dst: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { Self::copy(src, dst, Self::of(0)) }
    }
    /// # Safety
    /// `src` is readable and `dst` writable for `Self::of(len)` bytes, and they don't overlap.
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize);
}

/// Exactly N bytes.
pub(crate) struct Fixed<const N: usize>;
/// Chunk ≤ length ≤ 2 × CHUNK: two moves that overlap.
pub(crate) struct Twice<const CHUNK: usize>;
/// Length ≥ CHUNK: moves of CHUNK, the last one overlapping.
pub(crate) struct Chunks<const CHUNK: usize>;
/// Length ≥ 2 × M: moves of M whose stores are aligned, and narrower ones at the edges. A store
/// that crosses a line costs two, and most rows of boxes start anywhere.
pub(crate) struct Aligned<M>(PhantomData<M>);
/// Exactly N bytes, a multiple of four M: as `Aligned`, without a branch but for the three kinds of
/// edges. Such rows are common in boxes of numbers, and a twentieth faster so.
pub(crate) struct Row<const N: usize, M>(PhantomData<M>);
/// Any length; long ones by moves of CHUNK bytes if these are wide, else by memcpy.
pub(crate) struct Any<const CHUNK: usize>;
/// Long enough that calling memcpy pays.
pub(crate) struct Long;

/// From this length on blocks are long: not worth a few moves without a loop.
const LEAST_LONG: usize = 128;
/// From this length on memcpy is as fast as any loop.
pub(crate) const MEMCPY: usize = 4096;
/// Moves of a loop that is compiled for a processor with wide ones; memcpy beats narrower ones
/// sooner.
pub(crate) const WIDE: usize = 32;
/// What such a loop moves: a vector, since the compiler takes arrays through memory.
#[cfg(target_arch = "x86_64")]
pub(crate) type Wide = std::arch::x86_64::__m256i;
/// What such a loop moves.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Wide = [u128; 2];
/// Moves of a loop that runs on any processor.
pub(crate) const NARROW: usize = 16;

impl<const N: usize> Length for Fixed<N> {
    #[inline(always)]
    fn of(_: usize) -> usize {
        N
    }
    const SPILL: usize = if N == 3 || (N > 4 && N < 8) { 8 } else { 0 };
    #[inline(always)]
    unsafe fn copy_spilling(src: *const u8, dst: *mut u8) {
        let mut word = MaybeUninit::new(0_u64);
        // SAFETY: N bytes are read, which the caller promises, into 8; 8 are written, which it
        // promises too.
        unsafe {
            std::ptr::copy_nonoverlapping(src, word.as_mut_ptr().cast(), N);
            write(dst, 0, word);
        }
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, _: usize) {
        // SAFETY: the caller's promise, for N bytes.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, N) }
    }
}

impl<const CHUNK: usize> Length for Twice<CHUNK> {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        debug_assert!((CHUNK..=2 * CHUNK).contains(&len));
        // SAFETY: both moves lie within the `len` bytes promised, since CHUNK <= len. Both are read
        // before either is written, so that the second write repeats what the first wrote where
        // they overlap.
        unsafe {
            let head = read::<[u8; CHUNK]>(src, 0);
            let tail = read::<[u8; CHUNK]>(src, len - CHUNK);
            write(dst, 0, head);
            write(dst, len - CHUNK, tail);
        }
    }
}

impl<const CHUNK: usize> Length for Chunks<CHUNK> {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        debug_assert!(len >= CHUNK);
        let mut at = 0;
        // SAFETY: every move ends at or before `len`, which the caller promises; CHUNK <= len.
        unsafe {
            while at + CHUNK < len {
                Fixed::<CHUNK>::copy(src.add(at), dst.add(at), CHUNK);
                // Else the compiler sees a memcpy in the loop, and calls it.
                at = opaque(at + CHUNK);
            }
            Fixed::<CHUNK>::copy(src.add(len - CHUNK), dst.add(len - CHUNK), CHUNK);
        }
    }
}

impl<M: Copy> Length for Aligned<M> {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    const LONG: bool = true;
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        let chunk = size_of::<M>();
        debug_assert!(len >= 2 * chunk);
        let mut at = dst.addr().wrapping_neg() % chunk;
        let end = len - (len - at) % chunk;
        // SAFETY: at < chunk, and every move ends at or before `len`, which the caller promises.
        // What two moves write, they write alike.
        unsafe {
            if at > 0 {
                write(dst, 0, read::<Edge>(src, 0));
                if at > EDGE {
                    write(dst, at - EDGE, read::<Edge>(src, at - EDGE));
                }
            }
            while at + 8 * chunk <= end {
                four::<M>(src, dst, at);
                four::<M>(src, dst, at + 4 * chunk);
                at = opaque(at + 8 * chunk);
            }
            if at + 4 * chunk <= end {
                four::<M>(src, dst, at);
                at += 4 * chunk;
            }
            if at + 2 * chunk <= end {
                two::<M>(src, dst, at);
                at += 2 * chunk;
            }
            if at < end {
                write(dst, at, read::<M>(src, at));
            }
            if end < len {
                if len - end > EDGE {
                    write(dst, end, read::<Edge>(src, end));
                }
                write(dst, len - EDGE, read::<Edge>(src, len - EDGE));
            }
        }
    }
}

impl<const N: usize, M: Copy> Length for Row<N, M> {
    #[inline(always)]
    fn of(_: usize) -> usize {
        N
    }
    const LONG: bool = true;
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, _: usize) {
        let chunk = size_of::<M>();
        let at = dst.addr().wrapping_neg() % chunk;
        // SAFETY: N is a multiple of four moves, `at` less than one, and every move ends at or
        // before N, which the caller promises. What two moves write, they write alike.
        unsafe {
            let fours = N / (4 * chunk);
            if at == 0 {
                (0..fours).for_each(|i| four::<M>(src, dst, 4 * chunk * i));
                return;
            }
            if at == EDGE {
                write(dst, 0, read::<Edge>(src, 0));
            } else {
                write(dst, 0, read::<M>(src, 0));
            }
            (0..fours - 1).for_each(|i| four::<M>(src, dst, at + 4 * chunk * i));
            let rest = at + N - 4 * chunk;
            two::<M>(src, dst, rest);
            write(dst, rest + 2 * chunk, read::<M>(src, rest + 2 * chunk));
            if at == EDGE {
                write(dst, N - EDGE, read::<Edge>(src, N - EDGE));
            } else {
                write(dst, N - chunk, read::<M>(src, N - chunk));
            }
        }
    }
}

/// A move at the edge of a row: half a wide one. Rows of floating-point numbers often begin at a
/// multiple of it, and then no two stores overlap and none crosses a line, which counts where
/// another thread shares the core and its store queue.
type Edge = u128;
const EDGE: usize = size_of::<Edge>();

/// Four moves, all of them read before any is written.
///
/// # Safety
/// They can be read and written there.
#[inline(always)]
unsafe fn four<M>(src: *const u8, dst: *mut u8, at: usize) {
    let chunk = size_of::<M>();
    // SAFETY: the caller's promise.
    unsafe {
        let (a, b) = (read::<M>(src, at), read::<M>(src, at + chunk));
        let (c, d) = (read::<M>(src, at + 2 * chunk), read::<M>(src, at + 3 * chunk));
        write(dst, at, a);
        write(dst, at + chunk, b);
        write(dst, at + 2 * chunk, c);
        write(dst, at + 3 * chunk, d);
    }
}

/// # Safety
/// As `four`, for two.
#[inline(always)]
unsafe fn two<M>(src: *const u8, dst: *mut u8, at: usize) {
    let chunk = size_of::<M>();
    // SAFETY: the caller's promise.
    unsafe {
        let (a, b) = (read::<M>(src, at), read::<M>(src, at + chunk));
        write(dst, at, a);
        write(dst, at + chunk, b);
    }
}

/// # Safety
/// The bytes of an `M` can be read there.
#[inline(always)]
unsafe fn read<M>(src: *const u8, at: usize) -> MaybeUninit<M> {
    // SAFETY: the caller's promise; any bytes will do.
    unsafe { src.add(at).cast::<MaybeUninit<M>>().read_unaligned() }
}

/// # Safety
/// The bytes of an `M` can be written there.
#[inline(always)]
unsafe fn write<M>(dst: *mut u8, at: usize, what: MaybeUninit<M>) {
    // SAFETY: the caller's promise.
    unsafe { dst.add(at).cast::<MaybeUninit<M>>().write_unaligned(what) }
}

impl<const CHUNK: usize> Length for Any<CHUNK> {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        // SAFETY: each class gets lengths of its range, and the caller promises `len` bytes.
        unsafe {
            // One branch for long blocks, to which the classes below would be six.
            if len >= LEAST_LONG {
                return match len {
                    ..MEMCPY if CHUNK >= WIDE => Aligned::<Wide>::copy(src, dst, len),
                    _ => Long::copy(src, dst, len),
                };
            }
            match len {
                0 => {}
                1 => Fixed::<1>::copy(src, dst, len),
                2..=3 => Twice::<2>::copy(src, dst, len),
                4..=7 => Twice::<4>::copy(src, dst, len),
                8..=15 => Twice::<8>::copy(src, dst, len),
                16..=31 => Twice::<16>::copy(src, dst, len),
                32..=63 => Twice::<32>::copy(src, dst, len),
                _ => Chunks::<64>::copy(src, dst, len),
            }
        }
    }
}

impl Length for Long {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, len) }
    }
}
