//! Tasks share a list of jobs by one counter: whoever is free takes the next number with a
//! fetch-and-add.
//!
//! `lapirun -n 4 work_stealing [jobs]` — nobody deals out the work, and no job is done twice.

use lapis::core::sync::Ordering;
use lapis::{RemoteMemory, Result};

/// A job: the number of steps until a number reaches 1 by halving or tripling. Some take far longer
/// than others.
fn steps(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() -> Result<()> {
    let jobs: u64 = std::env::args().nth(1).and_then(|j| j.parse().ok()).unwrap_or(20_000);
    let context = lapis::init()?;
    let me = context.task();

    // Task 0 owns the counter of jobs taken, the count of jobs done and the sum of the results.
    let own = context.alloc(24)?;
    let addresses = context.all_gather(&own.remote().to_bytes())?;
    let (all, _) = addresses.as_chunks();
    let shared = RemoteMemory::from_bytes(&all[0]);
    let [next, done, sum] = [0, 8, 16].map(|at| shared.part(at, 8).unwrap());

    let (mut mine, mut total) = (0, 0);
    loop {
        let job = context.fetch_add(next, 1)?;
        if job >= jobs {
            break;
        }
        total += steps(job + 1);
        mine += 1;
    }
    context.fetch_add(done, mine)?;
    context.fetch_add(sum, total)?;
    context.gfence()?;

    println!("task {me} did {mine} jobs");
    if me == 0 {
        let read = |at| own.atomic_u64(at).load(Ordering::Relaxed);
        println!("{} of {jobs} jobs done, {} steps in all", read(8), read(16));
    }
    context.gfence()?;
    drop(own);
    context.terminate()
}
