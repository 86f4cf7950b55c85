//! C programs under `bindings/<library>/tests/programs/`: compiled against the public header, run by lapirun.
//!
//! A program's leading comment may hold `tasks: 4` (two without it) and `env: NAME=VALUE`. It passes when it
//! exits with 0. Every program is compiled with warnings as errors, since users read these as examples.

use super::{Count, Outcome};
use crate::{sh, workspace};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A program that takes longer is killed and named.
const WATCHDOG: Duration = Duration::from_secs(120);

pub(super) fn run() -> Result<Outcome> {
    let mut outcome = Outcome { count: Count::default(), trouble: None };
    let packages = workspace::packages()?;
    let mut found = false;
    for package in packages.iter().filter(|p| p.place().starts_with("bindings/")) {
        let programs = programs_in(&package.dir.join("tests/programs"));
        if programs.is_empty() {
            continue;
        }
        found = true;
        if let Err(error) = build() {
            outcome.trouble = Some(format!("{error:#}"));
            return Ok(outcome);
        }
        for program in programs {
            let verdict = compile(package, &program).and_then(|binary| execute(&program, &binary));
            let name = format!("{}::{}", package.name, stem(&program));
            match verdict {
                Ok(()) => {
                    eprintln!("        PASS {name}");
                    outcome.count.passed += 1;
                }
                Err(error) => {
                    eprintln!("        FAIL {name}: {error:#}");
                    outcome.count.failed += 1;
                }
            }
        }
    }
    if !found {
        eprintln!("missing: no C programs under bindings/*/tests/programs yet");
    }
    Ok(outcome)
}

fn programs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut programs: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "c")).collect();
    programs.sort();
    programs
}

fn stem(program: &Path) -> String {
    program.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn build() -> Result<()> {
    sh::run(&mut sh::cargo(["build", "--workspace", "--quiet"]))
}

fn libraries() -> PathBuf {
    workspace::target_dir().join("debug")
}

fn compile(package: &workspace::Package, program: &Path) -> Result<PathBuf> {
    let out = workspace::target_dir().join("c-programs").join(&package.name);
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let binary = out.join(stem(program));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    gcc.arg("-I").arg(package.dir.join("include")).arg(program).arg("-o").arg(&binary);
    gcc.arg("-L").arg(libraries()).arg(format!("-Wl,-rpath,{}", libraries().display()));
    gcc.args(package.targets_of("cdylib").map(|library| format!("-l{library}")));
    sh::run(&mut gcc)?;
    Ok(binary)
}

fn execute(program: &Path, binary: &Path) -> Result<()> {
    let source =
        std::fs::read_to_string(program).with_context(|| format!("cannot read {}", program.display()))?;
    let tasks = settings(&source, "tasks:").next().unwrap_or("2");
    let mut command = Command::new(libraries().join("lapirun"));
    command.args(["-n", tasks]).arg(binary).env("LAPIS_TRANSPORT_PATH", libraries());
    for (name, value) in settings(&source, "env:").filter_map(|pair| pair.split_once('=')) {
        command.env(name, value);
    }
    let child = command.spawn().context("cannot start lapirun")?;
    watch(child)
}

/// The values behind a key in the program's leading comment.
fn settings<'a>(source: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let value = move |line: &'a str| Some(line.split_once(key)?.1.trim().trim_end_matches("*/").trim());
    source.lines().take(30).filter_map(value)
}

fn watch(mut child: Child) -> Result<()> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(()) } else { Err(anyhow::anyhow!("{status}")) };
        }
        if start.elapsed() > WATCHDOG {
            // lapirun ends its tasks when it gets SIGTERM; SIGKILL would leave that to the kernel.
            sh::run(Command::new("kill").arg(child.id().to_string()))?;
            std::thread::sleep(Duration::from_secs(2));
            let _ = child.kill();
            let _ = child.wait();
            anyhow::bail!("still running after {} s: killed", WATCHDOG.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
