//! `cargo xtask bench`: builds what is measured, then hands over to `lapis-bench`.

mod ablation;
pub(crate) mod instructions;
mod schedules;

use crate::{packages, sh, workspace};
use anyhow::Result;

#[derive(clap::Args)]
#[command(
    after_help = "All other options are those of the runner: `cargo xtask bench -- --help` shows them \
                  (--only, --transport, --rounds, --peers, --quick, …). Other subjects come first: \
                  `cargo xtask bench dgsp` times data gather/scatter programs, `collectives` \
                  collectives, both beside every MPI found, `crowd` jobs with more tasks than cores \
                  or beside busy processes; `qnix`, `acp` and `gm` show QNIX, ACP and GM beside what they stand \
                  on, and write no file; `instructions` counts instructions by callgrind and compares them with \
                  docs/bench/instructions.md (--write writes it); `bars` writes which bars the newest report of each kind \
                  of processor meets, to docs/bench/bars.md; `ablation` turns single \
                  optimisations off and shows what each buys (--test runs the conformance suite with \
                  each of them off); `schedules` writes what collectives cost on paper, up to a \
                  million tasks, to docs/bench/schedules.md. docs/bench-format.md explains the output."
)]
pub(crate) struct Args {
    /// `dgsp`, `collectives`, `crowd`, `qnix`, `acp`, `gm`, `instructions`, `bars`, `ablation` or
    /// `schedules`, and options of the runner
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    runner: Vec<String>,
}

/// What is measured of ACP: of the benches for all, and its own.
const ACP: &str = "am_lat,put_lat,fadd,cas,barrier,acp_seen,acp_chain,acp_third,acp_malloc,acp_find";

/// What is measured of GM.
const GM: &str = "am_lat,am_rate,am_bw,blocked,gm_open";

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.runner.first().is_some_and(|first| first == "instructions") {
        return instructions::run(args.runner.iter().any(|word| word == "--write"));
    }
    if args.runner.first().is_some_and(|first| first == "ablation") {
        return ablation::run(&args.runner[1..]);
    }
    if args.runner.first().is_some_and(|first| first == "schedules") {
        return schedules::run(args.runner.iter().any(|word| word == "--quick"));
    }
    let is_first = |word: &str| args.runner.first().is_some_and(|first| first == word);
    let [qnix, acp, gm, dgsp] = ["qnix", "acp", "gm", "dgsp"].map(is_first);
    let packages = packages::all()?;
    let mut build = vec!["build", "--release", "--quiet"];
    let programs: &[&str] = if dgsp {
        &["lapis-dgsp-tool", "lapis-bench"]
    } else if qnix {
        &["lapirun", "lapis-perf", "lapis-bench", "lapis-lapi", "lapis-qnix"]
    } else if acp {
        &["lapirun", "lapis-perf", "lapis-bench", "lapis-lapi", "lapis-acp"]
    } else if gm {
        &["lapirun", "lapis-perf", "lapis-bench", "lapis-lapi", "lapis-gm"]
    } else {
        &["lapirun", "lapis-perf", "lapis-bench", "lapis-lapi", "lapis-nsd"]
    };
    // What is measured must be as fresh as what measures it; plugins and launcher are separate
    // artefacts.
    let measured = |p: &&packages::Package| {
        !dgsp && p.place().starts_with("transports/") && p.targets_of("cdylib").next().is_some()
            || programs.contains(&p.name.as_str())
    };
    for package in packages.iter().filter(measured) {
        build.extend(["-p", &package.name]);
    }
    if !dgsp {
        build.extend(["--lib", "--bins", "--example", "overhead"]);
    }
    sh::run(&mut sh::cargo(build))?;
    let mut runner = sh::ours(workspace::target_dir().join("release/lapis-bench"));
    let has_command = dgsp || ["collectives", "crowd", "bars"].into_iter().any(is_first);
    if !has_command {
        runner.arg("run");
    }
    if qnix {
        runner.args([
            "--qnix",
            "--dry",
            "--only",
            "am_lat,am_rate,am_bw,put_bw,barrier,send_short,broadcast_short",
        ]);
    }
    if acp {
        runner.args(["--acp", "--dry", "--only", ACP]);
    }
    if gm {
        runner.args(["--gm", "--dry", "--transport", "hps", "--party", "lapis-gm", "--only", GM]);
    }
    sh::run(runner.current_dir(workspace::root()).args(&args.runner[usize::from(qnix || acp || gm)..]))
}
