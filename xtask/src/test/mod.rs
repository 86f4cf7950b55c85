//! `cargo xtask test`: every kind of test, one closing line.

mod runners;

pub(crate) use runners::has_nextest;

use crate::setup;
use anyhow::{Result, bail};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Only these kinds (several with commas); all of them without it
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Much longer where chance plays a part: hundreds of kills, a soak of
    /// twenty minutes, more cases of each property
    #[arg(long)]
    nightly: bool,
    /// Install nothing, even if something is missing
    #[arg(long)]
    no_setup: bool,
}

impl Args {
    /// Everything, with large doses.
    pub(crate) fn nightly() -> Self {
        Self { nightly: true, ..Self::default() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Unit and integration tests
    Rust,
    /// Examples in the documentation
    Doc,
    /// Models under loom
    Loom,
}

/// What tests with a dose take it from, for `--nightly`.
const NIGHTLY: &[(&str, &str)] = &[
    ("LAPIS_TEST_KILLS", "400"),
    ("LAPIS_TEST_DAEMONS", "200"),
    ("LAPIS_TEST_HANGS", "10"),
    ("LAPIS_TEST_CYCLES", "10000"),
    ("LAPIS_TEST_LAUNCHER_CYCLES", "10000"),
    ("LAPIS_TEST_RDMA_CASES", "all"),
    ("LAPIS_TEST_SOAK", "1200"),
    ("PROPTEST_CASES", "4096"),
];

/// What a runner counted.
#[derive(Default, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

/// A runner's counts, and what is wrong besides single tests (a build failure, say).
pub(crate) struct Outcome {
    pub(crate) count: Count,
    pub(crate) trouble: Option<String>,
}

/// Builds the loom models, as [`run`] will before it runs them.
pub(crate) fn build_loom() -> Result<()> {
    runners::build_loom()
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        setup::ensure("test")?;
    }
    type Runner = fn(&[(&str, &str)]) -> Result<Outcome>;
    let variables: &[(&str, &str)] = if args.nightly { NIGHTLY } else { &[] };
    let all: [(Kind, &str, Runner); 3] = [
        (Kind::Rust, "unit and integration tests", runners::rust),
        (Kind::Doc, "documentation examples", runners::doc),
        (Kind::Loom, "loom models", runners::loom),
    ];
    let mut total = Count::default();
    let mut troubles = Vec::new();
    let mut lines = Vec::new();
    for (kind, name, runner) in all {
        if !args.only.is_empty() && !args.only.contains(&kind) {
            continue;
        }
        eprintln!("\n--- {name}");
        let outcome = runner(variables)?;
        let Count { passed, failed, skipped } = outcome.count;
        lines.push(format!("{name}: {passed} passed, {failed} failed, {skipped} skipped"));
        if let Some(trouble) = outcome.trouble {
            lines.push(format!("{name}: {trouble}"));
            troubles.push(name);
        }
        total.passed += passed;
        total.failed += failed;
    }
    println!("\n{}", lines.join("\n"));
    // A part that could not run at all counts as one failure, or the closing line would hide it.
    println!("{} passed, {} failed", total.passed, total.failed.max(troubles.len().min(1)));
    if total.failed > 0 || !troubles.is_empty() {
        bail!("tests failed");
    }
    Ok(())
}
