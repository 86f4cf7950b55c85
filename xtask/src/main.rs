//! Developer commands of Lapis: `cargo xtask <command>`.
//!
//! One subcommand per file; everything a person or the CI machine does to this repository is one of
//! these commands.

mod bench;
mod ci;
mod codegen;
mod demo;
mod fuzz;
mod install;
mod nightly;
mod packages;
mod setup;
mod sh;
mod test;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of Lapis", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what the other commands need and this machine lacks, saying what
    Setup(setup::Args),
    /// Build, run a C program on four tasks over shared memory, then a short speed table
    Demo(demo::Args),
    /// Run every test: unit and integration, documentation, loom models, C programs
    Test(test::Args),
    /// Every fuzz target for a minute each
    Fuzz(fuzz::Args),
    /// What the CI machine runs: format, lints, generated files, invariants, documentation,
    /// fuzzing, tests
    Ci(ci::Args),
    /// Measure Lapis beside the machine's floors and the peers found installed
    Bench(bench::Args),
    /// Write the generated files (or only check that they are fresh)
    Codegen(codegen::Args),
    /// Check the repository's invariants: file sizes, atomics, statics, citations, links
    Tidy(tidy::Args),
    /// What takes too long for every change: ThreadSanitizer, AddressSanitizer, Miri, ten thousand
    /// endpoints, thousands of seeds of the simulator, long fuzzing, all tests with large doses
    Nightly(nightly::Args),
    /// Build in release mode and lay the files out under a prefix
    Install(install::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Setup(args) => setup::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Codegen(args) => codegen::run(&args),
        Command::Tidy(args) => tidy::run(&args),
        Command::Nightly(args) => nightly::run(&args),
        Command::Install(args) => install::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
