//! Long parts that do not go through areas: members show where their input is, and the others read
//! it there. Each byte is copied once, in two rounds whatever the length.
//!
//! In the first round, members put the address of their input, and read what they need from the
//! inputs of others. The second round says that all have read: until then an input must not change.
//! Reading is safe at any time: if a member fails and leaves, others read whatever is there, and
//! then find its address gone (`board/shown.rs`). Writing to another member's output would not be
//! safe.

use super::{Plan, Put, Readers, Round, Take, input, output};
use crate::call::Call;
use lapis_ablation::{Optimization, without};
use lapis_schedules::Span;

/// Parts of at least so many bytes are shown, in teams of so many members. For three, whose areas
/// are longer, two copies by loads and stores are faster than one by the kernel.
const SHOW_FROM: usize = 64 << 10;
const SHOW_MEMBERS: usize = 4;

impl Plan<'_> {
    /// The plan of members that can read each other's memory. It differs for calls whose parts are
    /// never layouts, and whose members have other work to do than to wait for the root: in a
    /// gather the root alone would copy.
    pub(crate) fn showing(self) -> Self {
        match self.call {
            Call::Scatter { count, .. }
                if count >= SHOW_FROM && self.n >= SHOW_MEMBERS && !without(Optimization::ShownInputs) =>
            {
                self.shown()
            }
            _ => self,
        }
    }

    /// The same for parts of any length.
    pub(super) fn shown(self) -> Self {
        let width = size_of::<u64>();
        Self { shows: true, readers: Readers::All, window: width, width, windows: 2, ..self }
    }

    /// Whether members show their inputs.
    #[inline]
    pub(crate) fn shows(&self) -> bool {
        self.shows
    }

    /// Writes round `r`. Offsets of takes are those in the other member's input.
    pub(super) fn show_or_wait(&self, out: &mut Round, r: usize) {
        let me = self.me;
        match self.call {
            Call::Scatter { root, .. } if r == 0 && root == me => {
                out.puts.push(Put { from: input((0, 0)), at: 0 });
            }
            Call::Scatter { root, count } if r == 0 => {
                out.takes.push(Take::of(root, me * count, output((0, count))));
            }
            Call::Scatter { root, count } if root == me => {
                self.take_all(out, |_| (0, Span::NONE));
                // In place this overwrites a part that another member has read by now.
                out.takes.push(Take::of(root, root * count, output((0, count))));
            }
            _ => {}
        }
    }
}
