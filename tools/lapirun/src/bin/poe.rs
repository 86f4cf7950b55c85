//! `poe`: starts a Lapis job from a command line in the style of IBM's Parallel Operating
//! Environment.

use std::process::ExitCode;

fn main() -> ExitCode {
    lapirun::poe::main()
}
