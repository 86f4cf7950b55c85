//! Standard input for tasks on other machines.

use std::collections::BTreeMap;

use super::Running;
use crate::input::Parts;

/// Who reads, and how far each is. The slowest sets the pace: nobody's part is kept here.
#[derive(Default)]
pub(super) struct Feeding {
    /// Absent where tasks read for themselves, or not at all, and after the end.
    parts: Option<Parts>,
    /// Those that have not ended and still take something; `true`: it has taken its last part.
    readers: BTreeMap<u32, bool>,
    /// A part has been asked for.
    asked: bool,
}

impl Feeding {
    /// A task has taken its part.
    pub(super) fn taken(&mut self, task: u32, more: bool) {
        match self.readers.get_mut(&task) {
            Some(ready) if more => *ready = true,
            _ => self.gone(task),
        }
    }

    /// A task takes nothing any more.
    pub(super) fn gone(&mut self, task: u32) {
        self.readers.remove(&task);
    }

    /// Whether the next part is to be read.
    fn is_time(&self) -> bool {
        !self.asked && !self.readers.is_empty() && self.readers.values().all(|ready| *ready)
    }
}

impl Running<'_> {
    /// Begins to hand on the input to those who read it.
    pub(crate) fn begin_to_feed(&mut self) {
        let readers = (0..self.spec.tasks).filter(|task| self.spec.input.is_read_by(*task));
        self.feeding.readers = readers.map(|task| (task, true)).collect();
        if !self.feeding.readers.is_empty() {
            self.feeding.parts = Some(Parts::start(&self.wake));
        }
        self.feed();
    }

    /// Hands on what was read, and has more read once all have taken that.
    pub(super) fn feed(&mut self) {
        let Some(parts) = &self.feeding.parts else { return };
        let part = parts.next();
        if let Some(part) = &part {
            self.feeding.asked = false;
            for (task, ready) in &mut self.feeding.readers {
                *ready = false;
                if let Some(remote) = self.remotes.iter_mut().find(|remote| remote.has(*task)) {
                    remote.feed(*task, part);
                }
            }
        }
        if part.is_some_and(|part| part.is_empty()) {
            self.feeding = Feeding::default();
        } else if self.feeding.is_time() {
            self.feeding.asked = true;
            parts.ask();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_reader_sets_the_pace_until_it_goes() {
        let mut feeding = Feeding { readers: [(1, true), (3, false)].into(), ..Feeding::default() };
        assert!(!feeding.is_time());
        feeding.taken(3, true);
        assert!(feeding.is_time());
        feeding.readers.insert(5, false);
        assert!(!feeding.is_time());
        feeding.taken(5, false);
        assert!(feeding.is_time());
        feeding.asked = true;
        assert!(!feeding.is_time());
        feeding.asked = false;
        feeding.gone(1);
        feeding.gone(3);
        assert!(!feeding.is_time(), "nobody reads");
    }
}
