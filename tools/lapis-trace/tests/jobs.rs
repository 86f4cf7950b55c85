//! Traces of real jobs.

use lapis_testing::{Finished, Job, clean, program, run};
use std::path::{Path, PathBuf};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lapis-trace-{name}-{}", std::process::id()));
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn merge(folder: &Path, args: &[&str]) -> Finished {
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-trace"));
    command.arg(folder).args(args);
    run(command)
}

fn task() -> PathBuf {
    program("lapis-testing", "lapis-job-task")
}

#[test]
fn a_job_is_merged_and_summed_up() {
    let folder = Folder::new("whole");
    let job = Job::new(3).var("LAPIS_TRANSPORT", "udp").var("LAPIS_TRACE", folder.path());
    job.run(task(), &["all-to-all"]).expect_quiet(0);
    let merged = folder.0.join("merged.json");
    let done = merge(&folder.0, &["-o", merged.to_str().unwrap()]).expect_quiet(0);
    assert!(done.out.contains(": 3 of 3 tasks"), "{}", done.out);
    assert_eq!(done.out.matches("  whole").count(), 3, "{}", done.out);
    assert!(done.out.contains("completion of a message or put"), "{}", done.out);
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&merged).unwrap()).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    for task in 0..3 {
        let own = || events.iter().filter(|e| e["pid"] == task);
        assert!(own().any(|e| e["ph"] == "M" && e["name"] == "process_name"), "{task}");
        assert!(own().any(|e| e["ph"] == "C"), "{task}");
        let of = |phase: &str| own().filter(|e| e["ph"] == phase).count();
        assert!(of("b") > 0, "{task}");
        assert_eq!((of("B"), of("b")), (of("E"), of("e")), "what begins ends: {task}");
    }
}

#[test]
fn a_task_that_was_killed_leaves_what_it_had_noted() {
    let folder = Folder::new("cut");
    let job = Job::new(3).option("--keep-going").option("--timeout").option("2");
    let job = job.var("LAPIS_TRACE", folder.path());
    job.run(task(), &["hang", "computes", "1"]).expect(124);
    let done = merge(&folder.0, &[]).expect_quiet(0);
    assert_eq!(done.out.matches("cut off").count(), 3, "{}", done.out);
}

#[test]
fn a_folder_that_can_not_be_written_and_one_without_traces_are_said() {
    let job = Job::new(1).var("LAPIS_TRACE", "/proc/none");
    let done = job.run(task(), &["all-to-all"]).expect(3);
    assert!(done.out.contains("making the file that LAPIS_TRACE wants"), "{}", done.out);
    assert!(done.out.contains("/proc/none/"), "{}", done.out);
    let empty = Folder::new("empty");
    std::fs::create_dir(&empty.0).unwrap();
    let done = merge(&empty.0, &[]).expect(2);
    assert_eq!(done.err, "lapis-trace: no trace was found (*.lapistrace)\n");
}
