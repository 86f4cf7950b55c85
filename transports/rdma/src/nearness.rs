//! Which devices are near the processors that this task may run on.
//!
//! Knows sysfs and no libfabric. Nearness orders devices of one network only, since tasks on other
//! processors must still reach this one.

use rustix::thread::sched_getaffinity;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's distance between a memory node and itself.
const LOCAL: u32 = 10;

/// Where a device is attached, as far as the kernel knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The memory node.
    pub(crate) node: Option<u32>,
    /// PCI bridges between the processor and the device.
    pub(crate) bridges: Option<u32>,
}

/// The distance of each memory node from the nearest one whose processors this task may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Here(BTreeMap<u32, u32>);

/// What the order of devices goes by: the network's name and the place of each. The networks stay
/// where they were, and so do devices that are equally near; those whose place is unknown count as
/// local, behind those that are.
pub(crate) fn nearest_first(devices: &[(String, Place)], here: &Here) -> Vec<usize> {
    let mut order: Vec<usize> = (0..devices.len()).collect();
    let mut done: Vec<&str> = Vec::new();
    for (network, _) in devices {
        if done.contains(&network.as_str()) {
            continue;
        }
        done.push(network);
        let slots: Vec<usize> = (0..devices.len()).filter(|at| devices[*at].0 == *network).collect();
        let mut sorted = slots.clone();
        sorted.sort_by_key(|at| here.distance(devices[*at].1));
        slots.into_iter().zip(sorted).for_each(|(slot, device)| order[slot] = device);
    }
    order
}

impl Here {
    /// Of this task, by its affinity.
    pub(crate) fn of_this_task() -> Self {
        Self::read(Path::new("/sys/devices/system/node")).unwrap_or_default()
    }

    fn read(nodes: &Path) -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        let number = |name: &str| name.strip_prefix("node")?.parse::<u32>().ok();
        let names = fs::read_dir(nodes).ok()?.flatten().map(|entry| entry.file_name());
        let mut online: Vec<u32> = names.filter_map(|name| number(&name.to_string_lossy())).collect();
        online.sort_unstable();
        let is_ours = |node: u32| {
            let cpus = fs::read_dir(nodes.join(format!("node{node}"))).into_iter().flatten().flatten();
            let of_cpu = |name: &str| name.strip_prefix("cpu")?.parse::<usize>().ok();
            cpus.filter_map(|entry| of_cpu(&entry.file_name().to_string_lossy()))
                .any(|cpu| allowed.is_set(cpu))
        };
        let rows = online.iter().filter(|node| is_ours(**node)).filter_map(|node| {
            let text = fs::read_to_string(nodes.join(format!("node{node}/distance"))).ok()?;
            Some(text.split_whitespace().map_while(|word| word.parse().ok()).collect())
        });
        Some(Self::of_rows(&online, rows))
    }

    /// By the kernel's distances from each of our nodes to all that are online.
    fn of_rows(online: &[u32], rows: impl Iterator<Item = Vec<u32>>) -> Self {
        let mut least = BTreeMap::new();
        for row in rows {
            for (node, distance) in online.iter().zip(row) {
                least
                    .entry(*node)
                    .and_modify(|known: &mut u32| *known = distance.min(*known))
                    .or_insert(distance);
            }
        }
        Self(least)
    }

    fn distance(&self, place: Place) -> (u32, u32) {
        let known = place.node.and_then(|node| self.0.get(&node));
        match known {
            Some(distance) => (*distance, place.bridges.unwrap_or(u32::MAX)),
            None => (LOCAL, u32::MAX),
        }
    }
}

impl Place {
    /// Of a PCI device, by its address.
    pub(crate) fn of_pci((domain, bus, device, function): (u16, u8, u8, u8)) -> Self {
        let name = format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}");
        Self::read(&Path::new("/sys/bus/pci/devices").join(name))
    }

    /// Of an adapter or interface of this name.
    pub(crate) fn of_name(name: &str) -> Self {
        if name.is_empty() || name.contains('/') {
            return Self::default();
        }
        let classes = ["infiniband", "net"].map(|class| format!("/sys/class/{class}/{name}/device"));
        classes.iter().map(Path::new).find(|path| path.exists()).map(Self::read).unwrap_or_default()
    }

    fn read(link: &Path) -> Self {
        fs::canonicalize(link).map(|path| Self::of_path(&path)).unwrap_or_default()
    }

    /// `path`: the device's folder. What hangs on a PCI device has no node of its own.
    fn of_path(path: &Path) -> Self {
        let node = |folder: &Path| {
            let text = fs::read_to_string(folder.join("numa_node")).ok()?;
            Some(text.trim().parse::<u32>().ok())
        };
        // The kernel says -1 where it does not know.
        Self { node: path.ancestors().find_map(node).flatten(), bridges: bridges(path) }
    }
}

