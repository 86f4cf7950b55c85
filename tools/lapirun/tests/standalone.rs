//! Tasks started by hand with the guide's variables (LAPI Guide, Chapter 16), without a launcher.

mod common;

use common::*;

fn task(child: u32, tasks: u32, partition: &str, args: &[&str]) -> Running {
    let mut command = clean(TASK);
    command
        .env("MP_CHILD", child.to_string())
        .env("MP_PROCS", tasks.to_string())
        .env("MP_PARTITION", partition)
        .env("LAPIS_INIT_TIMEOUT", "30")
        .args(args);
    Running::start(command)
}

fn partition(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

#[test]
fn tasks_meet_in_any_order() {
    for (round, order) in [[0u32, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]].iter().enumerate() {
        let name = partition(&format!("order{round}"));
        let all: Vec<Running> = order
            .iter()
            .map(|child| {
                let task = task(*child, 4, &name, &["exchange", "10"]);
                std::thread::sleep(std::time::Duration::from_millis(30));
                task
            })
            .collect();
        for task in all {
            task.wait().expect(0);
        }
    }
}

#[test]
fn a_partition_can_be_used_again_at_once() {
    let name = partition("again");
    for _ in 0..5 {
        let all: Vec<Running> = (0..3).map(|child| task(child, 3, &name, &["exchange", "2"])).collect();
        for task in all {
            task.wait().expect(0);
        }
    }
}

#[test]
fn two_partitions_do_not_meet() {
    let (a, b) = (partition("left"), partition("right"));
    let all: Vec<Running> =
        (0..4).map(|n| task(n / 2, 2, if n % 2 == 0 { &a } else { &b }, &["identity"])).collect();
    let ids: Vec<String> = all.into_iter().map(|t| t.wait().expect(0).out).collect();
    assert_eq!((&ids[0], &ids[1]), (&ids[2], &ids[3]));
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_missing_partner_is_an_error_that_names_it() {
    let mut command = clean(TASK);
    command
        .env("MP_CHILD", "0")
        .env("MP_PROCS", "2")
        .env("MP_PARTITION", partition("missing"))
        .env("LAPIS_INIT_TIMEOUT", "1")
        .args(["exchange", "1"]);
    let done = run(command).expect(3);
    assert!(done.out.contains("task 1 (never connected)") && done.out.contains("MP_PARTITION"), "{done:?}");
}

#[test]
fn one_number_given_twice_is_refused() {
    let name = partition("twice");
    let first = task(0, 2, &name, &["exchange", "1"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let second = task(0, 2, &name, &["exchange", "1"]);
    let done = second.wait().expect(3);
    assert!(done.out.contains("open already") && done.out.contains("own number"), "{done:?}");
    let partner = task(1, 2, &name, &["exchange", "1"]);
    first.wait().expect(0);
    partner.wait().expect(0);
}

#[test]
fn a_partner_that_dies_is_named() {
    let name = partition("dies");
    let all: Vec<Running> =
        (0..3).map(|child| task(child, 3, &name, &["fence-without", "2", "exit0"])).collect();
    let done: Vec<Finished> = all.into_iter().map(Running::wait).collect();
    for (number, task) in done.into_iter().enumerate() {
        if number == 2 {
            task.expect(0);
        } else {
            let task = task.expect(9);
            // The one that died may have been the one that served.
            assert!(
                task.out.contains("task 2") || task.out.contains("lost the bootstrap server"),
                "{task:?}"
            );
        }
    }
}

#[test]
fn a_number_of_tasks_without_a_launcher_is_never_a_job_of_one() {
    let mut command = clean(TASK);
    command.env("MP_PROCS", "4").args(["exchange", "1"]);
    let done = run(command).expect(3);
    assert!(done.out.contains("MP_PROCS=4") && done.out.contains("lapirun"), "{done:?}");
    let mut command = clean(TASK);
    command.env("MP_PROCS", "4").env("MP_CHILD", "4").args(["exchange", "1"]);
    let done = run(command).expect(3);
    assert!(done.out.contains("MP_CHILD") && done.out.contains("0 to 3"), "{done:?}");
}
