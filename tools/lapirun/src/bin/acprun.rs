//! `acprun`: starts programs that use Advanced Communication Primitives.

use std::process::ExitCode;

fn main() -> ExitCode {
    lapirun::acprun::main()
}
