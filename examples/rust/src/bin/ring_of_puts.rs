//! A value goes round a ring of tasks, each adding its number: one-sided puts into memory that
//! Lapis allocates.
//!
//! `lapirun -n 4 ring_of_puts [rounds]`

use lapis::core::sync::Ordering;
use lapis::{RemoteMemory, Result};

fn main() -> Result<()> {
    let rounds: u64 = std::env::args().nth(1).and_then(|r| r.parse().ok()).unwrap_or(3);
    let context = lapis::init()?;
    let (me, tasks) = (context.task(), context.tasks());

    // Two words: the value, and how many times it has been here. Others write to them as to their
    // own memory.
    let mailbox = context.alloc(16)?;
    let addresses = context.all_gather(&mailbox.remote().to_bytes())?;
    let (all, _) = addresses.as_chunks();
    let next = RemoteMemory::from_bytes(&all[((me + 1) % tasks) as usize]);
    let (value_there, flag_there) = (next.part(0, 8).unwrap(), next.part(8, 8).unwrap());

    for round in 1..=rounds {
        let mut value = 0u64;
        if me != 0 || round > 1 {
            let arrivals = if me == 0 { round - 1 } else { round };
            // SYNC: Acquire pairs with the fence between the two puts of the task to the left.
            context.wait_until(|| mailbox.atomic_u64(8).load(Ordering::Acquire) >= arrivals)?;
            value = mailbox.atomic_u64(0).load(Ordering::Relaxed);
        }
        value += u64::from(me);
        context.put_bytes(value_there, &value.to_le_bytes())?;
        context.fence()?; // The value is there before the flag says so.
        context.put_bytes(flag_there, &round.to_le_bytes())?;
    }
    if me == 0 {
        // SYNC: Acquire pairs with the fence between the two puts of the task to the left.
        context.wait_until(|| mailbox.atomic_u64(8).load(Ordering::Acquire) >= rounds)?;
        let sum = mailbox.atomic_u64(0).load(Ordering::Relaxed);
        println!("after {rounds} rounds of {tasks} tasks the value is {sum}");
    }
    context.gfence()?;
    drop(mailbox);
    context.terminate()
}
