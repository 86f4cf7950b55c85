//! Which messages of a numbered stream are done; they may end in any order.

use std::collections::BTreeSet;

/// Everything before [`next`](Self::next) is done; what is done beyond it is remembered one by one.
///
/// Numbers wrap. At most 2³¹ messages may be outstanding, which back-pressure keeps far away.
#[derive(Debug, Default)]
pub(crate) struct SequenceWindow {
    /// The first message that is not done, and [`GAP`] if one behind it is: what ends in order ends
    /// with one question.
    front: u64,
    ahead: BTreeSet<u32>,
}

/// Messages are done behind one that is not.
const GAP: u64 = 1 << 32;

impl SequenceWindow {
    /// Marks message `number` done.
    #[inline(always)]
    pub(crate) fn done(&mut self, number: u32) {
        if self.front == u64::from(number) {
            self.front = number.wrapping_add(1).into();
        } else {
            self.done_out_of_order(number);
        }
    }

    /// The first message that is not done.
    #[inline(always)]
    fn next(&self) -> u32 {
        self.front as u32
    }

    #[cold]
    fn done_out_of_order(&mut self, number: u32) {
        let mut next = self.next();
        if number.wrapping_sub(next) >= 1 << 31 {
            return; // Done before.
        }
        self.ahead.insert(number);
        while self.ahead.remove(&next) {
            next = next.wrapping_add(1);
        }
        self.front = u64::from(next) | if self.ahead.is_empty() { 0 } else { GAP };
    }

    /// Whether all messages before `number` are done.
    #[inline(always)]
    pub(crate) fn reached(&self, number: u32) -> bool {
        self.next().wrapping_sub(number) < 1 << 31
    }

    /// A number that changes whenever a message is done.
    pub(crate) fn count(&self) -> u32 {
        self.next().wrapping_add(self.ahead.len() as u32)
    }

    /// Forgets the past: the next message is `number`.
    pub(crate) fn restart(&mut self, number: u32) {
        self.front = number.into();
        self.ahead.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_messages_leave_no_memory() {
        let mut t = SequenceWindow::default();
        for n in 0..1000 {
            assert!(!t.reached(n + 1));
            t.done(n);
            assert!(t.reached(n + 1));
        }
        assert!(t.ahead.is_empty());
    }

    #[test]
    fn a_hole_holds_the_front_back_until_it_is_filled() {
        let mut t = SequenceWindow::default();
        t.done(2);
        t.done(1);
        t.done(1);
        assert!(!t.reached(1));
        t.done(0);
        assert!(t.reached(3));
        assert!(!t.reached(4));
        t.done(0);
        assert!(t.reached(3));
    }

    #[test]
    fn numbers_wrap() {
        let mut t = SequenceWindow::default();
        t.restart(u32::MAX);
        t.done(0);
        assert!(!t.reached(0));
        t.done(u32::MAX);
        assert!(t.reached(1));
    }
}
