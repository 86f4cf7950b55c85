//! Which machine this is, and which of its cores this task may use.

use rustix::thread::{CpuSet, sched_getaffinity};

/// Bytes that are equal in all tasks of one machine and in no others: the identity of the kernel's
/// present run.
pub(super) fn identity() -> Vec<u8> {
    std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_else(|_| b"unknown".to_vec())
}

/// The cores that this thread may run on, one bit each, trailing zero bytes cut off.
pub(super) fn cores() -> Vec<u8> {
    let Ok(set) = sched_getaffinity(None) else { return vec![1] };
    let mut bytes = vec![0u8; CpuSet::MAX_CPU / 8];
    for core in (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)) {
        bytes[core / 8] |= 1 << (core % 8);
    }
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_running_thread_has_a_core() {
        let ones: u32 = super::cores().iter().map(|b| b.count_ones()).sum();
        assert_eq!(ones as usize, std::thread::available_parallelism().unwrap().get());
    }
}
