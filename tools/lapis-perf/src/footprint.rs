//! What a task holds of memory once it has exchanged short messages with all others, and put to
//! them. Jobs of several sizes show what each peer adds.

use crate::session::{DATA, Session};
use anyhow::{Context as _, Result};
use lapis::RemoteMemory;

/// Short messages and puts to each peer: more than make the transports take what they keep for
/// peers that they are used with.
const COUNT: u64 = 200;
/// Bytes of a put.
const PUT: usize = 64;

/// Measures in step with the other tasks; each task's memory, in KiB.
pub(crate) fn measure(session: &Session) -> Result<Vec<f64>> {
    let (context, inbox) = (&session.context, &session.inbox);
    let memory = context.alloc(4096)?;
    let all = context.all_gather(&memory.remote().to_bytes())?;
    let (all, _) = all.as_chunks();
    let from = session.expected_messages();
    let others = (0..context.tasks()).filter(|to| *to != context.task());
    for round in 0..COUNT {
        for to in others.clone() {
            context.send(to, DATA, &[], &round.to_le_bytes())?;
            let there = RemoteMemory::from_bytes(&all[to as usize]);
            context.put_bytes(there.part(0, PUT as u64).context("a page at least")?, &[1; PUT])?;
        }
        // One at a time, so that short messages take the way that is for them.
        let due = from + (round + 1) * u64::from(context.tasks() - 1);
        context.wait_until(|| inbox.received() >= due)?;
    }
    session.expect_messages(COUNT * u64::from(context.tasks() - 1));
    context.gfence()?;
    let used = session.gather(anonymous_memory()?)?;
    Ok(used.into_iter().map(|kib| kib as f64).collect())
}

/// Memory of this process that is its own, in KiB.
fn anonymous_memory() -> Result<u64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("what the kernel tells of a process")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let size = line.and_then(|line| line.trim().strip_suffix(" kB"));
    size.and_then(|size| size.parse().ok()).context("/proc/self/status has no RssAnon")
}
