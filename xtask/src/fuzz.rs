//! `cargo xtask fuzz`: every fuzz target under libFuzzer for a while, as many at once as there are
//! cores.
//!
//! The stable compiler has the instrumentation that libFuzzer steers by, though not its sanitizers;
//! overflow and debug checks are on (`fuzz/Cargo.toml`). What is found meanwhile stays under
//! `target/fuzz/`, so that the next run starts from it.

use crate::{packages, setup, sh, workspace};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// What libFuzzer needs of the compiler: counters on edges, their places, and the operands of
/// comparisons.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
/// How long each target is tried if nobody says it on the command line.
const SECONDS: &str = "LAPIS_FUZZ_SECONDS";
const USUAL_SECONDS: u64 = 20;
/// Lines of a failed target's log that are shown.
const SHOWN: usize = 40;

#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target; LAPIS_FUZZ_SECONDS, or 20, unless given
    #[arg(long)]
    pub(crate) seconds: Option<u64>,
    /// Only these targets (several with commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

impl Args {
    /// All targets, so many seconds each.
    pub(crate) fn lasting(seconds: u64) -> Self {
        Self { seconds: Some(seconds), ..Self::default() }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let seconds = seconds(args.seconds, std::env::var(SECONDS).ok().as_deref())?;
    setup::ensure("fuzz")?;
    let manifest = workspace::root().join("fuzz/Cargo.toml");
    check_lock(&manifest)?;
    let mut targets: Vec<String> = Vec::new();
    for package in packages::all_of(&manifest)? {
        targets.extend(package.targets_of("bin").map(str::to_owned));
    }
    if let Some(unknown) = args.only.iter().find(|name| !targets.contains(name)) {
        bail!("no fuzz target is called `{unknown}`; there are {}", targets.join(", "));
    }
    targets.retain(|t| args.only.is_empty() || args.only.contains(t));
    let folder = workspace::target_dir().join("fuzz");
    let triple = host()?;
    if let Err(error) = sh::run(&mut build(&manifest, &folder, &triple, &["-p", "libfuzzer-sys"])) {
        eprintln!("fuzz: libFuzzer is missing here ({error:#}): seeded inputs to the same functions instead");
        return seeded(seconds);
    }
    sh::run(&mut build(&manifest, &folder, &triple, &[]))?;
    let programs = folder.join(&triple).join("release");
    let outcomes = at_once(&targets, |target| fuzz(target, &programs.join(target), &folder, seconds));
    let mut failed = Vec::new();
    for (target, outcome) in targets.iter().zip(outcomes) {
        match outcome {
            Ok(executed) => eprintln!("fuzz: {target}: {executed} inputs, nothing found"),
            Err(error) => {
                eprintln!("fuzz: {target}: FAILED: {error:#}");
                failed.push(target.as_str());
            }
        }
    }
    if !failed.is_empty() {
        bail!("fuzz targets failed: {}", failed.join(", "));
    }
    Ok(())
}

/// A lock file that does not fit the packages any more fails the build as a missing libFuzzer does,
/// and must not be taken for one.
fn check_lock(manifest: &Path) -> Result<()> {
    let mut metadata = sh::cargo(["metadata", "--locked", "--format-version", "1", "--manifest-path"]);
    metadata.arg(manifest).stdin(Stdio::null());
    let output = metadata.output().context("`cargo metadata` can't be started")?;
    if output.status.success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&output.stderr);
    if !is_stale(&log) {
        bail!("`cargo metadata --locked` of {} failed:\n{log}", manifest.display());
    }
    bail!(
        "fuzz/Cargo.lock does not fit the packages any more: run `cargo update --workspace --manifest-path \
         fuzz/Cargo.toml` and commit the file"
    );
}

/// Whether cargo says that it would have to write the lock file.
fn is_stale(log: &str) -> bool {
    log.contains("--locked") && log.contains("lock file")
}

/// How long each target is tried, by the command line and the environment.
fn seconds(wanted: Option<u64>, environment: Option<&str>) -> Result<u64> {
    let of_environment = || match environment {
        None | Some("") => Ok(USUAL_SECONDS),
        Some(text) => text.parse().with_context(|| format!("{SECONDS}=`{text}`: not a number of seconds")),
    };
    wanted.map_or_else(of_environment, Ok)
}

