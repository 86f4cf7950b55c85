//! Senders of long messages that do not bring their parts.

/// Most messages that are copied at once after one whose sender has brought nothing.
const MOST_COPIED_AT_ONCE: u32 = 16;

/// What is known of a sender whose program may be busy with something else than calls that bring
/// the parts of its messages.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    /// So many messages are copied without waiting for it.
    pub(crate) left: u32,
    /// How many those were the last time: twice as many the next time. A sender that has only lost
    /// its core for a moment brings what follows the next message.
    last: u32,
}

impl Busy {
    /// It has brought nothing of a message in time.
    pub(crate) fn has_brought_nothing(&mut self) {
        self.last = (2 * self.last).clamp(1, MOST_COPIED_AT_ONCE);
        self.left = self.last;
    }

    /// Whether the next message is to be copied without waiting for it.
    pub(crate) fn copies_at_once(&mut self) -> bool {
        let at_once = self.left > 0;
        self.left = self.left.saturating_sub(1);
        at_once
    }
}

#[cfg(test)]
mod tests {
    use super::Busy;

    #[test]
    fn a_sender_that_brings_nothing_again_and_again_is_waited_for_less_and_less() {
        let mut busy = Busy::default();
        for expected in [1, 2, 4, 8, 16, 16] {
            assert!(!busy.copies_at_once(), "it is waited for");
            busy.has_brought_nothing();
            for _ in 0..expected {
                assert!(busy.copies_at_once());
            }
        }
    }
}
