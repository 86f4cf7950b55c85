//! `cargo xtask bench`: builds what is measured, then hands over to `lapis-bench run`.

use crate::{sh, workspace};
use anyhow::Result;

#[derive(clap::Args)]
#[command(
    after_help = "All other options are those of the runner: `cargo xtask bench -- --help` shows them \
                        (--only, --transport, --rounds, --peers, --quick, …). docs/bench-format.md explains the output."
)]
pub(crate) struct Args {
    /// Options of the runner
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    runner: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let packages = workspace::packages()?;
    let mut build = vec!["build", "--release", "--quiet"];
    // What is measured must be as fresh as what measures it; plugins and launcher are separate artefacts.
    let measured = |p: &&workspace::Package| {
        p.place().starts_with("transports/") && p.targets_of("cdylib").next().is_some()
            || ["lapirun", "lapis-perf", "lapis-bench"].contains(&p.name.as_str())
    };
    for package in packages.iter().filter(measured) {
        build.extend(["-p", &package.name]);
    }
    sh::run(&mut sh::cargo(build))?;
    let runner = workspace::target_dir().join("release/lapis-bench");
    sh::run(std::process::Command::new(runner).current_dir(workspace::root()).arg("run").args(&args.runner))
}
