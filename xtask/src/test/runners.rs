//! The runners that cargo brings: nextest (or cargo test), documentation tests, loom.

use super::{Count, Outcome};
use crate::{packages, sh, workspace};
use anyhow::Result;
use std::process::Command;

/// Unit and integration tests of the workspace.
pub(super) fn rust(variables: &[(&str, &str)]) -> Result<Outcome> {
    let cargo = |arguments: &[&str]| {
        let mut command = sh::cargo(arguments);
        // What the user's processor was tuned to is not what is tested.
        command.env("LAPIS_TUNING", "none").envs(variables.iter().copied());
        command
    };
    // What tests of C programs and of jobs need, so that none of them waits for a build.
    sh::run(sh::cargo(["build", "--workspace", "--lib", "--bins", "--examples"]).arg("--quiet"))?;
    if has_nextest() {
        return nextest(cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--no-tests=pass"]));
    }
    eprintln!(
        "cargo-nextest is missing: `cargo test` instead (`cargo install cargo-nextest --locked` brings it)"
    );
    libtest(cargo(&["test", "--workspace", "--all-targets", "--no-fail-fast"]))
}

/// Examples in the documentation.
pub(super) fn doc(_: &[(&str, &str)]) -> Result<Outcome> {
    libtest(sh::cargo(["test", "--workspace", "--doc", "--no-fail-fast"]))
}

/// Models under loom: tests whose name or binary says `loom`, in every package that depends on
/// loom.
///
/// Other tests of those packages use the same atomics outside a model, which loom refuses.
pub(super) fn loom(_: &[(&str, &str)]) -> Result<Outcome> {
    let mut total = Outcome { count: Count::default(), trouble: None };
    let all = modelled()?;
    for package in &all {
        let name = package.name.as_str();
        let outcome = if has_nextest() {
            let filter = format!("package({name}) & test(loom)");
            nextest(with_nextest(&all, &["--no-fail-fast", "--no-tests=pass", "-E", &filter]))?
        } else {
            libtest(with_loom(&["test", "-p", name, "--lib", "--tests", "--no-fail-fast", "loom"]))?
        };
        if outcome.count.passed + outcome.count.failed == 0 && outcome.trouble.is_none() {
            // A model that is never run is worse than none: it looks like a proof.
            total.trouble = Some(format!("{name} has loom models, but none ran"));
        }
        total.count.add(outcome.count);
        total.trouble = total.trouble.or(outcome.trouble);
    }
    Ok(total)
}

/// Builds the models as [`loom`] will, and runs none: no other step compiles with this flag.
pub(super) fn build_loom() -> Result<()> {
    let all = modelled()?;
    if has_nextest() {
        return sh::run(&mut with_nextest(&all, &["--no-run"]));
    }
    for package in &all {
        sh::run(&mut with_loom(&["test", "-p", &package.name, "--lib", "--tests", "--no-run"]))?;
    }
    Ok(())
}

/// Packages that have models.
fn modelled() -> Result<Vec<packages::Package>> {
    let mut packages = packages::all()?;
    packages.retain(|package| package.dependencies.iter().any(|d| d == "loom"));
    if packages.is_empty() {
        eprintln!("missing: no package depends on loom yet");
    }
    packages.retain(|package| {
        let has = has_models(package);
        if !has {
            let name = &package.name;
            eprintln!("{name} depends on loom for its atomics and holds no `loom::model`: nothing to run");
        }
        has
    });
    Ok(packages)
}

/// Names all packages, also where one's models run: what they share is then compiled once, with
/// the features that all of them want.
fn with_nextest(packages: &[packages::Package], arguments: &[&str]) -> Command {
    let mut command = with_loom(&["nextest", "run", "--lib"]);
    for package in packages {
        command.args(["-p", &package.name]);
    }
    command.args(arguments);
    command
}

/// A command of cargo's that builds models, in a folder of its own: the flag changes every crate's
/// fingerprint.
fn with_loom(arguments: &[&str]) -> Command {
    let mut command = sh::cargo(arguments);
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", workspace::target_dir().join("loom"));
    command
}

impl Count {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Without it `cargo test` runs the tests.
pub(crate) fn has_nextest() -> bool {
    sh::which("cargo-nextest").is_some() || sh::output(&mut sh::cargo(["nextest", "--version"])).is_some()
}

fn has_models(package: &packages::Package) -> bool {
    let files = sh::output(
        Command::new("grep").args(["-rlE", r"loom::model\b|loom::model::Builder"]).arg(&package.dir),
    );
    files.is_some()
}

fn nextest(mut command: Command) -> Result<Outcome> {
    command.args(["--cargo-quiet", "--status-level", "fail", "--final-status-level", "flaky"]);
    let (status, text) = sh::tee(&mut command)?;
    let count = parse_nextest(&text);
    let trouble = (!status.success() && count.failed == 0).then(|| format!("nextest ended with {status}"));
    Ok(Outcome { count, trouble })
}

fn libtest(mut command: Command) -> Result<Outcome> {
    command.arg("--quiet");
    let (status, text) = sh::tee(&mut command)?;
    let count = parse_libtest(&text);
    let trouble = (!status.success() && count.failed == 0).then(|| format!("cargo test ended with {status}"));
    Ok(Outcome { count, trouble })
}

/// Reads nextest's `Summary [   0.1s] 7 tests run: 6 passed (1 slow), 1 failed, 2 skipped`.
fn parse_nextest(text: &str) -> Count {
    let summary = text.lines().rev().find(|l| l.trim_start().starts_with("Summary"));
    let Some((_, counts)) = summary.and_then(|l| l.split_once("run:")) else {
        return Count::default();
    };
    let number = |word: &str| number_before(counts, word);
    // A test that overran its time or lost its process is a failure of another name.
    Count {
        passed: number("passed"),
        failed: number("failed") + number("timed out") + number("exec failed"),
        skipped: number("skipped"),
    }
}

/// Adds up libtest's `test result: ok. 3 passed; 0 failed; 1 ignored; …` lines.
fn parse_libtest(text: &str) -> Count {
    let mut count = Count::default();
    for line in text.lines().filter(|l| l.starts_with("test result:")) {
        let counts = line.replace(';', ",");
        count.add(Count {
            passed: number_before(&counts, "passed"),
            failed: number_before(&counts, "failed"),
            skipped: number_before(&counts, "ignored"),
        });
    }
    count
}

/// The number in front of a word, among parts separated by commas; 0 when the word is not there.
fn number_before(counts: &str, word: &str) -> usize {
    let part = |p: &str| {
        let (front, _) = p.split_once(word)?;
        front.split_whitespace().next_back()?.parse().ok()
    };
    counts.split(',').find_map(part).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nextest_summary_is_read() {
        let text = "noise\n     Summary [   1.204s] 9 tests run: 6 passed (1 slow), 2 failed, 1 timed out, 4 skipped\n";
        let count = parse_nextest(text);
        assert_eq!((count.passed, count.failed, count.skipped), (6, 3, 4));
    }

    #[test]
    fn libtest_results_add_up() {
        let text = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let count = parse_libtest(text);
        assert_eq!((count.passed, count.failed, count.skipped), (4, 2, 1));
    }

    #[test]
    fn text_without_a_summary_counts_nothing() {
        let count = parse_nextest("error: could not compile");
        assert_eq!((count.passed, count.failed), (0, 0));
    }
}
