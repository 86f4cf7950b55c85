//! Compiles C programs against `lapi.h` and the freshly built library, and runs them as jobs under
//! a watchdog.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

pub mod adapters;
pub mod hosts;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const BINDING: &str = env!("CARGO_MANIFEST_DIR");

/// The directory with the library, the launcher and the plugins, built if need be.
pub fn artifacts() -> &'static Path {
    lapis_testing::built()
}

/// A C source of this crate's tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(BINDING).join("tests").join(name)
}

/// A sample of the project.
pub fn sample(name: &str) -> PathBuf {
    Path::new(BINDING).join("../../examples/c").join(name)
}

/// Compiles and links; extra arguments come before the library, as in a user's command.
pub fn compile(sources: &[PathBuf], extra: &[&str]) -> PathBuf {
    compile_as(&["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"], sources, extra)
}

/// The same with flags of one's own.
pub fn compile_as(flags: &[&str], sources: &[PathBuf], extra: &[&str]) -> PathBuf {
    let dir = artifacts();
    let stem = sources[0].file_stem().and_then(OsStr::to_str).expect("sources have names");
    let output = scratch(stem);
    let mut cc = Command::new("cc");
    cc.args(flags).args(sources).arg("-pthread").arg(format!("-I{BINDING}/include")).arg("-o").arg(&output);
    cc.args(extra).arg("-L").arg(dir).arg("-llapi_r").arg(format!("-Wl,-rpath,{}", dir.display()));
    checked(&mut cc);
    output
}

/// A file name that no other test uses.
pub fn scratch(stem: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{stem}-{}-{number}", std::process::id()))
}

/// Runs a command that must succeed.
pub fn checked(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("programs print UTF-8")
}

/// Transports that jobs of several tasks can be tested over.
pub fn transports() -> Vec<&'static str> {
    // Over windows these interfaces are tried; others stand on the same core.
    let windows =
        ["lapis-lapi", "lapis-fortran", "lapis-qnix"].contains(&env!("CARGO_PKG_NAME")).then_some("hps");
    ["shm", "udp"]
        .into_iter()
        .chain(windows)
        .filter(|name| artifacts().join(format!("liblapis_{name}.so")).exists())
        .collect()
}

/// What chooses a provider of the rdma transport that every machine with libfabric has.
pub const RDMA: [(&str, &str); 3] =
    [("LAPIS_TRANSPORT", "rdma"), ("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm"), ("LAPIS_RDMA_ADDR", "127.0.0.1")];

/// A job to run.
#[derive(Clone, Default)]
pub struct Job {
    pub tasks: u32,
    pub env: Vec<(String, String)>,
    pub args: Vec<String>,
    /// Of the launcher.
    pub options: Vec<String>,
}

impl Job {
    pub fn of(tasks: u32) -> Self {
        Self { tasks, ..Self::default() }
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Runs it; the caller judges the outcome.
    pub fn run(&self, program: &Path) -> Finished {
        let mut command = Command::new(artifacts().join("lapirun"));
        command.args(["-n", &self.tasks.to_string(), "--tag-output"]);
        command.args(&self.options).arg(program).args(&self.args).stdin(Stdio::null());
        command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TUNING", "none");
        for (name, value) in &self.env {
            command.env(name, value);
        }
        Finished { program: program.to_owned(), done: lapis_testing::run(command) }
    }

    /// Runs it over every transport that suits it; all must succeed.
    pub fn succeeds(&self, program: &Path) {
        if self.tasks == 1 {
            self.run(program).success();
            return;
        }
        for transport in transports() {
            self.clone().env("LAPIS_TRANSPORT", transport).run(program).success();
        }
    }
}

/// What became of a job.
pub struct Finished {
    program: PathBuf,
    done: lapis_testing::Finished,
}

impl Finished {
    pub fn stdout(&self) -> String {
        self.done.out.clone()
    }

    pub fn stderr(&self) -> String {
        self.done.err.clone()
    }

    pub fn code(&self) -> Option<i32> {
        self.done.code
    }

    #[track_caller]
    pub fn success(self) -> Self {
        assert!(
            self.code() == Some(0),
            "{} ended with {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.program.display(),
            self.code(),
            self.stdout(),
            self.stderr()
        );
        self
    }
}

/// The value behind `key` in a program's leading comment.
pub fn setting(source: &Path, key: &str) -> Option<String> {
    let text = fs::read_to_string(source).expect("sources can be read");
    text.lines()
        .take(30)
        .find_map(|line| Some(line.split_once(key)?.1.trim().trim_end_matches("*/").trim().to_owned()))
}
