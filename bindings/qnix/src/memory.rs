//! Locked memory, the tokens that stand for physical addresses, and the buffer pool.
//!
//! A token is a random page number with the address's offset in the page below it, as a physical
//! address has it. It names a page only as long as the page is locked; anything else is refused.

use crate::abi::{POOL_MAX, SEND_MAX};
use crate::error::{Error, Result};
use lapis_core::transport::lane::{INLINE, copy_short};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::ops::Deref;

/// Consecutive bytes of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) address: usize,
    pub(crate) len: usize,
}

impl Segment {
    #[inline]
    pub(crate) fn of(bytes: *const [u8]) -> Self {
        Self { address: bytes.cast::<u8>().expose_provenance(), len: bytes.len() }
    }

    /// Writes bytes to its beginning, as many as it has at most.
    ///
    /// # Safety
    /// The memory is lent to a command that is under way.
    #[inline]
    pub(crate) unsafe fn write(&self, bytes: &[u8]) {
        let (from, len) = (bytes.as_ptr(), bytes.len().min(self.len));
        let to = std::ptr::with_exposed_provenance_mut::<u8>(self.address);
        // SAFETY: the caller's promise.
        unsafe {
            if len <= INLINE { copy_short(from, to, len) } else { to.copy_from_nonoverlapping(from, len) }
        }
    }
}

/// The bytes of segments in one piece.
pub(crate) fn gathered(segments: &[Segment]) -> Vec<u8> {
    let mut all = Vec::with_capacity(segments.iter().map(|segment| segment.len).sum());
    for segment in segments {
        // SAFETY: the program has lent the memory to the command that is under way.
        all.extend_from_slice(unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance(segment.address), segment.len)
        });
    }
    all
}

/// Where a command's data is: as a rule in one piece, for which nothing is allocated.
///
/// The kind is a byte of its own: each message asks for it, and one that the compiler hides in the
/// vector takes some instructions to find.
#[repr(u8)]
#[derive(Clone, Debug, Default)]
pub(crate) enum Segments {
    #[default]
    None,
    One(Segment),
    Several(Vec<Segment>),
}

impl Segments {
    /// The bytes of a slice.
    #[inline]
    pub(crate) fn of(bytes: *const [u8]) -> Self {
        if bytes.is_empty() { Self::None } else { Self::One(Segment::of(bytes)) }
    }

    /// These take the place of what was there: several, which own memory, seldom.
    #[inline(always)]
    pub(crate) fn replace_with(&mut self, these: Self) {
        match std::mem::replace(self, these) {
            Self::None | Self::One(_) => {}
            Self::Several(before) => forget_several(before),
        }
    }

    /// Adds a piece behind the others; what follows the last one without a gap is one with it.
    fn push(&mut self, segment: Segment) {
        let last = match self {
            Self::None => None,
            Self::One(one) => Some(one),
            Self::Several(several) => several.last_mut(),
        };
        match last {
            Some(last) if last.address + last.len == segment.address => last.len += segment.len,
            _ => self.push_apart(segment),
        }
    }

    fn push_apart(&mut self, segment: Segment) {
        match self {
            Self::None => *self = Self::One(segment),
            Self::One(one) => *self = Self::Several(vec![*one, segment]),
            Self::Several(several) => several.push(segment),
        }
    }
}

#[cold]
fn forget_several(before: Vec<Segment>) {
    drop(before);
}

impl Deref for Segments {
    type Target = [Segment];

