//! Control blocks: what every structure begins with.
//!
//! | word | content |
//! |---|---|
//! | 0 | the *mark*: which kind of structure; 0 once it is destroyed |
//! | 1 | the *lock*: 0, or the rank plus one of the process that changes the structure |
//! | 2 | the *check*: a sum over what follows |
//! | from 3 on | the *body*, which the structure defines |
//!
//! A reader takes no lock: a block with a wrong check was being written, and is read again. The
//! lock is a word of its own, written alone: a block written in one go with the lock might reach
//! the lock first, and the next holder's body would be written over.

use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;

const LOCK: u64 = 8;
const CHECK: u64 = 16;
const BODY: u64 = 24;
/// Words before the body.
const HEAD: usize = 3;
/// The longest body.
const MOST: usize = 8;

/// How often a block is read again that nobody seems to write.
const TRIES: u32 = 2000;

/// A sum that tells a block from a mixture of two, whichever words are mixed.
pub(crate) fn sum(seed: u64, words: &[u64]) -> u64 {
    words.iter().fold(seed ^ 0x9e37_79b9_7f4a_7c15, |sum, word| {
        let mixed = (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 32
    })
}

/// Bytes of a control block with a body of so many words.
pub(crate) const fn size_of_block(body: usize) -> u64 {
    BODY + 8 * body as u64
}

/// A structure that this process may change. Others wait until it is dropped.
pub(crate) struct Held<'a, const N: usize> {
    process: &'a Process,
    /// Where the structure is.
    pub(crate) at: u64,
    mark: u64,
    was: [u64; N],
    /// What shall be; [`keep`](Self::keep) writes it.
    pub(crate) body: [u64; N],
}

impl<const N: usize> Held<'_, N> {
    /// Writes the body if it has changed.
    pub(crate) fn keep(&mut self) -> Result {
        if self.was != self.body {
            self.process.write_body(self.at, self.mark, &self.body)?;
            self.was = self.body;
        }
        Ok(())
    }

    /// Takes the mark away and gives the block back.
    pub(crate) fn destroy(self) -> Result {
        let (process, at) = (self.process, self.at);
        // Whoever waits for the lock finds no structure then.
        process.write_words(at, &[0])?;
        drop(self);
        process.free(at)
    }
}

impl<const N: usize> Drop for Held<'_, N> {
    fn drop(&mut self) {
        // Who can't be told has ended, and the structure with it.
        let _ = self.process.write_words(self.at + LOCK, &[0]);
    }
}

impl Process {
    /// Makes a structure from a body, in the memory of a process.
    pub(crate) fn create_block(&self, mark: u64, body: &[u64], rank: u32) -> Result<u64> {
        let at = self.allocate(size_of_block(body.len()), rank)?;
        let mut words = vec![mark, 0, sum(mark, body)];
        words.extend_from_slice(body);
        self.write_words(at, &words).inspect_err(|_| {
            let _ = self.free(at);
        })?;
        Ok(at)
    }

    fn write_body(&self, at: u64, mark: u64, body: &[u64]) -> Result {
        let mut words = [0; MOST + 1];
        let words = words.get_mut(..=body.len()).ok_or(Error::Internal)?;
        words[0] = sum(mark, body);
        words[1..].copy_from_slice(body);
        self.write_words(at + CHECK, words)
    }

    /// Reads a structure's body.
    pub(crate) fn load<const N: usize>(&self, at: u64, mark: u64) -> Result<[u64; N]> {
        self.load_block(at, mark).at("the structure's address", at)
    }

    fn load_block<const N: usize>(&self, at: u64, mark: u64) -> Result<[u64; N]> {
        if at == 0 {
            return Err(Error::Null);
        }
        if !at.is_multiple_of(16) {
            return Err(Error::Structure);
        }
        let mut words = [0; HEAD + MOST];
        let words = words.get_mut(..HEAD + N).ok_or(Error::Internal)?;
        let mut quiet = 0;
        for tries in 0.. {
            self.read_words(at, words)?;
            let (head, body) = words.split_at(HEAD);
            if head[0] != mark {
                return Err(Error::Structure);
            }
            if head[2] == sum(mark, body) {
                return body.try_into().map_err(|_| Error::Internal);
            }
            quiet = if head[1] == 0 { quiet + 1 } else { 0 };
            if quiet > TRIES {
                return Err(Error::Structure);
            }
            self.check_holder(head[1])?;
            self.pause(tries)?;
        }
        Err(Error::Internal)
    }

    /// Takes a structure's lock, and reads its body.
    pub(crate) fn hold<const N: usize>(&self, at: u64, mark: u64) -> Result<Held<'_, N>> {
        // Nothing is written to what is no structure.
        self.load::<N>(at, mark)?;
        self.lock_word(at + LOCK, |process| process.load::<N>(at, mark).map(drop))?;
        let mut held = Held { process: self, at, mark, was: [0; N], body: [0; N] };
        held.body = self.load(at, mark)?;
        held.was = held.body;
        Ok(held)
    }

    /// Takes two structures' locks, in an order that is the same for all.
    pub(crate) fn hold_both<const N: usize>(
        &self,
        [one, other]: [u64; 2],
        mark: u64,
    ) -> Result<[Held<'_, N>; 2]> {
        if one < other {
            let one = self.hold(one, mark)?;
            Ok([one, self.hold(other, mark)?])
        } else {
            let other = self.hold(other, mark)?;
            Ok([self.hold(one, mark)?, other])
        }
    }

    /// Puts this process's number into a lock. `still` says, between tries, whether there is still
    /// something to lock.
    pub(crate) fn lock_word(&self, lock: u64, still: impl Fn(&Self) -> Result) -> Result {
        let mine = u64::from(self.world().rank) + 1;
        for tries in 0.. {
            let holder = self.compare_and_swap(lock, 0, mine)?;
            if holder == 0 {
                return Ok(());
            }
            self.check_holder(holder)?;
            self.pause(tries)?;
            still(self)?;
        }
        Err(Error::Internal)
    }

    /// A process that died with a lock keeps it: nobody knows what it left behind. One that is
    /// silent for too long counts as dead.
    pub(crate) fn check_holder(&self, holder: u64) -> Result {
        let Some(rank) = holder.checked_sub(1) else { return Ok(()) };
        let block = u32::try_from(rank).ok().and_then(|rank| self.world().blocks.get(rank as usize));
        let task = block.ok_or(Error::Structure)?.task;
        if self.is_gone(task) {
            return Err(Error::Peer);
        }
        self.probe_needed(|| vec![task]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_tells_a_block_from_every_mixture_of_two() {
        let (old, new) = ([1, 2, 3, 4, 5], [2, 1, 3, 5, 4]);
        for taken in 1..31u32 {
            let mixed: [u64; 5] =
                std::array::from_fn(|at| if taken >> at & 1 == 1 { new[at] } else { old[at] });
            if mixed != old && mixed != new {
                assert_ne!(sum(7, &mixed), sum(7, &old), "{taken:b}");
                assert_ne!(sum(7, &mixed), sum(7, &new), "{taken:b}");
            }
        }
        assert_ne!(sum(1, &old), sum(2, &old));
    }
}
