//! Layouts: where the bytes of a vector are.

use crate::abi::*;
use crate::failure::Outcome;
use lapis_core::message::{Gather, Scatter, Share};
use lapis_core::transport::copy::copy_watched;
use std::ffi::c_int;

/// A run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) addr: u64,
    pub(crate) len: u64,
}

/// Where the bytes of a vector are, in order.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    shape: Shape,
    len: u64,
}

#[derive(Clone, Debug)]
enum Shape {
    /// Blocks, the position of each one's first byte, and the block used last.
    Blocks {
        blocks: Vec<Block>,
        starts: Vec<u64>,
        last: usize,
    },
    Strided {
        base: u64,
        block: u64,
        stride: u64,
    },
}

impl Layout {
    /// No bytes at all.
    pub(crate) fn empty() -> Self {
        Self { shape: Shape::Blocks { blocks: Vec::new(), starts: Vec::new(), last: 0 }, len: 0 }
    }

    /// The blocks in order. Fails if there is no memory for their positions.
    pub(crate) fn blocks(blocks: Vec<Block>) -> Outcome<Self> {
        let mut starts = reserved(blocks.len())?;
        let mut len = 0;
        for block in &blocks {
            starts.push(len);
            len += block.len;
        }
        Ok(Self { shape: Shape::Blocks { blocks, starts, last: 0 }, len })
    }

    pub(crate) fn strided(base: u64, block: u64, stride: u64, count: u32) -> Self {
        Self { shape: Shape::Strided { base, block, stride }, len: block * u64::from(count) }
    }

    /// The layout that the words of a description give; `None` if they give none.
    pub(crate) fn of_words(
        vec_type: c_int,
        count: u32,
        mut words: impl Iterator<Item = u64>,
    ) -> Option<Self> {
        if vec_type == LAPI_GEN_STRIDED_XFER {
            let (base, block, stride) = (words.next()?, words.next()?, words.next()?);
            block.checked_mul(u64::from(count))?;
            return Some(Self::strided(base, block, stride, count));
        }
        let mut total = 0u64;
        let blocks = (0..count)
            .map(|_| {
                let block = Block { addr: words.next()?, len: words.next()? };
                total = total.checked_add(block.len)?;
                Some(block)
            })
            .collect::<Option<Vec<_>>>()?;
        Self::blocks(blocks).ok()
    }

    /// Bytes in all.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The description that [`of_words`](Self::of_words) reads.
    pub(crate) fn description(&self) -> Outcome<Vec<u8>> {
        match &self.shape {
            Shape::Strided { base, block, stride } => in_bytes([*base, *block, *stride].into_iter()),
            Shape::Blocks { blocks, .. } => {
                let mut bytes = reserved(blocks.len() * 16)?;
                bytes.extend(blocks.iter().flat_map(|b| [b.addr, b.len]).flat_map(u64::to_le_bytes));
                Ok(bytes)
            }
        }
    }

    /// The lengths of the blocks; for a strided vector just the one that all have.
    pub(crate) fn lengths(&self) -> impl ExactSizeIterator<Item = u64> {
        let (blocks, one): (&[Block], _) = match &self.shape {
            Shape::Strided { block, .. } => (&[], Some(*block)),
            Shape::Blocks { blocks, .. } => (blocks, None),
        };
        let len = move |at: usize| one.unwrap_or_else(|| blocks[at].len);
        (0..if one.is_some() { 1 } else { blocks.len() }).map(len)
    }

    /// Calls `each` with the address and length of every block that has bytes, in order.
    pub(crate) fn each_block(&self, mut each: impl FnMut(u64, usize)) {
        match &self.shape {
            Shape::Strided { base, block, stride } => {
                let count = self.len.checked_div(*block).unwrap_or(0);
                (0..count).for_each(|i| each(base.wrapping_add(i.wrapping_mul(*stride)), *block as usize));
            }
            Shape::Blocks { blocks, .. } => {
                blocks.iter().filter(|b| b.len > 0).for_each(|b| each(b.addr, b.len as usize));
            }
        }
    }

    /// Calls `each` with the address and length of every piece of `[position, position + len)`, in
    /// order; what lies beyond the end is left out.
    pub(crate) fn pieces(&mut self, position: u64, len: u64, mut each: impl FnMut(u64, usize)) {
        let mut at = position;
        let end = position.saturating_add(len).min(self.len);
        while at < end {
            let (addr, room) = self.find(at);
            let n = room.min(end - at);
            each(addr, n as usize);
            at += n;
        }
    }

