//! Messages for tasks that call nothing do not delay those for others.

use crate::join;
use lapis::core::sync::{AtomicU32, Ordering};
use lapis::{Context, Delivery, HandlerId, Result};
use lapis_patience::Patience;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SENDER: u32 = 0;
/// These call nothing for a while; the last task always does.
const AWAY: std::ops::RangeInclusive<u32> = 1..=3;
const LAST: u32 = 4;
const DATA: HandlerId = HandlerId(1);
const GO: HandlerId = HandlerId(2);
const LEN: usize = 8000;
/// Messages for each task that is away, about as many as it may be sent without an answer.
const MANY: u32 = 120;
const FEW: u32 = 8;

/// The sender has all messages on their way that it can for tasks that are away. Then it sends some
/// to the last task, which answers, before the others come back. The tasks speak by files in a
/// directory, for messages would be in each other's way.
pub(crate) fn slow_peers(directory: &Path) -> Result<()> {
    let (away, answered) = (|task: u32| directory.join(task.to_string()), directory.join("answered"));
    let context = join()?;
    let (came, went) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (counts, goes) = (Arc::clone(&came), Arc::clone(&went));
    context.set_handler(DATA, move |context, _| {
        counts.fetch_add(1, Ordering::Relaxed);
        if context.task() == LAST {
            context.send(SENDER, DATA, &[], &[]).expect("an answer is sent");
        }
        Delivery::bury()
    })?;
    // What a handler sends waits for nobody.
    context.set_handler(GO, move |context, _| {
        AWAY.for_each(|peer| (0..MANY).for_each(|_| send(context, peer).expect("it is kept")));
        goes.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    let has = |came: &AtomicU32, count| came.load(Ordering::Relaxed) == count;
    context.gfence()?;
    match context.task() {
        SENDER => {
            context.wait_until(|| has(&went, 1))?;
            (0..FEW).try_for_each(|_| send(&context, LAST))?;
            context.wait_until(|| has(&came, FEW))?;
            std::fs::write(&answered, "").expect("a file of the test's own");
        }
        LAST => {
            AWAY.for_each(|task| await_file(&away(task)));
            context.send(SENDER, GO, &[], &[])?;
        }
        task => {
            std::fs::write(away(task), "").expect("a file of the test's own");
            await_file(&answered);
            context.wait_until(|| has(&came, MANY))?;
        }
    }
    context.gfence()?;
    println!("slow-peers: done");
    context.terminate()
}

fn send(context: &Context, peer: u32) -> Result<()> {
    context.send(peer, DATA, &[], &[7; LEN])
}

/// Waits for a file without a call.
fn await_file(file: &Path) {
    let mut patience = Patience::with_myself(Duration::from_secs(30));
    while !file.exists() {
        assert!(
            !patience.is_over(),
            "{} does not come: tasks that call nothing are waited for",
            file.display()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}
