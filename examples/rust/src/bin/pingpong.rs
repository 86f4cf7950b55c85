//! Two tasks throw a message of 8 bytes back and forth and say how long one way takes.
//!
//! `lapirun -n 2 --bind core pingpong [rounds]`

use lapis::{Delivery, HandlerId, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const BALL: HandlerId = HandlerId(1);

fn main() -> Result<()> {
    let rounds: u64 = std::env::args().nth(1).and_then(|r| r.parse().ok()).unwrap_or(100_000);
    let context = lapis::builder().interrupts(false).init()?;
    let caught = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&caught);
    context.set_handler(BALL, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    let me = context.task();
    if me < 2 {
        let other = 1 - me;
        let mut last = Instant::now();
        for round in 1..=rounds * 2 {
            if round == rounds {
                last = Instant::now(); // The first half warms up.
            }
            if me == 0 {
                context.send(other, BALL, &[], &round.to_le_bytes())?;
            }
            context.wait_until(|| caught.load(Ordering::Relaxed) >= round)?;
            if me == 1 {
                context.send(other, BALL, &[], &round.to_le_bytes())?;
            }
        }
        if me == 0 {
            let ns = last.elapsed().as_nanos() as f64 / rounds as f64 / 2.0;
            println!("one way: {ns:.0} ns over {}", context.transport_to(other).unwrap_or("?"));
        }
    }
    context.gfence()
}
