//! Jobs of this crate's example, on this machine and on hosts that are network namespaces.
#![allow(dead_code, unused_imports, reason = "no test uses all of it")]

pub(crate) use lapis_testing::{Finished, Net, Running};
use lapis_testing::{clean, folder};
use std::path::PathBuf;
use std::process::Command;

/// Launcher and task in one file: an example of this crate, which Cargo builds along with the
/// tests.
pub(crate) fn program() -> PathBuf {
    let path = folder().join("examples/udp_job");
    assert!(path.exists(), "{} is missing: cargo build -p lapis-udp --examples", path.display());
    path
}

/// Whether this process may open raw sockets.
pub(crate) fn is_root() -> bool {
    // SAFETY: a call without arguments.
    unsafe { libc::geteuid() == 0 }
}

/// A job to be started.
pub(crate) struct Job(Command);

impl Job {
    pub(crate) fn new() -> Self {
        Self::around(clean(program()))
    }

    fn around(mut command: Command) -> Self {
        command.env("LAPI_USE_SHM", "no").env("LAPIS_TRANSPORT", "udp");
        Self(command)
    }

    /// One task on each host, over the rails alone.
    pub(crate) fn across(net: &Net, scenario: &str) -> Self {
        net.settle();
        let job = Self::around(net.launcher(program()));
        let job = match net.rails() {
            1 => job.env("MP_EUIDEVICE", "r0"),
            rails => job.env("MP_INSTANCES", &rails.to_string()),
        };
        job.task(scenario)
    }

    /// The same over rails of IPv6, each task naming its own addresses on them and nothing else.
    pub(crate) fn by_address(net: &Net, scenario: &str) -> Self {
        net.settle();
        let rails: Vec<String> = (0..net.rails()).map(|rail| format!(":[fd17:{rail}::$n],r{rail}")).collect();
        let script = format!(
            "n=$((LAPIS_TASK + 1)); MP_LAPI_INET_ADDR=@{}{} exec {} task {scenario}",
            net.rails(),
            rails.concat(),
            program().display()
        );
        Self::around(net.launcher(program())).args(&["sh", "-c", &script])
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn task(mut self, scenario: &str) -> Self {
        self.0.arg(program()).arg("task").args(scenario.split(' '));
        self
    }

    /// One task without a launcher.
    pub(crate) fn alone(mut self, scenario: &str) -> Self {
        self.0.arg("task").args(scenario.split(' '));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn start(self) -> Running {
        Running::start(self.0)
    }

    pub(crate) fn run(self) -> Finished {
        self.start().wait()
    }
}

/// A library that shifts the clock of each task's second process by `CLOCK_SHIFT` seconds, and the
/// folder in which it is; it notes first processes in the folder `CLOCK_LIVES`. With `CLOCK_WHEN`
/// it does so in all processes once there is such a file. `None` where there is no C compiler.
pub(crate) fn shifted_clock(tag: &str) -> Option<(PathBuf, PathBuf)> {
    let folder = std::env::temp_dir().join(format!("lapis-clock-{tag}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let library = folder.join("clock.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/clock.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    built.is_ok_and(|status| status.success()).then_some((library, folder))
}

/// A job of `tasks` tasks on this machine.
pub(crate) fn job(tasks: u32, scenario: &str) -> Job {
    Job::new().args(&["-n", &tasks.to_string()]).task(scenario)
}

pub(crate) fn skip() {
    eprintln!("skipped: network namespaces need root, iproute2 and nftables");
}
