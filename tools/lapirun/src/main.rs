//! `lapirun`: starts the tasks of a Lapis job.

use std::process::ExitCode;

fn main() -> ExitCode {
    lapirun::cli::main()
}
