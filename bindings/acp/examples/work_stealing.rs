//! A work-stealing queue in global memory: each process has a row of tasks and a counter of the
//! next one; whoever has none left takes from the others by one atomic addition. Nobody answers:
//! all tasks of a process that only computes can be taken.

use acp::{Global, GlobalSlice, Job};

const TASKS: u64 = 200;

/// The queue of one process.
struct Queue {
    next: Global<u64>,
    tasks: GlobalSlice<u64>,
}

impl Queue {
    /// Takes a task, if there is one left.
    fn take(&self, job: &Job) -> acp::Result<Option<u64>> {
        // The counter of a queue that is empty may go on: it is never read as anything else.
        let at = job.fetch_add(self.next, 1)?;
        if at < self.tasks.len() { job.read(self.tasks.at(at)?).map(Some) } else { Ok(None) }
    }
}

fn main() -> acp::Result<()> {
    let job = acp::init()?;
    // Work is dealt unevenly: the first process has all of it.
    let mine = if job.rank() == 0 { TASKS } else { 1 };
    let memory = job.alloc::<u64>(1 + mine, job.rank())?;
    let tasks: Vec<u64> = (1..=mine).collect();
    job.write_all(memory.part(1, mine)?, &tasks)?;
    let places = job.exchange([memory.first().address(), mine])?;
    let queues: Vec<Queue> = places
        .iter()
        .map(|[address, len]| {
            let all = Global::of_address(*address).slice(len + 1);
            Ok(Queue { next: all.at(0)?, tasks: all.part(1, *len)? })
        })
        .collect::<acp::Result<_>>()?;
    // Its own first, then the others' in turn.
    let (mut sum, mut done) = (0, 0);
    for queue in queues.iter().cycle().skip(job.rank() as usize).take(queues.len()) {
        while let Some(task) = queue.take(&job)? {
            sum += task * task;
            done += 1;
        }
    }
    // What all have done together.
    let totals = job.exchange([sum, done])?;
    if job.rank() == 0 {
        println!("{} tasks", totals.iter().map(|total| total[1]).sum::<u64>());
        println!("sum of squares {}", totals.iter().map(|total| total[0]).sum::<u64>());
    }
    job.finalize()
}
