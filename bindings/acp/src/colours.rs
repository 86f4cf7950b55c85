//! The number of colours, one for each rail that every process has; and the preferred rails of
//! accesses.

use crate::address::Space;
use crate::error::{Error, Result, of_core};
use lapis_core::Context;
use lapis_core::sync::{AtomicBool, Ordering};

/// What a process says that no network joins to others: it has any rail.
const ANY: u32 = u32::MAX;

/// Agrees on the number of colours; `len`: bytes of this process's block. Collective.
pub(crate) fn agree(context: &Context, len: u64) -> Result<u32> {
    let rails = context.rails().map_err(of_core)?.map_or(ANY, |rails| rails as u32);
    let mine = [rails, Space::most_colours(context.tasks(), len)].map(u32::to_le_bytes);
    let all = context.all_gather(mine.as_flattened()).map_err(of_core)?;
    common(&all).ok_or(Error::Internal)
}

/// What a process knows of the use of colours.
///
/// Whoever uses none but 0 has made no choice: starter memory and heaps have it, and calls want
/// some colour. Such data takes all rails. Only beside others is 0 a colour like them.
#[derive(Debug)]
pub(crate) struct Colours {
    space: Space,
    /// Another colour than 0 is in use.
    others: AtomicBool,
}

impl Colours {
    pub(crate) fn new(space: Space) -> Self {
        Self { space, others: AtomicBool::new(false) }
    }

    /// Memory is registered, or accessed, with this colour.
    pub(crate) fn note(&self, colour: u32) {
        if colour > 0 {
            self.others.store(true, Ordering::Relaxed);
        }
    }

    /// The rail that messages of an access to this address should take, if there is a choice.
    pub(crate) fn preferred_rail(&self, address: u64) -> Option<u8> {
        if self.space.colours() == 1 {
            return None;
        }
        let colour = self.space.colour(address);
        self.note(colour);
        self.others.load(Ordering::Relaxed).then_some(colour as u8)
    }
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
    fn colour_0_prefers_a_rail_only_beside_other_colours() {
        let space = Space::of(2, 2);
        let [first, second] = [0, 1].map(|colour| space.address(1, space.positions(colour).start));
        let accessed = Colours::new(space);
        assert_eq!(
            [first, second, first].map(|address| accessed.preferred_rail(address)),
            [None, Some(1), Some(0)]
        );
        let registered = Colours::new(space);
        registered.note(0);
        assert_eq!(registered.preferred_rail(first), None);
        registered.note(1);
        assert_eq!(registered.preferred_rail(first), Some(0));
        assert_eq!(Colours::new(Space::of(2, 1)).preferred_rail(second), None);
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
