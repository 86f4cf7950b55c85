//! The examples do what they say, alone and together.

use lapis_testing::{Finished, Job};
use lapis_udp as _;

const TASKS: [u32; 3] = [1, 2, 4];

fn run(tasks: u32, program: &str, args: &[&str]) -> Finished {
    Job::new(tasks).run(program, args).expect_quiet(0)
}

#[test]
fn hello_greets_in_order() {
    for tasks in TASKS {
        let done = run(tasks, env!("CARGO_BIN_EXE_hello"), &[]);
        let expected: String = (0..tasks).map(|t| format!("hello from task {t} of {tasks}\n")).collect();
        assert_eq!(done.out, expected);
    }
}

#[test]
fn the_lesson_delivers_a_short_and_a_long_line_to_each() {
    for tasks in TASKS {
        let done = run(tasks, env!("CARGO_BIN_EXE_am_lesson"), &[]);
        let expected: String = (0..tasks)
            .map(|me| {
                let from = (me + tasks - 1) % tasks;
                format!(
                    "task {me} got from {from} line 1: good morning, {me} (23 characters)\n\
                     task {me} got from {from} line 2: la la la la la la la l (60008 characters)\n"
                )
            })
            .collect();
        assert_eq!(done.out, expected);
    }
}

#[test]
fn ping_pong_tells_its_time_and_transport() {
    for tasks in TASKS {
        let done = run(tasks, env!("CARGO_BIN_EXE_pingpong"), &["50"]);
        let over = if tasks == 1 { "loopback" } else { "shm" };
        assert!(
            done.out.starts_with("one way: ") && done.out.ends_with(&format!("ns over {over}\n")),
            "{done:?}"
        );
    }
}

#[test]
fn the_ring_adds_every_task_in_every_round() {
    for tasks in TASKS {
        let done = run(tasks, env!("CARGO_BIN_EXE_ring_of_puts"), &["20"]);
        let sum = 20 * tasks * (tasks - 1) / 2;
        assert_eq!(done.out, format!("after 20 rounds of {tasks} tasks the value is {sum}\n"));
    }
}

#[test]
fn stolen_work_is_done_once() {
    for tasks in TASKS {
        let done = run(tasks, env!("CARGO_BIN_EXE_work_stealing"), &["1000"]);
        assert!(done.out.contains("1000 of 1000 jobs done, 59542 steps in all\n"), "{done:?}");
        let shares = done
            .out
            .lines()
            .filter_map(|l| l.strip_suffix(" jobs")?.split_once(" did ")?.1.parse::<u64>().ok());
        let shares: Vec<u64> = shares.collect();
        assert_eq!((shares.len(), shares.iter().sum()), (tasks as usize, 1000), "{done:?}");
    }
}

#[test]
fn futures_are_woken_in_interrupt_mode() {
    for tasks in TASKS {
        let done = run(tasks, env!("CARGO_BIN_EXE_awaiting"), &[]);
        let all: Vec<String> =
            (0..tasks).map(|t| format!("task {t}: {} bytes were handled", tasks * 10_000)).collect();
        assert_eq!(done.sorted(), all);
    }
}

/// Runs a program over each transport; lines may come in any order.
fn everywhere(tasks: u32, program: &str, args: &[&str], expected: &[String]) {
    for transport in ["shm", "udp"] {
        let done = Job::new(tasks).var("LAPIS_TRANSPORT", transport).run(program, args).expect_quiet(0);
        assert_eq!(done.sorted(), expected, "over {transport}");
    }
}

#[test]
fn a_matrix_is_transposed_on_its_way() {
    for tasks in TASKS {
        for (rows, columns) in [(3, 5), (200, 300)] {
            let line = |me| {
                let left = (me + tasks - 1) % tasks;
                format!("task {me}: {columns} x {rows} from {left}: transposed")
            };
            let expected: Vec<String> = (0..tasks).map(line).collect();
            let args = [rows.to_string(), columns.to_string()];
            everywhere(tasks, env!("CARGO_BIN_EXE_transpose"), &[&args[0], &args[1]], &expected);
        }
    }
}

#[test]
fn ghosts_get_their_neighbours_cells() {
    for tasks in TASKS {
        let line = |me| format!("task {me}: 376 ghost cells right, 0 cells wrong");
        let expected: Vec<String> = (0..tasks).map(line).collect();
        everywhere(tasks, env!("CARGO_BIN_EXE_halo"), &[], &expected);
    }
}

#[test]
fn columns_are_accumulated_where_they_arrive() {
    for tasks in TASKS {
        let sum = 499_500 * tasks + 500 * tasks * (tasks + 1) / 2;
        let largest = 999.0 + f64::from(tasks) * 0.5;
        let expected = [format!("{tasks} tasks: sum {sum}, largest {largest}, untouched true")];
        everywhere(tasks, env!("CARGO_BIN_EXE_accumulate"), &[], &expected);
    }
}

#[test]
fn numbers_are_sorted_across_tasks() {
    for (tasks, count) in [(1, 1000usize), (2, 1), (4, 1000), (5, 3000)] {
        let numbers = (1..=u64::from(tasks)).flat_map(|mut state| {
            (0..count).map(move |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33).wrapping_mul(state >> 20)
            })
        });
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        let sum = numbers.iter().fold(0u64, |sum, number| sum.wrapping_add(*number));
        let (len, middle) = (numbers.len(), numbers[numbers.len() / 2]);
        let expected = [format!("{len} numbers in order, sum {sum}, middle {middle}")];
        everywhere(tasks, env!("CARGO_BIN_EXE_sort"), &[&count.to_string()], &expected);
    }
}

#[test]
fn equations_are_solved_by_all_tasks_together() {
    for (tasks, width) in [(1, 20), (3, 31), (5, 4)] {
        let program = env!("CARGO_BIN_EXE_conjugate_gradient");
        for transport in ["shm", "udp"] {
            let job = Job::new(tasks).var("LAPIS_TRANSPORT", transport);
            let done = job.run(program, &[&width.to_string()]).expect_quiet(0);
            let expected = format!("{} equations solved in ", width * width);
            assert!(done.out.starts_with(&expected), "{done:?}");
        }
    }
}
