//! `cargo xtask demo`: from a fresh machine to a running four-task program and a speed table.

use crate::{setup, sh, workspace};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tasks of the C program
    #[arg(short = 'n', long, default_value_t = 4)]
    tasks: u32,
    /// The C program to run
    #[arg(long, default_value = "examples/c/am_lesson.c")]
    program: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    setup::ensure("demo")?;
    let packages = workspace::packages()?;
    let missing = missing_parts(&packages, &args.program);
    if !missing.is_empty() {
        bail!("the demo needs what this tree does not hold yet: {}", missing.join("; "));
    }
    sh::run(&mut sh::cargo(["build", "--release", "--workspace", "--quiet"]))?;
    let release = workspace::target_dir().join("release");
    let binary = release.join("demo-lesson");
    compile(&workspace::root().join(&args.program), &binary, &release)?;

    eprintln!("\n{} on {} tasks over shared memory:", args.program, args.tasks);
    let launch = |tasks: u32| {
        let mut command = Command::new(release.join("lapirun"));
        command.args(["-n", &tasks.to_string()]);
        command.env("LAPIS_TRANSPORT_PATH", &release).env("LAPIS_TRANSPORT", "shm");
        command
    };
    sh::run(launch(args.tasks).arg("--tag-output").arg(&binary))?;

    eprintln!("\nLatency and bandwidth between two tasks:");
    let plot = workspace::target_dir().join("demo.svg");
    let mut perf = launch(2);
    perf.args(["--bind", "core"]).arg(release.join("lapis-perf"));
    sh::run(perf.args(["am_lat", "put_bw", "--max-size", "1MiB", "--plot"]).arg(&plot))?;
    eprintln!("\nplot: {}", plot.display());
    Ok(())
}

fn missing_parts(packages: &[workspace::Package], program: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, kind, what) in [
        ("lapis-shm", "cdylib", "the shm plugin"),
        ("lapirun", "bin", "the launcher"),
        ("lapis-perf", "bin", "the speed tool"),
        ("lapis-lapi", "cdylib", "liblapi_r.so"),
    ] {
        let package = packages.iter().find(|p| p.name == name);
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
