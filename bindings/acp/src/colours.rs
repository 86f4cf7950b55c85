//! How many colours there are: one for each rail that every process has.

use crate::address::Space;
use crate::error::{Error, Result, of_core};
use lapis_core::Context;

/// What a process says that no network joins to others: it has any rail.
const ANY: u32 = u32::MAX;

/// Agrees on the number of colours; `len`: bytes of this process's block. Collective.
pub(crate) fn agree(context: &Context, len: u64) -> Result<u32> {
    let rails = context.rails().map_err(of_core)?.map_or(ANY, |rails| rails as u32);
    let mine = [rails, Space::most_colours(context.tasks(), len)].map(u32::to_le_bytes);
    let all = context.all_gather(mine.as_flattened()).map_err(of_core)?;
    common(&all).ok_or(Error::Internal)
}

/// The number that suits everybody.
fn common(cards: &[u8]) -> Option<u32> {
    let numbers = |at: usize| {
        let number =
            move |card: &[u8; 8]| u32::from_le_bytes(std::array::from_fn(|byte| card[at * 4 + byte]));
        cards.as_chunks::<8>().0.iter().map(number)
    };
    let rails = match numbers(0).min()? {
        ANY => 1,
        rails => rails.max(1),
    };
    Some(rails.min(numbers(1).min()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common_of(all: &[[u32; 2]]) -> Option<u32> {
        let words = all.as_flattened().iter().flat_map(|word| word.to_le_bytes());
        common(&words.collect::<Vec<u8>>())
    }

    #[test]
    fn the_fewest_rails_count_and_who_needs_none_does_not() {
        assert_eq!(common_of(&[[2, 8], [3, 8]]), Some(2));
        assert_eq!(common_of(&[[2, 8], [ANY, 8]]), Some(2));
        assert_eq!(common_of(&[[ANY, 8], [ANY, 8]]), Some(1));
        assert_eq!(common_of(&[[4, 8], [4, 2], [4, 8]]), Some(2));
        assert_eq!(common_of(&[[0, 8], [4, 8]]), Some(1), "a peer that no path leads to at present");
    }
}
