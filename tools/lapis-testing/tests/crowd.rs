//! A thousand tasks on one machine, with contexts: they start, meet in a fence, and end.
//!
//! The limit is one of progress: each task says twice that it goes on. The test has all of
//! nextest's threads (`.config/nextest.toml`).

use lapis_testing::Job;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");
const TASKS: u32 = 1000;

/// What a launcher of so many needs: two pipes, a connection and a process descriptor for each.
const DESCRIPTORS: u64 = 6 * TASKS as u64;

/// Whether the user may have as many processes and descriptors; says what is missing.
fn possible() -> bool {
    let limit = |what| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure is this function's, and of the type that the call fills.
        let status = unsafe { libc::getrlimit(what, &raw mut limit) };
        assert_eq!(status, 0, "getrlimit");
        limit.rlim_max
    };
    let (files, processes) = (limit(libc::RLIMIT_NOFILE), limit(libc::RLIMIT_NPROC));
    let enough = files >= DESCRIPTORS && processes >= 8 * u64::from(TASKS);
    if !enough {
        eprintln!("SKIP: limits of {files} descriptors and {processes} processes do not allow {TASKS} tasks");
    }
    enough
}

#[test]
fn a_thousand_tasks_start_meet_and_end() {
    if !possible() {
        return;
    }
    let done = Job::new(TASKS).run(TASK, &["crowd"]).expect_quiet(0);
    for word in ["starts", "has met all"] {
        assert_eq!(done.lines_with(word).len(), TASKS as usize, "{word}");
    }
}
