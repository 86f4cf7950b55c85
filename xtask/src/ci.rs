//! `cargo xtask ci`: all that must hold before a change goes in. `.ci/run` calls this and nothing
//! else.

use crate::{bench, codegen, fuzz, nightly, setup, sh, test, tidy};
use anyhow::{Result, bail};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Stop at the first step that fails
    #[arg(long)]
    fail_fast: bool,
    /// Only these steps (several with commas), named by their first words: `--only clippy,thread`
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("format", || sh::run(&mut sh::cargo(["fmt", "--all", "--check"]))),
    ("generated files", || codegen::run(&codegen::Args { check: true })),
    ("tidy", || tidy::run(&tidy::Args::default())),
    ("clippy", || {
        sh::run(&mut sh::cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
    }),
    // Their flag changes what is compiled, so no other step finds what does not compile with it.
    ("loom models compile", test::build_loom),
    ("documentation", || {
        let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
        sh::run(sh::cargo(arguments).env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("fuzz", || fuzz::run(&fuzz::Args::default())),
    ("thread sanitizer", nightly::short),
    ("instructions", || bench::instructions::run(false)),
    // Last, so that the runner's closing line is the last line of the log.
    ("test", || test::run(&test::Args::default())),
];

/// The steps that are wanted.
fn chosen(only: &[String]) -> Result<Vec<&'static Step>> {
    let names = || STEPS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = only.iter().find(|word| !STEPS.iter().any(|(name, _)| name.starts_with(&***word)))
    {
        bail!("no step begins with \"{unknown}\"; there are: {}", names());
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| name.starts_with(word));
    Ok(STEPS.iter().filter(|(name, _)| wanted(name)).collect())
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let steps = chosen(&args.only)?;
    // What only this needs may be missing: tests then skip, and say so.
    if let Err(error) = setup::ensure("ci") {
        eprintln!("ci: {error:#}");
    }
    let mut failed = Vec::new();
    for (name, step) in steps {
        eprintln!("\n=== {name}");
        let start = Instant::now();
        let outcome = step();
        let took = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => eprintln!("=== {name}: ok ({took:.0} s)"),
            Err(error) => {
                eprintln!("=== {name}: FAILED ({took:.0} s): {error:#}");
                failed.push(*name);
                if args.fail_fast {
                    break;
                }
            }
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}
