//! Tasks that are purged and resumed, and tasks that die and are restarted, over UDP on this
//! machine.

mod common;

use common::*;
use lapis_testing::scratch;
use std::path::PathBuf;

#[test]
fn a_purged_task_can_be_resumed() {
    let done = job(2, "purge").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    let done =
        job(2, "purge").env("LAPIS_CHAOS", "drop=0.1,dup=0.1,reorder=0.1,mtu=1400,seed=5").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
}

/// A folder in which tasks say that they have purged and resumed another one.
struct Signs(PathBuf);

impl Signs {
    fn new() -> Self {
        let folder = scratch("reborn");
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn reborn(&self, tasks: usize, how: &str) -> Job {
        let scenario = format!("reborn {how} {} {}", self.0.display(), tasks - 1);
        Job::new().args(&["-n", &tasks.to_string(), "--restart", "1"]).task(&scenario)
    }
}

impl Drop for Signs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_task_that_died_is_started_anew_and_the_others_go_on_with_it() {
    // With two tasks the kernel keeps strangers out, and a new process is one until the old one is
    // purged.
    for (tasks, how) in [(3, "unaware"), (3, "aware"), (2, "aware")] {
        for (interrupts, chaos) in
            [(false, ""), (true, ""), (false, "drop=0.05,dup=0.1,reorder=0.1,mtu=1400,seed=3")]
        {
            let signs = Signs::new();
            let mut job = signs.reborn(tasks, how);
            if interrupts {
                job = job.env("UDP_JOB_INTERRUPTS", "1");
            }
            if !chaos.is_empty() {
                job = job.env("LAPIS_CHAOS", chaos);
            }
            let done = job.run().expect(0);
            assert_eq!(done.lines_with("ok task").len(), tasks, "{how}: {done:?}");
            assert_eq!(done.lines_with("life 1").len(), 1, "{how}: {done:?}");
        }
    }
}

#[test]
fn a_task_is_started_anew_whatever_its_clock_says() {
    let Some((shim, folder)) = shifted_clock("restarted") else { return skip() };
    for seconds in ["-1", "-3600", "3600"] {
        let lives = folder.join(seconds);
        std::fs::create_dir_all(&lives).expect("a folder");
        let signs = Signs::new();
        let mut job = signs.reborn(3, "aware");
        for (name, value) in [
            ("LD_PRELOAD", shim.to_str().expect("plain")),
            ("CLOCK_SHIFT", seconds),
            ("CLOCK_LIVES", lives.to_str().expect("plain")),
        ] {
            job = job.env(name, value);
        }
        let done = job.run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 3, "{seconds} s: {done:?}");
        assert_eq!(done.lines_with("life 1").len(), 1, "{seconds} s: {done:?}");
        assert_eq!(std::fs::read_dir(&lives).expect("a folder").count(), 3, "the clocks were not looked at");
    }
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_context_that_is_made_again_works_whatever_the_clock_says() {
    let Some((shim, folder)) = shifted_clock("recreated") else { return skip() };
    for seconds in ["-3600", "-1", "3600"] {
        let set = folder.join(format!("set{seconds}"));
        let mut job = job(3, "mix-again 1").env("LAPIS_CHAOS", "delay=3ms,dup=0.3,seed=4");
        for (name, value) in [
            ("LD_PRELOAD", shim.to_str().expect("plain")),
            ("CLOCK_SHIFT", seconds),
            ("CLOCK_WHEN", set.to_str().expect("plain")),
        ] {
            job = job.env(name, value);
        }
        let done = job.run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 6, "{seconds} s: {done:?}");
        assert!(set.exists(), "the clock was not set");
    }
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_fence_of_all_fails_everywhere_when_a_task_in_it_is_started_anew() {
    for (tasks, interrupts) in [("2", false), ("3", false), ("5", true)] {
        let mut job = Job::new().args(&["-n", tasks, "--restart", "1"]).task("reborn-fenced");
        if interrupts {
            job = job.env("UDP_JOB_INTERRUPTS", "1");
        }
        let done = job.run().expect(0);
        assert_eq!(done.lines_with("ok task").len().to_string(), tasks, "{done:?}");
    }
}

#[test]
fn barriers_survive_purges_and_teams_say_that_they_are_over() {
    for seed in 0..3 {
        let mut job = job(4, "teams");
        if seed > 0 {
            job = job.env("LAPIS_CHAOS", &format!("drop=0.1,dup=0.1,reorder=0.1,mtu=1400,seed={seed}"));
        }
        let done = job.run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 4, "{done:?}");
    }
}
