//! Short messages back and forth, and the pauses in them.

use crate::join;
use lapis::core::sync::{AtomicBool, AtomicU64, Ordering};
use lapis::{Delivery, HandlerId, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const PING: HandlerId = HandlerId(1);
const PONG: HandlerId = HandlerId(2);
const LAST: HandlerId = HandlerId(3);
/// Shorter pauses are not worth a line.
const PAUSE: Duration = Duration::from_micros(300);

/// The time that all processes of the machine read.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set")
}

/// Until there is a file of that name task 0 sends 8 bytes and waits for task 1's answer. It prints
/// each pause: how long it was and when it ended.
pub(crate) fn pauses(end: &str) -> Result<()> {
    let context = join()?;
    let (answers, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    context.set_handler(PING, |context, message| {
        context.send(message.source, PONG, &[], &[7; 8]).expect("an answer");
        Delivery::bury()
    })?;
    let here = Arc::clone(&answers);
    context.set_handler(PONG, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    let here = Arc::clone(&over);
    context.set_handler(LAST, move |_, _| {
        here.store(true, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    println!("all are there");
    if context.task() == 0 {
        let (mut last, mut pauses, mut sent) = (now(), Vec::new(), 0u64);
        while !sent.is_multiple_of(16) || !Path::new(end).exists() {
            context.send(1, PING, &[], &[7; 8])?;
            sent += 1;
            context.wait_until(|| answers.load(Ordering::Relaxed) == sent)?;
            let before = std::mem::replace(&mut last, now());
            if last - before >= PAUSE {
                pauses.push((last - before, last));
            }
        }
        context.send(1, LAST, &[], &[])?;
        pauses
            .iter()
            .for_each(|(long, end)| println!("paused {} us until {} us", long.as_micros(), end.as_micros()));
    } else {
        context.wait_until(|| over.load(Ordering::Relaxed))?;
    }
    context.gfence()?;
    context.terminate()
}