/// The folder's own target triple is named, so that build scripts are not instrumented.
fn build(manifest: &Path, folder: &Path, triple: &str, more: &[&str]) -> Command {
    let mut command = sh::cargo(["build", "--release", "--quiet", "--locked", "--target", triple]);
    command.arg("--manifest-path").arg(manifest).args(more);
    command.env("RUSTFLAGS", INSTRUMENTED).env("CARGO_TARGET_DIR", folder);
    command
}

fn host() -> Result<String> {
    let text = sh::output(Command::new("rustc").arg("-vV")).context("`rustc -vV` failed")?;
    let line = text.lines().find_map(|l| l.strip_prefix("host: "));
    Ok(line.context("`rustc -vV` names no host")?.to_owned())
}

/// Runs one target; answers how many inputs it was given.
fn fuzz(target: &str, program: &Path, folder: &Path, seconds: u64) -> Result<u64> {
    let found = folder.join("corpus").join(target);
    let artifacts = folder.join("artifacts").join(target);
    for place in [&found, &artifacts] {
        std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    }
    let committed: PathBuf = workspace::root().join("fuzz/corpus").join(target);
    if !std::fs::read_dir(&committed).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("no seeds in {}: each target has some in the repository", committed.display());
    }
    let mut command = Command::new(program);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        // A hang is a finding, too; an input takes well under a millisecond.
        .args(["-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1"])
        // New inputs go to the first folder only.
        .args([&found, &committed])
        .stdin(Stdio::null());
    eprintln!("fuzz: {target}: {seconds} s");
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
        bail!("{}; the input is in {}; the log ends:\n{tail}", output.status, artifacts.display());
    }
    executed(&log).filter(|&n| n > 0).context("libFuzzer's statistics name no executed inputs")
}

/// Reads libFuzzer's closing statistics.
fn executed(log: &str) -> Option<u64> {
    let line = log.lines().find_map(|l| l.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

/// Does the work for all items on as many threads as there are cores; outcomes in the order of the
/// items.
fn at_once<T: Send>(items: &[String], work: impl Fn(&str) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (Mutex::new(0..items.len()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..cores.min(items.len()) {
            scope.spawn(|| {
                while let Some(i) = next.lock().ok().and_then(|mut n| n.next()) {
                    let outcome = work(&items[i]);
                    if let Ok(mut done) = done.lock() {
                        done.push((i, outcome));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The same bodies as ordinary tests, on pseudo-random inputs for as long.
fn seeded(seconds: u64) -> Result<()> {
    let mut command =
        sh::cargo(["test", "--release", "--quiet", "-p", "lapis-dgsp", "--test", "fuzz_bodies"]);
    sh::run(command.env(SECONDS, seconds.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_inputs_is_read() {
        let log = "#2 INITED\nDone 19229 runs in 11 second(s)\nstat::number_of_executed_units: 19229\n";
        assert_eq!(executed(log), Some(19229));
        assert_eq!(executed("==1== ERROR"), None);
    }

    #[test]
    fn a_stale_lock_file_is_told_from_other_trouble() {
        let stale = "error: cannot update the lock file /x/fuzz/Cargo.lock because --locked was passed to prevent this";
        assert!(is_stale(stale));
        assert!(is_stale("error: the lock file /x/Cargo.lock needs to be updated but --locked was passed"));
        assert!(!is_stale("error: failed to get `arbitrary`: network unreachable"));
    }

    #[test]
    fn the_command_line_goes_before_the_environment() {
        assert_eq!(seconds(None, None).ok(), Some(USUAL_SECONDS));
        assert_eq!(seconds(None, Some("7")).ok(), Some(7));
        assert_eq!(seconds(Some(5), Some("7")).ok(), Some(5));
        assert!(seconds(None, Some("long")).unwrap_err().to_string().contains("LAPIS_FUZZ_SECONDS=`long`"));
    }

    #[test]
    fn outcomes_keep_the_order_of_their_items() {
        let items: Vec<String> = (0..20).map(|i| i.to_string()).collect();
        let doubled = at_once(&items, |i| i.parse::<u32>().map(|n| 2 * n).ok());
        assert_eq!(doubled, (0..20).map(|i| Some(2 * i)).collect::<Vec<_>>());
    }
}
