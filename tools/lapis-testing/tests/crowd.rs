//! A thousand tasks on one machine, with contexts: they start, meet in a fence, and end.
//!
//! The limit is one of progress: each task says twice that it goes on. The test has all of
//! nextest's threads (`.config/nextest.toml`).

use lapis_testing::{Job, scratch};
use std::path::Path;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");
const TASKS: u32 = 1000;

/// What a launcher of so many needs: two pipes, a connection and a process descriptor for each.
const DESCRIPTORS: u64 = 6 * TASKS as u64;

/// Processes and threads of the job: each task has two, and the launcher a handful.
const PROCESSES: u64 = 2 * TASKS as u64 + 100;

/// What keeps the job from starting, if something does: said before it fails half way.
fn missing() -> Option<String> {
    let limit = |what| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure is this function's, and of the type that the call fills.
        let status = unsafe { libc::getrlimit(what, &raw mut limit) };
        assert_eq!(status, 0, "getrlimit");
        limit.rlim_max
    };
    let (files, processes) = (limit(libc::RLIMIT_NOFILE), limit(libc::RLIMIT_NPROC));
    if files < DESCRIPTORS {
        return Some(format!("{files} descriptors (`ulimit -Hn`) and {DESCRIPTORS} are needed"));
    }
    if processes < PROCESSES {
        return Some(format!("{processes} processes (`ulimit -Hu`) and {PROCESSES} are needed"));
    }
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups.lines().find_map(|line| too_small(Path::new("/sys/fs/cgroup"), line))
}

/// Whether the control group of a line of `/proc/self/cgroup`, or one above it, leaves room for too
/// few processes; those of version 1 have a tree of their own for this.
fn too_small(mount: &Path, line: &str) -> Option<String> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let root = match controllers {
        "" => mount.to_owned(),
        "pids" => mount.join("pids"),
        _ => return None,
    };
    let own = root.join(path.trim_start_matches('/'));
    own.ancestors().take_while(|group| group.starts_with(&root)).find_map(|group| {
        let number = |file: &str| std::fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
        // No number: no file, as at the root, or the word "max".
        let (max, now) = (number("pids.max")?, number("pids.current")?);
        let limits = max.saturating_sub(now) < PROCESSES;
        let file = group.join("pids.max");
        limits.then(|| {
            format!("{}: {max}, of which {now} are used, and {PROCESSES} are needed", file.display())
        })
    })
}

#[test]
fn a_thousand_tasks_start_meet_and_end() {
    if let Some(missing) = missing() {
        eprintln!("SKIP: limits do not allow {TASKS} tasks: {missing}");
        return;
    }
    let done = Job::new(TASKS).run(TASK, &["crowd"]).expect_quiet(0);
    for word in ["starts", "has met all"] {
        assert_eq!(done.lines_with(word).len(), TASKS as usize, "{word}");
    }
}

#[test]
fn a_control_group_above_with_too_few_processes_is_named() {
    let mount = scratch("groups");
    let inner = mount.join("pids/outer/inner");
    std::fs::create_dir_all(&inner).unwrap();
    let group = |folder: &Path, max: &str, now: &str| {
        std::fs::write(folder.join("pids.max"), format!("{max}\n")).unwrap();
        std::fs::write(folder.join("pids.current"), format!("{now}\n")).unwrap();
    };
    group(&inner, "max", "7");
    group(inner.parent().unwrap(), "9000", "1000");
    assert_eq!(too_small(&mount, "8:pids:/outer/inner"), None);
    group(inner.parent().unwrap(), "3000", "1000");
    let said = too_small(&mount, "8:pids:/outer/inner").unwrap();
    assert!(said.contains("outer/pids.max: 3000, of which 1000 are used"), "{said}");
    assert_eq!(too_small(&mount, "4:memory:/outer/inner"), None);
    std::fs::rename(mount.join("pids/outer"), mount.join("outer")).unwrap();
    assert!(too_small(&mount, "0::/outer/inner").is_some());
    std::fs::remove_dir_all(&mount).unwrap();
}
