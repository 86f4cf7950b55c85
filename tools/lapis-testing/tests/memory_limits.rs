//! Jobs under limits on address space of every size, and on the length of files: each ends well or
//! says what it lacks, and none hangs.

use lapis_testing::Job;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// What a task that got no memory may say. The last is Rust's own word for an allocation of a few
/// bytes, before it aborts.
const REASONS: [&str; 4] = ["RLIMIT_AS", "Cannot allocate memory", "out of memory", "memory allocation of"];

#[test]
fn every_limit_ends_well_or_with_a_reason() {
    let (mut good, mut refused) = (0, 0);
    for megabytes in (10..=44).step_by(4).chain(45..=60).chain((64..=268).step_by(17)) {
        let limit = megabytes.to_string();
        // Backtraces are long, and written with no memory.
        let job = Job::new(2).var("RUST_BACKTRACE", "0").option("--timeout=60");
        let done = job.run(TASK, &["frugal", &limit]);
        match done.code {
            Some(0) => {
                assert_eq!(done.sorted(), ["frugal: 50 handlers ran"; 2], "{limit} MiB: {done:?}");
                good += 1;
            }
            Some(3 | 134) => {
                let said =
                    done.out.lines().chain(done.err.lines()).any(|l| REASONS.iter().any(|r| l.contains(r)));
                let named = done.err.lines().any(|l| l.starts_with("lapirun: task "));
                assert!(said && named, "{limit} MiB: {done:?}");
                refused += 1;
            }
            _ => panic!("{limit} MiB: {done:?}"),
        }
    }
    assert!(good > 5 && refused > 5, "{good} ended well, {refused} were refused: the limits miss the border");
}

/// What tasks share is a file, though in no file system: beyond the limit the system would end the
/// task by a signal.
#[test]
fn a_limit_on_files_ends_well_or_with_a_reason() {
    let under = |kilobytes: &str| {
        let limited = format!("ulimit -f {kilobytes}; exec \"$0\" all-to-all");
        Job::new(2).option("--timeout=60").run("bash", &["-c", &limited, TASK])
    };
    let done = under("1000000").expect(0);
    assert_eq!(done.sorted(), ["all-to-all: 48 messages"; 2]);
    let done = under("100").expect(3);
    assert!(done.out.contains("RLIMIT_FSIZE") && done.out.contains("`ulimit -f`"), "{done:?}");
}
