//! Barriers and exchanges of tasks on several machines: first within each, then between them.
//! Machines are network namespaces, in each of which the kernel's run has another identity.

#![cfg(not(any(miri, loom)))]

#[path = "support/machines.rs"]
mod machines;

use lapis_testing::{Finished, folder, run};
use machines::Machines;

const ROUNDS: u64 = 200;

/// Many fewer than rounds.
const FEW: u64 = ROUNDS / 10;

/// Runs a job with so many tasks on each machine, and this value of LAPIS_COLLECTIVES.
fn job(machines: &Machines, tasks: usize, algorithms: &str) -> Finished {
    let mut command = machines.command(tasks as u32, &[]);
    command.env("LAPIS_COLLECTIVES", algorithms);
    command.arg(folder().join("examples/levels_job")).arg(ROUNDS.to_string());
    run(command)
}

/// Packets of each task, as it has said: those of core's and those of the team's calls. `mark`
/// stands behind the task's number.
fn packets(done: &Finished, tasks: usize, mark: &str) -> Vec<(u64, u64)> {
    let of = |task| {
        let begin = format!("task {task}{mark} core ");
        let lines = done.lines_with(&begin);
        let text = lines.first().expect("each task says it");
        let words: Vec<&str> = text[text.find(&begin).unwrap_or(0) + begin.len()..].split(' ').collect();
        let number = |at: usize| words[at].parse().expect("a number");
        (number(0), number(2))
    };
    (0..tasks).map(of).collect()
}

/// One task of each machine talks to the others, once for each time that the number of machines
/// doubles; all others stay within their machine. The team's members send a message of another kind
/// now and then, to one who dozes.
#[test]
fn one_task_of_each_machine_crosses_the_network() {
    for (machines, tasks, each) in [(2, 3, 1), (3, 2, 2)] {
        let Some(hosts) = Machines::make(&format!("levels{machines}"), machines) else { return };
        let done = job(&hosts, tasks, "").expect(0);
        for mark in [":", ", all:"] {
            let counts = packets(&done, machines * tasks, mark);
            for machine in counts.chunks(tasks) {
                assert_eq!(machine[0].0, ROUNDS * each, "{machines} machines{mark} {counts:?}");
                assert!(
                    machine[1..].iter().all(|others| others.0 == 0),
                    "{machines} machines{mark} {counts:?}"
                );
                let team = ROUNDS * each..=ROUNDS * each + FEW;
                assert!(team.contains(&machine[0].1), "{machines} machines{mark} {counts:?}");
                assert!(
                    machine[1..].iter().all(|others| others.1 <= FEW),
                    "{machines} machines{mark} {counts:?}"
                );
            }
        }
        // Without levels everybody crosses it.
        let done = job(&hosts, tasks, "barrier=dissemination,allgather=bruck").expect(0);
        for mark in [":", ", all:"] {
            let flat = packets(&done, machines * tasks, mark);
            assert!(flat.iter().all(|task| task.1 >= ROUNDS), "{machines} machines{mark} {flat:?}");
        }
    }
}
