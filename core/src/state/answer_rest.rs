//! When to look for an answer first.
//!
//! A look fetches the line on which the answer is to come from the task that is about to write it,
//! and who must then fetch it back: on some processors an answer looked for too early takes half as
//! long again. A look that comes late costs what it is late. When the right moment is depends on
//! the processor, on how far the cores are from each other, which changes, and on what the other
//! task does. So it is found out: a look that finds the answer lets the next one begin a bit
//! earlier, and one that does not find it lets the next one begin clearly later.

/// Parts of a pause in which the rest is kept.
const PARTS: u16 = 128;
/// The rest to begin with and the longest, in pauses: those of a way to and fro between distant
/// cores, with a message's handling.
const FIRST: u16 = 4;
const LONGEST: u16 = 32;
/// What the rest shrinks by when the first look has found the answer, and grows by when it came
/// just too early, in parts: one look of nine does then. Both tasks do so, and each finds the other
/// late that rests for longer: with fewer early looks they would drive each other to the longest.
const EARLIER: u16 = 8;
const LATER: u16 = 64;
/// Looks in vain at an answer that was looked for just too early.
const JUST: u16 = 2;
/// What the rest grows by when the answer came clearly later, which an interrupt may be the reason
/// of. After more looks it comes whenever it comes, and teaches nothing.
const SLOWLY: u16 = 2;
const SOON: u16 = 64;
/// Looks that don't count.
const NONE: u16 = u16::MAX;

/// How long to rest before the first look for an answer.
#[derive(Debug)]
pub(crate) struct AnswerRest {
    /// In parts of a pause.
    parts: u16,
    /// Looks in vain since the last rest, or [`NONE`].
    vain: u16,
}

impl Default for AnswerRest {
    fn default() -> Self {
        Self { parts: FIRST * PARTS, vain: NONE }
    }
}

impl AnswerRest {
    /// Pauses before the first look, which is about to come.
    #[inline(always)]
    pub(crate) fn begin(&mut self) -> u16 {
        self.vain = 0;
        self.parts / PARTS
    }

    /// So many looks have found nothing.
    #[inline(always)]
    pub(crate) fn looked_in_vain(&mut self, looks: u32) {
        self.vain = self.vain.saturating_add(u16::try_from(looks).unwrap_or(NONE));
    }

    /// The answer has come.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        let more = match std::mem::replace(&mut self.vain, NONE) {
            0 => return self.parts = self.parts.saturating_sub(EARLIER),
            looks if looks <= JUST => LATER,
            looks if looks <= SOON => SLOWLY,
            _ => return,
        };
        self.parts = (self.parts + more).min(LONGEST * PARTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for an answer that comes after so many pauses, with one after each look in vain; gives
    /// the looks in vain.
    fn wait(rest: &mut AnswerRest, pauses: u16) -> u32 {
        let vain = pauses.saturating_sub(rest.begin());
        rest.looked_in_vain(vain.into());
        rest.end();
        vain.into()
    }

    #[test]
    fn the_first_look_comes_as_soon_as_most_answers_are_there() {
        let mut rest = AnswerRest::default();
        for pauses in [5, 20, 1] {
            for _ in 0..2000 {
                wait(&mut rest, pauses);
            }
            let early: Vec<u32> = (0..90).map(|_| wait(&mut rest, pauses)).filter(|vain| *vain > 0).collect();
            assert!((1..=12).contains(&early.len()), "{early:?}");
            assert!(early.iter().all(|vain| *vain == 1), "{early:?}");
            assert!(rest.parts.abs_diff(pauses * PARTS) <= LATER, "{rest:?}");
        }
    }

    #[test]
    fn late_answers_teach_nothing() {
        let mut rest = AnswerRest::default();
        for _ in 0..100 {
            wait(&mut rest, 1000);
        }
        assert_eq!(rest.begin(), AnswerRest::default().begin());
    }

    #[test]
    fn nothing_is_learnt_without_a_rest_and_no_rest_is_longer_than_the_longest() {
        let mut rest = AnswerRest::default();
        for _ in 0..100 {
            rest.looked_in_vain(1);
            rest.end();
        }
        assert_eq!(rest.begin(), AnswerRest::default().begin());
        for _ in 0..1000 {
            rest.begin();
            rest.looked_in_vain(1);
            rest.end();
        }
        assert_eq!(rest.begin(), LONGEST);
        rest.looked_in_vain(u32::MAX);
        rest.end();
    }
}
