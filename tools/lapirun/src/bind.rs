//! Which processor each task gets under `--bind core`.

use std::collections::BTreeMap;

use rustix::thread::{CpuSet, sched_getaffinity};

/// The processors of each core that this process may use, by core.
fn cores() -> Vec<Vec<usize>> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let mut cores: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)) {
        cores.entry(first_sibling(cpu)).or_default().push(cpu);
    }
    cores.into_values().collect()
}

/// The lowest hardware thread of the core; a core without topology information is its own.
fn first_sibling(cpu: usize) -> usize {
    std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
        .ok()
        .and_then(|list| list.trim().split(['-', ',']).next().and_then(|n| n.parse().ok()))
        .unwrap_or(cpu)
}

/// A set of processors for each task, or the number of cores if there are fewer than tasks.
pub(crate) fn assign(tasks: u32) -> Result<Vec<CpuSet>, usize> {
    let cores = cores();
    if cores.len() < tasks as usize {
        return Err(cores.len());
    }
    let set = |core: &Vec<usize>| {
        let mut set = CpuSet::new();
        core.iter().for_each(|&cpu| set.set(cpu));
        set
    };
    Ok(cores.iter().take(tasks as usize).map(set).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_disjoint_and_allowed() {
        let allowed = sched_getaffinity(None).unwrap();
        let all: Vec<usize> = cores().concat();
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all.len());
        assert!(all.iter().all(|&cpu| allowed.is_set(cpu)));
        assert_eq!(all.len(), allowed.count() as usize);
    }

    #[test]
    fn more_tasks_than_cores_are_not_bound() {
        assert_eq!(assign(60_000).err(), Some(cores().len()));
        assert_eq!(assign(1).map(|sets| sets.len()), Ok(1));
    }
}
