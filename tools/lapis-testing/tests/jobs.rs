//! Jobs of real tasks over the shared-memory plugin.

use lapis_testing::{Finished, Job};

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

fn run(job: &Job, scenario: &[&str]) -> Finished {
    job.run(TASK, scenario)
}

/// Lines of the tasks, all alike.
#[track_caller]
fn expect_from_all(done: Finished, tasks: u32, line: &str) {
    let done = done.expect_quiet(0);
    assert_eq!(done.sorted(), vec![line; tasks as usize]);
}

fn all_to_all(job: &Job, tasks: u32) {
    expect_from_all(run(job, &["all-to-all"]), tasks, &format!("all-to-all: {} messages", 24 * tasks));
}

fn one_sided(job: &Job, tasks: usize) {
    let done = run(job, &["one-sided"]).expect_quiet(0);
    let lines = done.sorted();
    assert_eq!(lines.len(), 2 * tasks, "{lines:?}");
    assert!(lines[..tasks].iter().all(|l| *l == "one-sided: any memory"), "{lines:?}");
    assert!(lines[tasks..].iter().all(|l| *l == "one-sided: lapis memory"), "{lines:?}");
}

#[test]
fn messages_of_every_size_go_from_all_to_all() {
    for tasks in [1, 2, 4, 8] {
        // A task alone has nobody to share memory with.
        all_to_all(&Job::new(tasks), tasks);
    }
}

#[test]
fn messages_go_by_either_copy_and_in_either_mode() {
    for copy in ["cma", "double"] {
        for interrupts in ["yes", "no"] {
            all_to_all(&Job::new(4).var("LAPIS_SHM_COPY", copy).var("LAPIS_INTERRUPT", interrupts), 4);
        }
    }
}

#[test]
fn puts_gets_and_atomics_work_in_both_kinds_of_memory() {
    for tasks in [2, 4, 8] {
        one_sided(&Job::new(tasks), tasks as usize);
    }
}

#[test]
fn puts_gets_and_atomics_go_by_either_copy_and_in_either_mode() {
    for copy in ["cma", "double"] {
        for interrupts in ["yes", "no"] {
            one_sided(&Job::new(2).var("LAPIS_SHM_COPY", copy).var("LAPIS_INTERRUPT", interrupts), 2);
        }
    }
}

/// Over each transport, with the ways that it has for long data. A task's own memory is reached by
/// loads and stores, which nobody refuses.
#[test]
fn what_a_target_refuses_ends_at_its_origin_with_the_reason() {
    let rdma = |job: Job| job.var("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm").var("LAPIS_RDMA_ADDR", "127.0.0.1");
    for interrupts in ["yes", "no"] {
        let job =
            |transport| Job::new(3).var("LAPIS_TRANSPORT", transport).var("LAPIS_INTERRUPT", interrupts);
        expect_from_all(run(&job("shm").var("LAPIS_SHM_COPY", "cma"), &["refused"]), 3, "refused: true");
        expect_from_all(run(&job("shm").var("LAPIS_SHM_COPY", "double"), &["refused"]), 3, "refused: true");
        expect_from_all(run(&job("udp"), &["refused"]), 3, "refused: true");
        expect_from_all(run(&rdma(job("rdma")), &["refused"]), 3, "refused: true");
    }
}

/// The safe interface copies by address what it has been told of: nothing that is given goes in
/// packets for want of a key.
#[test]
fn what_a_target_gives_is_copied_straight() {
    for interrupts in ["yes", "no"] {
        let job = Job::new(3).var("LAPIS_TRANSPORT", "shm").var("LAPIS_INTERRUPT", interrupts);
        expect_from_all(run(&job.var("LAPIS_SHM_COPY", "cma"), &["given"]), 3, "given: done");
    }
}

#[test]
fn fences_hold_in_a_storm() {
    for tasks in [2, 4, 8] {
        expect_from_all(run(&Job::new(tasks), &["fence-storm"]), tasks, "fence-storm: 300");
    }
}

#[test]
fn completion_handlers_answer_while_everybody_sends() {
    for (tasks, interrupts) in [(2, "yes"), (2, "no"), (4, "yes")] {
        let job = Job::new(tasks).var("LAPIS_INTERRUPT", interrupts);
        expect_from_all(run(&job, &["answers"]), tasks, &format!("answers: {}", 200 * tasks));
    }
}

#[test]
fn a_task_that_computes_is_served_in_interrupt_mode_only() {
    for (mode, served) in [("on", true), ("after polling", true), ("off", false)] {
        let done = run(&Job::new(2), &["interrupts", mode]).expect_quiet(0);
        assert_eq!(done.out, format!("served while it computed: {served}\n"));
    }
}

#[test]
fn a_thread_that_sleeps_stays_asleep_while_another_one_polls() {
    let done = run(&Job::new(2), &["sleep-beside-a-poller"]).expect_quiet(0);
    assert_eq!(done.out, "slept beside a poller: true\n");
}

