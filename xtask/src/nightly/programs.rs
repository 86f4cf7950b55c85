//! C programs under a sanitizer: those of LAPI's tests, of ACP's, and those of GM's with threads.
//!
//! GCC's runtime serves both, the programs and what rustc has instrumented; where the two compilers
//! differ, `bindings/lapi/tests/tsan/shim.c` makes up for it.

use super::{Args, TARGET, options, sanitized};
use crate::{sh, workspace};
use anyhow::{Result, bail};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sanitizer {
    Thread,
    Address,
}

/// Programs that link against one library.
struct Suite {
    folders: &'static [&'static str],
    include: &'static str,
    library: &'static str,
    package: &'static str,
    /// Of all programs these.
    only: Option<&'static [&'static str]>,
    /// Of all transports this one.
    over: Option<&'static str>,
}

const LAPI: Suite = Suite {
    folders: &["bindings/lapi/tests/programs", "bindings/lapi/tests/dgsp"],
    include: "bindings/lapi/include",
    library: "lapi_r",
    package: "lapis-lapi",
    only: None,
    over: None,
};
const ACP: Suite = Suite {
    folders: &["bindings/acp/tests/programs"],
    include: "bindings/acp/include",
    library: "acp",
    package: "lapis-acp",
    only: None,
    over: None,
};
/// Without LAPI: the launcher is their services daemon, as for jobs over windows. The others talk
/// to programs of other nodes, or fork, and have one thread.
const GM: Suite = Suite {
    folders: &["bindings/gm/tests/programs"],
    include: "bindings/gm/include",
    library: "gm",
    package: "lapis-gm",
    only: Some(&["threads"]),
    over: Some("hps"),
};

/// Programs that no sanitizer can run, and why.
const UNSUITABLE: &[(&str, &str)] = &[
    ("crowd", "64 tasks under the sanitizer are more than a machine's memory"),
    ("exhausted", "it limits the address space, of which the sanitizer needs terabytes"),
    ("flood", "a million messages take too long"),
    ("huge", "messages of gigabytes take too long"),
    ("lifecycle", "it forks while threads run, which the sanitizer refuses"),
    ("aborts", "the status that its abort gives is what its own test looks at"),
    ("died", "a process is killed, and the status is not 0: its own test looks at it"),
    ("stopped", "a process is stopped and killed, and the status is not 0: its own test looks at it"),
    ("cut", "it needs hosts of its own, between which its test's launcher starts it"),
    ("beside", "it links against two libraries"),
];

/// What one process's sanitizer can't see: that another one's atomic operation on memory which both
/// map is between a read and a write.
const NOT_MAPPED: &[&str] = &["segbufs"];

/// ACP's programs that `cargo xtask ci` runs: order, and waits of several threads.
pub(super) const SHORT: [&str; 2] = ["orders", "channels"];

/// A program to run.
pub(super) struct Program {
    source: PathBuf,
    suite: &'static Suite,
}

impl Program {
    pub(super) fn name(&self) -> Cow<'_, str> {
        self.source.file_stem().unwrap_or_default().to_string_lossy()
    }

    /// Two tasks, but for ACP's programs, which need third parties: the sanitizer makes each some
    /// ten times as slow and as large.
    fn tasks(&self) -> u32 {
        let text = std::fs::read_to_string(&self.source).unwrap_or_default();
        let said = text.lines().take(30).find_map(|line| line.split_once("tasks:")?.1.trim().parse().ok());
        match self.suite.library {
            library if library == ACP.library => said.unwrap_or(2),
            library if library == GM.library => 1,
            _ => 2,
        }
    }
}

impl Sanitizer {
    /// What the compilers and the folder call it.
    fn word(self) -> (&'static str, &'static str) {
        match self {
            Self::Thread => ("thread", "tsan"),
            Self::Address => ("address", "asan"),
        }
    }

