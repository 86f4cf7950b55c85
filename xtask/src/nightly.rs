//! `cargo xtask nightly`: what takes too long for every change. `.ci/nightly` calls this and
//! nothing else.
//!
//! * C programs and unit tests under ThreadSanitizer. The compiler's sanitizer works with any
//!   toolchain when it is allowed to (`RUSTC_BOOTSTRAP`); what it lacks is a standard library
//!   compiled with it, for which a toolchain's sources are rarely installed. Hence
//!   `lapis_core::sync::blocking`, whose locks it sees through, and `bindings/lapi/tests/tsan`,
//!   which names what remains. `cargo xtask ci` runs the shortest part of it ([`short`]).
//! * The copy engine of `lapis-dgsp` under AddressSanitizer: its tests run all of its `unsafe` code
//!   against lists of bytes. GM's unit tests, too, which call and send a port anything anyhow.
//! * The copy engine's tests, and unit tests of what calls no system, under Miri, where a toolchain
//!   has it: those of the lock's guard among them, whose references to the state Miri watches.
//! * Ten thousand endpoints of the packet engine in virtual time.
//! * What the packet engine's simulator finds in thousands of seeds, other ones every night, of
//!   each property.
//! * All tests with large doses: hundreds of kills, a soak over UDP with every fault, narrow paths
//!   always among them, thousands of cases of each property; all of the conformance suite over
//!   verbs devices where LAPIS_TEST_RDMA_MACHINE names a machine that has them (docs/rdma.md).
//!
//! What a machine lacks is said in one line, and the rest runs.

use crate::{sh, test, workspace};
use anyhow::{Result, bail};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these parts (several with commas); all of them without it
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Only these C programs of bindings/lapi/tests/{programs,dgsp} (several with commas); all that
    /// suit without it
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// Leave the unit tests out of ThreadSanitizer's part
    #[arg(long)]
    no_units: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// C programs and unit tests under ThreadSanitizer
    Tsan,
    /// The copy engine's tests, and GM's, under AddressSanitizer
    Asan,
    /// The copy engine's tests and some unit tests under Miri
    Miri,
    /// Ten thousand endpoints of the packet engine
    Endpoints,
    /// Thousands of seeds of the packet engine's properties
    Simulator,
    /// All tests, with large doses
    Tests,
}

const TARGET: &str = "x86_64-unknown-linux-gnu";
const FLAGS: &str = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg lapis_tsan";

/// Programs that the sanitizer can't run, and why.
const UNSUITABLE: &[(&str, &str)] = &[
    ("crowd", "64 tasks under the sanitizer are more than a machine's memory"),
    ("exhausted", "it limits the address space, of which the sanitizer needs terabytes"),
    ("flood", "a million messages take too long"),
    ("huge", "messages of gigabytes take too long"),
    ("lifecycle", "it forks while threads run, which the sanitizer refuses"),
];

/// Seeds of each property of the packet engine: three quarters of an hour of processor time in all.
const SEEDS: u64 = 3000;

/// What calls no system, and Miri can run therefore: first of all the `unsafe` code of the copy
/// engine and the transports' copies. The tests' doses under Miri let each entry end within
/// minutes.
const FOR_MIRI: &[&[&str]] = &[
    &["-p", "lapis-dgsp", "--lib", "--tests"],
    &[
        "-p",
        "lapis-core",
        "--lib",
        "--",
        "wire::",
        "transport::copy::",
        "transport::lane::",
        "context::locked::",
    ],
    &["-p", "lapis-schedules", "-p", "lapis-collectives", "--lib"],
];

/// What `cargo xtask ci` runs under ThreadSanitizer: locks and contexts; rings and wake-ups among
/// threads.
const SHORT: [&[&str]; 2] =
    [&["-p", "lapis-core", "--lib", "--test", "single_task"], &["-p", "lapis-shm", "--test", "local"]];

