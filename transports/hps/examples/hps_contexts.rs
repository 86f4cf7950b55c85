//! A task of `tests/contexts.rs`: `hps_contexts MESSAGES FILE [at-once]`. Two contexts of each of
//! two processes, each with a thread of its own, send messages of changing lengths to their like,
//! and count what arrives. They end when there is such a file. `at-once`: they are opened at the
//! same time.

use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Context, Delivery, HandlerId, Result};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

const DATA: HandlerId = HandlerId(1);
const LENGTHS: [usize; 6] = [8, 100, 1000, 5000, 20_000, 70_000];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let file = arguments.next().unwrap_or_else(|| "/".to_owned());
    let open = |number| lapis::builder().number(number).init();
    let contexts = if arguments.next().is_some() {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| open(1));
            let first = open(0);
            Ok::<_, lapis::Error>([first?, other.join().expect("no panic")?])
        })?
    } else {
        [open(0)?, open(1)?]
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(&contexts)
            .map(|(number, context)| {
                scope.spawn({
                    let file = &file;
                    move || run(number, context, count, Path::new(file))
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    contexts.iter().try_for_each(Context::terminate)
}

/// What one context does. Its bytes tell it from the other one.
fn run(number: u8, context: &Context, count: u64, file: &Path) -> Result<()> {
    let arrived = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&arrived);
    // The bytes tell whose message it is: no context gets another one's.
    context.set_handler(DATA, move |_, message| {
        let here = Arc::clone(&here);
        Delivery::collect(message, move |bytes| {
            let right = bytes.iter().all(|byte| *byte == number);
            here.fetch_add(if right { 1 } else { 1 << 32 }, Ordering::Relaxed);
        })
    })?;
    context.gfence()?;
    println!("ready {number}");
    let _ = std::io::stdout().flush();
    let data = vec![number; LENGTHS[LENGTHS.len() - 1]];
    let other = 1 - context.task();
    for i in 0..count {
        context.send(other, DATA, &[], &data[..LENGTHS[i as usize % LENGTHS.len()]])?;
        if i % 100 == 99 {
            context.fence()?;
        }
    }
    context.wait_until(|| arrived.load(Ordering::Relaxed) == count)?;
    context.wait_until(|| file.exists())?;
    context.gfence()?;
    assert_eq!(arrived.load(Ordering::Relaxed), count, "a message arrived twice");
    println!("done {number}: {count} messages");
    Ok(())
}
