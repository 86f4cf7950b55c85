//! Which messages of a numbered stream are done; they may end in any order.

use std::collections::BTreeSet;

/// Everything before [`next`](Self::next) is done; what is done beyond it is remembered one by one.
///
/// Numbers wrap. At most 2³¹ messages may be outstanding, which back-pressure keeps far away.
#[derive(Debug, Default)]
pub(crate) struct SequenceWindow {
    /// The first message that is not done, [`GAP`] if one behind it is, and [`WATCHED`]: what ends
    /// in order, as nearly all does, ends with one question.
    front: u64,
    ahead: BTreeSet<u32>,
}

/// Messages are done behind one that is not.
const GAP: u64 = 1 << 32;
/// Somebody wants to know of each message that is done.
const WATCHED: u64 = 1 << 33;

impl SequenceWindow {
    /// Marks message `number` done. Says whether somebody [watches](Self::watch).
    #[inline(always)]
    pub(crate) fn done(&mut self, number: u32) -> bool {
        if self.front == u64::from(number) {
            self.front = number.wrapping_add(1).into();
            false
        } else {
            self.done_otherwise(number)
        }
    }

    /// Whether somebody wants to know of each message that is done.
    pub(crate) fn watch(&mut self, watched: bool) {
        self.front = self.front & !WATCHED | if watched { WATCHED } else { 0 };
    }

    /// The first message that is not done.
    #[inline(always)]
    pub(crate) fn next(&self) -> u32 {
        self.front as u32
    }

    #[cold]
    fn done_otherwise(&mut self, number: u32) -> bool {
        let (mut next, watched) = (self.next(), self.front & WATCHED);
        // Otherwise it was done before.
        if number.wrapping_sub(next) < 1 << 31 {
            self.ahead.insert(number);
            while self.ahead.remove(&next) {
                next = next.wrapping_add(1);
            }
            self.front = u64::from(next) | if self.ahead.is_empty() { 0 } else { GAP } | watched;
        }
        watched != 0
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
        self.front = u64::from(number) | self.front & WATCHED;
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
            assert!(!t.done(n));
            assert!(t.reached(n + 1));
        }
        assert!(t.ahead.is_empty());
    }

    #[test]
    fn a_hole_holds_the_front_back_until_it_is_filled() {
        let mut t = SequenceWindow::default();
        _ = t.done(2);
        _ = t.done(1);
        _ = t.done(1);
        assert!(!t.reached(1));
        _ = t.done(0);
        assert!(t.reached(3));
        assert!(!t.reached(4));
        _ = t.done(0);
        assert!(t.reached(3));
    }

    #[test]
    fn whoever_watches_is_told_of_each_message_in_order_or_not() {
        let mut t = SequenceWindow::default();
        assert!(!t.done(0) && !t.done(2));
        t.watch(true);
        assert!(t.done(1) && t.done(3) && t.reached(4) && t.done(5));
        t.restart(7);
        assert!(t.done(7));
        t.watch(false);
        assert!(!t.done(8) && t.reached(9));
    }

    #[test]
    fn numbers_wrap() {
        let mut t = SequenceWindow::default();
        t.restart(u32::MAX);
        _ = t.done(0);
        assert!(!t.reached(0));
        _ = t.done(u32::MAX);
        assert!(t.reached(1));
    }
}
