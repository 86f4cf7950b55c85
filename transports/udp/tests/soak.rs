//! Traffic of all kinds while every fault that datagrams can meet comes and goes, narrow paths
//! always among them.
//!
//! `LAPIS_TEST_SOAK` says for how many seconds (`cargo xtask test --nightly` sets many),
//! `LAPIS_TEST_SEED` repeats a run.

use lapis_testing::{clean, folder};
use std::time::{Duration, Instant};

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|e| panic!("{variable}={text}: {e}")))
}

/// Seeded, so that a failure can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Faults of one job: each but the first is there every other time.
fn faults(random: &mut Random) -> String {
    let mut all = format!("mtu={}", [548, 600, 1300, 1400, 4000, 9000][random.below(6)]);
    for fault in ["drop=3%", "dup=3%", "reorder=3%", "corrupt=1%", "again=5%", "cut=5ms", "delay=300us"] {
        if random.below(2) == 1 {
            all = format!("{all},{fault}");
        }
    }
    format!("{all},seed={}", random.below(1_000_000))
}

#[test]
fn nothing_is_lost_or_spoilt_however_long_narrow_paths_and_other_faults_last() {
    let time = Duration::from_secs(number("LAPIS_TEST_SOAK", 10));
    let seed = number("LAPIS_TEST_SEED", u64::from(std::process::id()) << 20 | 1);
    println!("LAPIS_TEST_SEED={seed}");
    let mut random = Random(seed);
    let program = folder().join("examples/udp_job");
    let (start, mut jobs, mut resent) = (Instant::now(), 0, 0);
    while jobs < 4 || start.elapsed() < time {
        let scenario = ["mix 20", "flood 20000", "answer 300", "lend 9"][jobs % 4];
        let tasks = if scenario == "lend 9" { 2 } else { 2 + random.below(3) };
        let faults = faults(&mut random);
        let mut job = clean(&program);
        job.args(["-n", &tasks.to_string()]).arg(&program).arg("task").args(scenario.split(' '));
        job.env("LAPI_USE_SHM", "no").env("LAPIS_TRANSPORT", "udp").env("LAPIS_CHAOS", &faults);
        if random.below(2) == 1 {
            job.env("UDP_JOB_INTERRUPTS", "1");
        }
        println!("{tasks} tasks, {scenario}, {faults}");
        let done = lapis_testing::run(job).expect(0);
        assert_eq!(done.lines_with("ok task").len(), tasks, "{scenario}, {faults}: {done:?}");
        resent += done.sum_of("resent ");
        jobs += 1;
    }
    println!("{jobs} jobs, {resent} packets sent again");
    assert!(resent > 0, "nothing was sent again, so there were no faults");
}