    /// The address of byte `at`, and how many follow it without a gap, itself included.
    fn find(&mut self, at: u64) -> (u64, u64) {
        match &mut self.shape {
            Shape::Strided { base, block, stride } => {
                let (number, offset) = (at / *block, at % *block);
                (base.wrapping_add(number.wrapping_mul(*stride)).wrapping_add(offset), *block - offset)
            }
            Shape::Blocks { blocks, starts, last } => {
                let holds = |i: usize| starts[i] <= at && at - starts[i] < blocks[i].len;
                // Mostly the next piece follows the one before.
                let i = if holds(*last) {
                    *last
                } else if *last + 1 < blocks.len() && holds(*last + 1) {
                    *last + 1
                } else {
                    // The last block that begins here or before; empty ones begin where the next
                    // one does.
                    starts.partition_point(|start| *start <= at) - 1
                };
                *last = i;
                let offset = at - starts[i];
                (blocks[i].addr + offset, blocks[i].len - offset)
            }
        }
    }
}

/// A vector for so many entries. Programs may pass as many blocks as they have memory for: what the
/// copy of their list takes may not be there.
//= LAPI Guide, LAPI_Putv, LAPI_ERR_MEMORY_EXHAUSTED
pub(crate) fn reserved<T>(entries: usize) -> Outcome<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(entries).map_err(|_| LAPI_ERR_MEMORY_EXHAUSTED)?;
    Ok(all)
}

/// Words as a description has them.
pub(crate) fn in_bytes(words: impl ExactSizeIterator<Item = u64>) -> Outcome<Vec<u8>> {
    let mut bytes = reserved(words.len() * 8)?;
    bytes.extend(words.flat_map(u64::to_le_bytes));
    Ok(bytes)
}

impl Scatter for Layout {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        let mut from = bytes.as_ptr();
        self.pieces(position, bytes.len() as u64, |addr, n| {
            // SAFETY: the caller's promise for the layout's memory; the pieces add up to no more
            // than `bytes`.
            unsafe {
                copy_watched(from, std::ptr::with_exposed_provenance_mut(addr as usize), n);
                from = from.add(n);
            }
        });
    }
}

impl Gather for Layout {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let mut to = out.as_mut_ptr();
        self.pieces(position, out.len() as u64, |addr, n| {
            // SAFETY: the caller's promise for the layout's memory; the pieces add up to no more
            // than `out`.
            unsafe {
                std::ptr::copy(std::ptr::with_exposed_provenance::<u8>(addr as usize), to, n);
                to = to.add(n);
            }
        });
    }
}

/// A description and the data behind it, as one message.
pub(crate) struct Stream {
    pub(crate) description: Vec<u8>,
    pub(crate) layout: Layout,
}

impl Stream {
    pub(crate) fn len(&self) -> u64 {
        self.description.len() as u64 + self.layout.len()
    }
}

impl Gather for Stream {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let skip = self.description.len() as u64;
        let head = skip.saturating_sub(position).min(out.len() as u64) as usize;
        if head > 0 {
            let at = position as usize;
            out[..head].copy_from_slice(&self.description[at..at + head]);
        }
        let at = (position + head as u64).saturating_sub(skip);
        // SAFETY: the caller's promise.
        unsafe { self.layout.read(at, &mut out[head..]) };
    }

    fn share(&self) -> Share {
        match self.description.len() {
            0 => Share::All,
            before => Share::Behind(before as u64),
        }
    }
}

/// Which side of a transfer a vector describes: the codes differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Origin,
    Target,
}

impl Side {
    fn code(self, origin: c_int, target: c_int) -> c_int {
        match self {
            Self::Origin => origin,
            Self::Target => target,
        }
    }
}

/// A vector of the program: addresses and lengths as pointers or as 64-bit numbers.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) vec_type: c_int,
    pub(crate) count: u32,
    info: Words,
    len: Words,
}

#[derive(Clone, Copy)]
enum Words {
    Native(*const usize),
    Long(*const u64),
}

