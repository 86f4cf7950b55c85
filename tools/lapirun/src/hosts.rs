//! Which task runs on which machine, and the command that reaches that machine.

use std::path::Path;

use crate::fault::Fault;

/// A machine and how many tasks it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name, as the remote command takes it.
    pub name: String,
    /// Tasks it takes.
    pub slots: u32,
}

fn fault(text: &str, reason: &str) -> Fault {
    Fault::Hosts { text: text.to_owned(), reason: reason.to_owned() }
}

fn host(text: &str) -> Result<Host, Fault> {
    let (name, slots) = match text.rsplit_once(':') {
        Some((name, slots)) => {
            (name, slots.parse().map_err(|_| fault(text, "the part after : is not a number"))?)
        }
        None => (text, 1),
    };
    if slots == 0 {
        return Err(fault(text, "a host with no tasks"));
    }
    // A name that looks like an option would become one of the remote command.
    let plain = |c: char| c.is_alphanumeric() || "._-@".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(fault(text, "host names have letters, digits and . _ - @"));
    }
    Ok(Host { name: name.to_owned(), slots })
}

/// Reads `host[:tasks],host[:tasks]…`.
pub(crate) fn from_list(text: &str) -> Result<Vec<Host>, Fault> {
    text.split(',').map(|part| host(part.trim())).collect()
}

/// Reads a file with one host a line: `host`, `host:tasks` or `host slots=tasks`; `#` begins a
/// comment.
pub(crate) fn from_file(path: &Path) -> Result<Vec<Host>, Fault> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| fault(&shown, &e.to_string()))?;
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let spec = match words[..] {
            [name] => name.to_owned(),
            [name, slots] if slots.starts_with("slots=") => format!("{name}:{}", &slots[6..]),
            _ => {
                return Err(fault(
                    &format!("{shown} line {}", number + 1),
                    "write: host, host:tasks or host slots=tasks",
                ));
            }
        };
        hosts.push(host(&spec).map_err(|e| fault(&format!("{shown} line {}", number + 1), &e.to_string()))?);
    }
    if hosts.is_empty() {
        return Err(fault(&shown, "the file names no host"));
    }
    Ok(hosts)
}

/// The places that the hosts offer.
pub(crate) fn places(hosts: &[Host]) -> u64 {
    hosts.iter().map(|h| u64::from(h.slots)).sum()
}

/// The tasks of each host, in order.
///
/// They fill one host after the other, or go to each in turn.
pub(crate) fn place(hosts: &[Host], tasks: u32, by_node: bool) -> Result<Vec<(String, Vec<u32>)>, Fault> {
    if places(hosts) < u64::from(tasks) {
        let offer = places(hosts);
        let reason = format!("they take {offer} tasks and the job has {tasks}; write host:tasks");
        let names: Vec<&str> = hosts.iter().map(|h| h.name.as_str()).collect();
        return Err(fault(&names.join(","), &reason));
    }
    let mut placed: Vec<(String, Vec<u32>)> = Vec::new();
    let mut put = |host: &Host, task| {
        // A host that is named twice gets one agent: its tasks are neighbours.
        match placed.iter_mut().find(|(name, _)| *name == host.name) {
            Some((_, list)) => list.push(task),
            None => placed.push((host.name.clone(), vec![task])),
        }
    };
    // The places in the order in which they are filled: by rounds, or host after host.
    let mut places: Vec<(u32, &Host)> =
        hosts.iter().flat_map(|host| (0..host.slots.min(tasks)).map(move |round| (round, host))).collect();
    if by_node {
        places.sort_by_key(|(round, _)| *round);
    }
    (0..tasks).zip(places).for_each(|(task, (_, host))| put(host, task));
    Ok(placed)
}

/// The words of the command that runs something on `host`, from a template such as `ssh -q {host}`.
pub(crate) fn command(template: &str, host: &str) -> Vec<String> {
    template.split_whitespace().map(|word| word.replace("{host}", host)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_fill_the_hosts_in_order() {
        let hosts = from_list("a:2, b,a:1").unwrap();
        assert_eq!(place(&hosts, 4, false).unwrap(), [("a".into(), vec![0, 1, 3]), ("b".into(), vec![2])]);
        assert_eq!(place(&hosts, 1, false).unwrap(), [("a".into(), vec![0])]);
        let error = place(&hosts, 5, false).unwrap_err().to_string();
        assert!(error.contains("4 tasks") && error.contains('5'), "{error}");
    }

    #[test]
    fn tasks_go_to_each_host_in_turn_if_asked_to() {
        let hosts = from_list("a:2,b:1,c:3").unwrap();
        let placed = place(&hosts, 6, true).unwrap();
        assert_eq!(placed, [("a".into(), vec![0, 3]), ("b".into(), vec![1]), ("c".into(), vec![2, 4, 5])]);
    }

    #[test]
    fn only_as_many_places_are_listed_as_there_are_tasks() {
        let hosts = from_list("a:4000000000,b:4000000000").unwrap();
        assert_eq!(place(&hosts, 2, false).unwrap(), [("a".into(), vec![0, 1])]);
        assert_eq!(place(&hosts, 3, true).unwrap(), [("a".into(), vec![0, 2]), ("b".into(), vec![1])]);
    }

    #[test]
    fn wrong_hosts_are_refused() {
        for wrong in ["", "a,", "a:0", "a:x", "-oProxyCommand=x", "a b", "a;rm"] {
            assert!(from_list(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn files_name_the_line_of_a_mistake() {
        let path = std::env::temp_dir().join(format!("lapirun-hosts-{}", std::process::id()));
        std::fs::write(&path, "# two hosts\na slots=2\n\nb:3 # more\nc\n").unwrap();
        let hosts = from_file(&path).unwrap();
        assert_eq!(hosts.iter().map(|h| h.slots).collect::<Vec<_>>(), [2, 3, 1]);
        std::fs::write(&path, "a\nb four\n").unwrap();
        assert!(from_file(&path).unwrap_err().to_string().contains("line 2"));
        std::fs::write(&path, "# none\n").unwrap();
        assert!(from_file(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(from_file(&path).is_err());
    }

    #[test]
    fn templates_get_the_host() {
        assert_eq!(command("ip netns exec {host}", "n1"), ["ip", "netns", "exec", "n1"]);
        assert_eq!(command("ssh -l me {host}.local", "n"), ["ssh", "-l", "me", "n.local"]);
    }
}
