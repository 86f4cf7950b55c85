//! Short structures, several at a time: one load, one permutation of bytes, one store under a mask
//! (AVX-512 VBMI). `no_permute.rs` takes its place where there is no such instruction.
//!
//! The masks name exactly the bytes of the blocks, on both sides: what lies between is neither read
//! nor written. Field by field, each structure would need several stores.
#![allow(unsafe_code, reason = "vector loads and stores of raw memory")]

/// Bytes of a vector.
const VECTOR: usize = 64;
/// Fewer structures at a time are not worth it.
const LEAST: usize = 3;

/// The permutations for one kind of structure.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    /// Structures at a time.
    group: usize,
    stride: usize,
    size: usize,
    /// Place of the lowest byte.
    lo: isize,
    /// For each packed byte its place in memory; and the other way round.
    gather: [u8; VECTOR],
    scatter: [u8; VECTOR],
    /// Places in memory that belong to blocks.
    named: u64,
}

impl Permutation {
    /// For structures of these blocks (offset, length), in their order. None where the processor
    /// lacks the instructions, or where the blocks overlap or reach into the next structure.
    pub(crate) fn new(blocks: &[(i64, u64)], stride: i64) -> Option<Box<Self>> {
        let stride = usize::try_from(stride).ok().filter(|s| (1..=VECTOR / LEAST).contains(s))?;
        let lo = blocks.iter().map(|b| b.0).min()?;
        let (mut gather, mut scatter, mut named, mut at) = ([0; VECTOR], [0; VECTOR], 0_u64, 0);
        let group = VECTOR / stride;
        for g in 0..group {
            for &(off, len) in blocks {
                let first = usize::try_from(off.checked_sub(lo)?).ok()?;
                if usize::try_from(len).ok()?.checked_add(first)? > stride {
                    return None;
                }
                for place in (g * stride + first..).take(len as usize) {
                    if named >> place & 1 == 1 {
                        return None;
                    }
                    named |= 1 << place;
                    gather[at] = place as u8;
                    scatter[place] = at as u8;
                    at += 1;
                }
            }
        }
        let permutation =
            Self { group, stride, size: at / group, lo: isize::try_from(lo).ok()?, gather, scatter, named };
        vectors::available().then(|| Box::new(permutation))
    }

    /// The group's masks for its first `n` structures: of memory, and of the packed bytes.
    fn masks(&self, n: usize) -> (u64, u64) {
        (self.named & low(n * self.stride), low(n * self.size))
    }
}

/// The lowest `n` bits.
fn low(n: usize) -> u64 {
    u64::MAX.checked_shr((VECTOR - n) as u32).unwrap_or(0)
}

mod vectors {
    use super::Permutation;
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_epi8, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_permutexvar_epi8,
    };

    pub(super) fn available() -> bool {
        std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512vbmi")
    }

    impl Permutation {
        /// Moves `n` structures at `mem` to `buf`, or back if not `GATHERS`.
        ///
        /// # Safety
        /// All blocks of the structures are valid, as is `buf` for their bytes, and none overlaps
        /// `buf`.
        pub(crate) unsafe fn run<const GATHERS: bool>(&self, mem: *mut u8, buf: *mut u8, n: usize) {
            // SAFETY: a permutation is only made where the instructions are available; the rest is
            // the caller's promise.
            unsafe { self.vectors::<GATHERS>(mem, buf, n) }
        }

        /// # Safety
        /// As `run`.
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        unsafe fn vectors<const GATHERS: bool>(&self, mem: *mut u8, buf: *mut u8, n: usize) {
            let (mut m, mut b) = (mem.wrapping_offset(self.lo), buf);
            let order = if GATHERS { &self.gather } else { &self.scatter };
            // SAFETY: 64 bytes.
            let order = unsafe { _mm512_loadu_epi8(order.as_ptr().cast()) };
            let (named, packed) = self.masks(self.group);
            for _ in 0..n / self.group {
                // SAFETY: the masks name bytes of structures that the caller promises.
                unsafe { one::<GATHERS>(m, named, b, packed, order) };
                m = m.wrapping_add(self.group * self.stride);
                b = b.wrapping_add(self.group * self.size);
            }
            if !n.is_multiple_of(self.group) {
                let (named, packed) = self.masks(n % self.group);
                // SAFETY: the masks name bytes of the last structures that the caller promises.
                unsafe { one::<GATHERS>(m, named, b, packed, order) };
            }
        }
    }

    /// # Safety
    /// The bytes that the masks name are valid.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn one<const GATHERS: bool>(m: *mut u8, named: u64, b: *mut u8, packed: u64, order: __m512i) {
        let ((from, wanted), (to, written)) =
            if GATHERS { ((m, named), (b, packed)) } else { ((b, packed), (m, named)) };
        // SAFETY: the caller's promise; bytes that a mask leaves out are not accessed.
        unsafe {
            let bytes = _mm512_maskz_loadu_epi8(wanted, from.cast());
            _mm512_mask_storeu_epi8(to.cast(), written, _mm512_permutexvar_epi8(order, bytes));
        }
    }
}
