//! What operations wait for, and what calls find out about them.

use super::*;
use proptest::prelude::*;

fn end(order: &Order<u64>, handle: u64) -> Vec<u64> {
    let mut next = VecDeque::new();
    order.end(handle, Ok(()), |_, _| {}, &mut next);
    next.into()
}

#[test]
fn operations_complete_in_order_whatever_order_they_end_in() {
    let order = Order::new();
    let handles: Vec<u64> = (0..3).map(|_| order.enter(NULL, |handle| handle).0).collect();
    assert_eq!(handles, [2, 3, 4]);
    end(&order, 4);
    end(&order, 3);
    assert!(!order.complete(3) && !order.complete(4) && !order.complete(ALL));
    end(&order, 2);
    assert!(order.complete(4) && order.complete(ALL));
}

#[test]
fn an_operation_starts_when_what_it_waits_for_and_all_before_that_has_ended() {
    let order = Order::new();
    let (first, _) = order.enter(NULL, |handle| handle);
    let (second, _) = order.enter(NULL, |handle| handle);
    let (third, started) = order.enter(second, |handle| handle);
    assert_eq!(started, None);
    assert_eq!(end(&order, second), []);
    assert_eq!(end(&order, first), [third]);
}

#[test]
fn all_and_continued_wait_for_everything_before() {
    for kind in [ALL, CONT] {
        let order = Order::new();
        assert!(order.permits(kind));
        order.enter(NULL, |handle| handle);
        order.enter(NULL, |handle| handle);
        assert!(!order.permits(kind));
        let (last, started) = order.enter(kind, |handle| handle);
        assert_eq!(started, None);
        assert_eq!(end(&order, 2), []);
        assert_eq!(end(&order, 3), [last]);
        assert_eq!(order.enter(kind, |handle| handle).1, None, "the one that just started is before it");
    }
}

#[test]
fn what_never_began_is_complete_and_nothing_waits_for_it() {
    let order = Order::new();
    order.enter(NULL, |handle| handle);
    assert!(order.complete(99) && order.complete(CONT) && order.complete(NULL));
    assert!(order.permits(99) && order.permits(NULL));
    assert!(order.enter(99, |handle| handle).1.is_some());
}

#[test]
fn what_ends_at_once_is_as_complete_as_what_was_before_it() {
    let order = Order::new();
    let first = order.last();
    assert!(first != NULL && order.complete(first));
    let (slow, _) = order.enter(NULL, |handle| handle);
    assert!(slow > first && order.complete(first) && order.permits(first));
    let at_once = order.last();
    assert!(!order.complete(at_once) && !order.permits(at_once));
    let (after, started) = order.enter(at_once, |handle| handle);
    assert_eq!(started, None);
    assert_eq!(end(&order, slow), [after]);
    assert!(order.complete(at_once) && order.is_well(at_once));
}

#[test]
fn the_loss_of_a_task_ends_what_needs_it_and_is_told_once() {
    let order = Order::new();
    let (lost, _) = order.enter(NULL, |handle| handle);
    order.needs(lost, Needs { tasks: [None, Some(3)], ..Needs::default() });
    let (waits, _) = order.enter(lost, |handle| handle);
    let mut next = VecDeque::new();
    order.gone(2, &mut next);
    assert!(next.is_empty());
    order.gone(3, &mut next);
    assert_eq!(next, [waits]);
    assert_eq!((order.failure(NULL), order.failure(ALL)), (Ok(()), Err(Error::Peer)));
    assert_eq!(order.failure(ALL), Ok(()));
    assert_eq!(end(&order, lost), [], "a second end is none");
}

#[test]
fn a_failure_of_the_librarys_own_is_told_to_it_alone() {
    let order = Order::new();
    let (first, _) = order.enter(NULL, |handle| handle);
    let (own, started) = order.enter_own(|handle| handle);
    assert_eq!(started, Some(own));
    assert!(!order.has_ended(own));
    order.end(own, Err(Error::Address), |_, _| {}, &mut VecDeque::new());
    assert!(order.has_ended(own) && !order.has_ended(first) && !order.complete(own));
    assert_eq!(order.failure(ALL), Ok(()));
    assert_eq!((order.failure_of(own), order.failure_of(own)), (Err(Error::Address), Ok(())));
}

