//! The tokens that stand for physical addresses, and the buffer pool: what messages need of memory.
//!
//! A token is a random page number with the address's offset in the page below it, as a physical
//! address has it. It names a page only as long as the page is locked; anything else is refused.
//! Which pages those are is decided in `locking.rs`.

use crate::error::{Error, Result};
use crate::segments::{Segment, Segments};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

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

/// Page numbers by tokens.
type Tokens = HashMap<u64, usize, BuildHasherDefault<OfToken>>;

/// What messages are lent memory by.
pub(crate) struct Memory {
    /// Its size, a power of two, and that power.
    page: usize,
    shift: u32,
    /// A table for each value of the tokens' highest bits. One that grows moves all that it has
    /// while the context's lock is held: they are many, so that each has few.
    tokens: Vec<Tokens>,
    /// Tokens that were looked up lately, and where their pages are: a program receives into the
    /// same few buffers again and again.
    recent: [(u64, usize); RECENT],
    random: RandomState,
    drawn: u64,
    pool: Option<Segment>,
}

/// Tokens that are remembered, one for each value of their lowest bits.
const RECENT: usize = 16;

/// Tables of tokens, and the power of two that they are.
const TABLES: usize = 1 << TABLE_BITS;
const TABLE_BITS: u32 = 6;

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
            tokens: (0..TABLES).map(|_| Tokens::default()).collect(),
            recent: [(0, 0); RECENT],
            random: RandomState::new(),
            drawn: 0,
            pool: None,
        }
    }

    /// Names pages that have been locked: a token for each.
    pub(crate) fn name(&mut self, pages: &[usize]) -> Vec<u64> {
        pages.iter().map(|page| self.name_page(*page)).collect()
    }

    /// A token that is not in use, with its low bits free for an offset. Nobody guesses one: the
    /// generator is keyed.
    fn name_page(&mut self, page: usize) -> u64 {
        loop {
            self.drawn += 1;
            let token = self.random.hash_one(self.drawn) & !(self.page as u64 - 1);
            if token != 0 && !self.table(token).contains_key(&token) {
                self.table(token).insert(token, page);
                return token;
            }
        }
    }

    /// The pages behind these tokens are locked no longer.
    pub(crate) fn forget(&mut self, tokens: &[u64]) {
        for token in tokens {
            self.table(*token).remove(token);
            *self.remembered(*token) = (0, 0);
        }
    }

    /// The table that a token is in, or would be.
    #[inline]
    fn table(&mut self, token: u64) -> &mut Tokens {
        &mut self.tokens[(token >> (u64::BITS - TABLE_BITS)) as usize % TABLES]
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
        let page = *self.table(token).get(&token).ok_or(Error::Address)? << self.shift;
        *self.remembered(token) = (token, page);
        Ok(page)
    }

    /// There is a buffer pool from now on.
    pub(crate) fn set_pool(&mut self, pool: Segment) {
        self.pool = Some(pool);
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