    pub(super) fn cargo<'a>(self, arguments: impl IntoIterator<Item = &'a &'a str>) -> Command {
        if self == Self::Thread {
            return sanitized(arguments);
        }
        let mut cargo = sh::cargo(arguments);
        cargo.args(["--target", TARGET]).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
        cargo.env("CARGO_TARGET_DIR", workspace::target_dir().join("asan"));
        cargo
    }

    fn output(self) -> PathBuf {
        workspace::target_dir().join(self.word().1).join(TARGET).join("debug")
    }

    /// The variable that its runtime reads. What a library keeps until the process ends is no leak.
    fn options(self) -> (&'static str, String) {
        match self {
            Self::Thread => ("TSAN_OPTIONS", options()),
            Self::Address => ("ASAN_OPTIONS", "exitcode=66 detect_leaks=0".to_owned()),
        }
    }

    fn suites(self) -> &'static [&'static Suite] {
        match self {
            Self::Thread => &[&LAPI, &ACP, &GM],
            Self::Address => &[&ACP],
        }
    }

    /// Why its programs can't run here.
    pub(super) fn missing(self) -> Option<String> {
        let library = format!("lib{}.so", self.word().1);
        let found = sh::output(Command::new("gcc").arg(format!("-print-file-name={library}")));
        let there = Path::new(found.unwrap_or_default().trim()).is_absolute();
        (!there).then(|| format!("gcc has no {library} (Debian has it in libgcc-12-dev)"))
    }

    /// Builds the libraries, the transports and the launcher.
    fn build(self) -> Result<()> {
        let mut cargo = self.cargo(&["build", "--quiet", "-p", "lapis-shm", "-p", "lapis-udp"]);
        for suite in self.suites() {
            cargo.args(["-p", suite.package]);
        }
        sh::run(&mut cargo)?;
        // The launcher starts processes and is no part of what is looked at.
        sh::run(&mut sh::cargo(["build", "--quiet", "-p", "lapirun"]))
    }

    fn compile(self, program: &Program) -> Result<PathBuf> {
        let (out, (word, short)) = (self.output(), self.word());
        let binary = out.join(format!("{short}-{}-{}", program.suite.library, program.name()));
        let mut gcc = Command::new("gcc");
        gcc.arg(format!("-fsanitize={word}")).args(["-fno-builtin", "-rdynamic"]);
        gcc.args(["-std=gnu11", "-O1", "-g", "-pthread"]).arg(&program.source);
        if self == Self::Thread {
            gcc.args(["--param", "tsan-distinguish-volatile=1"]);
            gcc.arg(workspace::root().join("bindings/lapi/tests/tsan/shim.c"));
        }
        gcc.arg(format!("-I{}", workspace::root().join(program.suite.include).display()));
        gcc.arg("-L").arg(&out).arg(format!("-l{}", program.suite.library)).arg("-lm");
        sh::run(gcc.arg(format!("-Wl,-rpath,{}", out.display())).arg("-o").arg(&binary))?;
        Ok(binary)
    }

    fn job(self, program: &Program, binary: &Path, transport: &str) -> Command {
        let mut lapirun = sh::ours(workspace::target_dir().join("debug/lapirun"));
        lapirun.args(["-n", &program.tasks().to_string(), "--timeout", "600"]).arg(binary);
        lapirun.env("LAPIS_TRANSPORT", transport).env("LAPIS_TRANSPORT_PATH", self.output());
        let (variable, options) = self.options();
        lapirun.env(variable, &options);
        match &*program.name() {
            // What the program says in its comment.
            "copies" if program.suite.library == LAPI.library => {
                lapirun.env("MP_REXMIT_BUF_SIZE", "2000000").env("MP_REXMIT_BUF_CNT", "2");
            }
            // It ends without LAPI_Term, where nobody waits for the context's threads.
            "runtime" => {
                lapirun.env(variable, format!("{options} report_thread_leaks=0"));
            }
            _ => {}
        }
        lapirun
    }

    /// Runs programs over each transport; gives those that failed.
    pub(super) fn run(self, programs: &[Program], transports: &[&str]) -> Result<Vec<String>> {
        self.build()?;
        let mut failed = Vec::new();
        for program in programs {
            let binary = match self.compile(program) {
                Ok(binary) => binary,
                Err(error) => {
                    eprintln!("{}: {error:#}", program.name());
                    failed.push(program.name().into_owned());
                    continue;
                }
            };
            let over = program.suite.over.as_slice();
            for &transport in if over.is_empty() { transports } else { over } {
                if self == Self::Thread && transport == "shm" && NOT_MAPPED.contains(&&*program.name()) {
                    continue;
                }
                let name = format!("{} over {transport}", program.name());
                eprintln!("--- {name}");
                if sh::run(&mut self.job(program, &binary, transport)).is_err() {
                    failed.push(name);
                }
            }
        }
        Ok(failed)
    }

    /// The programs that are wanted.
    pub(super) fn programs(self, args: &Args) -> Result<Vec<Program>> {
        let mut all = Vec::new();
        for suite in self.suites() {
            all.extend(programs_of(suite, &args.programs)?);
        }
        if all.is_empty() {
            let names = args.programs.join(", ");
            for suite in [&LAPI, &ACP, &GM] {
                if !programs_of(suite, &args.programs)?.is_empty() {
                    eprintln!("SKIPPED: {names}: not run with the {} sanitizer", self.word().0);
                    return Ok(all);
                }
            }
            bail!("no such programs: {names}");
        }
        Ok(all)
    }
}

/// ACP's programs for every change.
pub(super) fn short() -> Result<Vec<Program>> {
    let all = programs_of(&ACP, &SHORT.map(str::to_owned))?;
    if all.len() != SHORT.len() {
        bail!("programs are missing: {}", SHORT.join(", "));
    }
    Ok(all)
}

/// A suite's programs of these names, or all.
fn programs_of(suite: &'static Suite, names: &[String]) -> Result<Vec<Program>> {
    let mut all = Vec::new();
    for folder in suite.folders {
        for entry in std::fs::read_dir(workspace::root().join(folder))? {
            let program = Program { source: entry?.path(), suite };
            let wanted = names.is_empty() || names.iter().any(|wanted| *wanted == program.name());
            let suits = suite.only.is_none_or(|only| only.contains(&&*program.name()));
            if !wanted || !suits || program.source.extension().is_none_or(|e| e != "c") {
                continue;
            }
            match UNSUITABLE.iter().find(|(name, _)| program.name() == *name) {
                Some((name, why)) => eprintln!("SKIPPED: {name}: {why}"),
                None => all.push(program),
            }
        }
    }
    all.sort_by(|one, other| one.source.cmp(&other.source));
    Ok(all)
}
