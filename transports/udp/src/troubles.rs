//! What the user should know about failover, until core has fetched it.

use lapis_core::transport::{Event, EventKind, FailoverTrouble};
use std::collections::VecDeque;

/// Messages for the user. There are none unless several rails are wanted.
#[derive(Default)]
pub(crate) struct Troubles {
    waiting: VecDeque<(FailoverTrouble, String)>,
    /// Texts that events of the last poll point to.
    shown: Vec<String>,
}

impl Troubles {
    pub(crate) fn push(&mut self, trouble: FailoverTrouble, text: String) {
        self.waiting.push_back((trouble, text));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes what waits into events; answers how many. The texts stay until the next call.
    #[cold]
    pub(crate) fn show(&mut self, events: &mut [Event]) -> usize {
        self.shown.clear();
        let mut n = 0;
        while n < events.len()
            && let Some((trouble, mut text)) = self.waiting.pop_front()
        {
            events[n] = Event {
                kind: EventKind::Failover as u32,
                status: trouble as i32,
                data: text.as_mut_ptr(),
                len: text.len() as u32,
                ..Event::EMPTY
            };
            self.shown.push(text);
            n += 1;
        }
        n
    }
}
