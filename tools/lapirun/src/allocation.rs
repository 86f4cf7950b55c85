//! Machines of the batch system's allocation that the launcher runs in, for jobs that name none.

use crate::fault::Fault;
use crate::hosts::{self, Host};

/// What a batch system has given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) hosts: Vec<Host>,
    /// How something is run on one of its machines, where ssh is not the way.
    pub(crate) remote: Option<&'static str>,
}

/// Runs the agent as a step of its own, beside what else runs in the allocation.
const SRUN: &str =
    "srun --overlap --nodes=1 --ntasks=1 --nodelist={host} --mpi=none --unbuffered --export=ALL";

/// The allocation that the variables describe; `None` if there is none, or if it is this machine
/// alone.
pub(crate) fn current(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Allocation>, Fault> {
    let (slurm, pbs, lsf) = (slurm(variable)?, pbs(variable)?, lsf(variable)?);
    let Some(found) = slurm.or(pbs).or(lsf) else { return Ok(None) };
    let own = [variable("SLURMD_NODENAME"), variable("HOSTNAME"), Some(node_name())];
    let alone = matches!(&found.hosts[..], [host] if own.iter().flatten().any(|name| *name == host.name));
    Ok((!alone && !found.hosts.is_empty()).then_some(found))
}

fn node_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn slurm(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Allocation>, Fault> {
    let Some(list) = variable("SLURM_JOB_NODELIST") else { return Ok(None) };
    let bad = |text: &str| Fault::Hosts {
        text: text.to_owned(),
        reason: "Slurm's variable is not understood".into(),
    };
    let names = expand(&list).ok_or_else(|| bad(&list))?;
    // Who asked for tasks wants so many; who did not gets a task for each processor.
    let name =
        if variable("SLURM_NTASKS").is_some() { "SLURM_TASKS_PER_NODE" } else { "SLURM_JOB_CPUS_PER_NODE" };
    let slots = match variable(name) {
        None => vec![1; names.len()],
        Some(text) => counts(&text).filter(|c| c.len() == names.len()).ok_or_else(|| bad(&text))?,
    };
    let hosts = names.into_iter().zip(slots).map(|(name, slots)| Host { name, slots }).collect();
    Ok(Some(Allocation { hosts, remote: Some(SRUN) }))
}

/// A file with a machine's name for each of its places.
fn pbs(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Allocation>, Fault> {
    let Some(file) = variable("PBS_NODEFILE") else { return Ok(None) };
    let mut found: Vec<Host> = Vec::new();
    for host in hosts::from_file(file.as_ref())? {
        match found.iter_mut().find(|h| h.name == host.name) {
            Some(known) => known.slots += host.slots,
            None => found.push(host),
        }
    }
    Ok(Some(Allocation { hosts: found, remote: None }))
}

/// `host places host places …`
fn lsf(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Allocation>, Fault> {
    let Some(text) = variable("LSB_MCPU_HOSTS") else { return Ok(None) };
    let words: Vec<&str> = text.split_whitespace().collect();
    let host = |pair: &[&str]| hosts::from_list(&pair.join(":"));
    let hosts = words.chunks(2).map(host).collect::<Result<Vec<_>, _>>()?.concat();
    Ok(Some(Allocation { hosts, remote: Some("blaunch {host}") }))
}

/// `n[1-3,7],m2` as names.
fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list.trim();
    while !rest.is_empty() {
        let end = rest.find([',', '[']).unwrap_or(rest.len());
        let head = &rest[..end];
        if !rest[end..].starts_with('[') {
            names.push(head.to_owned());
            rest = rest[end..].trim_start_matches(',');
            continue;
        }
        let (inner, after) = rest[end + 1..].split_once(']')?;
        for part in inner.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let width = low.len();
            let (low, high) = (low.parse::<u32>().ok()?, high.parse::<u32>().ok()?);
            if high < low || high - low > 1 << 20 {
                return None;
            }
            names.extend((low..=high).map(|n| format!("{head}{n:0width$}")));
        }
        if !after.is_empty() && !after.starts_with(',') {
            // A second range in one name, or a suffix.
            return None;
        }
        rest = after.trim_start_matches(',');
    }
    (!names.is_empty() && names.iter().all(|n| !n.is_empty())).then_some(names)
}

/// `2(x3),1` as numbers.
fn counts(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse::<usize>().ok()?),
            None => (part, 1),
        };
        all.extend(std::iter::repeat_n(count.parse::<u32>().ok()?, times.min(1 << 20)));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Option<Allocation>, Fault> {
        current(&|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    fn shown(found: Result<Option<Allocation>, Fault>) -> Vec<(String, u32)> {
        found.unwrap().unwrap().hosts.into_iter().map(|h| (h.name, h.slots)).collect()
    }

    #[test]
    fn lists_of_nodes_are_expanded() {
        let names = |list: &str| expand(list).unwrap().join(" ");
        assert_eq!(names("n1"), "n1");
        assert_eq!(names("n[1-3,7],m2,k[08-10]"), "n1 n2 n3 n7 m2 k08 k09 k10");
        for wrong in ["", "n[1", "n[a]", "n[3-1]", "n[1-2]x[1-2]", "n[1-99999999]"] {
            assert_eq!(expand(wrong), None, "{wrong}");
        }
        assert_eq!(counts("2(x3),1"), Some(vec![2, 2, 2, 1]));
        assert_eq!(counts("2(y3)"), None);
    }

    #[test]
    fn places_come_from_what_was_asked_for() {
        let nodes = ("SLURM_JOB_NODELIST", "n[1-2]");
        let (cpus, tasks) = (("SLURM_JOB_CPUS_PER_NODE", "8(x2)"), ("SLURM_TASKS_PER_NODE", "2,1"));
        assert_eq!(shown(of(&[nodes, cpus, tasks])), [("n1".into(), 8), ("n2".into(), 8)]);
        let asked = ("SLURM_NTASKS", "3");
        assert_eq!(shown(of(&[nodes, cpus, tasks, asked])), [("n1".into(), 2), ("n2".into(), 1)]);
        assert!(of(&[nodes, ("SLURM_JOB_CPUS_PER_NODE", "8(x3)")]).is_err());
        assert_eq!(shown(of(&[("LSB_MCPU_HOSTS", "a 2 b 3")])), [("a".into(), 2), ("b".into(), 3)]);
    }

    #[test]
    fn one_machine_needs_no_remote_command() {
        assert_eq!(of(&[]).unwrap(), None);
        let here =
            [("SLURM_JOB_NODELIST", "n1"), ("SLURMD_NODENAME", "n1"), ("SLURM_JOB_CPUS_PER_NODE", "2")];
        assert_eq!(of(&here).unwrap(), None);
    }
}
