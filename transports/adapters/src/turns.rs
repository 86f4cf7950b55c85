//! Two sources of arrivals of one window: its memory, and its socket. The one that is asked first
//! changes each time: neither keeps the other from being read, however much comes.

/// Whose turn it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns(bool);

impl Turns {
    /// The next arrival of either source, if there is one.
    #[inline]
    pub fn next<S, T>(
        &mut self,
        sources: &mut S,
        one: impl FnOnce(&mut S) -> Option<T>,
        other: impl FnOnce(&mut S) -> Option<T>,
    ) -> Option<T> {
        self.0 = !self.0;
        if self.0 { one(sources).or_else(|| other(sources)) } else { other(sources).or_else(|| one(sources)) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What comes, of sources that have so much.
    fn read(sources: (u32, u32)) -> String {
        let (mut turns, mut sources) = (Turns::default(), sources);
        let one = |sources: &mut (u32, u32)| {
            sources.0 = sources.0.checked_sub(1)?;
            Some('1')
        };
        let other = |sources: &mut (u32, u32)| {
            sources.1 = sources.1.checked_sub(1)?;
            Some('2')
        };
        std::iter::from_fn(|| turns.next(&mut sources, one, other)).collect()
    }

    #[test]
    fn two_sources_that_are_never_empty_are_both_read() {
        assert_eq!(read((3, 3)), "121212");
        assert_eq!((read((3, 0)), read((0, 2)), read((4, 1))), ("111".into(), "22".into(), "12111".into()));
    }
}
