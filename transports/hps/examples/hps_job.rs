//! A task of `tests/jobs.rs`: `hps_job MESSAGES FILE`. Task 0 and task 1 send each other so many
//! messages of changing lengths, fence now and then, and count what arrives. They end when there is
//! such a file.

use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Delivery, HandlerId, Result};
use std::io::Write as _;
use std::sync::Arc;

const DATA: HandlerId = HandlerId(1);
const LENGTHS: [usize; 6] = [8, 100, 1000, 5000, 20_000, 70_000];

fn main() -> Result<()> {
    let count: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let context = lapis::init()?;
    let arrived = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&arrived);
    context.set_handler(DATA, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    println!("ready");
    let _ = std::io::stdout().flush();
    let data = vec![7; LENGTHS[LENGTHS.len() - 1]];
    let other = 1 - context.task();
    for i in 0..count {
        context.send(other, DATA, &[], &data[..LENGTHS[i as usize % LENGTHS.len()]])?;
        if i % 100 == 99 {
            context.fence()?;
        }
    }
    context.wait_until(|| arrived.load(Ordering::Relaxed) == count)?;
    let file = std::path::PathBuf::from(std::env::args().nth(2).unwrap_or_else(|| "/".to_owned()));
    context.wait_until(|| file.exists())?;
    context.gfence()?;
    assert_eq!(arrived.load(Ordering::Relaxed), count, "a message arrived twice");
    println!("done: {count} messages");
    context.terminate()
}