pub(crate) fn run(args: &Args) -> Result<()> {
    type Run = fn(&Args) -> Result<()>;
    type Missing = fn() -> Option<String>;
    let nothing: Missing = || None;
    let parts: [(Part, &str, Missing, Run); 6] = [
        (Part::Tsan, "ThreadSanitizer", || missing_for_sanitizer(true), sanitizer),
        (Part::Asan, "AddressSanitizer", nothing, |_| addresses()),
        (Part::Miri, "Miri", missing_for_miri, |_| miri()),
        (Part::Endpoints, "ten thousand endpoints", nothing, |_| endpoints()),
        (Part::Simulator, "simulator with thousands of seeds", nothing, |_| simulator()),
        (Part::Tests, "tests with large doses", nothing, |_| test::run(&test::Args::nightly())),
    ];
    let mut failed = Vec::new();
    for (part, name, missing, run) in parts {
        if !args.only.is_empty() && !args.only.contains(&part) {
            continue;
        }
        eprintln!("\n=== {name}");
        if let Some(missing) = missing() {
            eprintln!("=== {name}: SKIPPED: {missing}");
            continue;
        }
        match run(args) {
            Ok(()) => eprintln!("=== {name}: ok"),
            Err(error) => {
                eprintln!("=== {name}: FAILED: {error:#}");
                failed.push(name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// ThreadSanitizer for every change: a few minutes.
pub(crate) fn short() -> Result<()> {
    if let Some(missing) = missing_for_sanitizer(false) {
        eprintln!("SKIPPED: {missing}");
        return Ok(());
    }
    for tests in SHORT {
        let mut cargo = sanitized(["test", "--quiet"].iter().chain(tests));
        // The packet engine has no threads, and its simulator much to do.
        sh::run(cargo.args(["--", "--skip", "reliable::"]))?;
    }
    Ok(())
}

fn missing_for_sanitizer(programs: bool) -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some(format!("ThreadSanitizer is set up for {TARGET} only"));
    }
    let sysroot = sh::output(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib");
    let runtime = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().ends_with("_rt.tsan.a");
    if !std::fs::read_dir(&libraries).is_ok_and(|mut files| files.any(|f| f.is_ok_and(runtime))) {
        return Some(format!(
            "this Rust toolchain has no runtime of ThreadSanitizer in {}",
            libraries.display()
        ));
    }
    let library = sh::output(Command::new("gcc").arg("-print-file-name=libtsan.so")).unwrap_or_default();
    if programs && !Path::new(library.trim()).is_absolute() {
        return Some("gcc has no libtsan (Debian has it in libgcc-12-dev and libtsan2)".to_owned());
    }
    None
}

fn addresses() -> Result<()> {
    // Doctests are left out: rustdoc wants flags of its own.
    let all: [&[&str]; 2] = [&["-p", "lapis-dgsp", "--lib", "--tests"], &["-p", "lapis-gm", "--lib"]];
    for tests in all {
        let mut cargo = sh::cargo(["test", "--quiet", "--target", TARGET].iter().chain(tests));
        cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
        sh::run(cargo.env("CARGO_TARGET_DIR", workspace::target_dir().join("asan")))?;
    }
    Ok(())
}

/// Its figures are for whoever reads the log; it fails when an endpoint waits in vain.
fn endpoints() -> Result<()> {
    let example = ["--features", "sim", "--example", "reliable_10k"];
    sh::run(sh::cargo(["run", "--release", "-p", "lapis-core"]).args(example))
}

/// Optimised, or it takes the whole night. A seed that fails prints the command that replays it.
fn simulator() -> Result<()> {
    const DAY: u64 = 24 * 60 * 60;
    let days = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() / DAY;
    let mut cargo = sh::cargo(["test", "--release", "-p", "lapis-core", "--lib", "reliable::sim"]);
    cargo.env("LAPIS_SIM_SEEDS", SEEDS.to_string()).env("LAPIS_SIM_FROM", (days * SEEDS).to_string());
    sh::run(&mut cargo)
}

fn missing_for_miri() -> Option<String> {
    let there = sh::output(&mut sh::cargo(["miri", "--version"])).is_some();
    let missing = "it is not installed (`rustup toolchain install nightly --component miri`, and make it the toolchain here)";
    (!there).then(|| missing.to_owned())
}

fn miri() -> Result<()> {
    for tests in FOR_MIRI {
        let mut cargo = sh::cargo(["miri", "test", "--quiet"].iter().chain(*tests));
        cargo.env("CARGO_TARGET_DIR", workspace::target_dir().join("miri"));
        sh::run(cargo.env("PROPTEST_CASES", "8").env("MIRIFLAGS", "-Zmiri-disable-isolation"))?;
    }
    Ok(())
}

fn sanitizer(args: &Args) -> Result<()> {
    let mut failed = Vec::new();
    if !args.no_units && short().is_err() {
        failed.push("unit tests".to_owned());
    }
    sh::run(&mut sanitized(&["build", "--quiet", "-p", "lapis-lapi", "-p", "lapis-shm", "-p", "lapis-udp"]))?;
    // The launcher starts processes and is no part of what is looked at.
    sh::run(&mut sh::cargo(["build", "--quiet", "-p", "lapirun"]))?;
    for program in programs(args)? {
        let binary = compile(&program)?;
        for transport in ["shm", "udp"] {
            let name = format!("{} over {transport}", name(&program));
            eprintln!("--- {name}");
            if sh::run(&mut job(&binary, transport)).is_err() {
                failed.push(name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join(", "));
    }
    Ok(())
}

fn output() -> PathBuf {
    workspace::target_dir().join("tsan").join(TARGET).join("debug")
}

fn tests() -> PathBuf {
    workspace::root().join("bindings/lapi/tests")
}

fn options() -> String {
    format!("exitcode=66 history_size=4 suppressions={}", tests().join("tsan/suppressions.txt").display())
}

fn sanitized<'a>(arguments: impl IntoIterator<Item = &'a &'a str>) -> Command {
    let mut cargo = sh::cargo(arguments);
    cargo.args(["--target", TARGET]).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
    cargo.env("CARGO_TARGET_DIR", workspace::target_dir().join("tsan")).env("TSAN_OPTIONS", options());
    cargo
}

/// Sources of the programs to run.
fn programs(args: &Args) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for folder in ["programs", "dgsp"] {
        for entry in std::fs::read_dir(tests().join(folder))? {
            let path = entry?.path();
            let wanted =
                args.programs.is_empty() || args.programs.iter().any(|wanted| *wanted == name(&path));
            if !wanted || path.extension().is_none_or(|e| e != "c") {
                continue;
            }
            match UNSUITABLE.iter().find(|(program, _)| name(&path) == *program) {
                Some((name, why)) => eprintln!("SKIPPED: {name}: {why}"),
                None => all.push(path),
            }
        }
    }
    if all.is_empty() {
        bail!("no such programs: {}", args.programs.join(", "));
    }
    all.sort();
    Ok(all)
}

/// A program's name, by its source.
fn name(source: &Path) -> Cow<'_, str> {
    source.file_stem().unwrap_or_default().to_string_lossy()
}

fn compile(source: &Path) -> Result<PathBuf> {
    let (out, tests) = (output(), tests());
    let binary = out.join(format!("tsan-{}", name(source)));
    let mut gcc = Command::new("gcc");
    gcc.args(["-fsanitize=thread", "--param", "tsan-distinguish-volatile=1", "-fno-builtin", "-rdynamic"]);
    gcc.args(["-std=gnu11", "-O1", "-g", "-pthread"]).arg(source);
    gcc.arg(tests.join("tsan/shim.c")).arg(format!("-I{}", tests.join("../include").display()));
    gcc.arg("-L").arg(&out).arg("-llapi_r").arg(format!("-Wl,-rpath,{}", out.display()));
    sh::run(gcc.arg("-o").arg(&binary))?;
    Ok(binary)
}

/// Two tasks: the sanitizer makes each some ten times as slow and as large.
fn job(binary: &Path, transport: &str) -> Command {
    let mut lapirun = sh::ours(workspace::target_dir().join("debug/lapirun"));
    lapirun.args(["-n", "2", "--timeout", "600"]).arg(binary);
    lapirun.env("LAPIS_TRANSPORT", transport).env("LAPIS_TRANSPORT_PATH", output());
    lapirun.env("TSAN_OPTIONS", options());
    // What programs/copies.c says in its comment.
    if binary.ends_with("tsan-copies") {
        lapirun.env("MP_REXMIT_BUF_SIZE", "2000000").env("MP_REXMIT_BUF_CNT", "2");
    }
    // It ends without LAPI_Term, where nobody waits for the context's threads.
    if binary.ends_with("tsan-runtime") {
        lapirun.env("TSAN_OPTIONS", format!("{} report_thread_leaks=0", options()));
    }
    lapirun
}
