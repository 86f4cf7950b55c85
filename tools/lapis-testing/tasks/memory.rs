//! Puts, gets and atomics, in memory of Lapis and in any memory.

use crate::{check, filled, join};
use lapis::core::message::{GetArgs, PutArgs, RmwArgs};
use lapis::core::sync::Ordering;
use lapis::core::transport::RmwOp;
use lapis::{Context, Counter, Destination, Notify, RemoteMemory, Result, Source};
use std::ptr::NonNull;

const SIZES: &[usize] = &[1, 8, 100, 4096, 16_384, 70_001, 1 << 20];

/// Memory of this task that others work on: counters' place first, then a block for each task.
enum Own {
    Lapis(lapis::Memory),
    Any(*mut u8),
}

impl Own {
    fn read(&self, at: usize, into: &mut [u8]) {
        match self {
            Self::Lapis(memory) => memory.read(at, into),
            // SAFETY: allocated larger than anything read here, and leaked; nobody writes between
            // the fences around a read.
            Self::Any(base) => unsafe { base.add(at).copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) },
        }
    }
}

/// Blocks of every size to everybody and back, and a variable that everybody adds to.
pub(crate) fn one_sided() -> Result<()> {
    let context = join()?;
    let largest = SIZES[SIZES.len() - 1];
    let len = 64 + context.tasks() as usize * largest;
    for lapis_memory in [true, false] {
        let own = if lapis_memory {
            Own::Lapis(context.alloc(len)?)
        } else {
            Own::Any(Box::leak(vec![0u64; len.div_ceil(8)].into_boxed_slice()).as_mut_ptr().cast())
        };
        let addr = match &own {
            Own::Lapis(memory) => memory.as_ptr(),
            Own::Any(base) => *base,
        };
        let addr = addr.expose_provenance() as u64;
        let mine = RemoteMemory { task: context.task(), addr, len: len as u64 };
        let all = context.all_gather(&mine.to_bytes())?;
        let (all, _) = all.as_chunks();
        let far: Vec<RemoteMemory> = all.iter().map(RemoteMemory::from_bytes).collect();
        blocks(&context, &own, &far, largest)?;
        atomics(&context, &own, &far)?;
        context.gfence()?;
        println!("one-sided: {} memory", if lapis_memory { "lapis" } else { "any" });
    }
    context.terminate()
}

fn blocks(context: &Context, own: &Own, far: &[RemoteMemory], largest: usize) -> Result<()> {
    let me = context.task();
    for &size in SIZES {
        let data = filled(me, size);
        let there = Counter::new(0);
        for to in far {
            // SAFETY: data and counter outlive the wait below; a failed wait ends the process's
            // part in the job.
            unsafe {
                context.put(PutArgs {
                    target: to.task,
                    remote: to.addr + 64 + (me as usize * largest) as u64,
                    source: Source::Contiguous(data.as_ptr(), size as u64),
                    target_counter: 0,
                    origin: Notify::None,
                    completion: Notify::counter(&there),
                    checked: false,
                })?;
            }
        }
        context.wait_counter(&there, far.len() as i32)?;
        context.gfence()?;
        for from in 0..context.tasks() {
            let mut block = vec![0; size];
            own.read(64 + from as usize * largest, &mut block);
            check(from, size, &block);
        }
        let here = Counter::new(0);
        for from in far {
            // What the task to the right wrote there.
            let writer = (me + 1) % context.tasks();
            let mut block = vec![0; size];
            // SAFETY: block and counter outlive the wait below.
            unsafe {
                context.get(GetArgs {
                    target: from.task,
                    remote: from.addr + 64 + (writer as usize * largest) as u64,
                    len: size as u64,
                    destination: Destination::Contiguous(NonNull::from(block.as_mut_slice()).cast()),
                    target_counter: 0,
                    origin: Notify::counter(&here),
                    checked: false,
                })?;
            }
            context.wait_counter(&here, 1)?;
            check(writer, size, &block);
        }
        context.gfence()?;
    }
    Ok(())
}

fn atomics(context: &Context, own: &Own, far: &[RemoteMemory]) -> Result<()> {
    const ROUNDS: u64 = 300;
    let mut seen = Vec::new();
    let (mut previous, here) = (0u64, Counter::new(0));
    for _ in 0..ROUNDS {
        for to in far {
            // SAFETY: the answer's place and the counter outlive the wait.
            unsafe {
                context.rmw(RmwArgs {
                    target: to.task,
                    op: RmwOp::FetchAndAdd,
                    width: 8,
                    remote: to.addr,
                    operand: 1,
                    compare: 0,
                    previous: (&raw mut previous).cast(),
                    swap_answers_success: false,
                    origin: Notify::counter(&here),
                    checked: false,
                })?;
            }
            context.wait_counter(&here, 1)?;
            // SAFETY: written through the pointer above, and nothing writes to it now.
            seen.push((to.task, unsafe { (&raw const previous).read() }));
        }
    }
    context.gfence()?;
    let mut sum = [0; 8];
    own.read(0, &mut sum);
    assert_eq!(u64::from_ne_bytes(sum), ROUNDS * u64::from(context.tasks()), "an addition was lost");
    let answers = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), answers, "two additions found the same value");
    Ok(())
}

/// A put, a fence of all, a look, hundreds of times.
pub(crate) fn fence_storm() -> Result<()> {
    const ROUNDS: u64 = 300;
    let context = join()?;
    let tasks = context.tasks();
    let own = context.alloc(8)?;
    let all = context.all_gather(&own.remote().to_bytes())?;
    let (all, _) = all.as_chunks();
    let right = RemoteMemory::from_bytes(&all[((context.task() + 1) % tasks) as usize]);
    for round in 1..=ROUNDS {
        context.put_bytes(right, &round.to_ne_bytes())?;
        context.gfence()?;
        assert_eq!(own.atomic_u64(0).load(Ordering::Relaxed), round, "the fence ended before the put had");
        context.gfence()?;
    }
    println!("fence-storm: {ROUNDS}");
    drop(own);
    context.terminate()
}
