//! Calls whose members need not wait for each other, but do, to find out whether all name the same
//! root: while each names itself, nobody takes anything from a member with another call.

use super::{Order, Plan, Readers, Round, Take};
use lapis_schedules::Span;

impl Plan<'_> {
    /// The plan of members that all compare their calls in the first round. Then all read all
    /// boards, so that no member writes to a line again that another one has yet to read.
    pub(crate) fn comparing(self) -> Self {
        match self.order() {
            Order::OneWay => Self { compares: true, readers: Readers::All, ..self },
            Order::All | Order::Chain => self,
        }
    }

    /// Adds the members that nothing is taken from, which are only waited for.
    pub(super) fn wait_for_all(&self, out: &mut Round) {
        let taken = out.takes.len();
        for member in self.others() {
            if out.takes[..taken].iter().all(|take| take.member != member) {
                out.takes.push(Take::of(member, 0, Span::NONE));
            }
        }
    }
}