    fn deref(&self) -> &[Segment] {
        match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// Hashes tokens, which are random already but for the offset's bits.
#[derive(Default)]
struct OfToken(u64);

impl Hasher for OfToken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    #[inline]
    fn write_u64(&mut self, token: u64) {
        // Tables look at the lowest and the highest bits.
        self.0 = token.rotate_left(32);
    }
}

struct Page {
    /// How often it is locked.
    locks: u32,
    token: u64,
}

/// What is locked.
pub(crate) struct Memory {
    /// Its size, a power of two, and that power.
    page: usize,
    shift: u32,
    /// By page number.
    pages: HashMap<usize, Page>,
    /// Page numbers by tokens.
    tokens: HashMap<u64, usize, BuildHasherDefault<OfToken>>,
    /// Tokens that were looked up lately, and where their pages are: a program receives into the
    /// same few buffers again and again.
    recent: [(u64, usize); RECENT],
    random: RandomState,
    drawn: u64,
    pool: Option<Segment>,
}

/// Tokens that are remembered, one for each value of their lowest bits.
const RECENT: usize = 16;

/// Bits of a token that are free for an offset, wherever pages are not larger than 64 KiB.
const TOKEN_BITS: u32 = 16;

/// The size of a page.
pub(crate) fn page_size() -> usize {
    // SAFETY: has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            page: page_size(),
            shift: page_size().trailing_zeros(),
            pages: HashMap::new(),
            tokens: HashMap::default(),
            recent: [(0, 0); RECENT],
            random: RandomState::new(),
            drawn: 0,
            pool: None,
        }
    }

    /// Page numbers of a buffer.
    fn numbers(&self, buffer: Segment) -> Result<std::ops::Range<usize>> {
        let end = buffer.address.checked_add(buffer.len).ok_or(Error::Length)?;
        Ok(buffer.address / self.page..end.div_ceil(self.page))
    }

    /// Locks the pages of a buffer.
    pub(crate) fn lock(&mut self, buffer: Segment) -> Result {
        let numbers = self.numbers(buffer)?;
        // SAFETY: locking changes nothing in memory; the kernel judges the range.
        if unsafe { libc::mlock(std::ptr::without_provenance(buffer.address), buffer.len) } != 0 {
            // Those before the page that can't be locked are.
            self.unlock_others(numbers);
            return Err(Error::Lock);
        }
        for number in numbers {
            if !self.pages.contains_key(&number) {
                let token = self.draw();
                self.tokens.insert(token, number);
                self.pages.insert(number, Page { locks: 0, token });
            }
            if let Some(page) = self.pages.get_mut(&number) {
                page.locks += 1;
            }
        }
        Ok(())
    }

    /// A token that is not in use, with its low bits free for an offset. Nobody guesses one: the
    /// generator is keyed.
    fn draw(&mut self) -> u64 {
        loop {
            self.drawn += 1;
            let token = self.random.hash_one(self.drawn) & !(self.page as u64 - 1);
            if token != 0 && !self.tokens.contains_key(&token) {
                return token;
            }
        }
    }

    /// Unlocks the pages of a buffer that nobody else has locked.
    pub(crate) fn unlock(&mut self, buffer: Segment) -> Result {
        let numbers = self.numbers(buffer)?;
        if numbers.clone().any(|number| !self.pages.contains_key(&number)) {
            return Err(Error::Lock);
        }
        for number in numbers.clone() {
            let Some(page) = self.pages.get_mut(&number) else { continue };
            page.locks -= 1;
            if page.locks == 0 {
                let token = page.token;
                self.pages.remove(&number);
                self.tokens.remove(&token);
                *self.remembered(token) = (0, 0);
            }
        }
        self.unlock_others(numbers);
        Ok(())
    }

    /// Has the kernel unlock those of these pages, however many, that are not in use: run by run.
    fn unlock_others(&self, numbers: std::ops::Range<usize>) {
        let mut in_use: Vec<usize> = if numbers.len() <= self.pages.len() {
            numbers.clone().filter(|number| self.pages.contains_key(number)).collect()
        } else {
            self.pages.keys().filter(|number| numbers.contains(number)).copied().collect()
        };
        in_use.sort_unstable();
        let mut from = numbers.start;
        for end in in_use.into_iter().chain([numbers.end]) {
            if from < end {
                let start = std::ptr::without_provenance(from * self.page);
                // SAFETY: unlocking changes nothing in memory; that a page is gone is no error.
                unsafe { libc::munlock(start, (end - from) * self.page) };
            }
            from = end + 1;
        }
    }

    /// The tokens of a buffer's pages, and the numbers of its bytes in the first and the last page.
    pub(crate) fn translate(&self, buffer: Segment) -> Result<(Vec<u64>, u64)> {
        //= QNIX API, qx_buffer_translate, at most 2 MB
        if buffer.len == 0 || buffer.len > SEND_MAX {
            return Err(Error::Length);
        }
        let offset = buffer.address % self.page;
        let mut tokens = Vec::new();
        for number in self.numbers(buffer)? {
            tokens.push(self.pages.get(&number).ok_or(Error::Lock)?.token);
        }
        tokens[0] += offset as u64;
        //= QNIX API, qx_buffer_translate, the last element has the bytes in the first and last page
        let first = buffer.len.min(self.page - offset);
        let last = if tokens.len() == 1 { first } else { (offset + buffer.len - 1) % self.page + 1 };
        Ok((tokens, (first as u64) << 32 | last as u64))
    }

    /// Where in its page an address, or a token, is.
    #[inline]
    fn offset(&self, address: usize) -> usize {
        address & (self.page - 1)
    }

    /// Whether `len` bytes from a token on lie in its page.
    #[inline(always)]
    pub(crate) fn in_one_page(&self, token: u64, len: usize) -> bool {
        len <= self.page - self.offset(token as usize)
    }

    /// How many pages `len` bytes take that begin at an address, or at a token.
    #[inline]
    pub(crate) fn pages_of(&self, first: usize, len: usize) -> usize {
        (self.offset(first) + len + self.page - 1) >> self.shift
    }

    /// The memory behind a table of tokens.
    pub(crate) fn resolve(&mut self, table: &[u64], mut len: usize) -> Result<Segments> {
        let [first, others @ ..] = table else { return Err(Error::Size) };
        let first = self.of_token(*first, len)?;
        len -= first.len;
        let mut segments = Segments::One(first);
        for entry in others {
            if self.offset(*entry as usize) != 0 {
                return Err(Error::Address);
            }
            let here = self.of_token(*entry, len)?;
            len -= here.len;
            segments.push(here);
        }
        if len == 0 { Ok(segments) } else { Err(Error::Size) }
    }

    /// What of `len` bytes from a token on lies in the token's page.
    #[inline(always)]
    pub(crate) fn of_token(&mut self, token: u64, len: usize) -> Result<Segment> {
        let offset = self.offset(token as usize);
        let token = token - offset as u64;
        let len = len.min(self.page - offset);
        let (remembered, mut page) = *self.remembered(token);
        // 0 is nobody's token, but may be what a program says.
        if remembered != token || token == 0 {
            page = self.look_up(token)?;
        }
        Ok(Segment { address: page + offset, len })
    }

    /// Where a token is remembered, or would be.
    #[inline(always)]
    fn remembered(&mut self, token: u64) -> &mut (u64, usize) {
        &mut self.recent[(token >> TOKEN_BITS) as usize % RECENT]
    }

    /// The address of the page behind a token, which is remembered from now on.
    #[inline(never)]
    fn look_up(&mut self, token: u64) -> Result<usize> {
        let page = *self.tokens.get(&token).ok_or(Error::Address)? << self.shift;
        *self.remembered(token) = (token, page);
        Ok(page)
    }

    /// Makes the buffer pool.
    pub(crate) fn make_pool(&mut self, pages: usize) -> Result {
        //= QNIX API, qx_buffer_pool, at most 8 MB
        let len =
            pages.checked_mul(self.page).filter(|len| *len <= POOL_MAX && *len > 0).ok_or(Error::Length)?;
        if self.pool.is_some() {
            return Err(Error::Pool);
        }
        //= QNIX API, qx_buffer_pool, page aligned and locked
        // SAFETY: a new mapping.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(Error::Memory);
        }
        // SAFETY: the mapping was just made.
        if unsafe { libc::mlock(memory, len) } != 0 {
            // SAFETY: nobody knows of it yet.
            unsafe { libc::munmap(memory, len) };
            return Err(Error::Lock);
        }
        self.pool = Some(Segment { address: memory.expose_provenance(), len });
        Ok(())
    }

    /// The buffer pool, if there is one: its address and its pages.
    pub(crate) fn pool(&self) -> Option<(usize, i32)> {
        self.pool.map(|pool| (pool.address, (pool.len / self.page) as i32))
    }

    /// `len` bytes of the pool from a page on.
    pub(crate) fn in_pool(&self, index: usize, len: usize) -> Result<Segment> {
        let pool = self.pool.ok_or(Error::Pool)?;
        let from = index.checked_mul(self.page).filter(|from| *from < pool.len).ok_or(Error::Pool)?;
        if len > pool.len - from {
            return Err(Error::Pool);
        }
        Ok(Segment { address: pool.address + from, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    fn locked(len: usize) -> (Memory, Vec<u8>, Segment) {
        let mut memory = Memory::new();
        let bytes = vec![0u8; len];
        let buffer = Segment { address: bytes.as_ptr().expose_provenance(), len };
        memory.lock(buffer).unwrap_or_else(|e| panic!("{e}"));
        (memory, bytes, buffer)
    }

    //= QNIX API, qx_buffer_translate, the last element has the bytes in the first and last page
    //= type=test
    #[test]
    fn a_table_leads_back_to_the_buffer() {
        let (mut memory, _bytes, buffer) = locked(20_000);
        let inner = Segment { address: buffer.address + 5, len: 15_000 };
        let (table, ends) = memory.translate(inner).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(memory.resolve(&table, inner.len).as_deref(), Ok(&[inner][..]));
        assert_eq!(memory.pages_of(table[0] as usize, inner.len), table.len());
        let (first, last) = ((ends >> 32) as usize, ends as u32 as usize);
        assert_eq!(first + last + (table.len() - 2) * page_size(), inner.len);
    }

    #[test]
    fn forged_shifted_and_stale_addresses_are_refused() {
        let (mut memory, _bytes, buffer) = locked(3 * page_size());
        let (mut table, _) = memory.translate(buffer).unwrap_or_else(|e| panic!("{e}"));
        let good = table.clone();
        for forged in [0, 4096, u64::MAX, table[1] ^ 1 << 40, buffer.address as u64] {
            table[1] = forged;
            assert_eq!(memory.resolve(&table, buffer.len).err(), Some(Error::Address), "{forged:x}");
        }
        table[1] = good[1] + 8;
        assert_eq!(memory.resolve(&table, buffer.len).err(), Some(Error::Address));
        assert_eq!(memory.resolve(&good[..1], buffer.len).err(), Some(Error::Size));
        // What was looked up just now is not remembered any longer than it is locked.
        assert!(memory.resolve(&good, buffer.len).is_ok());
        assert_eq!(memory.unlock(buffer), Ok(()));
        for (at, token) in good.iter().enumerate() {
            assert_eq!(memory.of_token(*token, 1), Err(Error::Address), "page {at}");
        }
        assert_eq!(memory.resolve(&good, buffer.len).err(), Some(Error::Address));
        assert_eq!(memory.unlock(buffer), Err(Error::Lock));
        assert_eq!(memory.translate(buffer), Err(Error::Lock));
    }

    #[test]
    fn a_page_stays_locked_until_its_last_buffer_is_unlocked() {
        let (mut memory, _bytes, buffer) = locked(100);
        memory.lock(buffer).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(memory.unlock(buffer), Ok(()));
        assert!(memory.translate(buffer).is_ok());
        assert_eq!(memory.unlock(buffer), Ok(()));
        assert!(memory.translate(buffer).is_err());
    }

    /// Pages of this process that are locked.
    fn locked_here() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmLck:")?.strip_suffix(" kB"));
        kilobytes.unwrap().trim().parse::<usize>().unwrap() * 1024 / page_size()
    }

    #[test]
    fn what_can_not_be_locked_as_a_whole_is_not_locked_in_part() {
        let (mut memory, before) = (Memory::new(), locked_here());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, whose last page goes again at once.
        let start = unsafe {
            let start = libc::mmap(null_mut(), 8 * memory.page, libc::PROT_READ, flags, -1, 0);
            libc::munmap(start.wrapping_byte_add(7 * memory.page), memory.page);
            start.expose_provenance()
        };
        let of = |from, pages| Segment { address: start + from * page_size(), len: pages * page_size() };
        memory.lock(of(2, 1)).unwrap();
        assert_eq!([8, 1 << 40].map(|pages| memory.lock(of(0, pages))), [Err(Error::Lock); 2]);
        assert_eq!(locked_here(), before + 1, "what was locked before stays locked");
        memory.lock(of(0, 7)).and_then(|()| memory.unlock(of(0, 7))).unwrap();
        assert_eq!(locked_here(), before + 1, "two runs of neighbours are unlocked");
    }

    //= QNIX API, qx_buffer_pool, at most 8 MB
    //= type=test
    #[test]
    fn the_pool_has_limits() {
        let mut memory = Memory::new();
        assert_eq!(memory.in_pool(0, 1), Err(Error::Pool));
        assert_eq!(memory.make_pool(0), Err(Error::Length));
        assert_eq!(memory.make_pool(POOL_MAX / page_size() + 1), Err(Error::Length));
        memory.make_pool(4).unwrap_or_else(|e| panic!("{e}"));
        let (pool, pages) = memory.pool().expect("it was made");
        assert_eq!(pages, 4);
        assert_eq!(memory.make_pool(1), Err(Error::Pool));
        assert_eq!(memory.in_pool(3, page_size()).map(|s| s.address), Ok(pool + 3 * page_size()));
        for (index, len) in [(3, page_size() + 1), (4, 0), (usize::MAX, 1)] {
            assert_eq!(memory.in_pool(index, len), Err(Error::Pool));
        }
    }
}