/// The PCI functions on the way to a device; `None` if it is on no such bus.
fn bridges(path: &Path) -> Option<u32> {
    let is_function = |name: &str| {
        let parts: Vec<&str> = name.split([':', '.']).collect();
        parts.len() == 4 && parts.iter().all(|part| u32::from_str_radix(part, 16).is_ok())
    };
    let names = path.iter().filter(|name| is_function(&name.to_string_lossy())).count();
    u32::try_from(names).ok()?.checked_sub(1)
}

/// The adapters that the kernel has, by name, whoever can use them.
pub(crate) fn adapters_of_kernel() -> Vec<String> {
    let entries = fs::read_dir("/sys/class/infiniband").into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// The state of an adapter's first port, as the kernel writes it.
pub(crate) fn port_state(adapter: &str) -> String {
    let path: PathBuf = ["/sys/class/infiniband", adapter, "ports/1/state"].iter().collect();
    fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(network: &str, node: Option<u32>, bridges: Option<u32>) -> (String, Place) {
        (network.to_owned(), Place { node, bridges })
    }

    /// Two sockets of two nodes each.
    const FOUR: [[u32; 4]; 4] = [[10, 12, 21, 21], [12, 10, 21, 21], [21, 21, 10, 12], [21, 21, 12, 10]];

    fn on(nodes: &[usize]) -> Here {
        Here::of_rows(&[0, 1, 2, 3], nodes.iter().map(|node| FOUR[*node].to_vec()))
    }

    #[test]
    fn the_device_of_the_tasks_own_node_comes_first() {
        let devices: Vec<_> = (0..4).map(|node| at("ib", Some(node), Some(1))).collect();
        assert_eq!(nearest_first(&devices, &on(&[0])), [0, 1, 2, 3]);
        assert_eq!(nearest_first(&devices, &on(&[2])), [2, 3, 0, 1]);
        assert_eq!(nearest_first(&devices, &on(&[3])), [3, 2, 0, 1]);
        // Of a task of both sockets the order is the library's.
        assert_eq!(nearest_first(&devices, &on(&[0, 1, 2, 3])), [0, 1, 2, 3]);
        assert_eq!(nearest_first(&devices, &on(&[1, 2])), [1, 2, 0, 3]);
    }

    #[test]
    fn of_devices_of_one_node_the_one_behind_fewer_bridges_comes_first() {
        let devices = [at("ib", Some(0), Some(3)), at("ib", Some(0), Some(1)), at("ib", Some(1), Some(0))];
        assert_eq!(nearest_first(&devices, &on(&[0])), [1, 0, 2]);
    }

    #[test]
    fn devices_of_unknown_place_keep_their_order_behind_local_ones() {
        let unknown = at("ib", None, None);
        let devices =
            [at("ib", Some(2), Some(1)), unknown.clone(), at("ib", Some(0), Some(1)), unknown.clone()];
        assert_eq!(nearest_first(&devices, &on(&[0])), [2, 1, 3, 0]);
        // A kernel that tells of no nodes.
        assert_eq!(nearest_first(&devices, &Here::default()), [0, 1, 2, 3]);
        // A node without distances, such as one that came later.
        assert_eq!(nearest_first(&[at("ib", Some(9), Some(0)), unknown], &on(&[0])), [0, 1]);
    }

    #[test]
    fn networks_stay_where_they_are() {
        let devices =
            [at("a", Some(2), None), at("b", Some(2), None), at("a", Some(0), None), at("b", Some(0), None)];
        assert_eq!(nearest_first(&devices, &on(&[0])), [2, 3, 0, 1]);
        assert_eq!(nearest_first(&devices, &on(&[2])), [0, 1, 2, 3]);
        let apart = [at("a", Some(2), None), at("b", Some(0), None)];
        assert_eq!(nearest_first(&apart, &on(&[0])), [0, 1], "another network is no nearer way to the peers");
    }

    #[test]
    fn bridges_are_counted_on_the_way_to_the_device() {
        let of = |path: &str| bridges(Path::new(path));
        assert_eq!(of("/sys/devices/pci0000:00/0000:00:05.0/virtio2"), Some(0));
        assert_eq!(of("/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/0000:42:02.0"), Some(2));
        assert_eq!(of("/sys/devices/virtual/net/lo"), None);
    }

    #[test]
    fn this_machine_is_read_without_a_fault() {
        let here = Here::of_this_task();
        // A task that may run somewhere is on a node, if there are any.
        assert!(here.0.is_empty() || here.0.values().any(|distance| *distance == LOCAL), "{here:?}");
        assert_eq!(Place::of_name("lo"), Place::default());
        assert_eq!(Place::of_name("../../etc"), Place::default());
        assert_eq!(Place::of_pci((0xffff, 0xff, 0x1f, 7)), Place::default());
    }
}