#[test]
fn whoever_awaits_an_operation_is_woken_when_all_before_it_have_ended() {
    struct Flag(AtomicUsize);
    impl std::task::Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let flag = Arc::new(Flag(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&flag));
    let woken = || flag.0.load(Ordering::Relaxed);
    let order = Order::new();
    let (first, _) = order.enter(NULL, |handle| handle);
    let (second, _) = order.enter(NULL, |handle| handle);
    assert!(!order.wake_after(second, &waker) && !order.wake_after(second, &waker));
    end(&order, second);
    assert_eq!(woken(), 0);
    end(&order, first);
    assert_eq!(woken(), 1);
    assert!(order.wake_after(second, &waker));
}

#[test]
fn entries_are_bounded_by_what_has_not_ended() {
    let order = Order::new();
    for _ in 0..MOST {
        assert!(order.has_room());
        order.enter(ALL, |handle| handle);
    }
    assert!(!order.has_room());
    for handle in 2..2 + MOST as u64 {
        end(&order, handle);
    }
    assert!(order.has_room());
    assert_eq!(order.lock().entries.len(), 0);
}

/// What the specification says, by looking at all operations each time.
#[derive(Debug, Default)]
struct Model {
    /// By number, from 2 on: what each waits for, and whether it has started and ended.
    operations: Vec<(u64, bool, bool)>,
}

impl Model {
    fn last(&self) -> u64 {
        1 + self.operations.len() as u64
    }

    /// Whether everything up to a number has ended.
    fn complete(&self, upto: u64) -> bool {
        let upto = upto.min(self.last());
        self.operations.iter().zip(2..).all(|((.., ended), number)| *ended || number > upto)
    }

    /// Up to which number the next operation waits.
    fn waits_for(&self, order: u64) -> u64 {
        match order {
            ALL | CONT => self.last(),
            other if other > self.last() => NULL,
            other => other,
        }
    }

    /// Starts what may start; gives its numbers.
    fn start(&mut self) -> Vec<u64> {
        let ready: Vec<u64> = (2..=self.last())
            .filter(|number| {
                let (after, started, _) = self.operations[*number as usize - 2];
                !started && self.complete(after)
            })
            .collect();
        ready.iter().for_each(|number| self.operations[*number as usize - 2].1 = true);
        ready
    }
}

proptest! {
    #[test]
    fn operations_start_and_complete_when_the_model_says_so(
        steps in proptest::collection::vec((0..4u8, any::<u16>()), 0..120)
    ) {
        let (order, mut model) = (Order::new(), Model::default());
        let mut under_way = Vec::new();
        for (step, pick) in steps {
            let some = u64::from(pick) % (model.last() + 3);
            let wanted = match pick % 7 {
                0 => ALL,
                1 => CONT,
                2 => NULL,
                _ => some,
            };
            let mut started = Vec::new();
            if step < 2 {
                let after = model.waits_for(wanted);
                prop_assert_eq!(order.permits(wanted), model.complete(after), "order {}", wanted);
                let (handle, now) = order.enter(wanted, |handle| handle);
                model.operations.push((after, false, false));
                prop_assert_eq!(handle, model.last());
                started.extend(now);
            } else if !under_way.is_empty() {
                let handle: u64 = under_way.swap_remove(usize::from(pick) % under_way.len());
                model.operations[handle as usize - 2].2 = true;
                started.extend(end(&order, handle));
            }
            started.sort_unstable();
            prop_assert_eq!(&started, &model.start());
            under_way.extend(started);
            for handle in 1..=model.last() {
                prop_assert_eq!(order.complete(handle), model.complete(handle), "handle {}", handle);
            }
            prop_assert_eq!(order.complete(ALL), model.complete(u64::MAX));
        }
    }
}
