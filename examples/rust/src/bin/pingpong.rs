//! Two tasks throw a message of 8 bytes back and forth and say how long one way takes.
//!
//! `lapirun -n 2 --bind core pingpong [rounds]`

use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Delivery, HandlerId, Result};
use std::sync::Arc;
use std::time::Instant;

const BALL: HandlerId = HandlerId(1);

fn main() -> Result<()> {
    let rounds: u64 = std::env::args().nth(1).and_then(|r| r.parse().ok()).unwrap_or(100_000);
    let context = lapis::builder().interrupts(false).init()?; // This program always waits inside Lapis.
    let (me, tasks) = (context.task(), context.tasks());
    let caught = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&caught);
    context.set_handler(BALL, move |_, _| {
        here.store(here.load(Ordering::Relaxed) + 1, Ordering::Relaxed); // Handlers run one at a time.
        Delivery::bury()
    })?;
    context.gfence()?;
    let other = if tasks == 1 { 0 } else { 1 - me.min(1) }; // Alone, it throws to itself.
    let mut last = Instant::now();
    for round in 1..=rounds * 2 {
        if me == 0 && round == rounds + 1 {
            last = Instant::now(); // The first half warmed up.
        }
        if me == 0 {
            context.send(other, BALL, &[], &round.to_le_bytes())?;
        }
        if me < 2 {
            context.wait_until(|| caught.load(Ordering::Relaxed) >= round)?;
        }
        if me == 1 {
            context.send(other, BALL, &[], &round.to_le_bytes())?;
        }
    }
    if me == 0 {
        let ways = if other == me { 1.0 } else { 2.0 };
        let ns = last.elapsed().as_nanos() as f64 / rounds.max(1) as f64 / ways;
        println!("one way: {ns:.0} ns over {}", context.transport_to(other).unwrap_or("?"));
    }
    context.gfence()?;
    context.terminate()
}
