//! Which calls of a team go through memory, whatever their form.

use crate::board::Rounds;
use crate::engine::{self, Found, Here};
use crate::select::{self, Way};
use crate::team::Team;
use crate::two_levels::{Packed, TwoLevels};
use crate::{Call, Type};
use lapis_schedules::Script;

impl Team {
    /// How a call uses memory, if it can; operands may be reordered if `reorder`.
    pub(crate) fn way(&self, call: &Call<'_>, of: Type, reorder: bool) -> Option<Way> {
        select::through_memory(call, &self.shape(of, reorder), &self.0.overrides)
    }

    /// The rounds of a call, if it has any, and its messages.
    pub(crate) fn rounds(&self, call: &Call<'_>, of: Type, reorder: bool) -> Option<(Rounds, Script)> {
        match self.way(call, of, reorder)? {
            Way::Host => Some((Rounds::all(call, self.rank(), self.len(), of.size())?, Script::default())),
            Way::Levels => {
                let packed = Packed::of(call, self.len());
                let mut parts = TwoLevels::of(call, &self.shape(of, reorder), self.hosts()?, &packed)?;
                let here = self.here();
                let messages = std::mem::take(&mut parts.messages);
                let rounds = Rounds::of_levels(parts, here.me, here.ranks.len(), of.size())?;
                Some((rounds, messages))
            }
        }
    }

    /// The members on the caller's host.
    fn here(&self) -> Here {
        match self.hosts() {
            Some(hosts) => {
                let ranks = hosts.ranks(hosts.host_of(self.rank())).clone();
                let me = ranks.rank(self.rank() as u32).unwrap_or(0);
                Here { ranks, me }
            }
            None => Here { ranks: crate::Group::all(self.len() as u32), me: self.rank() },
        }
    }

    /// Starts discovering shared memory, unless this has been done.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn discover_memory(&self) {
        let members = self.0.members;
        // SAFETY: the team lives; references end here.
        let unknown = unsafe {
            matches!((*members.as_ptr()).memory.found, Found::Unknown) && (*members.as_ptr()).over.is_none()
        };
        if unknown {
            // SAFETY: the lock is held, and discovery has not started.
            unsafe {
                engine::discover_memory(self.context(), &self.0.engine, members, self.rank(), self.here())
            };
        }
    }
}
