//! For tests: jobs of real tasks, started by the real `lapirun` with the real plugins; any command,
//! under a watchdog; hosts as network namespaces; a transport that gives every datagram back.
//!
//! ```no_run
//! let done = lapis_testing::Job::new(4).run("examples/hello", &[]);
//! done.expect(0);
//! ```

mod manual;
mod mirror;
mod net;
mod programs;
mod run;
mod space;

pub use lapis_patience::Patience;
pub use manual::{manual, manual_by_hand};
pub use mirror::table as mirror;
pub use net::Net;
pub use programs::{Interface, checked, scratch};
pub use run::{Finished, Running, alive, joined, run};
pub use space::Space;

use lapis_shm as _;
use lapis_udp as _;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Longest silence of any command of a test, in the command's own time (see [`Patience`]); far more
/// than any needs.
pub const WATCHDOG: Duration = Duration::from_secs(120);

/// A job to start.
#[derive(Clone, Debug)]
pub struct Job {
    tasks: u32,
    options: Vec<OsString>,
    variables: Vec<(String, String)>,
}

impl Job {
    /// A job of so many tasks, over shared memory unless [`var`](Self::var) names other transports.
    pub fn new(tasks: u32) -> Self {
        let variables = vec![("LAPIS_TRANSPORT".into(), "shm".into())];
        Self { tasks, options: Vec::new(), variables }
    }

    /// Adds an option of the launcher.
    pub fn option(mut self, option: impl AsRef<OsStr>) -> Self {
        self.options.push(option.as_ref().to_owned());
        self
    }

    /// Sets a variable for the tasks.
    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs a program on all tasks, to the end of the job.
    ///
    /// # Panics
    /// The watchdog's time is over; what it prints says who waited for what.
    pub fn run(&self, program: impl AsRef<OsStr>, args: &[&str]) -> Finished {
        run(self.command(program, args))
    }

    /// Starts a program on all tasks and lets the test go on.
    ///
    /// # Panics
    /// The launcher can't be started.
    pub fn start(&self, program: impl AsRef<OsStr>, args: &[&str]) -> Running {
        Running::start(self.command(program, args))
    }

    /// The launcher's command line and environment.
    pub fn command(&self, program: impl AsRef<OsStr>, args: &[&str]) -> Command {
        let mut command = self.launcher();
        command.arg(program.as_ref()).args(args);
        command
    }

    /// The launcher's own part of them; the program's name and its arguments are still to come.
    pub fn launcher(&self) -> Command {
        let mut command = clean(launcher());
        command.args(["-n", &self.tasks.to_string()]).args(&self.options);
        command.env("LAPIS_TRANSPORT_PATH", folder().join("deps"));
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command
    }
}

/// A command without input, without the variables of a job that the test itself might run in and of
/// whoever runs the tests, and without that user's tuning file.
pub fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["LAPIS_", "LAPI_", "MP_", "PMI", "OMPI_", "SLURM_"].iter().any(|p| text.starts_with(p)) {
            command.env_remove(&name);
        }
    }
    command.env("LAPIS_TUNING", "none").stdin(Stdio::null());
    command
}

/// Cargo's output directory, where this test's binary was built: `target/debug`.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let exe = std::env::current_exe().expect("a running program has a path");
        let above = exe.ancestors().find(|d| d.join(".fingerprint").is_dir());
        above.expect("tests run from cargo's output directory").to_owned()
    })
}

/// A program of the workspace, built first if it is missing: cargo builds another package's
/// programs for no test.
pub fn program(package: &str, name: &str) -> PathBuf {
    let path = folder().join(name);
    if !path.is_file() {
        built();
    }
    assert!(path.is_file(), "package {package} gave no {}", path.display());
    path
}

/// An example of the workspace that is a plugin.
pub fn example(package: &str, name: &str) -> PathBuf {
    let path = built().join(format!("examples/liblapis_{name}.so"));
    assert!(path.is_file(), "package {package} gave no {}", path.display());
    path
}

/// The folder with the libraries, plugins, programs and examples of the workspace, which are built
/// first: cargo builds a test's package as what Rust programs link, not as what C programs do.
///
/// The whole workspace, always: another choice of packages has other features, and so would build
/// everything again, and put libraries in the place of those that other tests are using.
///
/// # Panics
/// It does not build.
pub fn built() -> &'static Path {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--workspace", "--lib", "--bins", "--examples"]);
        build.current_dir(env!("CARGO_MANIFEST_DIR")).arg("--target-dir");
        build.arg(folder().parent().expect("the output directory has a parent"));
        let profile = match folder().file_name().and_then(OsStr::to_str) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let status = build.args(["--profile", profile]).status().unwrap_or_else(|e| panic!("{build:?}: {e}"));
        assert!(status.success(), "{build:?}: {status}");
    });
    folder()
}

fn launcher() -> PathBuf {
    program("lapirun", "lapirun")
}
