//! A task of `tests/jobs.rs`, to be started with `lapirun --restart 1`: the last task is killed
//! during the job and started again. Before and after that, all send each other messages of all
//! lengths.

use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Context, Delivery, Error, HandlerId, Result};
use rustix::process::{Signal, getpid, kill_process};
use std::sync::Arc;

const BEFORE: HandlerId = HandlerId(1);
const AFTER: HandlerId = HandlerId(2);
/// By the FIFO, by lanes and in packets.
const LENGTHS: [usize; 4] = [8, 1000, 20_000, 300_000];
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let is_successor = std::env::var_os("LAPIS_JOB_RESTARTS").is_some();
    // The death of a task is no reason to end.
    let context = lapis::builder().on_error(|_, _, _| true).init()?;
    let (me, victim) = (context.task(), context.tasks() - 1);
    let before = count(&context, BEFORE)?;
    let after = count(&context, AFTER)?;
    if !is_successor {
        context.gfence()?;
        exchange(&context, BEFORE, &before)?;
        context.gfence()?;
        if me == victim {
            kill_process(getpid(), Signal::KILL).expect("this process");
        }
        let outcome = context.gfence();
        assert!(matches!(outcome, Err(Error::CollectivesOver { task }) if task == victim), "{outcome:?}");
    }
    exchange(&context, AFTER, &after)?;
    println!("done");
    context.terminate()
}

fn count(context: &Context, handler: HandlerId) -> Result<Arc<AtomicU64>> {
    let arrived = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&arrived);
    context.set_handler(handler, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    Ok(arrived)
}

/// Sends messages to all others, and waits for theirs.
fn exchange(context: &Context, handler: HandlerId, arrived: &AtomicU64) -> Result<()> {
    let data = vec![7; LENGTHS[LENGTHS.len() - 1]];
    let others = || (0..context.tasks()).filter(|task| *task != context.task());
    for len in [LENGTHS; ROUNDS].concat() {
        others().try_for_each(|to| context.send(to, handler, &[], &data[..len]))?;
    }
    let all = (others().count() * ROUNDS * LENGTHS.len()) as u64;
    context.wait_until(|| arrived.load(Ordering::Relaxed) >= all)?;
    assert_eq!(arrived.load(Ordering::Relaxed), all, "each message once");
    Ok(())
}
