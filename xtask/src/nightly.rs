//! `cargo xtask nightly`: what takes too long for every change. `.ci/nightly` calls this and
//! nothing else.
//!
//! * C programs of LAPI, ACP and GM, and unit tests, under ThreadSanitizer. The compiler's
//!   sanitizer works with any toolchain when it is allowed to (`RUSTC_BOOTSTRAP`); what it lacks is
//!   a standard library compiled with it, for which a toolchain's sources are rarely installed.
//!   Hence `lapis_core::sync::blocking`, whose locks it sees through, and
//!   `bindings/lapi/tests/tsan`, which names what remains. `cargo xtask ci` runs the shortest part of
//!   it ([`short`]).
//! * The copy engine of `lapis-dgsp` under AddressSanitizer: its tests run all of its `unsafe` code
//!   against lists of bytes. GM's unit tests, too, which call and send a port anything anyhow, and
//!   ACP's programs.
//! * The copy engine's tests, and unit tests of what calls no system, under Miri, where a toolchain
//!   has it: those of the lock's guard among them, whose references to the state Miri watches.
//! * Ten thousand endpoints of the packet engine in virtual time.
//! * What the packet engine's simulator finds in thousands of seeds, other ones every night, of
//!   each property.
//! * Each fuzz target for ten minutes.
//! * All tests with large doses: hundreds of kills, a soak over UDP with every fault, narrow paths
//!   always among them, thousands of cases of each property; all of the conformance suite over
//!   verbs devices where LAPIS_TEST_RDMA_MACHINE names a machine that has them (docs/rdma.md).
//!
//! What a machine lacks is said in one line, and the rest runs.

mod programs;

use crate::{fuzz, sh, test, workspace};
use anyhow::{Result, bail};
use programs::Sanitizer;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these parts (several with commas); all of them without it
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Only these C programs of LAPI's, ACP's and GM's tests (several with commas); all that suit
    /// without it
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
    /// The copy engine's tests, GM's, and ACP's programs, under AddressSanitizer
    Asan,
    /// The copy engine's tests and some unit tests under Miri
    Miri,
    /// Ten thousand endpoints of the packet engine
    Endpoints,
    /// Thousands of seeds of the packet engine's properties
    Simulator,
    /// Each fuzz target for long
    Fuzz,
    /// All tests, with large doses
    Tests,
}

const TARGET: &str = "x86_64-unknown-linux-gnu";
const FLAGS: &str = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg lapis_tsan";

/// Seeds of each property of the packet engine: three quarters of an hour of processor time in all.
const SEEDS: u64 = 3000;

/// For each fuzz target.
const FUZZ_SECONDS: u64 = 600;

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

/// What it runs at night beside that.
const LONG: &[&str] = &["-p", "lapis-gm", "--lib"];

pub(crate) fn run(args: &Args) -> Result<()> {
    type Run = fn(&Args) -> Result<()>;
    type Missing = fn() -> Option<String>;
    let nothing: Missing = || None;
    let parts: [(Part, &str, Missing, Run); 7] = [
        (Part::Tsan, "ThreadSanitizer", || missing_for_sanitizer(true), sanitizer),
        (Part::Asan, "AddressSanitizer", nothing, addresses),
        (Part::Miri, "Miri", missing_for_miri, |_| miri()),
        (Part::Endpoints, "ten thousand endpoints", nothing, |_| endpoints()),
        (Part::Simulator, "simulator with thousands of seeds", nothing, |_| simulator()),
        (Part::Fuzz, "fuzz targets", nothing, |_| fuzz::run(&fuzz::Args::lasting(FUZZ_SECONDS))),
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
    units(&SHORT)?;
    if let Some(missing) = missing_for_sanitizer(true) {
        eprintln!("SKIPPED: {missing}");
        return Ok(());
    }
    all_of(&Sanitizer::Thread.run(&programs::short()?, &["shm", "udp"])?)
}

fn units(all: &[&[&str]]) -> Result<()> {
    if let Some(missing) = missing_for_sanitizer(false) {
        eprintln!("SKIPPED: {missing}");
        return Ok(());
    }
    // The packet engine has no threads, and its simulator much to do.
    for tests in all {
        if test::has_nextest() {
            let run = ["nextest", "run", "--profile", "sanitizer", "-E", "not test(/^reliable::/)"];
            sh::run(&mut sanitized(run.iter().chain(*tests)))?;
        } else {
            let mut cargo = sanitized(["test", "--quiet"].iter().chain(*tests));
            sh::run(cargo.args(["--", "--skip", "reliable::"]))?;
        }
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
    if programs { Sanitizer::Thread.missing() } else { None }
}

fn addresses(args: &Args) -> Result<()> {
    // Doctests are left out: rustdoc wants flags of its own.
    let all: [&[&str]; 2] = [&["-p", "lapis-dgsp", "--lib", "--tests"], &["-p", "lapis-gm", "--lib"]];
    for tests in all {
        sh::run(&mut Sanitizer::Address.cargo(["test", "--quiet"].iter().chain(tests)))?;
    }
    if let Some(missing) = Sanitizer::Address.missing() {
        eprintln!("SKIPPED: {missing}");
        return Ok(());
    }
    all_of(&Sanitizer::Address.run(&Sanitizer::Address.programs(args)?, &["shm", "udp"])?)
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
    if !args.no_units && units(&[SHORT[0], SHORT[1], LONG]).is_err() {
        failed.push("unit tests".to_owned());
    }
    failed.extend(Sanitizer::Thread.run(&Sanitizer::Thread.programs(args)?, &["shm", "udp"])?);
    all_of(&failed)
}

/// An error if some failed.
fn all_of(failed: &[String]) -> Result<()> {
    if !failed.is_empty() {
        bail!("{}", failed.join(", "));
    }
    Ok(())
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
