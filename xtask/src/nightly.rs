//! `cargo xtask nightly`: what takes too long for every change: C programs and unit tests under ThreadSanitizer, and the copy
//! engine under AddressSanitizer and Miri.
//!
//! The compiler's sanitizer works with any toolchain when it is allowed to (`RUSTC_BOOTSTRAP`); what it lacks is a standard
//! library compiled with it, for which a toolchain's sources are rarely installed. Hence `lapis_core::sync::blocking`, whose
//! locks it sees through, and `bindings/lapi/tests/tsan`, which names what remains.

use crate::{memory, sh, workspace};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these C programs of bindings/lapi/tests/programs (several with commas); all that suit without it
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// Leave the unit tests out
    #[arg(long)]
    no_units: bool,
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

pub(crate) fn run(args: &Args) -> Result<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        eprintln!("SKIPPED: the sanitizer is set up for {TARGET} only");
        return Ok(());
    }
    let mut failed = Vec::new();
    if !args.no_units {
        failed.extend(memory::check());
        let mut units = sanitized(["test", "-p", "lapis-core", "--lib", "--quiet"]);
        if sh::run(&mut units).is_err() {
            failed.push("unit tests".to_owned());
        }
    }
    sh::run(&mut sanitized(["build", "--quiet", "-p", "lapis-lapi", "-p", "lapis-shm", "-p", "lapis-udp"]))?;
    // The launcher starts processes and is no part of what is looked at.
    sh::run(&mut sh::cargo(["build", "--quiet", "-p", "lapirun"]))?;
    for program in programs(args)? {
        let binary = compile(&program)?;
        for transport in ["shm", "udp"] {
            let name = format!("{program} over {transport}");
            eprintln!("--- {name}");
            if sh::run(&mut job(&binary, transport)).is_err() {
                failed.push(name);
            }
        }
    }
    // Its figures are for whoever reads the log; it fails when an endpoint waits in vain.
    sh::run(&mut sh::cargo([
        "run",
        "--release",
        "-p",
        "lapis-core",
        "--features",
        "sim",
        "--example",
        "reliable_10k",
    ]))?;
    if !failed.is_empty() {
        bail!("under the sanitizers: {}", failed.join(", "));
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

fn sanitized<const N: usize>(arguments: [&str; N]) -> Command {
    let mut cargo = sh::cargo(arguments);
    cargo.args(["--target", TARGET]).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
    cargo.env("CARGO_TARGET_DIR", workspace::target_dir().join("tsan")).env("TSAN_OPTIONS", options());
    cargo
}

fn programs(args: &Args) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(tests().join("programs"))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if path.extension().is_none_or(|e| e != "c") {
            continue;
        }
        if let Some((_, why)) = UNSUITABLE.iter().find(|(program, _)| *program == name) {
            eprintln!("SKIPPED: {name}: {why}");
        } else if args.programs.is_empty() || args.programs.iter().any(|wanted| wanted == name) {
            all.push(name.to_owned());
        }
    }
    all.sort();
    Ok(all)
}

fn compile(program: &str) -> Result<PathBuf> {
    let (out, tests) = (output(), tests());
    let binary = out.join(format!("tsan-{program}"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-fsanitize=thread", "--param", "tsan-distinguish-volatile=1", "-fno-builtin", "-rdynamic"]);
    gcc.args(["-std=gnu11", "-O1", "-g", "-pthread"]).arg(tests.join(format!("programs/{program}.c")));
    gcc.arg(tests.join("tsan/shim.c")).arg(format!("-I{}", tests.join("../include").display()));
    gcc.arg("-L").arg(&out).arg("-llapi_r").arg(format!("-Wl,-rpath,{}", out.display()));
    sh::run(gcc.arg("-o").arg(&binary))?;
    Ok(binary)
}

/// Two tasks: the sanitizer makes each some ten times as slow and as large.
fn job(binary: &Path, transport: &str) -> Command {
    let mut lapirun = Command::new(workspace::target_dir().join("debug/lapirun"));
    lapirun.args(["-n", "2", "--timeout", "600"]).arg(binary);
    lapirun.env("LAPIS_TRANSPORT", transport).env("LAPIS_TRANSPORT_PATH", output());
    lapirun.env("TSAN_OPTIONS", options());
    // What programs/copies.c says in its comment.
    if binary.ends_with("tsan-copies") {
        lapirun.env("MP_REXMIT_BUF_SIZE", "2000000").env("MP_REXMIT_BUF_CNT", "2");
    }
    lapirun
}
