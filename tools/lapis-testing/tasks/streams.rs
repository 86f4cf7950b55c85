//! Streams of short messages to one task, which sends nothing back.

use crate::join;
use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Delivery, HandlerId, Result};
use std::sync::Arc;

const MESSAGE: HandlerId = HandlerId(1);
const TARGET: u32 = 0;
/// Of each sender: many times the messages that may be under way at once.
const MESSAGES: u64 = 20_000;

/// All others send task 0 their messages. With `last` it is killed when it has all of the last
/// task, which need not have got anything from it.
pub(crate) fn streams(how: &str) -> Result<()> {
    let context = join()?;
    let got: Arc<[AtomicU64]> = (0..context.tasks()).map(|_| AtomicU64::new(0)).collect();
    let here = Arc::clone(&got);
    context.set_handler(MESSAGE, move |_, message| {
        here[message.source as usize].fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    // Some packets go to everybody.
    (0..3).try_for_each(|_| context.gfence())?;
    let has_all = |task: u32| got[task as usize].load(Ordering::Relaxed) == MESSAGES;
    if context.task() != TARGET {
        (0..MESSAGES).try_for_each(|_| context.send(TARGET, MESSAGE, &[], &[7; 8]))?;
    } else if how == "last" {
        context.wait_until(|| has_all(context.tasks() - 1))?;
        println!("streams: the last task's is there");
        // SAFETY: a signal to this process.
        unsafe { libc::raise(libc::SIGKILL) };
    } else {
        context.wait_until(|| (1..context.tasks()).all(has_all))?;
    }
    context.gfence()?;
    println!("streams: done");
    context.terminate()
}
