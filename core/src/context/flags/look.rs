//! Waiting for a flag: polling it alone, before everything is polled.

use crate::context::Locked;
use crate::sync::spin_loop;
use crate::transport::PeerId;

/// Looks at a flag alone, which take a few microseconds; the first of them follow each other at
/// once.
const LOOKS_ALONE: u32 = 1500;
const EAGER_LOOKS: u32 = 64;

/// Where cores are wanted, each poll gives the core away. So many before everything else is looked
/// at, too: a barrier takes two turns at most if nobody computes.
const LOOKS_WHEN_CROWDED: u32 = 2;

impl Locked<'_> {
    /// Looks for a few microseconds, or some turns of the core, whether a task has shown something.
    /// No packets are taken meanwhile.
    #[inline]
    pub(crate) fn look_soon(&mut self, of: PeerId, there: impl Fn(&Self) -> bool) -> bool {
        let shared = self.shared();
        if shared.flags.area(of).is_none() {
            return there(self);
        }
        if shared.crowding.is_crowded() {
            return self.look_in_turns(&there);
        }
        for look in 0..LOOKS_ALONE {
            if there(self) {
                return true;
            }
            if look >= EAGER_LOOKS {
                spin_loop();
                if shared.lock.is_wanted() {
                    break;
                }
            }
        }
        false
    }

    fn look_in_turns(&mut self, there: &dyn Fn(&Self) -> bool) -> bool {
        for _ in 0..LOOKS_WHEN_CROWDED {
            if there(self) {
                return true;
            }
            if !self.give_core_away() {
                break;
            }
        }
        there(self)
    }
}
