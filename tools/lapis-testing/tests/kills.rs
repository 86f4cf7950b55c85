//! SIGKILL of any or all tasks at random moments, over shared memory, UDP and RDMA: the job ends
//! with the exit code of the first cause, its launcher says who died of what, and nothing is left
//! behind.
//!
//! `LAPIS_TEST_KILLS` says how often (`cargo xtask test --nightly` sets hundreds),
//! `LAPIS_TEST_SEED` repeats a run.

use lapis_patience::Patience;
use lapis_testing::Job;
use std::path::Path;
use std::time::Duration;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");
const PATIENCE: Duration = Duration::from_secs(60);
const TASKS: u32 = 3;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|e| panic!("{variable}={text}: {e}")))
}

/// Seeded, so that a failure can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Running processes whose environment holds the mark: launcher, guard, tasks.
fn marked(mark: &str) -> Vec<u32> {
    let holds = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let zombie = stat.rsplit(')').next().is_some_and(|s| s.trim_start().starts_with(['Z', 'X']));
        environ.split(|&b| b == 0).any(|variable| variable == mark.as_bytes()) && !zombie
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|e| e.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(holds).collect()
}

fn is_task(pid: &u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "lapis-job-task")
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| n.contains("lapis")).collect()
}

#[test]
fn tasks_killed_at_random_moments_leave_nothing_behind() {
    let rounds = number("LAPIS_TEST_KILLS", 36);
    let seed = number("LAPIS_TEST_SEED", u64::from(std::process::id()) << 20 | 1);
    println!("LAPIS_TEST_SEED={seed}");
    let mut random = Random(seed);
    let scratch = std::env::temp_dir().join(format!("lapis-kills-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let (mut hit, mut all, mut wrong) = (0, 0, 0);
    for round in 0..rounds {
        let name = format!("{}-{round}", std::process::id());
        let mark = format!("LAPIRUN_KILLS_MARK={name}");
        let copy = ["auto", "cma", "double"][random.below(3) as usize];
        let interrupts = ["yes", "no"][random.below(2) as usize];
        let job = Job::new(TASKS).var("LAPIRUN_KILLS_MARK", &name).var("TMPDIR", &scratch.to_string_lossy());
        let transport = ["shm", "udp", "rdma"][(round % 3) as usize];
        let job = job.var("LAPIS_SHM_COPY", copy).var("LAPIS_INTERRUPT", interrupts);
        let job = job.var("LAPIS_TRANSPORT", transport).var("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm");
        let job = job.var("LAPIS_RDMA_ADDR", "127.0.0.1");
        let running = job.start(TASK, &["turmoil"]);
        // A victim needs to be there; then any moment from before its main to far into its work.
        let mut patience = Patience::with_myself(PATIENCE);
        let mut tasks = Vec::new();
        while tasks.len() < TASKS as usize {
            tasks = marked(&mark).into_iter().filter(is_task).collect();
            assert!(!patience.is_over(), "round {round}: the tasks did not start: {tasks:?}");
        }
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        let chosen = 1 + random.below((1 << TASKS) - 1);
        all += u64::from(chosen == (1 << TASKS) - 1);
        for (_, pid) in tasks.iter().enumerate().filter(|(index, _)| chosen >> index & 1 == 1) {
            // SAFETY: a signal to a process that this test has started and that nobody has waited
            // for.
            hit += u64::from(unsafe { libc::kill(*pid as i32, libc::SIGKILL) } == 0);
        }
        let done = running.wait();
        let context = || {
            format!(
                "round {round}, seed {seed}, {transport}, {copy}, {interrupts}, tasks {chosen:03b}: {done:?}"
            )
        };
        // Survivors give up because of the death, and may be heard first: they are not the cause.
        wrong += u64::from(done.code != Some(137));
        if done.code != Some(137) {
            println!("not the first cause: {}", context());
        }
        let lines = done.err.lines().filter(|l| l.starts_with("lapirun: task "));
        assert_eq!(lines.count(), 1, "{}", context());
        let mut patience = Patience::with_myself(PATIENCE);
        while !marked(&mark).is_empty() {
            assert!(!patience.is_over(), "processes are left: {:?}: {}", marked(&mark), context());
            std::thread::sleep(Duration::from_millis(2));
        }
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
        for pid in &tasks {
            assert!(
                !sockets.contains(&format!(".{pid}.")),
                "a socket of process {pid} is left: {}",
                context()
            );
        }
        assert_eq!(entries(&scratch), [""; 0], "{}", context());
        assert_eq!(entries(Path::new("/dev/shm")), [""; 0], "{}", context());
    }
    std::fs::remove_dir_all(&scratch).unwrap();
    println!("{rounds} jobs, {hit} tasks killed, {all} times all of them, {wrong} wrong exit codes");
    assert_eq!(wrong, 0, "jobs of {rounds} whose exit code was not that of the first cause");
    assert!(hit >= rounds, "a round without a victim proves nothing");
}
