//! Jobs that Slurm starts, on a cluster of two nodes that the test sets up for itself (cluster.sh):
//! `srun` by PMI-2 and PMIx, and `lapirun` in an allocation.
//!
//! What a machine lacks is skipped, and said; `cargo xtask setup` installs it.

mod launching;

use lapis_testing::{clean, run};
use launching::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A cluster of two nodes on this machine, for one command.
fn slurm(script: &str) -> Option<Command> {
    for program in ["srun", "sbatch", "slurmctld", "slurmd", "munged"] {
        found(program)?;
    }
    if !is_root() {
        eprintln!("SKIP: a cluster of one's own takes root");
        return None;
    }
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster.sh");
    let mut command = clean("bash");
    command.arg(cluster).arg(scratch()).args(["bash", "-c", script]);
    common(&mut command, "shm,udp");
    Some(command)
}

fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// A folder for a cluster's files.
fn scratch() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("lapis-slurm-{}-{number}", std::process::id()))
}

#[test]
fn tasks_meet_by_pmi2_on_two_nodes_and_by_pmix_on_one() {
    // The two nodes are one host: the plugin for PMIx, which knows nodes by the host's name, takes
    // one of them only.
    let script = format!(
        "set -e; for way in 'pmi2 2' 'pmix 1'; do set -- $way; \
         srun --mpi=list 2>&1 | grep -qw $1 || {{ echo no $1; continue; }}; \
         srun --mpi=$1 -N $2 -n 4 --overcommit {TASK} all-to-all; echo done $1; done"
    );
    let Some(command) = slurm(&script) else { return };
    let done = run(command).expect(0);
    let of_all = done.lines_with("all-to-all: 96 messages").len();
    let plugins = done.lines_with("done ").len();
    assert!(plugins >= 1 && of_all == 4 * plugins, "{done:?}");
    done.lines_with("no ").iter().for_each(|line| eprintln!("SKIP: srun has {line}"));
}

#[test]
fn exit_codes_output_signals_and_neighbours_are_what_srun_makes_of_them() {
    let small = small_task();
    let srun = format!("srun --mpi=pmi2 -N 2 -n 4 --overcommit {small}");
    let script = format!(
        "{srun} leave-with 1 5 2> /dev/null; echo code $?; \
         {srun} fence-without 1 kill > /dev/null 2>&1; echo code $?; \
         {srun} pour 2000 | wc -l; \
         srun --mpi=pmi2 -N 2 -n 64 --overcommit {small} exchange 2 | grep -c done; \
         {srun} exchange 3 > one & {srun} exchange 3 > two; wait; cat one two | wc -l; \
         {srun} stay > pids & srun=$!; until [ $(grep -c pid pids) = 4 ]; do sleep 0.1; done; \
         kill -INT $srun; sleep 0.3; kill -INT $srun; wait $srun 2> /dev/null; \
         for pid in $(cut -d' ' -f2 pids); do while kill -0 $pid 2> /dev/null; do sleep 0.1; done; done; \
         echo all gone"
    );
    let Some(mut command) = slurm(&script) else { return };
    let folder = scratch();
    std::fs::create_dir_all(&folder).unwrap();
    command.current_dir(&folder);
    let done = run(command).expect(0);
    std::fs::remove_dir_all(&folder).unwrap();
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(lines, ["code 5", "code 137", "8000", "64", "8", "all gone"], "{done:?}");
}

#[test]
fn tasks_that_cannot_meet_are_an_error_and_lapirun_works_in_a_step() {
    let lapirun = lapis_testing::program("lapirun", "lapirun");
    let script = format!(
        "srun --mpi=none -N 2 -n 4 --overcommit {TASK} all-to-all; echo code $?; \
         srun --mpi=none -N 1 -n 1 {} -n 3 {TASK} all-to-all",
        lapirun.display()
    );
    let Some(command) = slurm(&script) else { return };
    let done = run(command).expect(0);
    assert_eq!(done.lines_with("srun --mpi=pmix or srun --mpi=pmi2").len(), 4, "{done:?}");
    assert_eq!(done.lines_with("code 0").len(), 0, "{done:?}");
    assert_eq!(done.lines_with("all-to-all: 72 messages").len(), 3, "{done:?}");
}

#[test]
fn a_batch_script_starts_a_job_on_its_nodes_by_lapirun_alone() {
    let lapirun = lapis_testing::program("lapirun", "lapirun").display().to_string();
    let small = small_task();
    // No list of machines: lapirun takes the allocation's, and has srun start its agents.
    let batch = format!(
        "#!/bin/bash\n{lapirun} {TASK} all-to-all\n\
         {lapirun} sh -c 'echo $MP_CHILD of $MP_PROCS on $SLURMD_NODENAME'\n\
         {lapirun} {small} leave-with 3 7; echo code $?\n\
         {lapirun} {small} fence-without 2 kill; echo code $?\necho the end\n"
    );
    let folder = scratch();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("batch"), batch).unwrap();
    // `sbatch --wait` asks every ten seconds.
    let script = "sbatch -o out -N 2 -n 4 --overcommit batch > /dev/null; \
                  until grep -q 'the end' out 2> /dev/null; do sleep 0.1; done; cat out";
    if let Some(mut command) = slurm(script) {
        command.current_dir(&folder);
        let done = run(command).expect(0);
        assert_eq!(done.lines_with("all-to-all: 96 messages").len(), 4, "{done:?}");
        let mut places = done.lines_with(" of 4 on n");
        places.sort_unstable();
        assert_eq!(places, ["0 of 4 on n1", "1 of 4 on n1", "2 of 4 on n2", "3 of 4 on n2"], "{done:?}");
        assert_eq!(done.lines_with("code "), ["code 7", "code 137"], "{done:?}");
        assert!(done.out.contains("task 2 (process") && done.out.contains(" on n2)"), "{done:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn jobs_leave_nothing_behind() {
    let small = small_task();
    // Good ends, bad ones and aborts in turn, by each plugin. A line for each turn shows progress.
    let script = format!(
        "for way in 'pmi2 2' 'pmix 1'; do set -- $way; srun --mpi=list 2>&1 | grep -qw $1 || {{ echo SKIP: no $1 >&2; continue; }}; \
         srun=\"srun --mpi=$1 -N $2 -n 4 --overcommit {small}\"; for cycle in $(seq {}); do \
         $srun exchange 2 > /dev/null || exit 1; $srun leave-with 1 9 > /dev/null 2>&1 && exit 1; \
         $srun abort 0 5 > /dev/null 2>&1 && exit 1; echo turn; done; done; echo all",
        cycles().div_ceil(3)
    );
    let Some(mut command) = slurm(&script) else { return };
    let mark = format!("{}-slurm", std::process::id());
    command.env("MARK_OF_A_TEST", &mark);
    command.env("LAPIS_CLUSTER_SECONDS", (1800 + cycles()).to_string());
    let done = run(command).expect(0);
    assert!(done.out.ends_with("turn\nall\n"), "{done:?}");
    assert_eq!(left(&mark), Vec::<u32>::new());
    assert_eq!(files(), BTreeSet::new());
}
