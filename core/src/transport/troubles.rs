//! What a transport with several rails has to say about failover, until core fetches it.

use super::types::{Event, EventKind, FailoverTrouble};
use std::collections::VecDeque;

/// Messages for the user, as events of [`EventKind::Failover`]. For transports to keep and to show
/// in their polls; there are none unless several rails are wanted.
#[derive(Debug, Default)]
pub struct Troubles {
    waiting: VecDeque<(FailoverTrouble, String)>,
    /// Texts that events of the last poll point to.
    shown: Vec<String>,
}

impl Troubles {
    /// Adds one.
    pub fn push(&mut self, trouble: FailoverTrouble, text: String) {
        self.waiting.push_back((trouble, text));
    }

    /// Whether none waits to be shown.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes what waits into events; answers how many. The events point to texts in here, which
    /// stay until the next call.
    #[cold]
    pub fn show(&mut self, events: &mut [Event]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_waits_and_texts_stay_until_the_next_call() {
        let mut troubles = Troubles::default();
        troubles.push(FailoverTrouble::SetUp, "one".to_owned());
        troubles.push(FailoverTrouble::Unwatched, "two".to_owned());
        for (trouble, text) in [(FailoverTrouble::SetUp, "one"), (FailoverTrouble::Unwatched, "two")] {
            let mut events = [Event::EMPTY; 1];
            assert!(!troubles.is_empty());
            assert_eq!(troubles.show(&mut events), 1);
            let [Event { status, data, len, .. }] = events;
            // SAFETY: the text is kept until the next call.
            let shown = unsafe { std::slice::from_raw_parts(data.cast_const(), len as usize) };
            assert_eq!((status, shown), (trouble as i32, text.as_bytes()));
        }
        assert!(troubles.is_empty());
        assert_eq!(troubles.show(&mut [Event::EMPTY; 1]), 0);
    }
}