impl Words {
    fn is_null(self) -> bool {
        match self {
            Self::Native(words) => words.is_null(),
            Self::Long(words) => words.is_null(),
        }
    }

    /// # Safety
    /// The array has more than `at` entries.
    unsafe fn get(self, at: usize) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Native(words) => *words.add(at) as u64,
                Self::Long(words) => *words.add(at),
            }
        }
    }
}

impl View {
    /// # Safety
    /// `vec` is NULL or a lapi_vec_t.
    pub(crate) unsafe fn of(vec: *const lapi_vec_t, side: Side) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let vec = unsafe { vec.as_ref() }.ok_or(side.code(LAPI_ERR_ORG_VEC_NULL, LAPI_ERR_TGT_VEC_NULL))?;
        Ok(Self {
            vec_type: vec.vec_type,
            count: vec.num_vecs,
            info: Words::Native(vec.info.cast_const().cast()),
            len: Words::Native(vec.len.cast_const().cast()),
        })
    }

    /// # Safety
    /// `vec` is NULL or a lapi_lvec_t.
    pub(crate) unsafe fn of_long(vec: *const lapi_lvec_t, side: Side) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let vec = unsafe { vec.as_ref() }.ok_or(side.code(LAPI_ERR_ORG_VEC_NULL, LAPI_ERR_TGT_VEC_NULL))?;
        Ok(Self {
            vec_type: vec.vec_type,
            count: vec.num_vecs,
            info: Words::Long(vec.info),
            len: Words::Long(vec.len),
        })
    }

    /// Checks the type; generic vectors only where they may be used.
    //= LAPI Guide, LAPI_Getv, LAPI_ERR_ORG_VEC_TYPE and LAPI_ERR_TGT_VEC_TYPE
    //= LAPI Guide, table 7, LAPI_GEN_GENERIC is for active messages only
    pub(crate) fn check_type(&self, side: Side, generic: bool) -> Outcome {
        match self.vec_type {
            LAPI_GEN_IOVECTOR | LAPI_GEN_STRIDED_XFER => Ok(()),
            LAPI_GEN_GENERIC if generic => Ok(()),
            _ => Err(side.code(LAPI_ERR_ORG_VEC_TYPE, LAPI_ERR_TGT_VEC_TYPE)),
        }
    }

    /// Copies the vector and checks its numbers. The type has been checked.
    ///
    /// # Safety
    /// The arrays are NULL or as long as the vector says, three entries of `info` for a strided
    /// one.
    //= LAPI Guide, LAPI_Amsendv, the errors of the origin's vector
    //= LAPI Guide, LAPI_Putv, the errors of the target's vector
    pub(crate) unsafe fn layout(&self, side: Side) -> Outcome<Layout> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.vec_type {
                LAPI_GEN_STRIDED_XFER => self.strided(side),
                _ => self.listed(side),
            }
        }
    }

    unsafe fn listed(&self, side: Side) -> Outcome<Layout> {
        let null = side.code(LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_TGT_VEC_ADDR);
        let long = side.code(LAPI_ERR_ORG_VEC_LEN, LAPI_ERR_TGT_VEC_LEN);
        if self.count == 0 {
            return Ok(Layout::empty());
        }
        if self.info.is_null() {
            return Err(null);
        }
        if self.len.is_null() {
            return Err(long);
        }
        let mut total = 0u64;
        let mut blocks = reserved(self.count as usize)?;
        for at in 0..self.count as usize {
            // SAFETY: the caller's promise.
            let block = unsafe { Block { addr: self.info.get(at), len: self.len.get(at) } };
            if block.addr == 0 && block.len != 0 {
                return Err(null);
            }
            total = total.checked_add(block.len).filter(|sum| *sum <= LAPI_MAX_MSG_SZ).ok_or(long)?;
            blocks.push(block);
        }
        Layout::blocks(blocks)
    }

    //= LAPI Guide, table 7, a strided vector's info holds base address, block size and stride, and len is ignored
    unsafe fn strided(&self, side: Side) -> Outcome<Layout> {
        let null = side.code(LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL);
        if self.info.is_null() {
            return Err(null);
        }
        // SAFETY: the caller's promise.
        let (base, block, stride) = unsafe { (self.info.get(0), self.info.get(1), self.info.get(2)) };
        if base == 0 {
            return Err(null);
        }
        if stride < block {
            return Err(side.code(LAPI_ERR_ORG_STRIDE, LAPI_ERR_TGT_STRIDE));
        }
        let extent = stride.checked_mul(u64::from(self.count));
        if extent.is_none_or(|extent| extent > LAPI_MAX_MSG_SZ) {
            return Err(side.code(LAPI_ERR_ORG_EXTENT, LAPI_ERR_TGT_EXTENT));
        }
        Ok(Layout::strided(base, block, stride, self.count))
    }

    /// Whether a target's vector fits an origin's of this type, count and lengths.
    //= LAPI Guide, table 7, target vector rules
    pub(crate) fn fits(
        &self,
        target: &Layout,
        vec_type: c_int,
        count: u32,
        lengths: impl Iterator<Item = u64>,
    ) -> Outcome {
        if self.vec_type != vec_type {
            return Err(LAPI_ERR_VEC_TYPE_DIFF);
        }
        if vec_type == LAPI_GEN_GENERIC {
            return Ok(());
        }
        if self.count != count {
            return Err(LAPI_ERR_VEC_NUM_DIFF);
        }
        if !target.lengths().eq(lengths) {
            return Err(LAPI_ERR_VEC_LEN_DIFF);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(memory: &[u8]) -> u64 {
        memory.as_ptr().expose_provenance() as u64
    }

    #[test]
    fn bytes_are_found_from_any_position() {
        let memory: Vec<u8> = (0..40).collect();
        let base = address(&memory);
        let blocks = [(3, 5), (0, 0), (20, 1), (30, 0), (10, 7)];
        let mut listed =
            Layout::blocks(blocks.iter().map(|(at, len)| Block { addr: base + at, len: *len }).collect())
                .unwrap();
        let whole: Vec<u8> = blocks.iter().flat_map(|(at, len)| (*at..at + len).map(|b| b as u8)).collect();
        assert_eq!(listed.len(), whole.len() as u64);
        let mut strided = Layout::strided(base + 1, 3, 8, 4);
        let steps: Vec<u8> = (0..4).flat_map(|i| (0..3).map(move |b| 1 + 8 * i + b)).collect();
        for (layout, whole) in [(&mut listed, &whole), (&mut strided, &steps)] {
            for from in (0..whole.len()).rev() {
                for to in from..=whole.len() {
                    let mut out = vec![0; to - from];
                    // SAFETY: the layout lies in `memory`.
                    unsafe { layout.read(from as u64, &mut out) };
                    assert_eq!(out, whole[from..to], "{from}..{to}");
                }
            }
        }
    }

    #[test]
    fn bytes_beyond_the_end_are_discarded() {
        let mut memory = [0u8; 8];
        let base = memory.as_mut_ptr().expose_provenance() as u64;
        let mut layout =
            Layout::blocks(vec![Block { addr: base, len: 2 }, Block { addr: base + 4, len: 2 }]).unwrap();
        // SAFETY: the layout lies in `memory`.
        unsafe {
            layout.write(0, &[1, 2, 3, 4, 5, 6]);
            layout.write(4, &[9, 9]);
            layout.write(100, &[9]);
        }
        assert_eq!(memory, [1, 2, 0, 0, 3, 4, 0, 0]);
    }

    #[test]
    fn descriptions_go_there_and_back() {
        let listed =
            Layout::blocks(vec![Block { addr: 7, len: 2 }, Block { addr: u64::MAX, len: 0 }]).unwrap();
        let strided = Layout::strided(64, 8, 16, 3);
        for (layout, vec_type, count) in [(listed, LAPI_GEN_IOVECTOR, 2), (strided, LAPI_GEN_STRIDED_XFER, 3)]
        {
            let bytes = layout.description().unwrap();
            let back = Layout::of_words(vec_type, count, crate::vector::description::words(&bytes)).unwrap();
            assert_eq!((back.description().unwrap(), back.len()), (bytes.clone(), layout.len()));
            assert!(
                Layout::of_words(vec_type, count, crate::vector::description::words(&bytes[8..])).is_none()
            );
        }
        let huge = [1u64, u64::MAX, 1, 2].map(u64::to_le_bytes).concat();
        assert!(Layout::of_words(LAPI_GEN_IOVECTOR, 2, crate::vector::description::words(&huge)).is_none());
    }
}
