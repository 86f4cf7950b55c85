//! A forked child drops teams and operations of its parent's: nothing is waited for there, and both
//! go on in the parent.

mod support;

use lapis_collectives::{Call, Combine, Operator, Team};
use lapis_core::Context;
use std::sync::{Arc, Barrier};
use support::{SHM, job};

/// Forks, while another thread has the lock if `held`; the child drops `all`. Its status.
fn status_of_child<T>(context: &Context, held: bool, all: &mut Option<T>) -> i32 {
    let steps = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if held {
                context.lock();
            }
            steps.wait();
            steps.wait();
            context.unlock();
        });
        steps.wait();
        // SAFETY: the child frees memory, whose locks the system's fork takes, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the child if it hangs.
            unsafe { libc::alarm(10) };
            drop(all.take());
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made; the status is a local variable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        steps.wait();
        status
    })
}

#[test]
fn a_child_drops_what_is_under_way_and_the_parent_goes_on() {
    for held in [false, true] {
        let is_over = Arc::new(Barrier::new(2));
        job(2, SHM, move |context| {
            let team = Team::world(context).unwrap();
            let mine = u64::from(context.task()) + 1;
            if context.task() == 1 {
                is_over.wait();
            }
            let sum = Call::AllReduce { count: 1 };
            let mut kept = team.persistent(&sum, Combine::from(Operator::Sum), vec![mine], vec![0]).unwrap();
            let once = team.start(&sum, Combine::from(Operator::Sum), vec![10 * mine], vec![0]).unwrap();
            kept.start().unwrap();
            let mut all = Some((once, kept, team));
            if context.task() == 0 {
                let status = status_of_child(context, held, &mut all);
                is_over.wait();
                assert_eq!(status, 0, "the lock was held: {held}");
            }
            let (once, mut kept, _team) = all.unwrap();
            assert_eq!(once.wait().unwrap().1, [30]);
            kept.wait().unwrap();
            assert_eq!(kept.output().unwrap(), [3]);
        });
    }
}
