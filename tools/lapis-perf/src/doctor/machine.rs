//! What of the machine matters to every transport that drives an adapter.

use super::finding::Finding;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::ptr;

/// How much is locked for a try: a task's message buffers and a long transfer.
const WANTED: usize = 64 << 20;

/// An adapter reads and writes memory that is locked, which the kernel limits.
pub(super) fn locked_memory() -> Finding {
    judge(most_lockable(WANTED), getrlimit(Resource::Memlock).current)
}

fn judge(lockable: usize, limit: Option<u64>) -> Finding {
    const CHECK: &str = "locked memory";
    let limit = limit.map_or("no limit".to_owned(), |bytes| format!("limit {} KiB", bytes >> 10));
    if lockable >= WANTED {
        return Finding::ok(CHECK, format!("{} MiB can be locked ({limit})", WANTED >> 20));
    }
    let text = format!(
        "{} KiB can be locked, {} KiB were tried ({limit}): adapters register no more memory than that",
        lockable >> 10,
        WANTED >> 10
    );
    let remedy = "`ulimit -l unlimited` where tasks start, \"* - memlock unlimited\" in \
                  /etc/security/limits.conf, or LimitMEMLOCK=infinity for a service";
    Finding::warning(CHECK, text, remedy)
}

/// The most that can be locked at once, of halves of what is wanted.
fn most_lockable(wanted: usize) -> usize {
    let flags = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping where the kernel likes.
    let Ok(base) = (unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), wanted, flags.0, flags.1) }) else {
        return 0;
    };
    let halves = std::iter::successors(Some(wanted), |len| (*len > 4096).then_some(len / 2));
    // SAFETY: within the mapping.
    let lockable = halves.into_iter().find(|len| unsafe { rustix::mm::mlock(base, *len) }.is_ok());
    // SAFETY: mapped above, and nobody else knows it; unmapping unlocks.
    let _ = unsafe { rustix::mm::munmap(base, wanted) };
    lockable.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_limit_is_a_warning_with_a_remedy() {
        let small = judge(8 << 20, Some(8 << 20));
        let remedy = small.remedy.expect("one is known");
        assert!(small.text.contains("8192 KiB can be locked") && small.text.contains("limit 8192 KiB"));
        assert!(remedy.contains("ulimit -l unlimited") && remedy.contains("limits.conf"), "{remedy}");
        let enough = judge(WANTED, None);
        assert!(enough.remedy.is_none() && enough.text.contains("no limit"), "{enough:?}");
    }
}
