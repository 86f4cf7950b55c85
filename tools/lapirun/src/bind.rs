//! Which processors each task gets under `--bind`.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::job::Binding;

/// The processors that this process may use, together where they share something, in the order of
/// the first of each.
fn groups(shared: impl Fn(usize) -> Option<String>) -> Vec<Vec<usize>> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)) {
        groups.entry(shared(cpu).and_then(|list| first(&list)).unwrap_or(cpu)).or_default().push(cpu);
    }
    groups.into_values().collect()
}

/// The lowest number of a list such as `0-3,8`.
fn first(list: &str) -> Option<usize> {
    list.trim().split(['-', ',']).next()?.parse().ok()
}

fn read(path: String) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// A core without topology information is its own.
fn cores() -> Vec<Vec<usize>> {
    groups(|cpu| read(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")))
}

/// By the last cache; without one that is known, by the package.
fn caches() -> Vec<Vec<usize>> {
    groups(|cpu| {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        let cache = |index| read(format!("{folder}/cache/index{index}/shared_cpu_list"));
        (2..8).rev().find_map(cache).or_else(|| read(format!("{folder}/topology/package_cpus_list")))
    })
}

fn numa_nodes() -> Vec<Vec<usize>> {
    let nodes = node_lists(Path::new("/sys/devices/system/node"));
    groups(|cpu| Some(nodes.iter().find(|list| contains(list, cpu)).map_or("0", |list| list).to_owned()))
}

/// The processors of each node. The numbers of nodes may have gaps.
fn node_lists(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok());
    let nodes = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_node));
    nodes.filter_map(|node| std::fs::read_to_string(node.path().join("cpulist")).ok()).collect()
}

/// Whether a list such as `0-3,8` has a number.
fn contains(list: &str, cpu: usize) -> bool {
    list.trim().split(',').any(|part| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        matches!((low.parse::<usize>(), high.parse::<usize>()), (Ok(low), Ok(high)) if (low..=high).contains(&cpu))
    })
}

/// A set of processors for each task; none without binding. `Err`: the number of cores, if there
/// are fewer than tasks.
pub(crate) fn assign(binding: Binding, tasks: u32) -> Result<Vec<CpuSet>, usize> {
    let places = match binding {
        Binding::None => return Ok(Vec::new()),
        Binding::Core => {
            let cores = cores();
            if cores.len() < tasks as usize {
                return Err(cores.len());
            }
            return Ok(cores.iter().take(tasks as usize).map(|core| set(core)).collect());
        }
        Binding::Cache => caches(),
        Binding::Numa => numa_nodes(),
    };
    // Neighbours stay together: they are likely to talk to each other.
    let tasks = tasks as usize;
    Ok((0..tasks).filter_map(|task| places.get(task * places.len() / tasks)).map(|p| set(p)).collect())
}

fn set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_disjoint_and_allowed() {
        let allowed = sched_getaffinity(None).unwrap();
        for groups in [cores(), caches(), numa_nodes()] {
            let all: Vec<usize> = groups.concat();
            let mut unique = all.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), all.len());
            assert!(all.iter().all(|&cpu| allowed.is_set(cpu)));
            assert_eq!(all.len(), allowed.count() as usize);
        }
    }

    #[test]
    fn more_tasks_than_cores_are_not_bound_to_one_each() {
        assert_eq!(assign(Binding::Core, 60_000).err(), Some(cores().len()));
        assert_eq!(assign(Binding::Core, 1).map(|sets| sets.len()), Ok(1));
        for binding in [Binding::Cache, Binding::Numa] {
            assert_eq!(assign(binding, 300).map(|sets| sets.len()), Ok(300));
        }
    }

    #[test]
    fn lists_are_understood() {
        assert!(contains("0-3,8\n", 2) && contains("0-3,8\n", 8) && !contains("0-3,8\n", 5));
        assert_eq!(first("4-7,9\n"), Some(4));
    }

    #[test]
    fn nodes_whose_numbers_have_gaps_are_found() {
        let folder = lapis_testing::scratch("nodes");
        for (node, cpus) in [("node0", "0-3\n"), ("node8", "4-7\n"), ("node-x", "9\n")] {
            std::fs::create_dir_all(folder.join(node)).unwrap();
            std::fs::write(folder.join(node).join("cpulist"), cpus).unwrap();
        }
        let mut found = node_lists(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        found.sort_unstable();
        assert_eq!(found, ["0-3\n", "4-7\n"]);
        assert!(node_lists(&folder).is_empty());
    }
}
