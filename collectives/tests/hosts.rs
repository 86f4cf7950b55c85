//! Barriers and exchanges of tasks on several machines: first within each, then between them.
//! Machines are network namespaces, in each of which the kernel's run has another identity.

#![cfg(not(any(miri, loom)))]

use lapis_testing::{Finished, Net, clean, folder, program, run};
use std::path::PathBuf;

const ROUNDS: u64 = 200;

/// Many fewer than rounds.
const FEW: u64 = ROUNDS / 10;

/// Starts tasks on machines, which need an identity of their own each.
struct Machines {
    net: Net,
    script: PathBuf,
}

impl Machines {
    /// `None`, said aloud, where this process may not make namespaces.
    fn make(tag: &str, count: usize) -> Option<Self> {
        let Some(net) = Net::of(tag, count, 1, false) else {
            eprintln!("SKIP {tag}: this process may not make network namespaces");
            return None;
        };
        let script = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{tag}-{}", std::process::id()));
        // The namespaces' name, in the place of the identity of the kernel's run, for all that is
        // started there.
        let text = "host=$1; shift; echo $host > $0-$host\n\
                    exec ip netns exec $host sh -c 'mount --bind $0 /proc/sys/kernel/random/boot_id && exec \"$@\"' \
                    $0-$host \"$@\"\n";
        std::fs::write(&script, text).expect("the target directory can be written");
        Some(Self { net, script })
    }

    /// A job with so many tasks on each machine, and this value of LAPIS_COLLECTIVES.
    fn run(&self, tasks: usize, algorithms: &str) -> Finished {
        let hosts = self.net.hosts();
        let list: Vec<String> = hosts.iter().map(|(host, _)| format!("{host}:{tasks}")).collect();
        let mut command = clean("ip");
        command.args(["netns", "exec", hosts[0].0]).arg(program("lapirun", "lapirun"));
        command.args(["--address", &hosts[0].1, "-H", &list.join(","), "--remote"]);
        command.arg(format!("sh {} {{host}}", self.script.display()));
        command.env("LAPIS_TRANSPORT_PATH", folder().join("deps"));
        command.env("LAPIS_COLLECTIVES", algorithms);
        command.arg(folder().join("examples/levels_job")).arg(ROUNDS.to_string());
        run(command)
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.script);
        for (host, _) in self.net.hosts() {
            let _ = std::fs::remove_file(format!("{}-{host}", self.script.display()));
        }
    }
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
        let done = hosts.run(tasks, "").expect(0);
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
        let done = hosts.run(tasks, "barrier=dissemination,allgather=bruck").expect(0);
        for mark in [":", ", all:"] {
            let flat = packets(&done, machines * tasks, mark);
            assert!(flat.iter().all(|task| task.1 >= ROUNDS), "{machines} machines{mark} {flat:?}");
        }
    }
}
