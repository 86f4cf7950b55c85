//! `cargo xtask bench ablation`: makes a build in which single optimisations can be turned off,
//! then measures with each of them off, or tests.

use crate::{sh, workspace};
use anyhow::{Context as _, Result};
use lapis_ablation::Optimization;

/// What is measured, and what of it stands beside programs.
const PACKAGES: [&str; 8] = [
    "lapirun",
    "lapis-perf",
    "lapis-lapi",
    "lapis-shm",
    "lapis-udp",
    "lapis-hps",
    "lapis-nsd",
    "lapis-dgsp-tool",
];

/// `--test` runs shm's conformance suite with each optimisation off; everything else is the
/// runner's.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let folder = workspace::target_dir().join("ablation");
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let special = |command: &mut std::process::Command| {
        command
            .env("RUSTFLAGS", format!("{flags} --cfg lapis_ablation").trim())
            .env("CARGO_TARGET_DIR", &folder);
    };
    if arguments.iter().any(|word| word == "--test") {
        for which in Optimization::ALL {
            println!("without {}", which.name());
            let mut test =
                sh::cargo(["test", "--quiet", "--release", "-p", "lapis-shm", "--test", "conformance"]);
            special(&mut test);
            sh::run(test.env("ABLATE", which.name()))
                .with_context(|| format!("conformance without {}", which.name()))?;
        }
        return Ok(());
    }
    let mut build = sh::cargo(["build", "--release", "--quiet", "--lib", "--bins"]);
    PACKAGES.iter().for_each(|package| {
        build.args(["-p", package]);
    });
    special(&mut build);
    sh::run(&mut build)?;
    sh::run(&mut sh::cargo(["build", "--release", "--quiet", "-p", "lapis-bench"]))?;
    let mut runner = sh::ours(workspace::target_dir().join("release/lapis-bench"));
    runner.args(["ablation", "--build"]).arg(folder.join("release")).args(arguments);
    sh::run(runner.current_dir(workspace::root()))
}
