//! What this process has handed on and does not know to have arrived.
//!
//! A process that hands a message on may die first, or leave. Then those behind it would never get
//! the message, nor any later one of its sender, for messages are taken in order. So whoever hands
//! a message on keeps it until the other one *confirms* that all behind it have it. If that one
//! ends before, the message goes to those behind it by another way. Some of them may have it
//! already: they leave out what comes twice.
//!
//! A process confirms when all to whom it has handed the message on have confirmed. Where nobody
//! is behind a receiver, core's own notification of the delivery is the confirmation. The sender
//! itself needs none from such a receiver: if the sender dies, its messages end with it.

use super::handing::{Confirmed, Handed, Receiver, UNCONFIRMED, Up};
use crate::outbox::Letter;
use std::collections::HashMap;
use std::sync::Arc;

/// By the numbers that confirmations name.
#[derive(Default)]
pub(crate) struct Forwards {
    next: u32,
    under_way: HashMap<u32, Forward>,
}

/// A message on its way to a receiver and those behind it.
pub(super) struct Forward {
    to: u32,
    pub(super) behind: Vec<Receiver>,
    pub(super) message: Handed,
}

impl Forwards {
    /// A message goes to the first of the list, which hands it on to the others.
    pub(super) fn begin(&mut self, message: &Handed, list: &[Receiver]) -> Confirmed {
        let Some(((to, _), behind)) = list.split_first() else { return Confirmed::Not };
        if behind.is_empty() && message.up.is_none() {
            return Confirmed::Not;
        }
        let number = self.next;
        self.next = (number + 1) % UNCONFIRMED;
        let forward = Forward { to: *to, behind: behind.to_vec(), message: message.clone() };
        self.under_way.insert(number, forward);
        if behind.is_empty() { Confirmed::ByDelivery(number) } else { Confirmed::ByReceiver(number) }
    }

    /// A message is with its receiver, and with all behind it. Gives what this process has to
    /// confirm because of that.
    pub(super) fn arrived(&mut self, number: u32) -> Option<Letter> {
        confirmation(self.under_way.remove(&number)?.message.up)
    }

    /// Takes what a task that is gone was handed.
    pub(super) fn of_gone(&mut self, task: u32) -> Vec<Forward> {
        self.under_way.extract_if(|_, forward| forward.to == task).map(|(_, forward)| forward).collect()
    }

    /// Whether all has arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}

/// What is to be sent when the last part of a message that has somebody to be confirmed to is done
/// with.
pub(super) fn confirmation(up: Option<Arc<Up>>) -> Option<Letter> {
    let Up { task, number } = Arc::into_inner(up?)?;
    Some(Letter::Confirm { to: task, number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Hps;
    use crate::matching::Bytes;
    use crate::outbox::Outbox;
    use crate::state::State;
    use std::sync::Weak;

    /// To whom a message goes, who is behind it, and who confirms.
    type Sent = (u32, Vec<u32>, Confirmed);

    /// What is sent, and what is confirmed.
    fn sent(out: &Outbox) -> (Vec<Sent>, Vec<(u32, u32)>) {
        let (mut handed, mut confirmed) = (Vec::new(), Vec::new());
        for letter in out {
            match letter {
                Letter::HandOn(handing) => {
                    let behind = handing.list[1..].iter().map(|(task, _)| *task).collect();
                    handed.push((handing.list[0].0, behind, handing.confirmed));
                }
                Letter::Confirm { to, number } => confirmed.push((*to, *number)),
                _ => panic!("nothing else is sent"),
            }
        }
        (handed, confirmed)
    }

    fn state() -> State {
        State::new(&Arc::new(Hps::new([1, 0], 2, 4096)), Weak::new())
    }

    fn message(up: Option<(u32, u32)>) -> Handed {
        let up = up.map(|(task, number)| Arc::new(Up { task, number }));
        Handed { root: 9, tag: 1, data: Bytes::default(), up }
    }

    fn receivers(tasks: std::ops::RangeInclusive<u32>) -> Vec<Receiver> {
        tasks.map(|task| (task, 100 + task)).collect()
    }

    #[test]
    fn no_forward_has_the_number_of_those_that_nobody_confirms() {
        let mut forwards = Forwards { next: UNCONFIRMED - 1, ..Forwards::default() };
        let numbers = [(); 2].map(|()| forwards.begin(&message(None), &receivers(1..=2)));
        assert_eq!(numbers, [UNCONFIRMED - 1, 0].map(Confirmed::ByReceiver));
    }

    #[test]
    fn who_dies_before_it_has_handed_on_is_passed_by() {
        let mut state = state();
        let mut out = Outbox::new();
        state.hand_on(message(None), &receivers(1..=4), &mut out);
        let (handed, _) = sent(&out);
        assert_eq!(
            handed,
            [
                (3, vec![4], Confirmed::ByReceiver(0)),
                (2, vec![], Confirmed::Not),
                (1, vec![], Confirmed::Not)
            ]
        );
        out.clear();
        state.gone.insert(3);
        state.forwarder_gone(3, &mut out);
        assert_eq!(sent(&out).0, [(4, vec![], Confirmed::Not)]);
        assert!(state.forwards.is_empty());
        state.confirmed(0, &mut out);
        assert_eq!(out.len(), 1, "a late confirmation changes nothing");
    }

    #[test]
    fn a_message_is_confirmed_once_when_all_behind_have_it() {
        let mut state = state();
        let mut out = Outbox::new();
        state.hand_on(message(Some((7, 70))), &receivers(1..=4), &mut out);
        let (handed, confirmed) = sent(&out);
        let [(3, _, Confirmed::ByReceiver(three)), (2, _, Confirmed::ByDelivery(two)), (1, _, last)] =
            handed[..]
        else {
            panic!("{handed:?}")
        };
        assert_eq!((confirmed, last), (vec![], Confirmed::ByDelivery(2)));
        out.clear();
        state.confirmed(three, &mut out);
        state.confirmed(two, &mut out);
        assert!(out.is_empty());
        // The last one dies: there is nobody behind it.
        state.gone.insert(1);
        state.forwarder_gone(1, &mut out);
        assert_eq!(sent(&out), (vec![], vec![(7, 70)]));
        assert!(state.forwards.is_empty());
    }

    #[test]
    fn who_has_nobody_behind_it_confirms_at_once_and_who_is_gone_gets_nothing() {
        let mut state = state();
        let mut out = Outbox::new();
        state.hand_on(message(Some((7, 70))), &[], &mut out);
        assert_eq!(sent(&out), (vec![], vec![(7, 70)]));
        out.clear();
        state.gone.extend([1, 2]);
        state.hand_on(message(Some((7, 71))), &receivers(1..=3), &mut out);
        assert_eq!(sent(&out), (vec![(3, vec![], Confirmed::ByDelivery(0))], vec![]));
    }
}
