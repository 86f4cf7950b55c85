//! `cargo xtask demo`: from a fresh machine to a running four-task program and a speed table.

use crate::{packages, setup, sh, workspace};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tasks of the C program
    #[arg(short = 'n', long, default_value_t = 4)]
    tasks: u32,
    /// The C program to run
    #[arg(long, default_value = "examples/c/am_lesson.c")]
    program: String,
}

/// What the demo builds: package, kind of target, and what it is.
const PARTS: &[(&str, &str, &str)] = &[
    ("lapis-shm", "cdylib", "the shm plugin"),
    ("lapirun", "bin", "the launcher"),
    ("lapis-perf", "bin", "the speed tool"),
    ("lapis-lapi", "cdylib", "liblapi_r.so"),
];

pub(crate) fn run(args: &Args) -> Result<()> {
    setup::ensure("demo")?;
    let packages = packages::all()?;
    let missing = missing_parts(&packages, &args.program);
    if !missing.is_empty() {
        bail!("the demo needs what this tree does not hold yet: {}", missing.join("; "));
    }
    // Only what runs here, and with cargo's own progress: on a fresh machine this is where the
    // minutes go.
    let begin = Instant::now();
    let mut build = vec!["build", "--release"];
    PARTS.iter().for_each(|(package, ..)| build.extend(["-p", package]));
    sh::run(&mut sh::cargo(build))?;
    eprintln!("built in {:.0} s", begin.elapsed().as_secs_f64());
    let release = workspace::target_dir().join("release");
    let binary = release.join("demo-lesson");
    compile(&workspace::root().join(&args.program), &binary, &release)?;

    eprintln!("\n{} on {} tasks over shared memory:", args.program, args.tasks);
    let launch = |tasks: u32| {
        let mut command = sh::ours(release.join("lapirun"));
        command.args(["-n", &tasks.to_string()]);
        command.env("LAPIS_TRANSPORT_PATH", &release).env("LAPIS_TRANSPORT", "shm");
        command
    };
    sh::run(launch(args.tasks).args(["--timeout", "60", "--tag-output"]).arg(&binary))?;

    eprintln!("\nLatency and bandwidth between two tasks, each on a core of its own:");
    let plot = workspace::target_dir().join("demo.svg");
    let mut perf = launch(2);
    perf.args(["--timeout", "120", "--bind", "core"]).arg(release.join("lapis-perf"));
    sh::run(
        perf.args(["am_lat", "put_bw", "--max-size", "1MiB", "--memory", "lapis,any", "--plot"]).arg(&plot),
    )?;
    eprintln!("\nThe plot is in {}.", plot.display());
    eprintln!(
        "Next: `cargo xtask test`; `cargo xtask install --prefix DIR`; {} explained line by line.",
        args.program
    );
    Ok(())
}

fn missing_parts(packages: &[packages::Package], program: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, kind, what) in PARTS {
        let package = packages.iter().find(|p| p.name == *name);
        if package.and_then(|p| p.targets_of(kind).next()).is_none() {
            missing.push(format!("{what} (package {name} with a {kind} target)"));
        }
    }
    if !workspace::root().join(program).is_file() {
        missing.push(format!("the C program {program}"));
    }
    missing
}

fn compile(source: &Path, binary: &Path, libraries: &Path) -> Result<()> {
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c11", "-O2", "-Wall", "-pthread", "-I"]);
    gcc.arg(workspace::root().join("bindings/lapi/include")).arg(source).arg("-o").arg(binary);
    gcc.arg("-L").arg(libraries).arg(format!("-Wl,-rpath,{}", libraries.display())).arg("-llapi_r");
    sh::run(&mut gcc)
}