#[test]
fn one_call_that_polls_handles_all_messages_that_wait() {
    let done = run(&Job::new(2), &["poll"]).expect_quiet(0);
    assert_eq!(done.out, "handled by one call: 10\n");
}

#[test]
fn tasks_may_leave_one_after_the_other() {
    for tasks in [2, 4, 8] {
        let done = run(&Job::new(tasks), &["leave-unevenly"]).expect_quiet(0);
        let all: Vec<String> = (0..tasks).map(|t| format!("left: {t}")).collect();
        assert_eq!(done.sorted(), all);
    }
}

/// Task 1 of 3 dies; the survivors, who don't mind the launcher's signal, print a line each.
fn death(scenario: &[&str]) -> Vec<String> {
    let folder =
        std::env::temp_dir().join(format!("lapis-jobs-{}-{}", std::process::id(), scenario.join("-")));
    std::fs::create_dir_all(&folder).unwrap();
    let job = Job::new(3).option("--grace=30").var("JOB_TEST_FOLDER", &folder.to_string_lossy());
    let done = run(&job, scenario);
    std::fs::remove_dir_all(&folder).unwrap();
    let done = done.expect(137);
    let launcher: Vec<&str> = done.err.lines().filter(|l| l.starts_with("lapirun")).collect();
    assert_eq!(launcher.len(), 1, "{}", done.err);
    assert!(launcher[0].contains("task 1") && launcher[0].contains("SIGKILL"), "{}", done.err);
    let lines: Vec<String> = done.sorted().into_iter().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}\n{}", done.err);
    lines
}

#[test]
fn a_death_before_initialisation_ends_it_for_the_others() {
    for line in death(&["die", "init"]) {
        assert!(line.contains(": init: ") && line.contains("task 1"), "{line}");
    }
}

#[test]
fn a_death_amid_puts_is_an_error_of_the_others_calls() {
    for line in death(&["die", "put"]) {
        assert!(line.contains(": put: task 1 is down"), "{line}");
    }
}

#[test]
fn a_death_before_a_fence_is_an_error_of_the_others_fences() {
    for line in death(&["die", "fence"]) {
        assert!(line.contains(": gfence: task 1 is down"), "{line}");
    }
}

#[test]
fn a_death_does_not_keep_the_others_from_terminating() {
    for line in death(&["die", "term"]) {
        assert!(line.ends_with(": terminate: Ok(())"), "{line}");
    }
}

#[test]
fn those_who_registered_for_errors_go_on_without_the_dead() {
    for line in death(&["survive"]) {
        assert!(line.contains("goes on: task 1 is down"), "{line}");
    }
}

#[test]
fn a_forked_child_is_refused_and_its_parent_goes_on() {
    expect_from_all(run(&Job::new(2), &["fork"]), 2, "fork: refused in the child");
}

#[test]
fn eight_tasks_need_few_descriptors() {
    expect_from_all(run(&Job::new(8), &["few-descriptors", "64"]), 8, "all-to-all: 192 messages");
}

#[test]
fn too_few_descriptors_are_a_clear_error() {
    let done = run(&Job::new(4), &["few-descriptors", "5"]).expect(3);
    let text = done.out.to_lowercase();
    assert!(text.contains("too many open files") || text.contains("descriptor"), "{done:?}");
}

#[test]
fn the_heap_shrinks_with_the_address_space() {
    // The default heap alone is twice as large as this.
    expect_from_all(run(&Job::new(2), &["little-address-space", "2000"]), 2, "all-to-all: 48 messages");
}

#[test]
fn too_little_address_space_is_a_clear_error() {
    let done = run(&Job::new(2), &["little-address-space", "15"]).expect(3);
    assert!(done.out.contains("RLIMIT_AS") && done.out.contains("LAPIS_SHM_HEAP"), "{done:?}");
}

#[test]
fn a_system_that_refuses_cross_memory_attach_gets_two_copies() {
    let done = run(&Job::new(2), &["no-attach"]).expect_quiet(0);
    assert_eq!(done.out.lines().filter(|l| l.starts_with("one-sided")).count(), 4, "{done:?}");
    let forced = run(&Job::new(2).var("LAPIS_SHM_COPY", "cma"), &["no-attach"]).expect(3);
    assert!(forced.out.contains("LAPIS_SHM_COPY"), "{forced:?}");
}

#[test]
fn the_builders_settings_reach_the_plugins() {
    let done = run(&Job::new(2).var("LAPIS_SHM_HEAP", "64M"), &["builder-heap"]).expect(0);
    let lines: Vec<&str> = done.out.lines().filter(|l| l.contains("LAPIS_SHM_HEAP")).collect();
    assert_eq!(lines.len(), 2, "{done:?}");
}

#[test]
fn a_task_that_nothing_reaches_is_told_what_was_sought() {
    let done = run(&Job::new(2).var("LAPIS_TRANSPORT", "loopback"), &["all-to-all"]).expect(3);
    for part in ["no transport reaches task", "shm: there, but not asked for", "plugins were sought in /"] {
        assert!(done.out.contains(part), "{part}: {done:?}");
    }
}
