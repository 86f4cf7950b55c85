//! Traffic that comes to a clear end whatever fails under it: what was confirmed has come, and
//! everybody ends.

use crate::{check, filled};
use lapis::core::sync::{AtomicBool, AtomicU64, Ordering};
use lapis::{Context, Delivery, Error, HandlerId, RemoteMemory, Result};
use std::sync::Arc;

const MESSAGE: HandlerId = HandlerId(1);
const LAST: HandlerId = HandlerId(2);
/// In one packet that is injected, in one that is not, in several, fetched by the target.
const LENGTHS: [usize; 4] = [8, 5000, 30_000, 200_000];
/// Of a put and a get by key, if nothing else is said.
pub(crate) const SLOT: usize = 40_000;

/// What a task knows of another one.
#[derive(Default)]
struct Other {
    /// Its messages that have come whole.
    got: AtomicU64,
    /// Whether it has sent its last one.
    ended: AtomicBool,
    /// Whether the error handler was told that it is lost.
    lost: AtomicBool,
}

/// For so many rounds sends messages of all kinds to everybody, puts `slot` bytes to everybody and
/// gets them back.
/// Errors are printed and end the traffic with their task. At the end each task says how many of
/// its messages were confirmed by each other one, and how many of each have come.
pub(crate) fn faults(rounds: u64, slot: usize) -> Result<()> {
    let others: Arc<[Other]> = (0..64).map(|_| Other::default()).collect();
    let told = Arc::clone(&others);
    let builder = lapis::builder().on_error(move |context, error, peer| {
        if matches!(error, Error::TargetDown { .. } | Error::Timeout { .. }) {
            println!("task {}: lost {peer}: {}", context.task(), error.with_causes());
            told[peer as usize].lost.store(true, Ordering::Relaxed);
        }
        // A task that does not answer is given up.
        !matches!(error, Error::Timeout { .. })
    });
    let context = builder.init()?;
    listen(&context, &others)?;
    let (me, tasks) = (context.task(), context.tasks());
    let memory = context.alloc(slot * tasks as usize)?;
    let all = context.all_gather(&memory.remote().to_bytes())?;
    let (all, _) = all.as_chunks();
    let far: Vec<_> = all.iter().map(RemoteMemory::from_bytes).collect();
    println!("task {me}: all are there");
    let mut confirmed = vec![0; tasks as usize];
    let mut usable: Vec<u32> = (0..tasks).filter(|&task| task != me).collect();
    for round in 0..rounds {
        usable.retain(|&to| {
            let slot = far[to as usize].part(u64::from(me) * slot as u64, slot as u64).expect("a slot of it");
            let outcome = messages(&context, to, round, &mut confirmed[to as usize])
                .and_then(|()| there_and_back(&context, slot, round));
            if let Err(error) = &outcome {
                println!("task {me}: a call for {to}: {}", error.with_causes());
            }
            outcome.is_ok()
        });
    }
    let all_others = || (0..tasks).filter(|&task| task != me);
    for to in all_others() {
        if let Err(error) = context.send(to, LAST, &[], &[]) {
            println!("task {me}: the last message for {to}: {}", error.with_causes());
        }
    }
    let is_over = |task: u32| {
        let other = &others[task as usize];
        other.ended.load(Ordering::Relaxed) || other.lost.load(Ordering::Relaxed)
    };
    while context.wait_until(|| all_others().all(is_over)).is_err() {}
    for other in all_others() {
        let (sent, got) = (confirmed[other as usize], others[other as usize].got.load(Ordering::Relaxed));
        println!("task {me} with {other}: {sent} confirmed, {got} got");
    }
    drop(memory);
    context.terminate()
}

fn listen(context: &Context, others: &Arc<[Other]>) -> Result<()> {
    let here = Arc::clone(others);
    context.set_handler(MESSAGE, move |_, message| {
        let (here, source) = (Arc::clone(&here), message.source);
        Delivery::collect(message, move |data| {
            check(source, data.len(), &data);
            here[source as usize].got.fetch_add(1, Ordering::Relaxed);
        })
    })?;
    let here = Arc::clone(others);
    context.set_handler(LAST, move |_, message| {
        here[message.source as usize].ended.store(true, Ordering::Relaxed);
        Delivery::bury()
    })
}

/// A message of each length; counts those that the target has confirmed.
fn messages(context: &Context, to: u32, round: u64, confirmed: &mut u64) -> Result<()> {
    let lengths = if round.is_multiple_of(8) { &LENGTHS[..] } else { &LENGTHS[..2] };
    let pending: Vec<_> = lengths
        .iter()
        .map(|&len| context.send_and_confirm(to, MESSAGE, &[], filled(context.task(), len)))
        .collect();
    // All are waited for: a later one may have been confirmed, too.
    let outcomes: Vec<Result<Vec<u8>>> = pending.into_iter().map(|p| p?.wait()).collect();
    *confirmed += outcomes.iter().filter(|outcome| outcome.is_ok()).count() as u64;
    outcomes.into_iter().try_for_each(|outcome| outcome.map(drop))
}

/// A put and a get of the same.
fn there_and_back(context: &Context, slot: RemoteMemory, round: u64) -> Result<()> {
    let len = slot.len as usize;
    let data = filled(context.task() + round as u32, len);
    context.put_owned(slot, data)?.wait()?;
    let back = context.get_owned(slot)?.wait()?;
    check(context.task() + round as u32, len, &back);
    Ok(())
}
